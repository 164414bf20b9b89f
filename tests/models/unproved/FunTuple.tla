---- MODULE FunTuple ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..2
Init == x = 2
A == UNCHANGED x
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == [i \in {1, 2} |-> 0] \notin {<<0, 0>>}
Inductive == /\ TypeOK
  /\ Inv
====
