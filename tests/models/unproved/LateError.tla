---- MODULE LateError ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x, bad
vars == <<x, bad>>

TypeOK == x \in 0..2 /\ bad \in BOOLEAN
Init == x = 0 /\ bad = FALSE
A == x' = x /\ bad' = (<<1>>[1] = 1)
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~bad
Inductive == TypeOK /\ Inv
====
