---- MODULE NatAtom ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS None
VARIABLES x
vars == <<x>>

TypeOK == x \in {None}
Init == x = None
A == UNCHANGED x
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == x \in Nat
Inductive == /\ TypeOK
  /\ Inv
====
