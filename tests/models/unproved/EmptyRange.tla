---- MODULE EmptyRange ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in 0..2
Init == x = 0
A == x < 2 /\ x' = x + 1
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == [i \in 5..(3 + x) |-> 0] # <<>>
Inductive == TypeOK /\ Inv
====
