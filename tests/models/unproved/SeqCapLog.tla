---- MODULE SeqCapLog ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Bounded
CONSTANTS Max
VARIABLES s, n
vars == <<s, n>>

TypeOK == s \in BoundedSeq(0..1, Max) /\ n \in 0..Max
Init == s = <<>> /\ n = 0
Add == Len(s) < Max /\ s' = Append(s, 1) /\ n' = n
Cnt == n' = Cardinality({i \in 1..Len(s) : s[i] = 1}) /\ s' = s
Z == FALSE /\ UNCHANGED vars
Next == Add \/ Cnt \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == n < 2
Inductive == TypeOK /\ Inv
====
