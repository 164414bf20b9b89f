---- MODULE FreshFun ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES f
vars == <<f>>

TypeOK == f \in [{1, 2} -> BOOLEAN]
Init == f = [i \in {1, 2} |-> FALSE]
A == f' \in [{1, 2, 3} -> BOOLEAN]
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == DOMAIN f = {1, 2}
Inductive == /\ TypeOK
  /\ Inv
====
