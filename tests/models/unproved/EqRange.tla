---- MODULE EqRange ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES f
vars == <<f>>

TypeOK == f \in [0..Max -> 0..1]
Init == f = [i \in 0..Max |-> 0]
A == UNCHANGED f
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == f # [i \in 0..3 |-> 0]
Inductive == /\ TypeOK
  /\ Inv
====
