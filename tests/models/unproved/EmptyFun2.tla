---- MODULE EmptyFun2 ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES x
vars == <<x>>
\* a
x0 == x = 0
TypeOK == x \in 0..Max
Init == x = 0
A == UNCHANGED x
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == [i \in 0..x |-> 0] = <<>>
Inductive == /\ TypeOK
  /\ x0
  /\ Inv
====
