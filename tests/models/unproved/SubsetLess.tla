---- MODULE SubsetLess ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in SUBSET {1, 2}
Init == x \in (SUBSET {1, 2}) \ {{}, {1, 2}}
A == x' \in (SUBSET x) \ {{1}}
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == x # {}
Inductive == /\ TypeOK
  /\ Inv
====
