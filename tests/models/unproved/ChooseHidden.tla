---- MODULE ChooseHidden ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..2
Init == x = 0
A == x' = IF \E v \in {1,2} : v = CHOOSE w \in {1,2} : w > x THEN 2 ELSE 1
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # 2
Inductive == TypeOK /\ Inv
====
