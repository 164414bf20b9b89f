---- MODULE PickFun ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES f
vars == <<f>>

TypeOK == f \in [{1,2} -> 0..2]
Init == f = [i \in {1,2} |-> 0]
A == f' \in [{1,2} -> 0..2]
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == f[1] + f[2] < 4
Inductive == TypeOK /\ Inv
====
