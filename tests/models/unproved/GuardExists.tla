---- MODULE GuardExists ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in 0..Max /\ y \in BOOLEAN
Init == x = 0 /\ y = FALSE
Up == x < Max /\ x' = x + 1 /\ y' = y
Q == (\E i \in 0..Max : i = x /\ i > 1) /\ y' = TRUE /\ x' = x
Z == FALSE /\ UNCHANGED vars
Next == Up \/ Q \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~y
Inductive == TypeOK /\ Inv
====
