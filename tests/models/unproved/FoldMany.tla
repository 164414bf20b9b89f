---- MODULE FoldMany ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Folds
VARIABLES s, x
vars == <<s, x>>

TypeOK == s \in SUBSET {1, 2, 3, 4, 5} /\ x \in 0..5
Init == s = {} /\ x = 0
Add(v) == s' = s \cup {v} /\ x' = x
A == s' = s /\ x' = Cardinality(FoldSet(LAMBDA e, a : IF a = {} THEN {e} ELSE a, {}, s))
Z == FALSE /\ UNCHANGED vars
Next == (\E v \in {1,2,3,4,5} : Add(v)) \/ A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x = 0
Inductive == TypeOK /\ Inv
====
