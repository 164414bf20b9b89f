---- MODULE StringVar ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in {"a", "b"}
Init == x = "a"
A == x' = IF x = "a" THEN "b" ELSE "a"
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x = "a"
Inductive == TypeOK /\ Inv
====
