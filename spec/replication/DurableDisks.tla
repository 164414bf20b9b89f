---------------------------- MODULE DurableDisks ----------------------------
(***************************************************************************)
(* The disk of each broker is a DurableLog, as the files of a partition    *)
(* are (spec/log). DurableLog.tla says what does not follow from that.     *)
(***************************************************************************)
EXTENDS ReplicationProperties

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
