---- MODULE MapSet ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS K
VARIABLES s
vars == <<s>>

TypeOK == s \in SUBSET (0..3)
Init == s = {0}
A == s' = {(v + 1) % 4 : v \in s}
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == 3 \notin s
Inductive == TypeOK /\ Inv
====
