---- MODULE CaseStep ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..3
Init == x = 0
A == CASE x = 0 -> x' = 1 [] x = 1 -> x' = 3 [] OTHER -> x' = x
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # 3
Inductive == TypeOK /\ Inv
====
