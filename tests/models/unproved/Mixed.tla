---- MODULE Mixed ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS None, Max
VARIABLES x, c
vars == <<x, c>>
\* a
x0 == x = 0
TypeOK == x \in 0..Max /\ c \in BOOLEAN
Init == x = 0 /\ c \in BOOLEAN
A == UNCHANGED vars
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == c => (IF c THEN x ELSE None) = None
Inductive == /\ TypeOK
  /\ x0
  /\ Inv
====
