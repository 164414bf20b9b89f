---- MODULE PickDepends ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS K
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in 0..2 /\ y \in 0..2
Init == x = 0 /\ y = 0
A == x' \in 0..2 /\ y' \in x'..2
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == y # 2
Inductive == TypeOK /\ Inv
====
