---- MODULE PickSubFun ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS S
VARIABLES f
vars == <<f>>

TypeOK == f \in [S -> SUBSET {1, 2}]
Init == f = [s \in S |-> {}]
A(p) == \E t \in SUBSET {1, 2} : f' = [f EXCEPT ![p] = t]
Z == FALSE /\ UNCHANGED vars
Next == (\E p \in S : A(p)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == \A s \in S : f[s] # {1, 2}
Inductive == TypeOK /\ Inv
====
