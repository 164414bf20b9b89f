---- MODULE TypesOfNone ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS S, None
VARIABLES x
vars == <<x>>

TypeOK == x \in S \cup {None}
Init == x = None
A(b) == x' = b
Z == FALSE /\ UNCHANGED vars
Next == (\E b \in S : A(b)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x \notin S
Inductive == TypeOK /\ Inv
====
