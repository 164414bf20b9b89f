---- MODULE IntType ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES r
vars == <<r>>

TypeOK == r \in [type : 0..2, n : 0..1]
Init == r = [type |-> 0, n |-> 0]
A == r' = [r EXCEPT !.type = 2]
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == r.type # 2
Inductive == TypeOK /\ Inv
====
