---- MODULE DivMod ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS K
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..9
Init == x = 7
A == x' = (x \div 2) + (x % 2)
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # 2
Inductive == TypeOK /\ Inv
====
