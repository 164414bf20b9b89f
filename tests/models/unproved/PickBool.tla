---- MODULE PickBool ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES b, c
vars == <<b, c>>

TypeOK == b \in BOOLEAN /\ c \in BOOLEAN
Init == b = FALSE /\ c = FALSE
A == b' \in BOOLEAN /\ c' = ~b'
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~c
Inductive == TypeOK /\ Inv
====
