---------------------- MODULE MCConsumerGroupInductive ----------------------
(***************************************************************************)
(* The lemmas of ConsumerGroup848Inductive in all states of small models:  *)
(* a lemma that is wrong falls here, before a proof of it is sought.       *)
(***************************************************************************)
EXTENDS MCConsumerGroup, ConsumerGroup848Inductive

MCInductiveInit == MCInit /\ HistoryInit
MCInductiveNext == MCNext /\ HistoryNext
=============================================================================
