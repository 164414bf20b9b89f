---- MODULE Fresh ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in SUBSET {1, 2}
Init == x = {}
A == x' \in SUBSET {1, 2, 3}
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == 3 \notin x
Inductive == /\ TypeOK
  /\ Inv
====
