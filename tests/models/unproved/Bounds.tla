---- MODULE Bounds ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS K
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..3
Init == x = 0
A == (\A i \in 0..1 : x' = 2) /\ x' > 0
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x = 0
Inductive == TypeOK /\ Inv
====
