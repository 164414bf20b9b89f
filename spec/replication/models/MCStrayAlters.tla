--------------------------- MODULE MCStrayAlters ---------------------------
(***************************************************************************)
(* StrayAlters beside MCSafety's bounds: replication as in                  *)
(* HurriedSafetyNext, and copies of an AlterPartition that arrive at any    *)
(* time, but for one: not while a fetch is under way.                       *)
(***************************************************************************)
EXTENDS StrayAlters, MCSafety

StrayAlterMCInit == MCInit /\ StrayAlterInit

Strays ==
    /\ \A f, l \in Brokers : fetch[f][l].type = "idle"
    /\ \E b \in Brokers : (HandleStrayAlter(b) /\ Within) \/ KeepProposal(b)

StrayAlterNext == (HurriedSafetyNext /\ BesideStrayAlter) \/ Strays

StrayAlterView == <<WithHistory, strayAlter, sentAgain>>
=============================================================================
