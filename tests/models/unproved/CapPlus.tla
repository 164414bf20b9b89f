---- MODULE CapPlus ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in 0..Max + 1 /\ y \in BOOLEAN
Init == x = 0 /\ y = FALSE
Up == x < Max + 1 /\ x' = x + 1 /\ y' = y
Top == x + 1 \notin 0..(Max + 1) /\ y' = TRUE /\ x' = x
Z == FALSE /\ UNCHANGED vars
Next == Up \/ Top \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~y
Inductive == TypeOK /\ Inv
====
