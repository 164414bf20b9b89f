-------------------- MODULE IdempotentProducerInductive --------------------
(***************************************************************************)
(* Each batch at most once and in order, in runs of any length:            *)
(* `Inductive` holds at first, every action keeps it, and it implies the   *)
(* properties that IdempotentProducerInductive.cfg names.                  *)
(* `tidemark prove` checks that.                                           *)
(***************************************************************************)
EXTENDS IdempotentProducerHistory

Inductive == ProducerLemmas

Corollaries ==
    /\ RememberedIsLatest
    /\ AcceptedIsLater
    /\ AcceptedLateIsLater
    /\ LatestIsLast
=============================================================================
