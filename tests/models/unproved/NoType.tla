---- MODULE NoType ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x, bad
vars == <<x, bad>>
\* a
Inv2 == bad \in BOOLEAN
TypeOK == x \in SUBSET {1, 2} /\ bad \in BOOLEAN
Init == x = {} /\ bad = FALSE
A == x' = x \cup {3} /\ UNCHANGED bad
B == 3 \in x /\ bad' = TRUE /\ UNCHANGED x
Next == A \/ B
Spec == Init /\ [][Next]_vars

\* because
Inv == ~bad
Inductive == /\ Inv
  /\ Inv2
====
