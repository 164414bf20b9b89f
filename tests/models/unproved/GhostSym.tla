---- MODULE GhostSym ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS S, Last
VARIABLES x, h
vars == <<x, h>>
Ghosts == <<h>>
TypeOK == x \in S /\ h \in BOOLEAN
Init == x \in S /\ h = FALSE
A(b) == x' = b /\ h' = (b = Last)
Next == \E b \in S : A(b)
Spec == Init /\ [][Next]_vars

\* because
Inv == ~h
Inductive == /\ TypeOK
  /\ Inv
====
