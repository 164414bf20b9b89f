------------------------ MODULE UnsyncedTruncations ------------------------
(***************************************************************************)
(* Truncated records that come back, beside Replication, which it does not *)
(* change. FileRecords.truncateTo cuts a segment's file and does not sync   *)
(* it: after a power loss the file may be as it was before. The next flush *)
(* of the log makes the truncation safe.                                   *)
(*                                                                         *)
(* We assume: a file that was cut and written again is on disk as it was   *)
(* before the cut, or as it is after it; never the old tail behind new     *)
(* records. Of several truncations without a flush the first one's records *)
(* come back.                                                              *)
(***************************************************************************)
EXTENDS ReplicationProperties

VARIABLE uncut   \* per broker: the log before the truncation that is not safe yet, and how many of its records are on disk

uncutVars == <<vars, uncut>>

AllSafe == [cut |-> FALSE, log |-> <<>>, flushed |-> 0]

UncutTypeOK == uncut \in [Brokers -> [cut : BOOLEAN, log : Log, flushed : Offsets]]

-----------------------------------------------------------------------------
(* The safety rule. It says what goes wrong without it; Kafka lacks it. By construction: with it the module is Replication. *)

\* A truncation is on disk before the log goes on. Without it a broker restarts with records that it has truncated, under a high
\* watermark that was checkpointed since: its high watermark covers records that were never committed.
SyncTruncation(b) == Case("SyncTruncation", uncut[b].cut)

-----------------------------------------------------------------------------

UncutInit == uncut = [b \in Brokers |-> AllSafe]

\* What a step of replication does to what may come back.
NextUncut ==
    [b \in Brokers |->
        IF status'[b] # "running" \/ (flushed'[b] > flushed[b] /\ flushed'[b] = Leo(b)) THEN AllSafe
        ELSE IF Len(log'[b]) < Leo(b) /\ ~uncut[b].cut THEN [cut |-> TRUE, log |-> log[b], flushed |-> flushed[b]]
        ELSE uncut[b]]

\* The leader-epoch cache that recovery makes of a log.
CacheOf(records) ==
    FoldSeq(LAMBDA i, cache : ExtendCache(cache, records[i].epoch, i - 1), <<>>, [i \in 1..Len(records) |-> i])

\* CrashUncut   who: the nemesis
\* The machine loses its power, and a truncation with it: `keep` records of the log before it are there.
CrashUncut(b, keep) ==
    \* enabled when
    /\ Running(b) /\ uncut[b].cut /\ ~SyncTruncation(b)
    /\ uncut[b].flushed <= keep /\ keep <= Len(uncut[b].log)
    /\ EnvironmentLeavesOneIntact(b)
    \* effect
    /\ LET records == SubSeq(uncut[b].log, 1, keep) IN EndProcess(b, records, CacheOf(records), checkpoint[b], "lossy")
    /\ uncut' = [uncut EXCEPT ![b] = AllSafe]
    /\ UNCHANGED <<metadata, registered, brokerEpoch, produced>>
    /\ UNCHANGED <<committed, acked>>
    /\ reconciled' = NextReconciled(b)
=============================================================================
