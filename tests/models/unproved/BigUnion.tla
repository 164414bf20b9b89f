---- MODULE BigUnion ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES s
vars == <<s>>

TypeOK == s \in SUBSET {1,2,3}
Init == s = {1}
A == s' = UNION {{v, v + 1} : v \in s \cap {1, 2}}
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == 3 \notin s
Inductive == TypeOK /\ Inv
====
