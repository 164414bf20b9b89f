-------------------------- MODULE MCIdemInductive --------------------------
(***************************************************************************)
(* The lemmas of IdempotentProducerInductive in all states of small        *)
(* models: a lemma that is wrong falls here, before a proof of it is       *)
(* sought.                                                                 *)
(***************************************************************************)
EXTENDS MCIdempotence, IdempotentProducerInductive

MCInductiveInit == MCInit /\ HistoryInit
MCInductiveNext == MCNext /\ HistoryNext
=============================================================================
