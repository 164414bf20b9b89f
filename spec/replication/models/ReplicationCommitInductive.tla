--------------------- MODULE ReplicationCommitInductive ---------------------
(***************************************************************************)
(* Committed records stay, on every member that may lead next. The file of *)
(* its cores says which conditions are open: it is no proof while one is.  *)
(***************************************************************************)
EXTENDS ReplicationCommit

RestsOn == "ReplicationCoverageInductive"

Inductive == LogLemmas /\ CoverageLemmas /\ CommitLemmas
=============================================================================
