---- MODULE SubsetRange ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max, N
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in 0..9 /\ y \in BOOLEAN
Init == x = 0 /\ y = FALSE
Up == x < N /\ x' = x + 1 /\ y' = y
Out == ~({x} \subseteq 0..Max) /\ y' = TRUE /\ x' = x
Z == FALSE /\ UNCHANGED vars
Next == Up \/ Out \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~y
Inductive == TypeOK /\ Inv
====
