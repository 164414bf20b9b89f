---- MODULE SubSeqCut ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Bounded
CONSTANTS Max
VARIABLES s, n
vars == <<s, n>>

TypeOK == s \in BoundedSeq(0..1, 3) /\ n \in 0..Max
Init == s = <<0, 1, 1>> /\ n = 0
Up == n < Max /\ n' = n + 1 /\ s' = s
Cut == n <= Len(s) /\ s' = SubSeq(s, 1, n) /\ n' = n
Z == FALSE /\ UNCHANGED vars
Next == Up \/ Cut \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == Len(s) # 2
Inductive == TypeOK /\ Inv
====
