---- MODULE RecField ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS K
VARIABLES r
vars == <<r>>

TypeOK == r \in [len : 0..2, type : {"t", "u"}]
Init == r = [len |-> 0, type |-> "t"]
A == r' = [r EXCEPT !.len = 2, !.type = "u"]
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == r.len = 2 => r.type = "t"
Inductive == TypeOK /\ Inv
====
