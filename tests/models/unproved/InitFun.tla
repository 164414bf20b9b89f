---- MODULE InitFun ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES f
vars == <<f>>

TypeOK == f \in [{1, 2} -> 0..1]
Init == f \in [{1, 2} -> 0..1]
A == UNCHANGED f
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == f[1] + f[2] < 2
Inductive == TypeOK /\ Inv
====
