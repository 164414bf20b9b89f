----------------------- MODULE SegmentedLogProperties -----------------------
(***************************************************************************)
(* What a log on disk guarantees, while it runs, at each step, and after a *)
(* crash.                                                                  *)
(***************************************************************************)
EXTENDS SegmentedLog

\* The batch at an offset of the log, and whether the log has one there.
HasAt(o) == LET i == PlaceOf(segments, o) IN o >= segments[i].base /\ o < End(segments[i])
At(o)    == LET i == PlaceOf(segments, o) IN segments[i].batches[o - segments[i].base + 1]

\* The epoch that the cache has for an offset, -1 none.
EpochAt(o) == LatestEpoch(SelectSeq(epochCache, LAMBDA entry : entry.start <= o))

-----------------------------------------------------------------------------
(* While the log runs *)

\* Each segment begins where the one before ends, and the last one ends at the log end.
NoHole ==
    status = "running" =>
        /\ \A i \in 1..(Len(segments) - 1) : End(segments[i]) = segments[i + 1].base
        /\ End(Active) = logEnd

OffsetsInOrder ==
    status = "running" => /\ segments[1].base <= logStart /\ logStart <= highWatermark /\ highWatermark <= logEnd
                          /\ recoveryPoint <= logEnd

\* What is below the recovery point survives a power loss, and is whole.
FlushedBelowRecoveryPoint ==
    status = "running" =>
        \A i \in 1..Len(segments) : LET s == segments[i] IN s.synced >= Min(Len(s.batches), recoveryPoint - s.base)

\* No segment goes on with bytes that are no batch.
NothingTorn == status = "running" => \A i \in 1..Len(segments) : ~segments[i].torn

\* The cache knows the epoch of each record (KIP-101): where a follower and its leader look for the place at which they part. After a
\* crash the log may begin at a lower offset than it did, and the cache may not.
EpochsOfRecords == status = "running" => \A o \in Offsets : o >= Max(logStart, deleted) /\ o < logEnd /\ HasAt(o) => EpochAt(o) = At(o).epoch

\* Of each producer with a batch in the log, from its start on, its last one is known. Likewise after a crash: who was forgotten with the
\* records before a start stays so where the log begins lower again.
StateOfRecords ==
    status = "running" =>
        \A p \in Producers :
            LET mine == {o \in Offsets : o >= Max(logStart, deleted) /\ o < logEnd /\ HasAt(o) /\ (HasAt(o) => At(o).producer = p)} IN
            mine # {} => producerState[p] = At(CHOOSE o \in mine : \A x \in mine : x <= o).value

-----------------------------------------------------------------------------
(* At each step *)

\* An epoch leaves the cache with the log's end or start only, though it may have no record; or a later one begins where it began.
EpochsStay ==
    [][status = "running" /\ status' = "running" /\ logEnd' >= logEnd /\ logStart' = logStart =>
        \A i \in 1..Len(epochCache) : \E j \in 1..Len(epochCache') :
            epochCache'[j].start = epochCache[i].start /\ epochCache'[j].epoch >= epochCache[i].epoch]_vars

\* A consumer reads what was committed when it asked, and no more.
ReadsBelowHw == [][\A end \in Offsets : EndRead(end) => end <= reading.end]_vars

\* A load brings back what the process before had below its recovery point.
FlushedSurvives ==
    [][status = "loading" /\ status' = "running" =>
        \A o \in Offsets : o < safe /\ o >= logStart' /\ record[o] # 0 => record'[o] = record[o]]_vars

\* A load brings back nothing but what was there: the records of the log, or those that it had truncated.
NothingInvented ==
    [][status = "loading" /\ status' = "running" =>
        \A o \in Offsets : record'[o] \in {0, record[o]} \/ record'[o] \in truncated[o]]_vars

\* The recovery point falls by truncation and with the process only.
RecoveryPointRises == [][status = "running" /\ status' = "running" /\ ~truncating' /\ ~MoveLog => recoveryPoint' >= recoveryPoint]_vars
=============================================================================
