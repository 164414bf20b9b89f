---- MODULE CardRec ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES s
vars == <<s>>

TypeOK == s \in SUBSET [a : {1, 2}]
Init == s = {}
A(v) == s' = s \cup {[a |-> v]}
Z == FALSE /\ UNCHANGED vars
Next == (\E v \in {1,2} : A(v)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == Cardinality(s) # 2
Inductive == TypeOK /\ Inv
====
