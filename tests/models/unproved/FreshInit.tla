---- MODULE FreshInit ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in SUBSET {1, 2}
Init == x \in SUBSET {1, 2, 3}
A == UNCHANGED x
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == 3 \notin x
Inductive == /\ TypeOK
  /\ Inv
====
