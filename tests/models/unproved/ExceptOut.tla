---- MODULE ExceptOut ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES f, bad
vars == <<f, bad>>

TypeOK == f \in [{1,2} -> 0..1] /\ bad \in BOOLEAN
Init == f = [i \in {1,2} |-> 0] /\ bad = FALSE
A == LET g == [f EXCEPT ![3] = 1] IN bad' = (g = f) /\ f' = f
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~bad
Inductive == TypeOK /\ Inv
====
