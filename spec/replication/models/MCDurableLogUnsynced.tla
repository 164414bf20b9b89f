------------------------ MODULE MCDurableLogUnsynced ------------------------
\* A disk that brings truncated records back is no DurableLog.
EXTENDS MCUnsyncedTruncations

DiskOf(b) == INSTANCE DurableLog WITH
    up            <- Running(b),
    log           <- log[b],
    flushed       <- flushed[b],
    epochCache    <- epochCache[b],
    highWatermark <- highWatermark[b],
    checkpoint    <- checkpoint[b]
DurableLogSteps == [][\A b \in Brokers : DiskOf(b)!Next \/ UNCHANGED DiskOf(b)!vars]_vars
=============================================================================
