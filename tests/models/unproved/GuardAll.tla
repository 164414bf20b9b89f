---- MODULE GuardAll ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in 0..Max /\ y \in BOOLEAN
Init == x = 0 /\ y = FALSE
Up == x < Max /\ x' = x + 1 /\ y' = y
Top == (\A i \in 0..Max : i <= x) /\ y' = TRUE /\ x' = x
Z == FALSE /\ UNCHANGED vars
Next == Up \/ Top \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~y
Inductive == TypeOK /\ Inv
====
