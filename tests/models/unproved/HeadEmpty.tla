---- MODULE HeadEmpty ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Bounded
CONSTANTS K
VARIABLES s, bad
vars == <<s, bad>>

TypeOK == s \in BoundedSeq(0..1, 2) /\ bad \in BOOLEAN
Init == s = <<>> /\ bad = FALSE
Add == Len(s) < 2 /\ s' = Append(s, 1) /\ bad' = bad
A == s # <<>> /\ Head(s) = 1 /\ s' = Tail(s) /\ bad' = TRUE
Z == FALSE /\ UNCHANGED vars
Next == Add \/ A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~bad
Inductive == TypeOK /\ Inv
====
