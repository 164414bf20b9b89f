--------------------- MODULE ReplicationCommitInductive ---------------------
(***************************************************************************)
(* Committed records stay, on every member that may lead next, in runs of  *)
(* any length.                                                             *)
(***************************************************************************)
EXTENDS ReplicationCommit

RestsOn == "ReplicationCoverageInductive"

Corollaries == CommitCorollaryLemmas

Inductive == LogLemmas /\ CoverageLemmas /\ CommitLemmas
=============================================================================
