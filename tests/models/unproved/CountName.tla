---- MODULE CountName ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES f, x
vars == <<f, x>>

TypeOK == f \in [1..Max -> 0..Max] /\ x \in 0..Max
Init == f = [i \in 1..Max |-> 1] /\ x = 0
A == x' = Cardinality({i \in 1..f[1] : f[i] >= 0}) /\ f' = f
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == \A count \in 1..Max : count # x
Inductive == TypeOK /\ Inv
====
