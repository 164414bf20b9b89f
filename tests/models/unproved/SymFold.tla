---- MODULE SymFold ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Folds
CONSTANTS S
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in S /\ y \in 0..7
Init == x \in S /\ y = 0
A(b) == x' = b /\ y' = FoldSet(LAMBDA e, a : IF e = b THEN a + 1 ELSE 2 * a, 0, S)
Z == FALSE /\ UNCHANGED vars
Next == (\E b \in S : A(b)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == y < 4
Inductive == TypeOK /\ Inv
====
