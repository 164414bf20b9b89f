---- MODULE CapSeqFull ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Bounded
CONSTANTS Max
VARIABLES s, y
vars == <<s, y>>

TypeOK == s \in BoundedSeq(0..1, Max) /\ y \in BOOLEAN
Init == s = <<>> /\ y = FALSE
Add == Len(s) < Max /\ s' = Append(s, 0) /\ y' = y
Full == s \notin BoundedSeq(0..1, Max - 1) /\ y' = TRUE /\ s' = s
Z == FALSE /\ UNCHANGED vars
Next == Add \/ Full \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~y
Inductive == TypeOK /\ Inv
====
