---- MODULE InitPower ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES s
vars == <<s>>

TypeOK == s \in SUBSET {1,2}
Init == s \in SUBSET {1,2}
A == UNCHANGED s
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == s # {1,2}
Inductive == TypeOK /\ Inv
====
