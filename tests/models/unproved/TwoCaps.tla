---- MODULE TwoCaps ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS A, B
VARIABLES f, g, y
vars == <<f, g, y>>

TypeOK == f \in [1..A -> 0..1] /\ g \in [1..B -> 0..1] /\ y \in BOOLEAN
Init == f = [i \in 1..A |-> 0] /\ g = [i \in 1..B |-> 0] /\ y = FALSE
Q == f # g /\ y' = TRUE /\ f' = f /\ g' = g
Z == FALSE /\ UNCHANGED vars
Next == Q \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~y
Inductive == TypeOK /\ Inv
====
