---- MODULE NoneValue ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS S, None, s2v
VARIABLES x
vars == <<x>>

TypeOK == x \in {None} \cup S
Init == x = None
A(b) == x' = b
Z == FALSE /\ UNCHANGED vars
Next == (\E b \in S : A(b)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # s2v
Inductive == TypeOK /\ Inv
====
