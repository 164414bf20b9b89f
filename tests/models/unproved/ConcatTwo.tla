---- MODULE ConcatTwo ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Bounded
CONSTANTS K
VARIABLES s
vars == <<s>>

TypeOK == s \in BoundedSeq(0..1, 4)
Init == s = <<0>>
A == Len(s) <= 2 /\ s' = s \o s
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == Len(s) < 4
Inductive == TypeOK /\ Inv
====
