---- MODULE HeadTail ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Bounded
VARIABLES s
vars == <<s>>

TypeOK == s \in BoundedSeq({0, 1, 2}, 3)
Init == s = <<0, 1, 2>>
A == s # <<>> /\ s' = Tail(s)
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == s # <<>> => Head(s) # 2
Inductive == TypeOK /\ Inv
====
