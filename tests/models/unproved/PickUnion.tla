---- MODULE PickUnion ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES r
vars == <<r>>

TypeOK == r \in [type : {"a"}, n : 0..1] \cup [type : {"b"}, m : 0..1]
Init == r = [type |-> "a", n |-> 0]
A == r' \in [type : {"b"}, m : 0..1]
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == r.type = "b" => r.m = 0
Inductive == TypeOK /\ Inv
====
