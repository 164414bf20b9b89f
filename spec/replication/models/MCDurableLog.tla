---------------------------- MODULE MCDurableLog ----------------------------
\* The disks of replication.
EXTENDS DurableDisks, MCReplication
=============================================================================
