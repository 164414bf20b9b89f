---- MODULE LenField ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES x
vars == <<x>>
\* a
l0 == x.len = -1
TypeOK == x \in [len : -1..Max]
Init == x = [len |-> -1]
A == UNCHANGED x
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == [i \in 1..x.len |-> 0] # <<>>
Inductive == /\ TypeOK
  /\ l0
  /\ Inv
====
