---- MODULE FoldUnion ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Folds
VARIABLES s
vars == <<s>>

TypeOK == s \in SUBSET {1, 2, 3}
Init == s = {1, 2}
A == s' = FoldSet(LAMBDA e, a : a \cup {e + 1}, s, s)
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == 3 \notin s
Inductive == TypeOK /\ Inv
====
