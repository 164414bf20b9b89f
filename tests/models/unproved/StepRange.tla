---- MODULE StepRange ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..Max
Init == x = 0
A == x < Max /\ x' = x + 1
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
Step == [][x' + 1 \in 0..Max]_vars
\* The claim.
Inv == x >= 0
Inductive == TypeOK /\ Inv
====
