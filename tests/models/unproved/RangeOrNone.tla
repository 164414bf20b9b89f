---- MODULE RangeOrNone ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..3
Init == x = 0
A == x' = IF \E i \in (IF x > 1 THEN {} ELSE x..2) : i = 2 THEN x + 1 ELSE x
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == x < 2
Inductive == /\ TypeOK
  /\ Inv
====
