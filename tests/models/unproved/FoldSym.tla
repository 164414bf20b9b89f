---- MODULE FoldSym ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Folds
CONSTANTS S
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in S /\ y \in BOOLEAN
Init == x \in S /\ y = FALSE
A(b) == x' = b /\ y' = (b = FoldSet(LAMBDA e, a : e, b, S))
Next == \E b \in S : A(b)
Spec == Init /\ [][Next]_vars

\* because
Inv == ~y
Inductive == /\ TypeOK
  /\ Inv
====
