---- MODULE TupleFcn ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..1
Init == x = 0
A == UNCHANGED x
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == <<x, x>> \notin [{1, 2} -> 0..1]
Inductive == /\ TypeOK
  /\ Inv
====
