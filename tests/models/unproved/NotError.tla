---- MODULE NotError ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS K
VARIABLES x, bad
vars == <<x, bad>>

TypeOK == x \in 0..2 /\ bad \in BOOLEAN
Init == x = 0 /\ bad = FALSE
A == ~(x > 0 /\ <<1>>[x] = 2) /\ x' = x /\ bad' = TRUE
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~bad
Inductive == TypeOK /\ Inv
====
