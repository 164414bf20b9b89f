---- MODULE SymPair ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS S
VARIABLES x, y, bad
vars == <<x, y, bad>>

TypeOK == x \in S /\ y \in S /\ bad \in BOOLEAN
Init == x \in S /\ y \in S /\ bad = FALSE
A(b, c) == x' = b /\ y' = c /\ bad' = (b = c)
Z == FALSE /\ UNCHANGED vars
Next == (\E b \in S, c \in S : A(b, c)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~bad
Inductive == TypeOK /\ Inv
====
