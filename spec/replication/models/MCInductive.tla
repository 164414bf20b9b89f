---------------------------- MODULE MCInductive ----------------------------
(***************************************************************************)
(* The lemmas of ReplicationInductive in all states of small models: a     *)
(* lemma that is wrong falls here, before a proof of it is sought.         *)
(***************************************************************************)
EXTENDS MCAgree, ReplicationCommitInductive
=============================================================================
