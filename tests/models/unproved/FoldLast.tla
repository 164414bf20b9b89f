---- MODULE FoldLast ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Folds
VARIABLES s, x
vars == <<s, x>>

TypeOK == s \in SUBSET {1,2,3} /\ x \in 0..3
Init == s = {} /\ x = 0
A(v) == s' = s \cup {v} /\ x' = FoldSet(LAMBDA e, a : e, 0, s)
Z == FALSE /\ UNCHANGED vars
Next == (\E v \in {1,2,3} : A(v)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # 3
Inductive == TypeOK /\ Inv
====
