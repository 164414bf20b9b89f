---- MODULE RecSet ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..2
Init == x = 0
A == x' = 2
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == [k \in {"a"} |-> x] \notin {[a |-> 2]}
Inductive == TypeOK /\ Inv
====
