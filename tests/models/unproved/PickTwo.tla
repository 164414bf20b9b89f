---- MODULE PickTwo ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS K
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in 0..2 /\ y \in 0..2
Init == x = 0 /\ y = 0
A == \E a, b \in 0..2 : a # b /\ x' = a /\ y' = b
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x + y < 3
Inductive == TypeOK /\ Inv
====
