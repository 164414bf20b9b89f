---- MODULE IfRange ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES x, c
vars == <<x, c>>

TypeOK == x \in 0..Max /\ c \in BOOLEAN
Init == x = 0 /\ c \in BOOLEAN
A == x < Max /\ x' = x + 1 /\ UNCHANGED c
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == LET R == IF c THEN 0..Max ELSE 0..1 IN x \in R
Inductive == /\ TypeOK
  /\ Inv
====
