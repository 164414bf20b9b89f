---- MODULE FreeBox ----
EXTENDS Naturals
VARIABLES x, y
TypeOK == x \in 0..1 /\ y \in 0..1
Init == x = 0 /\ y = 0
A == x = 0 /\ x' = 1 /\ y' = 0
Z == FALSE /\ UNCHANGED <<x, y>>
Next == A \/ Z
Spec == Init /\ [][Next]_x
\* The claim.
Inv == y = 0
Inductive == TypeOK /\ Inv
====
