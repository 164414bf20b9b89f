---- MODULE SymProp ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS S, Last
VARIABLES x
vars == <<x>>

TypeOK == x \in S
Init == x \in S
A(b) == x' = b
Next == \E b \in S : A(b)
Spec == Init /\ [][Next]_vars
NeverLast == [][x' = x \/ x' # Last]_vars
\* because
Inv == x \in S
Inductive == /\ TypeOK
  /\ Inv
====
