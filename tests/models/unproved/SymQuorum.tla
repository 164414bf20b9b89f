---- MODULE SymQuorum ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS S, Quorums
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in S /\ y \in BOOLEAN
Init == x \in S /\ y = FALSE
A(b) == (\A q \in Quorums : b \notin q) /\ y' = TRUE /\ x' = b
Next == \E b \in S : A(b)
Spec == Init /\ [][Next]_vars

\* because
Inv == ~y
Inductive == /\ TypeOK
  /\ Inv
====
