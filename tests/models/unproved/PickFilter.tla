---- MODULE PickFilter ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..3
Init == x = 0
A == x' \in {v \in 0..3 : v > x}
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # 3
Inductive == TypeOK /\ Inv
====
