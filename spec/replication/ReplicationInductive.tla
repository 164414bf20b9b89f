------------------------ MODULE ReplicationInductive ------------------------
(***************************************************************************)
(* Logs match in runs of any length: `Inductive` holds at first, every     *)
(* action keeps it, and it implies the properties that                     *)
(* ReplicationInductive.cfg names. `tidemark prove` checks that.           *)
(***************************************************************************)
EXTENDS ReplicationHistory

Inductive == LogLemmas
=============================================================================
