---- MODULE ShortDomain ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES f, n
vars == <<f, n>>

TypeOK == f \in [1..Max -> 0..1] /\ n \in 1..Max
Init == f = [i \in 1..Max |-> 0] /\ n = 1
Up == n < Max /\ n' = n + 1 /\ f' = f
A == n = Max /\ f' = [i \in 1..n |-> 1] /\ n' = 1
Z == FALSE /\ UNCHANGED vars
Next == Up \/ A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == f[1] = 0
Inductive == TypeOK /\ Inv
====
