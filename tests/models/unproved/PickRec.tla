---- MODULE PickRec ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES r
vars == <<r>>

TypeOK == r \in [a : 0..2, b : BOOLEAN]
Init == r = [a |-> 0, b |-> FALSE]
A == r' \in [a : 0..2, b : BOOLEAN]
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~(r.b /\ r.a = 2)
Inductive == TypeOK /\ Inv
====
