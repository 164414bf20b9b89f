---- MODULE DivErr ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES x, bad
vars == <<x, bad>>
\* a
x0 == x = 0
TypeOK == x \in 0..Max /\ bad \in BOOLEAN
Init == x = 0 /\ bad = FALSE
A == x' = 1 /\ bad' = TRUE /\ [i \in 1..1 |-> 0][x] = 0
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == ~bad
Inductive == /\ TypeOK
  /\ x0
  /\ Inv
====
