---- MODULE RestsItself ----
EXTENDS HistoryBBase
RestsOn == "RestsItself"
Inductive == TypeOK /\ HistoryTypeOK /\ Inv
====
