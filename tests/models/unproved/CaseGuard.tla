---- MODULE CaseGuard ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS K
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..3
Init == x = 0
A == (CASE x = 0 -> TRUE [] x = 1 -> FALSE [] OTHER -> TRUE) /\ x' = x + 2 /\ x < 2
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # 2
Inductive == TypeOK /\ Inv
====
