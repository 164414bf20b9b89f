---- MODULE FoldConst ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Folds
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..5
Init == x = 0
A == x' = FoldSet(LAMBDA e, a : IF a = 0 THEN e ELSE a, 0, {1, 2})
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x = 0
Inductive == TypeOK /\ Inv
====
