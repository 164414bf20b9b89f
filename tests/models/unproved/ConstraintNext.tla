---- MODULE ConstraintNext ----
EXTENDS Integers
CONSTANTS Max
VARIABLES x
vars == <<x>>
Capacities == {"Max"}
TypeOK == x \in 0..Max
Init == x = 0
Add == x' = x + 2
Next == Add
Spec == Init /\ [][Next]_vars
Few == x < 3
\* because
Inv == x <= 3
Inductive == /\ TypeOK
  /\ Inv
====
