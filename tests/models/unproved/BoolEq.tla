---- MODULE BoolEq ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in BOOLEAN /\ y \in 0..1
Init == x = FALSE /\ y = 0
A == x' = (y = 0) /\ y' = y
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x = FALSE
Inductive == TypeOK /\ Inv
====
