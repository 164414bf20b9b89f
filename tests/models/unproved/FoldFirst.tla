---- MODULE FoldFirst ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Folds
CONSTANTS S, None
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in S /\ y \in BOOLEAN
Init == x \in S /\ y = FALSE
A(b) == x' = b /\ y' = (b = FoldSet(LAMBDA e, a : IF a = None THEN e ELSE a, None, S))
Z == FALSE /\ UNCHANGED vars
Next == (\E b \in S : A(b)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~y
Inductive == TypeOK /\ Inv
====
