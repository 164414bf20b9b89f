---- MODULE CaseNone ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS K
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in 0..3 /\ y \in 0..1
Init == x = 0 /\ y = 0
A == y' = 1 - y /\ CASE x = 1 -> x' = 1 [] x = 2 -> x' = 2
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == y = 0
Inductive == TypeOK /\ Inv
====
