---- MODULE OneSided ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in 0..1 /\ y \in 0..1
Init == x = 0 /\ y = 0
A == (IF x = 0 THEN x' = 1 /\ y' = 1 ELSE x' = 0) /\ y' = 1
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == y = 0
Inductive == TypeOK /\ Inv
====
