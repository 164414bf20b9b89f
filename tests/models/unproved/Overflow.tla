---- MODULE Overflow ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES x, bad
vars == <<x, bad>>

TypeOK == x \in 0..Max /\ bad \in BOOLEAN
Init == x = 0 /\ bad = FALSE
A == IF x + 1 \in 0..Max THEN x' = x + 1 /\ UNCHANGED bad ELSE bad' = TRUE /\ UNCHANGED x
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == ~bad
Inductive == /\ TypeOK
  /\ Inv
====
