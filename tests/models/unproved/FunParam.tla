---- MODULE FunParam ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in [1..2 -> 0..2]
Init == x = [i \in 1..2 |-> 0]
A(f) == /\ f[1] # f[2]
        /\ x' = IF x[1] = 0 THEN [i \in 1..2 |-> f[3 - i]] ELSE x
Next == \E f \in [1..2 -> 0..2] : A(f)
Spec == Init /\ [][Next]_vars

\* because
Inv == x[1] <= x[2]
Inductive == /\ TypeOK
  /\ Inv
====
