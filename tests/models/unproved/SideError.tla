---- MODULE SideError ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in 0..2 /\ y \in BOOLEAN
Init == x = 0 /\ y = FALSE
A == (x' = 1 /\ y' = TRUE) \/ (x' = 2 /\ y' = FALSE)
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~y
Inductive == TypeOK /\ Inv
====
