---- MODULE NestedPick ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES s
vars == <<s>>

TypeOK == s \in SUBSET {1,2,3}
Init == s = {}
A == \E v \in {1,2,3} : \E w \in {v} : s' = s \cup {w}
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == 3 \notin s
Inductive == TypeOK /\ Inv
====
