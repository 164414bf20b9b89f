---- MODULE CorollaryRange ----
EXTENDS Naturals
CONSTANTS Max
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..Max
Init == x = 0
Up == x < Max /\ x' = x + 1
Next == Up
Spec == Init /\ [][Next]_vars

\* In the range to Max, the condition is false. Without end, it is true.
Begins == IF \E i \in 0..Max : i > Max THEN x = 0 ELSE TRUE
Corollaries == Begins

\* The claim.
Inv == x <= 1
Inductive == TypeOK /\ Inv
====
