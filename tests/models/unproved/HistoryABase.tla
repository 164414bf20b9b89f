---- MODULE HistoryABase ----
EXTENDS Naturals
VARIABLES x, h
TypeOK == x \in 0..1
Init == x = 0
A == x' = 1 - x
Z == FALSE /\ UNCHANGED x
Next == A \/ Z
History == <<h>>
\* A type.
HistoryTypeOK == h \in 0..1
HistoryInit == h = 0
HistoryNext == h' = 0
Spec == Init /\ HistoryInit /\ [][Next /\ HistoryNext]_<<x, h>>
\* The claim.
Inv == h = 0

\* A false claim.
Wrong == x = 0
====
