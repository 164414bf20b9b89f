---------------------------- MODULE SegmentedLog ----------------------------
(***************************************************************************)
(* The log of one partition in the directory of one broker, as files       *)
(* (Kafka 4.x: UnifiedLog, LocalLog, LogLoader, LogManager).               *)
(*                                                                         *)
(* Modelled: segments, and what of each is safe on disk; roll, and flush   *)
(* as a task of the background; the recovery point, high watermark and     *)
(* start offset with their checkpoints; the leader-epoch cache and its     *)
(* file; snapshots of producer state; retention and DeleteRecords;         *)
(* truncation, which nobody syncs; the clean marker; a process that is     *)
(* killed, a machine that loses power; load and recovery.                  *)
(* KIPs: 101, 107, 279; KAFKA-10471, 15375, 16541.                         *)
(*                                                                         *)
(* Left out: bytes and indexes, time, compaction (LogCleaner), tiered      *)
(* storage, disks that fail. docs/protocols/log.md: why, and what it could *)
(* hide. The files that `code:` names below are to come.                   *)
(*                                                                         *)
(* Read in this order: VARIABLES, the rules, the actions from AppendBatch  *)
(* to LoadLog, then SegmentedLogProperties.                                *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds

CONSTANTS
    Producers,    \* the idempotent producers that write
    None,         \* no producer has written a record
    MaxOffset,    \* capacity: the log end offset
    MaxEpoch,     \* capacity: leader epochs
    MaxSegments,  \* capacity: segments
    MaxValue,     \* capacity: appended batches; each has its own value
    Without       \* the safety rules that are not in force

VARIABLES
    \* the process
    status,         \* running, loading, down, or dark: the power is gone, and it is open what the disk has
    logEnd,         \* the log end offset
    logStart,       \* the log start offset
    highWatermark,
    recoveryPoint,  \* the records below it are safe on disk
    epochCache,     \* leader epochs with their start offsets
    producerState,  \* per producer: the value of its last batch, 0 none
    scheduled,      \* flushes that the background has still to do: each up to an offset
    flushed,        \* flushes whose files are safe, and which have not raised the recovery point yet
    truncating,     \* the log was truncated, and the recovery point is not checkpointed yet
    loadsClean,     \* the process found the clean marker when it began to load
    recovered,      \* the segment behind which recovery drops the others; 0: none so far
    reading,        \* a fetch of the active segment: the offset at which its slice ends, and whether that is the file's end
    \* the disk
    segments,       \* the files of the log as the operating system shows them
    snapshots,      \* per offset: the snapshot of the producers' state there
    epochFile,      \* leader-epoch-checkpoint
    epochFileSafe,  \* its content was synced before it got its name
    checkpoints,    \* the high watermark, the recovery point and the start offset in their files
    cleanMarker,    \* .kafka_cleanshutdown is there
    appended,       \* how many batches were appended
    \* history, never part of a trace
    record,         \* per offset: the value of the batch that the log has or had there, 0 none
    truncated,      \* per offset: the values of the batches that were truncated there
    safe,           \* the recovery point of the last process that ran
    deleted         \* the highest start offset that the log has had since it was truncated

processVars == <<status, logEnd, logStart, highWatermark, recoveryPoint, epochCache, producerState, scheduled, flushed, truncating,
                 loadsClean, recovered, reading>>
diskVars    == <<segments, snapshots, epochFile, epochFileSafe, checkpoints, cleanMarker, appended>>
vars == <<status, logEnd, logStart, highWatermark, recoveryPoint, epochCache, producerState, scheduled, flushed, truncating, loadsClean,
          recovered, reading, segments, snapshots, epochFile, epochFileSafe, checkpoints, cleanMarker, appended, record, truncated, safe, deleted>>

Ghosts == <<record, truncated, safe, deleted>>

-----------------------------------------------------------------------------
(* Types. The bounds are a trace's capacities. *)

Offsets    == 0..MaxOffset
Epochs     == 0..MaxEpoch
Values     == 1..MaxValue
ValueOrNone == 0..MaxValue
Batch      == [epoch : Epochs, value : Values, producer : Producers \cup {None}]
EpochCache == BoundedSeq([epoch : Epochs, start : Offsets], MaxEpoch + 1)
State      == [Producers -> ValueOrNone]

\* A segment's file: its batches, each of one offset. After a power loss the first `synced` of them are there for sure. Behind these the
\* disk may still have what a truncation has cut off. torn: the file goes on behind its batches with bytes that are no batch.
Segment == [base : Offsets, batches : BoundedSeq(Batch, MaxOffset), synced : Offsets, cut : BoundedSeq(Batch, MaxOffset),
            torn : BOOLEAN]

Snapshot == [there : BOOLEAN, state : State, synced : BOOLEAN]

TypeOK ==
    /\ status \in {"running", "loading", "down", "dark"}
    /\ logEnd \in Offsets
    /\ logStart \in Offsets
    /\ highWatermark \in Offsets
    /\ recoveryPoint \in Offsets
    /\ epochCache \in EpochCache
    /\ producerState \in State
    /\ scheduled \in SUBSET Offsets
    /\ flushed \in SUBSET Offsets
    /\ truncating \in BOOLEAN
    /\ loadsClean \in BOOLEAN
    /\ recovered \in 0..MaxSegments
    /\ reading \in [end : -1..MaxOffset, whole : BOOLEAN]
    /\ segments \in BoundedSeq(Segment, MaxSegments)
    /\ snapshots \in [Offsets -> Snapshot]
    /\ epochFile \in EpochCache
    /\ epochFileSafe \in BOOLEAN
    /\ checkpoints \in [hw : Offsets, recovery : Offsets, start : Offsets]
    /\ cleanMarker \in BOOLEAN
    /\ appended \in ValueOrNone
    /\ record \in [Offsets -> ValueOrNone]
    /\ truncated \in [Offsets -> SUBSET Values]
    /\ safe \in Offsets
    /\ deleted \in Offsets

-----------------------------------------------------------------------------
(* Vocabulary *)

Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b

Running     == status = "running" /\ ~truncating
End(s)      == s.base + Len(s.batches)
Active      == segments[Len(segments)]
LatestEpoch(cache) == IF cache = <<>> THEN -1 ELSE cache[Len(cache)].epoch

NewSegment(base) == [base |-> base, batches |-> <<>>, synced |-> 0, cut |-> <<>>, torn |-> FALSE]
NoState    == [p \in Producers |-> 0]
NotReading == [end |-> -1, whole |-> FALSE]
NoSnapshot == [there |-> FALSE, state |-> NoState, synced |-> FALSE]
SnapshotOf(state, synced) == [there |-> TRUE, state |-> state, synced |-> synced]

\* The producers' state behind these batches.
Replay(state, batches) ==
    FoldSeq(LAMBDA b, known : IF b.producer = None THEN known ELSE [known EXCEPT ![b.producer] = b.value], state, batches)

\* The snapshots once producer state was loaded: those within the log, and one at its end, unless it is empty.
SnapshotsOfLog(start, end, state) ==
    [o \in Offsets |-> IF o <= start \/ o > end THEN NoSnapshot
                       ELSE IF o = end /\ ~snapshots[o].there THEN SnapshotOf(state, TRUE)
                       ELSE snapshots[o]]

\* The batches of these segments from one offset up to another.
BatchesOf(some, from, to) ==
    FoldSeq(LAMBDA s, all : LET first == Max(1, from - s.base + 1) IN all \o SubSeq(s.batches, first, Min(Len(s.batches), to - s.base)),
            <<>>, some)

\* LeaderEpochFileCache: an epoch that begins at an offset, and the entries that a truncation leaves. From the start the last entry at or
\* below the offset moves there.
Assigned(cache, e, offset) ==
    IF cache # <<>> /\ e = LatestEpoch(cache) THEN cache
    ELSE Append(SelectSeq(cache, LAMBDA entry : entry.epoch < e /\ entry.start < offset), [epoch |-> e, start |-> offset])
TrimmedToEnd(cache, end) == SelectSeq(cache, LAMBDA entry : entry.start < end)
TrimmedFromStart(cache, start) ==
    LET before == Cardinality({i \in 1..Len(cache) : cache[i].start <= start})
    IN  IF before = 0 THEN cache
        ELSE <<[epoch |-> cache[before].epoch, start |-> start]>> \o SubSeq(cache, before + 1, Len(cache))

\* The epochs of the records of these segments.
CacheOf(some) ==
    FoldSeq(LAMBDA s, known : FoldSeq(LAMBDA i, cache : Assigned(cache, s.batches[i].epoch, s.base + i - 1), known,
                                      [i \in 1..Len(s.batches) |-> i]),
            <<>>, some)

\* The place of the segment that holds an offset: the last one that begins at or below it, or the first one (LogSegments.values).
PlaceOf(some, offset) == Max(1, Cardinality({i \in 1..Len(some) : some[i].base <= offset}))

Synced(s) == [s EXCEPT !.synced = Len(s.batches), !.cut = <<>>]
Settled(s) == s.synced = Len(s.batches) /\ s.cut = <<>>
AllSettled == \A i \in 1..Len(segments) : Settled(segments[i])
\* The recovery point of a log that ends there (LocalLog.updateLogEndOffset).
Below(end) == Min(recoveryPoint, end)
\* The first segment of which it is open what the disk has.
Open == CHOOSE i \in 1..Len(segments) : ~Settled(segments[i]) /\ \A j \in 1..(i - 1) : Settled(segments[j])

-----------------------------------------------------------------------------
(* The safety rules. Each says what goes wrong without it; a model of its name has the schedule. *)

\* The constants that only bound a trace; every other limit of TypeOK means something.
Capacities == {"MaxOffset", "MaxEpoch", "MaxSegments", "MaxValue"}

Has(rule) == rule \notin Without

\* A guard answers "may this go ahead", and without its rule everything may. A case answers "does this case arise", and without
\* its rule it never does.
Guard(rule, may)   == Has(rule) => may
Case(rule, arises) == Has(rule) /\ arises

\* KAFKA-7866. Without it a batch is in the file, the index behind it fails, and the next batch gets the same offset.
EndMovesWithAppend(moved) == Guard("EndMovesWithAppend", moved)

\* KAFKA-9835. Without it the file's size is read again when the slice is made: what was appended meanwhile is sent, too.
SizeReadOnce == Case("SizeReadOnce", reading.whole)

\* KAFKA-5634. Without it retention takes what is not committed, and the start offset passes the high watermark.
DeleteBelowHw(end) == Guard("DeleteBelowHw", end <= highWatermark)

\* Without it recovery believes the checkpointed recovery point though the log was cut below it and written again.
RecoveryPointFollowsTruncation(end) == Case("RecoveryPointFollowsTruncation", recoveryPoint > end)

\* This project's repair; Kafka 4.x lacks it. Without it a flush that a truncation has overtaken raises the recovery point over records
\* that are not on disk. Their own flush is skipped then, being below it.
ForgetFlushesAtTruncation(end) == Case("ForgetFlushesAtTruncation", \E o \in scheduled \cup flushed : o > end)

\* This project's repair; Kafka 4.x lacks it (KAFKA-15046). Without it the file has epochs that a truncation has removed from memory.
\* Records of an older epoch may pass their start before the file is written. After a crash the load takes these for the removed epoch.
EpochFileFollowsTruncation(cache, written) == Case("EpochFileFollowsTruncation", cache # written)

\* This project's repair; Kafka 4.x lacks it. Without it the disk may have what was cut off, and the epoch cache knows nothing of it.
SyncTruncation(s, offset) == Case("SyncTruncation", offset < End(s))

\* KAFKA-16541. Without it the file is renamed before it is synced, and a power loss leaves an empty one. Recovery reads the records
\* behind the recovery point only, and the epochs of those before are unknown.
SyncEpochFile(synced) == Guard("SyncEpochFile", synced)

\* KAFKA-15375. Without it a process that is stopped while it loads leaves the marker, and the next load recovers nothing.
LoadedBeforeMarker == Guard("LoadedBeforeMarker", loadsClean)

\* Without it recovery cuts a torn segment, goes on with the next one, and a hole is left.
DropBehindTorn(i) == Case("DropBehindTorn", i < Len(segments))

\* KAFKA-20961, open in Kafka. Without it a log that was moved to another directory has the epochs of its records only.
CopyEpochs == Case("CopyEpochs", epochCache # CacheOf(segments))

\* This project's repair; Kafka 4.x lacks it. Without it the file goes on saying a recovery point behind the end of the log that was
\* loaded. What is appended up to there is not read by the next recovery.
LowerCheckpointAtLoad(end) == Case("LowerCheckpointAtLoad", checkpoints.recovery > end)

\* This project's repair; Kafka 4.x lacks it. Without it a segment that has lost whole batches at its end, and no part of one, leaves a
\* hole before the next segment. So does a process that ends when recovery has cut a torn segment and has not dropped the next one.
\* The rule is for logs that are not compacted: compaction leaves such holes.
DropBehindHole(end, base) == Case("DropBehindHole", end # base)

\* Producer state is that of the log that was recovered. Without it a snapshot behind the end is believed.
SnapshotWithinLog(offset, end) == Guard("SnapshotWithinLog", offset <= end)

Rules == {"EndMovesWithAppend", "SizeReadOnce", "CopyEpochs", "DeleteBelowHw", "RecoveryPointFollowsTruncation", "ForgetFlushesAtTruncation",
          "EpochFileFollowsTruncation", "SyncTruncation", "SyncEpochFile", "LoadedBeforeMarker", "DropBehindTorn",
          "DropBehindHole", "LowerCheckpointAtLoad", "SnapshotWithinLog"}

\* Actions that only a flaw takes: nothing comes back of what was cut off and synced.
FlawActions == {"BringBack"}

\* The baseline of Kafka 4.x: what it ships without.
KafkaAsShipped == {"CopyEpochs", "ForgetFlushesAtTruncation", "EpochFileFollowsTruncation", "SyncTruncation", "DropBehindHole",
                   "LowerCheckpointAtLoad"}

-----------------------------------------------------------------------------
(* History *)

NextTruncated(from, to) ==
    [o \in Offsets |-> IF o >= from /\ o < to /\ record[o] # 0 THEN truncated[o] \cup {record[o]} ELSE truncated[o]]
NextRecord(o, value) == [record EXCEPT ![o] = value]
RecordBelow(end) == [o \in Offsets |-> IF o < end THEN record[o] ELSE 0]

-----------------------------------------------------------------------------
(* Init: an empty log, and a process that has loaded it. *)

Init ==
    /\ status = "running"
    /\ logEnd = 0
    /\ logStart = 0
    /\ highWatermark = 0
    /\ recoveryPoint = 0
    /\ epochCache = <<>>
    /\ producerState = NoState
    /\ scheduled = {}
    /\ flushed = {}
    /\ truncating = FALSE
    /\ loadsClean = FALSE
    /\ recovered = 0
    /\ segments = <<NewSegment(0)>>
    /\ snapshots = [o \in Offsets |-> NoSnapshot]
    /\ epochFile = <<>>
    /\ checkpoints = [hw |-> 0, recovery |-> 0, start |-> 0]
    /\ cleanMarker = FALSE
    /\ epochFileSafe = TRUE
    /\ reading = NotReading
    /\ appended = 0
    /\ record = [o \in Offsets |-> 0]
    /\ truncated = [o \in Offsets |-> {}]
    /\ safe = 0
    /\ deleted = 0

-----------------------------------------------------------------------------
(* The log *)

\* AppendBatch   who: leader or follower   code: log/unified_log.py (append_as_leader)
\* A batch of leader epoch e, which is none below those of the log: replication sees to that. The cache is written before, if the
\* epoch is new.
AppendBatch(e, p) ==
    LET batch == [epoch |-> e, value |-> appended + 1, producer |-> p]
        cache == Assigned(epochCache, e, logEnd) IN
    \* enabled when
    /\ Running /\ e >= LatestEpoch(epochCache)
    /\ \A i \in 1..Len(segments) : \A j \in 1..Len(segments[i].batches) : e >= segments[i].batches[j].epoch
    \* effect
    /\ segments' = [segments EXCEPT ![Len(segments)].batches = Append(@, batch)]
    /\ epochCache' = cache
    /\ epochFile' = IF cache # epochCache THEN cache ELSE epochFile
    /\ epochFileSafe' = (cache # epochCache \/ epochFileSafe)
    /\ producerState' = Replay(producerState, <<batch>>)
    /\ logEnd' = logEnd + 1
    /\ recoveryPoint' = Below(logEnd')
    /\ appended' = appended + 1
    /\ UNCHANGED <<status, logStart, highWatermark, scheduled, flushed, truncating, loadsClean, recovered, reading>>
    /\ UNCHANGED <<snapshots, checkpoints, cleanMarker>>
    /\ record' = NextRecord(logEnd, appended + 1)
    /\ UNCHANGED <<truncated, deleted>>
    /\ safe' = Below(logEnd')

\* AssignEpoch   who: a new leader   code: log/unified_log.py (maybe_assign_epoch_start_offset)
AssignEpoch(e) ==
    LET cache == Assigned(epochCache, e, logEnd) IN
    \* enabled when
    /\ Running /\ e > LatestEpoch(epochCache)
    \* effect
    /\ epochCache' = cache
    /\ epochFile' = cache
    /\ epochFileSafe' = TRUE
    /\ UNCHANGED <<status, logEnd, logStart, highWatermark, recoveryPoint, producerState, scheduled, flushed, truncating, loadsClean, recovered, reading>>
    /\ UNCHANGED <<segments, snapshots, checkpoints, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* RollSegment   who: the log, before an append   code: log/unified_log.py (roll)
\* The active segment is full. A snapshot is written and not synced; the background will flush up to here. A file of that name may not
\* be there: after an append that has not moved the end it is.
RollSegment ==
    \* enabled when
    /\ Running /\ Active.batches # <<>> /\ logEnd > Active.base
    \* effect
    /\ segments' = Append(segments, NewSegment(logEnd))
    /\ recoveryPoint' = Below(logEnd)
    /\ snapshots' = [snapshots EXCEPT ![logEnd] = IF @.there THEN @ ELSE SnapshotOf(producerState, FALSE)]
    /\ scheduled' = scheduled \cup {logEnd}
    /\ UNCHANGED <<status, logEnd, logStart, highWatermark, epochCache, producerState, flushed, truncating, loadsClean, recovered, reading>>
    /\ UNCHANGED <<epochFile, epochFileSafe, checkpoints, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, deleted>>
    /\ safe' = Below(logEnd)

\* ScheduleFlush   who: the log   code: log/unified_log.py (schedule_flush)
\* flush.ms or flush.messages: all of the log.
ScheduleFlush ==
    \* enabled when
    /\ Running /\ logEnd > recoveryPoint /\ logEnd \notin scheduled
    \* effect
    /\ scheduled' = scheduled \cup {logEnd}
    /\ UNCHANGED <<status, logEnd, logStart, highWatermark, recoveryPoint, epochCache, producerState, flushed, truncating, loadsClean, recovered, reading>>
    /\ UNCHANGED <<segments, snapshots, epochFile, epochFileSafe, checkpoints, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* SyncFiles   who: the background   code: log/unified_log.py (sync_files)
\* The segments from the recovery point up to the offset are synced, without the log's lock. A flush below the recovery point is none.
SyncFiles(o) ==
    LET from == PlaceOf(segments, recoveryPoint) IN
    \* enabled when
    /\ status = "running" /\ o \in scheduled
    \* effect
    /\ scheduled' = scheduled \ {o}
    /\ snapshots' = [snapshots EXCEPT ![o].synced = @ \/ snapshots[o].there]
    /\ segments' = IF o <= recoveryPoint THEN segments
                   ELSE [i \in 1..Len(segments) |-> IF i >= from /\ segments[i].base < o THEN Synced(segments[i]) ELSE segments[i]]
    /\ flushed' = IF o <= recoveryPoint THEN flushed ELSE flushed \cup {o}
    /\ UNCHANGED <<status, logEnd, logStart, highWatermark, recoveryPoint, epochCache, producerState, truncating, loadsClean, recovered, reading>>
    /\ UNCHANGED <<epochFile, epochFileSafe, checkpoints, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* RaiseRecoveryPoint   who: the background   code: log/unified_log.py (raise_recovery_point)
RaiseRecoveryPoint(o) ==
    \* enabled when
    /\ status = "running" /\ o \in flushed
    \* effect
    /\ flushed' = flushed \ {o}
    /\ recoveryPoint' = Max(recoveryPoint, o)
    /\ UNCHANGED <<status, logEnd, logStart, highWatermark, epochCache, producerState, scheduled, truncating, loadsClean, recovered, reading>>
    /\ UNCHANGED <<segments, snapshots, epochFile, epochFileSafe, checkpoints, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, deleted>>
    /\ safe' = Max(recoveryPoint, o)

\* UpdateHighWatermark   who: leader or follower   code: log/unified_log.py (update_high_watermark)
\* A follower's may fall: it takes that of its leader.
UpdateHighWatermark(hw) ==
    \* enabled when
    /\ Running /\ hw # highWatermark /\ logStart <= hw /\ hw <= logEnd
    \* effect
    /\ highWatermark' = hw
    /\ UNCHANGED <<status, logEnd, logStart, recoveryPoint, epochCache, producerState, scheduled, flushed, truncating, loadsClean, recovered, reading>>
    /\ UNCHANGED <<segments, snapshots, epochFile, epochFileSafe, checkpoints, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* DeleteRecords   who: an administrator, and followers after the leader   code: log/unified_log.py (increment_log_start_offset)
DeleteRecords(start) ==
    \* enabled when
    /\ Running /\ logStart < start /\ start <= highWatermark
    \* effect
    /\ logStart' = start
    /\ epochCache' = TrimmedFromStart(epochCache, start)
    /\ UNCHANGED <<status, logEnd, highWatermark, recoveryPoint, producerState, scheduled, flushed, truncating, loadsClean, recovered, reading>>
    /\ UNCHANGED <<segments, snapshots, epochFile, epochFileSafe, checkpoints, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe>>
    /\ deleted' = Max(deleted, start)

\* DeleteOldestSegment   who: retention   code: log/unified_log.py (delete_oldest_segment)
\* By size, time or start offset. The active segment stays: retention rolls it before.
DeleteOldestSegment ==
    \* enabled when
    /\ Running /\ Len(segments) > 1
    /\ DeleteBelowHw(End(segments[1]))
    \* effect
    /\ segments' = Tail(segments)
    /\ logStart' = Max(logStart, segments[2].base)
    /\ epochCache' = TrimmedFromStart(epochCache, Max(logStart, segments[2].base))
    /\ snapshots' = [snapshots EXCEPT ![segments[1].base] = NoSnapshot]
    /\ UNCHANGED <<status, logEnd, highWatermark, recoveryPoint, producerState, scheduled, flushed, truncating, loadsClean, recovered, reading>>
    /\ UNCHANGED <<epochFile, epochFileSafe, checkpoints, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe>>
    /\ deleted' = Max(deleted, segments[2].base)

\* CheckpointHighWatermark   who: the background   code: log/log_manager.py (checkpoint_high_watermarks)
CheckpointHighWatermark ==
    \* enabled when
    /\ status = "running" /\ checkpoints.hw # highWatermark
    \* effect
    /\ checkpoints' = [checkpoints EXCEPT !.hw = highWatermark]
    /\ UNCHANGED processVars
    /\ UNCHANGED <<segments, snapshots, epochFile, epochFileSafe, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* CheckpointRecoveryPoint   who: the background   code: log/log_manager.py (checkpoint_recovery_points)
CheckpointRecoveryPoint ==
    \* enabled when
    /\ Running /\ checkpoints.recovery # recoveryPoint
    \* effect
    /\ checkpoints' = [checkpoints EXCEPT !.recovery = recoveryPoint]
    /\ UNCHANGED processVars
    /\ UNCHANGED <<segments, snapshots, epochFile, epochFileSafe, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* CheckpointLogStart   who: the background   code: log/log_manager.py (checkpoint_log_starts)
\* Only a start offset within a segment is written.
CheckpointLogStart ==
    LET start == IF logStart > segments[1].base THEN logStart ELSE 0 IN
    \* enabled when
    /\ status = "running" /\ checkpoints.start # start
    \* effect
    /\ checkpoints' = [checkpoints EXCEPT !.start = start]
    /\ UNCHANGED processVars
    /\ UNCHANGED <<segments, snapshots, epochFile, epochFileSafe, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* WriteEpochFile   who: the background   code: log/unified_log.py (write_epoch_file)
WriteEpochFile(synced) ==
    \* enabled when
    /\ status = "running" /\ epochFile # epochCache
    /\ SyncEpochFile(synced)
    \* effect
    /\ epochFile' = epochCache
    /\ epochFileSafe' = synced
    /\ UNCHANGED processVars
    /\ UNCHANGED <<segments, snapshots, checkpoints, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* FailIndex   who: leader or follower   code: log/unified_log.py (append_as_leader)
\* A marker is in the file, and its entry in the index of transactions cannot be written.
FailIndex(e, moved) ==
    \* enabled when
    /\ Running /\ e = LatestEpoch(epochCache)
    /\ EndMovesWithAppend(moved)
    \* effect
    /\ segments' = [segments EXCEPT ![Len(segments)].batches = Append(@, [epoch |-> e, value |-> appended + 1, producer |-> None])]
    /\ logEnd' = IF moved THEN logEnd + 1 ELSE logEnd
    /\ recoveryPoint' = Below(logEnd')
    /\ appended' = appended + 1
    /\ UNCHANGED <<status, logStart, highWatermark, epochCache, producerState, scheduled, flushed, truncating>>
    /\ UNCHANGED <<loadsClean, recovered, reading, snapshots, epochFile, epochFileSafe, checkpoints, cleanMarker>>
    /\ record' = NextRecord(logEnd, appended + 1)
    /\ UNCHANGED <<truncated, deleted>>
    /\ safe' = Below(logEnd')

\* BeginRead   who: consumer   code: log/unified_log.py (begin_read)
\* The slice of the file ends at the high watermark, or with the file.
BeginRead ==
    \* enabled when
    /\ Running /\ reading = NotReading /\ highWatermark > Active.base
    \* effect
    /\ reading' = [end |-> highWatermark, whole |-> highWatermark = logEnd]
    /\ UNCHANGED <<status, logEnd, logStart, highWatermark, recoveryPoint, epochCache, producerState, scheduled, flushed, truncating>>
    /\ UNCHANGED <<loadsClean, recovered>>
    /\ UNCHANGED diskVars
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* EndRead   who: consumer   code: log/unified_log.py (end_read)
\* Batches up to the offset are sent.
EndRead(end) ==
    \* enabled when
    /\ Running /\ reading # NotReading
    /\ end = IF SizeReadOnce \/ ~reading.whole THEN reading.end ELSE logEnd
    \* effect
    /\ reading' = NotReading
    /\ UNCHANGED <<status, logEnd, logStart, highWatermark, recoveryPoint, epochCache, producerState, scheduled, flushed, truncating>>
    /\ UNCHANGED <<loadsClean, recovered>>
    /\ UNCHANGED diskVars
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* MoveLog   who: an administrator   code: log/log_manager.py (replace_current_with_future_log)
\* The log is in another directory now: its copy has caught up. Of the copy nothing was synced.
MoveLog ==
    \* enabled when
    /\ Running /\ segments[1].base = logStart
    \* effect
    /\ segments' = [i \in 1..Len(segments) |-> [segments[i] EXCEPT !.synced = 0, !.cut = <<>>]]
    /\ recoveryPoint' = logStart
    /\ checkpoints' = [checkpoints EXCEPT !.recovery = logStart]
    /\ epochCache' = IF CopyEpochs THEN epochCache ELSE CacheOf(segments)
    /\ epochFile' = IF CopyEpochs THEN epochCache ELSE CacheOf(segments)
    /\ epochFileSafe' = TRUE
    /\ scheduled' = {}
    /\ flushed' = {}
    /\ reading' = NotReading
    /\ snapshots' = [o \in Offsets |-> [snapshots[o] EXCEPT !.synced = FALSE]]
    /\ UNCHANGED <<status, logEnd, logStart, highWatermark, producerState, truncating, loadsClean, recovered>>
    /\ UNCHANGED <<cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, deleted>>
    /\ safe' = logStart

-----------------------------------------------------------------------------
(* Truncation *)

\* The file of a segment that is cut at an offset. What was safe behind it may come back until the file is synced.
CutAt(s, offset) ==
    LET kept == Min(offset - s.base, Len(s.batches)) IN
    [s EXCEPT !.batches = SubSeq(s.batches, 1, kept), !.synced = IF SyncTruncation(s, offset) THEN kept ELSE Min(kept, s.synced),
              !.cut = IF SyncTruncation(s, offset) THEN <<>>
                      ELSE IF s.cut # <<>> /\ kept >= s.synced THEN s.cut ELSE SubSeq(s.batches, kept + 1, s.synced) \o s.cut]

\* The log after a truncation: what of the background goes on.
AfterTruncation(end) ==
    /\ recoveryPoint' = IF RecoveryPointFollowsTruncation(end) THEN end ELSE recoveryPoint
    /\ scheduled' = IF ForgetFlushesAtTruncation(end) THEN {o \in scheduled : o <= end} ELSE scheduled
    /\ flushed' = IF ForgetFlushesAtTruncation(end) THEN {o \in flushed : o <= end} ELSE flushed

\* TruncateTo   who: follower   code: log/unified_log.py (truncate_to)
\* Segments behind the offset are deleted, the one that holds it is cut, and producer state is loaded anew.
TruncateTo(end) ==
    LET kept   == SelectSeq(segments, LAMBDA s : s.base <= end)
        files  == [kept EXCEPT ![Len(kept)] = CutAt(@, end)]
        start  == Min(logStart, end)
        cache  == TrimmedToEnd(epochCache, end)
        usable == {o \in Offsets : snapshots[o].there /\ o <= end /\ o > start}
        newest == IF usable = {} THEN start ELSE CHOOSE o \in usable : \A x \in usable : x <= o
        state  == Replay(IF usable = {} THEN NoState ELSE snapshots[newest].state, BatchesOf(files, newest, end)) IN
    \* enabled when
    /\ Running /\ end < logEnd /\ segments[1].base <= end
    \* effect
    /\ segments' = files
    /\ AfterTruncation(end)
    /\ epochCache' = cache
    /\ epochFile' = IF EpochFileFollowsTruncation(cache, epochFile) THEN cache ELSE epochFile
    /\ epochFileSafe' = (EpochFileFollowsTruncation(cache, epochFile) \/ epochFileSafe)
    /\ producerState' = state
    /\ snapshots' = SnapshotsOfLog(start, end, state)
    /\ logEnd' = end
    /\ logStart' = start
    /\ highWatermark' = Min(highWatermark, end)
    /\ truncating' = TRUE
    /\ UNCHANGED <<status, loadsClean, recovered, reading>>
    /\ UNCHANGED <<checkpoints, cleanMarker, appended>>
    /\ record' = RecordBelow(end)
    /\ truncated' = NextTruncated(end, logEnd)
    /\ safe' = Min(safe, end)
    /\ deleted' = Min(deleted, end)

\* TruncateFully   who: follower   code: log/unified_log.py (truncate_fully_and_start_at)
\* The leader's log begins elsewhere: all segments are deleted, and the log is empty and begins at the offset. The file of epochs is
\* cleared at once.
TruncateFully(start) ==
    \* enabled when
    /\ Running /\ (start > logEnd \/ start < segments[1].base)
    \* effect
    /\ segments' = <<NewSegment(start)>>
    /\ AfterTruncation(start)
    /\ epochCache' = <<>>
    /\ epochFile' = <<>>
    /\ epochFileSafe' = TRUE
    /\ producerState' = NoState
    /\ snapshots' = [o \in Offsets |-> IF o = start /\ start > 0 THEN SnapshotOf(NoState, TRUE) ELSE NoSnapshot]
    /\ logEnd' = start
    /\ logStart' = start
    /\ highWatermark' = start
    /\ truncating' = TRUE
    /\ UNCHANGED <<status, loadsClean, recovered, reading>>
    /\ UNCHANGED <<checkpoints, cleanMarker, appended>>
    /\ record' = [o \in Offsets |-> 0]
    /\ truncated' = NextTruncated(0, logEnd)
    /\ safe' = Min(safe, start)
    /\ deleted' = start

\* CheckpointTruncation   who: follower   code: log/log_manager.py (checkpoint_truncation)
CheckpointTruncation ==
    \* enabled when
    /\ status = "running" /\ truncating
    \* effect
    /\ truncating' = FALSE
    /\ checkpoints' = [checkpoints EXCEPT !.recovery = recoveryPoint]
    /\ UNCHANGED <<status, logEnd, logStart, highWatermark, recoveryPoint, epochCache, producerState, scheduled, flushed, loadsClean, recovered, reading>>
    /\ UNCHANGED <<segments, snapshots, epochFile, epochFileSafe, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

-----------------------------------------------------------------------------
(* The end of a process *)

\* What the process knew is gone.
Ended(next) ==
    /\ status' = next
    /\ logEnd' = 0
    /\ logStart' = 0
    /\ highWatermark' = 0
    /\ recoveryPoint' = 0
    /\ epochCache' = <<>>
    /\ producerState' = NoState
    /\ scheduled' = {}
    /\ flushed' = {}
    /\ truncating' = FALSE
    /\ loadsClean' = FALSE
    /\ recovered' = 0
    /\ reading' = NotReading

\* ShutDown   who: the broker   code: log/log_manager.py (shutdown)
\* All is flushed and checkpointed before the marker is written.
ShutDown ==
    \* enabled when
    /\ Running
    \* effect
    /\ Ended("down")
    /\ segments' = [i \in 1..Len(segments) |-> Synced(segments[i])]
    /\ snapshots' = [o \in Offsets |-> IF snapshots[o].there THEN [snapshots[o] EXCEPT !.synced = TRUE]
                                       ELSE IF o = logEnd /\ logEnd > logStart THEN SnapshotOf(producerState, TRUE)
                                       ELSE NoSnapshot]
    /\ epochFile' = epochCache
    /\ epochFileSafe' = TRUE
    /\ checkpoints' = [hw |-> highWatermark, recovery |-> logEnd, start |-> IF logStart > segments[1].base THEN logStart ELSE 0]
    /\ cleanMarker' = TRUE
    /\ UNCHANGED appended
    /\ UNCHANGED <<record, truncated, deleted>>
    /\ safe' = logEnd

\* Kill   who: the nemesis   code: log/sim/cluster.py (kill)
\* The process ends; what it has written is there.
Kill ==
    \* enabled when
    /\ status \in {"running", "loading"}
    \* effect
    /\ Ended("down")
    /\ UNCHANGED diskVars
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* StopLoading   who: the broker   code: log/log_manager.py (shutdown)
\* It is asked to stop while it loads.
StopLoading ==
    \* enabled when
    /\ status = "loading"
    \* effect
    /\ Ended("down")
    /\ cleanMarker' = LoadedBeforeMarker
    /\ UNCHANGED <<segments, snapshots, epochFile, epochFileSafe, checkpoints, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* LosePower   who: the nemesis   code: log/sim/disk.py (lose_power)
\* Snapshots that were not synced may be gone, and what was in a checkpoint that was renamed before.
LosePower(unsynced) ==
    \* enabled when
    /\ status # "dark"
    \* effect
    /\ Ended("dark")
    /\ snapshots' = IF unsynced THEN [o \in Offsets |-> IF snapshots[o].synced THEN snapshots[o] ELSE NoSnapshot]
                  ELSE [o \in Offsets |-> [snapshots[o] EXCEPT !.synced = snapshots[o].there]]
    /\ epochFile' = IF unsynced /\ ~epochFileSafe THEN <<>> ELSE epochFile
    /\ epochFileSafe' = TRUE
    /\ UNCHANGED <<segments, checkpoints, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* Settle   who: the disk   code: log/sim/disk.py (settle)
\* The first segment that was not synced has kept so many batches, and perhaps a part of the next one.
Settle(kept, torn) ==
    \* enabled when
    /\ status = "dark" /\ ~AllSettled
    /\ ~AllSettled => LET s == segments[Open] IN s.synced <= kept /\ kept <= Len(s.batches) /\ (torn => kept < Len(s.batches))
    \* effect
    /\ segments' = [segments EXCEPT ![Open].batches = SubSeq(@, 1, kept), ![Open].synced = kept, ![Open].cut = <<>>, ![Open].torn = torn]
    /\ UNCHANGED processVars
    /\ UNCHANGED <<snapshots, epochFile, epochFileSafe, checkpoints, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* BringBack   who: the disk   code: log/sim/disk.py (bring_back)
\* The first segment that was not synced is as it was before it was cut, with so many of the batches that were cut off.
BringBack(many) ==
    LET s   == segments[Open]
        all == SubSeq(s.batches, 1, s.synced) \o SubSeq(s.cut, 1, many) IN
    \* enabled when
    /\ status = "dark" /\ ~AllSettled
    /\ ~AllSettled => 0 < many /\ many <= Len(s.cut)
    \* effect
    /\ segments' = [segments EXCEPT ![Open] = [s EXCEPT !.batches = all, !.synced = Len(all), !.cut = <<>>]]
    /\ UNCHANGED processVars
    /\ UNCHANGED <<snapshots, epochFile, epochFileSafe, checkpoints, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

-----------------------------------------------------------------------------
(* Load *)

\* BeginLoad   who: the broker   code: log/log_manager.py (LogManager)
\* The marker goes before the load begins (KAFKA-10471).
BeginLoad ==
    \* enabled when
    /\ status \in {"down", "dark"} /\ (status = "dark" => AllSettled)
    \* effect
    /\ status' = "loading"
    /\ loadsClean' = cleanMarker
    /\ cleanMarker' = FALSE
    /\ UNCHANGED <<logEnd, logStart, highWatermark, recoveryPoint, epochCache, producerState, scheduled, flushed, truncating, recovered, reading>>
    /\ UNCHANGED <<segments, snapshots, epochFile, epochFileSafe, checkpoints, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* The segments that recovery reads: from the recovery point on, and none after a clean shutdown.
Unflushed == IF loadsClean THEN {} ELSE PlaceOf(segments, checkpoints.recovery)..Len(segments)

\* How many segments recovery keeps: it ends where it has cut one, or at a hole.
Kept ==
    LET ends == {i \in Unflushed : i < Len(segments) /\ (i < Len(segments) => DropBehindHole(End(segments[i]), segments[i + 1].base))}
                \cup ({recovered} \ {0})
    IN  IF ends = {} THEN Len(segments) ELSE CHOOSE i \in ends : \A x \in ends : i <= x

\* The segments that the load leaves.
Recovered ==
    LET kept == SubSeq(segments, 1, Kept)
    IN  IF End(kept[Kept]) < checkpoints.start THEN <<NewSegment(checkpoints.start)>> ELSE kept

\* The epoch cache of the file, with the epochs that recovery has met in the records.
RecoveredEpochs ==
    LET read == IF loadsClean THEN <<>> ELSE SubSeq(segments, PlaceOf(segments, checkpoints.recovery), Kept)
        meet(s, cache) ==
            FoldSeq(LAMBDA i, known : IF s.batches[i].epoch > LatestEpoch(known) THEN Assigned(known, s.batches[i].epoch, s.base + i - 1)
                              ELSE known,
                    cache, [i \in 1..Len(s.batches) |-> i])
    IN  FoldSeq(meet, epochFile, read)

\* CutTornSegment   who: the broker   code: log/log_loader.py (step)
\* Recovery has read the segments before, and this one up to bytes that are no batch. It cuts these off.
CutTornSegment(i) ==
    \* enabled when
    /\ status = "loading" /\ recovered = 0 /\ i \in Unflushed /\ i <= Kept
    /\ i \in Unflushed => segments[i].torn
    /\ \A j \in Unflushed : j < i => ~segments[j].torn
    \* effect
    /\ segments' = [segments EXCEPT ![i].torn = FALSE]
    /\ recovered' = IF DropBehindTorn(i) THEN i ELSE 0
    /\ UNCHANGED <<status, logEnd, logStart, highWatermark, recoveryPoint, epochCache, producerState, scheduled, flushed, truncating>>
    /\ UNCHANGED <<loadsClean, reading, snapshots, epochFile, epochFileSafe, checkpoints, cleanMarker, appended>>
    /\ UNCHANGED <<record, truncated, safe, deleted>>

\* LoadLog   who: the broker   code: log/log_manager.py (finish_load)
LoadLog ==
    LET end    == End(Recovered[Len(Recovered)])
        lost   == end = checkpoints.start /\ End(segments[Kept]) < checkpoints.start
        start  == Max(checkpoints.start, Recovered[1].base)
        epochs == IF lost THEN <<>> ELSE RecoveredEpochs
        cache  == TrimmedFromStart(TrimmedToEnd(epochs, end), checkpoints.start)
        usable == {o \in Offsets : snapshots[o].there /\ o > start /\ SnapshotWithinLog(o, end)}
        newest == IF usable = {} THEN start ELSE CHOOSE o \in usable : \A x \in usable : x <= o
        state  == IF usable # {} THEN Replay(snapshots[newest].state, BatchesOf(Recovered, newest, end))
                  ELSE IF loadsClean /\ \A o \in Offsets : ~snapshots[o].there THEN NoState
                  ELSE Replay(NoState, BatchesOf(Recovered, start, end)) IN
    \* enabled when
    /\ status = "loading"
    /\ \A i \in Unflushed : i <= Kept => ~segments[i].torn
    \* effect
    /\ status' = "running"
    /\ segments' = Recovered
    /\ logEnd' = end
    /\ logStart' = start
    /\ highWatermark' = Max(start, Min(checkpoints.hw, end))
    /\ recoveryPoint' = IF loadsClean /\ ~lost THEN end ELSE Min(checkpoints.recovery, end)
    /\ epochCache' = cache
    /\ epochFile' = IF EpochFileFollowsTruncation(cache, epochs) THEN cache ELSE epochs
    /\ epochFileSafe' = TRUE
    /\ producerState' = state
    /\ snapshots' = SnapshotsOfLog(start, end, state)
    /\ loadsClean' = FALSE
    /\ recovered' = 0
    /\ cleanMarker' = FALSE
    /\ checkpoints' = IF LowerCheckpointAtLoad(end) THEN [checkpoints EXCEPT !.recovery = end] ELSE checkpoints
    /\ UNCHANGED <<scheduled, flushed, truncating, reading, appended>>
    /\ record' = [o \in Offsets |-> IF o < start THEN record[o]
                                    ELSE IF o < end
                                    THEN LET i == PlaceOf(Recovered, o) IN
                                         IF o < End(Recovered[i]) THEN Recovered[i].batches[o - Recovered[i].base + 1].value ELSE 0
                                    ELSE 0]
    /\ truncated' = NextTruncated(end, MaxOffset)
    /\ safe' = IF loadsClean /\ ~lost THEN end ELSE Min(checkpoints.recovery, end)
    /\ deleted' = Min(Max(deleted, start), end)

-----------------------------------------------------------------------------
Next ==
    \/ \E e \in Epochs, p \in Producers \cup {None} : AppendBatch(e, p)
    \/ \E e \in Epochs : AssignEpoch(e)
    \/ RollSegment
    \/ ScheduleFlush
    \/ \E o \in Offsets : SyncFiles(o)
    \/ \E o \in Offsets : RaiseRecoveryPoint(o)
    \/ \E hw \in Offsets : UpdateHighWatermark(hw)
    \/ \E start \in Offsets : DeleteRecords(start)
    \/ DeleteOldestSegment
    \/ CheckpointHighWatermark
    \/ CheckpointRecoveryPoint
    \/ CheckpointLogStart
    \/ \E synced \in BOOLEAN : WriteEpochFile(synced)
    \/ \E e \in Epochs, moved \in BOOLEAN : FailIndex(e, moved)
    \/ MoveLog
    \/ BeginRead
    \/ \E end \in Offsets : EndRead(end)
    \/ \E end \in Offsets : TruncateTo(end)
    \/ \E start \in Offsets : TruncateFully(start)
    \/ CheckpointTruncation
    \/ ShutDown
    \/ Kill
    \/ StopLoading
    \/ \E unsynced \in BOOLEAN : LosePower(unsynced)
    \/ \E kept \in Offsets, torn \in BOOLEAN : Settle(kept, torn)
    \/ \E many \in Offsets : BringBack(many)
    \/ BeginLoad
    \/ \E i \in 1..MaxSegments : CutTornSegment(i)
    \/ LoadLog

Spec == Init /\ [][Next]_vars
=============================================================================
