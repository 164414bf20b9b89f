---- MODULE FalseBranch ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x, y
vars == <<x, y>>

TypeOK == x \in 0..2 /\ y \in 0..2
Init == x = 0 /\ y = 0
A == (x' = 1 /\ y' = 0) \/ (y' = 2 /\ x' = 2) \/ (x' = 0 /\ y' = 1)
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == y # 2
Inductive == TypeOK /\ Inv
====
