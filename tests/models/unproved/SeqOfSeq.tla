---- MODULE SeqOfSeq ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Bounded
VARIABLES s
vars == <<s>>

TypeOK == s \in BoundedSeq(BoundedSeq({0, 1}, 2), 2)
Init == s = <<>>
A == Len(s) < 2 /\ s' = Append(s, <<1, 0>>)
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == Len(s) = 2 => s[2][1] = 0
Inductive == TypeOK /\ Inv
====
