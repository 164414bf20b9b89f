---- MODULE HCore2 ----
EXTENDS Naturals
VARIABLES x, h
vars == <<x>>
History == <<h>>
TypeOK == x \in 0..1
HistoryTypeOK == h \in 0..1
Init == x = 0
HistoryInit == h = 0
HistoryNext == h' = 0
A == x' = 0
Next == A
B == x' = 1
Spec == Init /\ HistoryInit /\ [][(A \/ B) /\ HistoryNext]_<<vars, History>>
\* because
HT == h \in 0..1
\* because
Inv == x = 0
Inductive == TypeOK /\ HT /\ Inv
====
