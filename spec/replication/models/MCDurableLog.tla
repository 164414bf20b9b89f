---------------------------- MODULE MCDurableLog ----------------------------
(***************************************************************************)
(* The disk of each broker is a DurableLog, which the files of a partition *)
(* refine (spec/log). So is the replication of files that of logs.         *)
(***************************************************************************)
EXTENDS MCReplication

DiskOf(b) == INSTANCE DurableLog WITH
    up            <- Running(b),
    log           <- log[b],
    flushed       <- flushed[b],
    epochCache    <- epochCache[b],
    highWatermark <- highWatermark[b],
    checkpoint    <- checkpoint[b]
DurableLogInit  == \A b \in Brokers : DiskOf(b)!Init
DurableLogSteps == [][\A b \in Brokers : DiskOf(b)!Next \/ UNCHANGED DiskOf(b)!vars]_vars
DurableLogRefined == DurableLogInit /\ DurableLogSteps
=============================================================================
