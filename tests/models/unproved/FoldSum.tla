---- MODULE FoldSum ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Folds
VARIABLES s
vars == <<s>>

TypeOK == s \in SUBSET {1,2,3}
Init == s = {}
A(v) == s' = s \cup {v}
Z == FALSE /\ UNCHANGED vars
Next == (\E v \in {1,2,3} : A(v)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == FoldSet(LAMBDA e, a : a + e, 0, s) < 6
Inductive == TypeOK /\ Inv
====
