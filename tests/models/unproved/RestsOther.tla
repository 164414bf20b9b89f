---- MODULE RestsOther ----
EXTENDS HistoryBBase
RestsOn == "HistoryOther"
Inductive == TypeOK /\ HistoryTypeOK /\ Inv
====
