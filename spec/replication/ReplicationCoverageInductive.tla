-------------------- MODULE ReplicationCoverageInductive --------------------
(***************************************************************************)
(* A leader covers all that may lead next, and the followers that it has   *)
(* counted are prefixes of its log, in runs of any length.                 *)
(***************************************************************************)
EXTENDS ReplicationCoverage

RestsOn == "ReplicationInductive"

Inductive == LogLemmas /\ CoverageLemmas
=============================================================================
