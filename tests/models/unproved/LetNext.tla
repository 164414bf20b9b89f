---- MODULE LetNext ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS K
VARIABLES c, x, y
vars == <<c, x, y>>

TypeOK == c \in BOOLEAN /\ x \in 0..9 /\ y \in 0..9
Init == c \in BOOLEAN /\ x = 0 /\ y = 0
A == LET v == x' + 1 IN /\ c' = c /\ IF c THEN x' = 1 /\ y' = v ELSE x' = 5 /\ y' = v
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == y # 6
Inductive == TypeOK /\ Inv
====
