---- MODULE InitPick ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS S
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in S /\ y \in S
Init == (\E b \in S : x = b) /\ (\E b \in S : y = b)
A == UNCHANGED vars
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == x = y
Inductive == /\ TypeOK
  /\ Inv
====
