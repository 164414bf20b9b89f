---- MODULE CardGap ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES f, x
vars == <<f, x>>

TypeOK == f \in [1..Max -> 0..1] /\ x \in 0..Max
Init == f = [i \in 1..Max |-> IF i = 2 THEN 1 ELSE 0] /\ x = 0
A == x' = Cardinality({i \in 1..3 : f[i] = 1}) /\ f' = f
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x = 0
Inductive == TypeOK /\ Inv
====
