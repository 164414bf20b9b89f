---- MODULE CardState ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES s, t
vars == <<s, t>>

TypeOK == s \in SUBSET {1, 2} /\ t \in SUBSET {1, 2}
Init == s = {} /\ t = {}
A(v) == s' = s \cup {v} /\ t' = t
B(v) == t' = t \cup {v} /\ s' = s
Z == FALSE /\ UNCHANGED vars
Next == (\E v \in {1,2} : A(v)) \/ (\E v \in {1,2} : B(v)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == Cardinality(s \cap t) = Cardinality(s) \/ Cardinality({<<a, b>> \in s \X t : a # b}) >= 0 => Cardinality(s) < 2
Inductive == TypeOK /\ Inv
====
