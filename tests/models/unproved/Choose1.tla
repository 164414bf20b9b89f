---- MODULE Choose1 ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..1
Init == x = 0
A == x = 0 /\ x' = CHOOSE v \in {1, 2} : v > 0
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == x = 0
Inductive == /\ TypeOK
  /\ Inv
====
