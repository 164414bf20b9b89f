---- MODULE HistoryOther ----
EXTENDS HistoryABase
Inductive == TypeOK /\ HistoryTypeOK /\ Inv /\ Wrong
====
