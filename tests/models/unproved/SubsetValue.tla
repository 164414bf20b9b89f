---- MODULE SubsetValue ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in SUBSET {1, 2, 3}
Init == x = {}
A(v) == x' = x \cup {v}
Next == \E v \in {1, 2} : A(v)
Spec == Init /\ [][Next]_vars

\* because
Inv == \A S \in SUBSET x : Cardinality(S) < 2
Inductive == /\ TypeOK
  /\ Inv
====
