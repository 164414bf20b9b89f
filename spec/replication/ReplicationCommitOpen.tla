----------------------- MODULE ReplicationCommitOpen -----------------------
(***************************************************************************)
(* Committed records stay, on every member that may lead next: lemmas that *)
(* hold in all states of small models and are not shown to be inductive.   *)
(***************************************************************************)
EXTENDS ReplicationCommit

RestsOn == "ReplicationCoverageInductive"

Corollaries == CommitCorollaryLemmas

Inductive == LogLemmas /\ CoverageLemmas /\ CommitLemmas
=============================================================================
