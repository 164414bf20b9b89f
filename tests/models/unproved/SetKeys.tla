---- MODULE SetKeys ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES f
vars == <<f>>

TypeOK == f \in [SUBSET {1,2} -> 0..1]
Init == f = [k \in SUBSET {1,2} |-> 0]
A == f' = [f EXCEPT ![{2, 1}] = 1]
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == f[{1, 2}] = 0
Inductive == TypeOK /\ Inv
====
