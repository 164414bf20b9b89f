---- MODULE ExistsIndex ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES f
vars == <<f>>

TypeOK == f \in [1..Max -> 0..1]
Init == f = [i \in 1..Max |-> 0]
Set(i) == f' = [f EXCEPT ![i] = 1]
Z == FALSE /\ UNCHANGED vars
Next == (\E i \in 1..Max : Set(i)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == \E i \in 1..Max : f[i] = 0
Inductive == TypeOK /\ Inv
====
