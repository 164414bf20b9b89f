---- MODULE CardVar ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES f, n, x
vars == <<f, n, x>>

TypeOK == f \in [1..Max -> 0..1] /\ n \in 0..Max /\ x \in 0..Max
Init == f = [i \in 1..Max |-> 1] /\ n = 0 /\ x = 0
Up == n < Max /\ n' = n + 1 /\ UNCHANGED <<f, x>>
A == x' = Cardinality({i \in 1..n : f[i] = 1}) /\ UNCHANGED <<f, n>>
Z == FALSE /\ UNCHANGED vars
Next == Up \/ A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x < 2
Inductive == TypeOK /\ Inv
====
