---- MODULE PickPower ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES s
vars == <<s>>

TypeOK == s \in SUBSET {1,2,3}
Init == s = {}
A == s' \in SUBSET (s \cup {1,2})
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == s # {1,2}
Inductive == TypeOK /\ Inv
====
