---- MODULE CapChoice ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..Max
Init == x = 0
A == x' = IF \E i \in 0..Max : i > x THEN x + 1 ELSE 0
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # Max
Inductive == TypeOK /\ Inv
====
