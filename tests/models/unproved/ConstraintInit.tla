---- MODULE ConstraintInit ----
EXTENDS Integers
CONSTANTS Max
VARIABLES x
vars == <<x>>
Capacities == {"Max"}
TypeOK == x \in 0..Max
Init == x \in {0, 7}
Add == x' = x + 1
Next == Add
Spec == Init /\ [][Next]_vars
Few == x < 3
\* because
Inv == x <= 3
Inductive == /\ TypeOK
  /\ Inv
====
