---- MODULE SymTwo ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS S, T
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in S /\ y \in T
Init == x \in S /\ y \in T
A(b, c) == x' = b /\ y' = c
Z == FALSE /\ UNCHANGED vars
Next == (\E b \in S, c \in T : A(b, c)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # y
Inductive == TypeOK /\ Inv
====
