---- MODULE CapValue ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES x, z
vars == <<x, z>>

TypeOK == x \in 0..Max /\ z \in BOOLEAN
Init == x = 0 /\ z = FALSE
A == x' = Max /\ z' = z
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x > 0 => \E i \in 0..x : i > 6
Inductive == TypeOK /\ Inv
====
