---- MODULE RecUnion ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES v, bad
vars == <<v, bad>>

TypeOK == v \in [a : 0..Max] \cup [b : 0..Max] /\ bad \in BOOLEAN
Init == v = [a |-> 0] /\ bad = FALSE
A == bad' = TRUE /\ UNCHANGED v
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == ~bad
Inductive == /\ TypeOK
  /\ Inv
====
