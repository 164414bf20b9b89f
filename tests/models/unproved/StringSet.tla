---- MODULE StringSet ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES x
vars == <<x>>

TypeOK == x \in SUBSET {"a", "b"}
Init == x = {}
A(v) == x' = x \cup {v}
Z == FALSE /\ UNCHANGED vars
Next == (\E v \in {"a","b"} : A(v)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # {"b", "a"}
Inductive == TypeOK /\ Inv
====
