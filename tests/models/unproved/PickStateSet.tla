---- MODULE PickStateSet ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES s, x
vars == <<s, x>>

TypeOK == s \in SUBSET {1, 2, 3} /\ x \in 0..3
Init == s = {1} /\ x = 0
Add(v) == s' = s \cup {v} /\ x' = x
Take == x' \in s /\ s' = s \ {x'}
Z == FALSE /\ UNCHANGED vars
Next == (\E v \in {1,2,3} : Add(v)) \/ Take \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # 3
Inductive == TypeOK /\ Inv
====
