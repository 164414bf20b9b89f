---- MODULE LiftMix ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..Max
Init == x = 0
A == x < Max /\ x' = x + 1
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == \E i \in 0..Max : i > x - 0
Inductive == /\ TypeOK
  /\ Inv
====
