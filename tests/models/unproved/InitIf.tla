---- MODULE InitIf ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in 0..2 /\ y \in BOOLEAN
Init == y \in BOOLEAN /\ IF y THEN x = 2 ELSE x = 0
A == UNCHANGED vars
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # 2
Inductive == TypeOK /\ Inv
====
