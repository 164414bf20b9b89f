---- MODULE TypeLimit ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..Max
Init == x = 0
Up == x' = x + 1
Z == FALSE /\ UNCHANGED vars
Next == Up \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x \in 0..Max
Inductive == TypeOK /\ Inv
====
