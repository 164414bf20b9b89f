---- MODULE SetOfFun ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES s
vars == <<s>>

TypeOK == s \in SUBSET {1,2}
Init == s = {}
A(v) == s' = s \cup {v}
Z == FALSE /\ UNCHANGED vars
Next == (\E v \in {1,2} : A(v)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~({[i \in {1,2} |-> 0]} = {<<0, 0>>} /\ s = {1})
Inductive == TypeOK /\ Inv
====
