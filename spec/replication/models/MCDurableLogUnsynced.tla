------------------------ MODULE MCDurableLogUnsynced ------------------------
\* A disk that brings truncated records back is no DurableLog.
EXTENDS DurableDisks, MCUnsyncedTruncations
=============================================================================
