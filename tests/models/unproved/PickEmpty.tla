---- MODULE PickEmpty ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES s, x
vars == <<s, x>>

TypeOK == s \in SUBSET {1, 2} /\ x \in 0..2
Init == s = {} /\ x = 0
Add(v) == s' = s \cup {v} /\ x' = x
Take == \E v \in s : x' = v /\ s' = s \ {v}
Z == FALSE /\ UNCHANGED vars
Next == (\E v \in {1,2} : Add(v)) \/ Take \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x = 0
Inductive == TypeOK /\ Inv
====
