---- MODULE NestedSide ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..4
Init == x = 0
A == (x = 0 /\ (x' = 1 \/ x' = 2)) \/ (x = 2 /\ (x' = 3 \/ x' = 4))
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # 4
Inductive == TypeOK /\ Inv
====
