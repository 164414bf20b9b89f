---- MODULE ChooseState ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x, s
vars == <<x, s>>

TypeOK == x \in 0..2 /\ s \in SUBSET {1,2}
Init == x = 0 /\ s = {}
Grow(v) == s' = s \cup {v} /\ x' = x
Pick == s # {} /\ x' = (CHOOSE v \in s : TRUE) /\ s' = s
Z == FALSE /\ UNCHANGED vars
Next == (\E v \in {1,2} : Grow(v)) \/ Pick \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # 1
Inductive == TypeOK /\ Inv
====
