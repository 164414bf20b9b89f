---- MODULE SymFun ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS S, F
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in S /\ y \in BOOLEAN
Init == x \in S /\ y = FALSE
A(b) == x' = b /\ y' = (b \in F)
Z == FALSE /\ UNCHANGED vars
Next == (\E b \in S : A(b)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~y
Inductive == TypeOK /\ Inv
====
