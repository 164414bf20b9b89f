----------------------- MODULE TransactionsProperties -----------------------
(***************************************************************************)
(* What transactions must never do: state properties (INVARIANT), step     *)
(* properties (PROPERTY [][...]_vars), and what holds once faults have     *)
(* stopped and everything has settled (Quiescent...), which stands in for  *)
(* liveness on traces. TransactionsProperties.cfg is the audit's.          *)
(***************************************************************************)
EXTENDS Transactions

-----------------------------------------------------------------------------
(* Readers *)

\* The decision on the record at place i of a partition: the first marker of its producer behind it.
Decision(p, i) ==
    LET markers == {j \in (i + 1)..Len(log[p]) : log[p][j].pid = log[p][i].pid /\ log[p][j].type = "marker"} IN
    IF markers = {} THEN "none" ELSE log[p][MinOf(markers)].result

Data(p) == {i \in 1..Len(log[p]) : log[p][i].type = "data"}
TransactionAt(p, i) == IF log[p][i].type = "data" THEN log[p][i].transaction ELSE 0

\* The marker that decides the record at place i is replicated.
DecidedForGood(p, i) ==
    \E j \in (i + 1)..highWatermark[p] :
        j <= Len(log[p]) => log[p][j].type = "marker" /\ log[p][j].pid = log[p][i].pid

\* The partitions that batches go to; TxnOffsetCommits go to the others.
DataPartitions == {p \in Partitions : ~IsOffsets(p)}

\* The last transaction that wrote in a partition and was committed there.
LastCommitted(p) ==
    LET committed == {i \in Data(p) : Decision(p, i) = "COMMIT"} IN
    IF committed = {} THEN 0 ELSE TransactionAt(p, MaxOf(committed))

\* The places of the records that a read_committed reader of the whole partition gets.
ReadCommitted(p) ==
    {i \in Data(p) :
        /\ i <= lastStableOffset[p]
        /\ \A a \in 1..Len(abortedIndex[p]) :
            LET aborted == abortedIndex[p][a] IN
            ~(aborted.pid = log[p][i].pid /\ aborted.first < i /\ i <= aborted.last + 1)}

-----------------------------------------------------------------------------
(* States *)

\* A transaction has one outcome, in all partitions and for all of its records.
OneOutcome ==
    \A p, q \in Partitions : \A i \in Data(p), j \in Data(q) :
        TransactionAt(p, i) = TransactionAt(q, j) =>
            Decision(p, i) = "none" \/ Decision(q, j) = "none" \/ Decision(p, i) = Decision(q, j)

\* A transaction's decision is the one that its client was told.
ToldIsSo ==
    \A p \in Partitions : \A i \in Data(p) :
        Decision(p, i) # "none" => told[TransactionAt(p, i)] \in {"none", Decision(p, i)}

\* A reader of committed records gets those that are, and stay, committed: no undecided one, none whose marker may be lost, and
\* no aborted one; and it gets all of them below the last stable offset.
ReadsCommitted ==
    \A p \in Partitions : \A i \in Data(p) :
        i <= lastStableOffset[p] =>
            /\ Decision(p, i) # "none"
            /\ (i \in ReadCommitted(p)) = (Decision(p, i) = "COMMIT")
            /\ DecidedForGood(p, i)

\* The records that consumers have returned. Read_committed: only records that are and stay committed, and
\* every one that was passed. Read_uncommitted: every record that was passed, and none that may be lost.
ReturnedIsCommitted ==
    \A p \in Partitions : \A i \in Data(p) :
        /\ i - 1 \in returned["read_committed"][p] => Decision(p, i) = "COMMIT" /\ DecidedForGood(p, i)
        /\ i <= position["read_committed"][p] /\ Decision(p, i) = "COMMIT" => i - 1 \in returned["read_committed"][p]
ReturnedIsReplicated ==
    \A p \in Partitions :
        /\ \A r \in IsolationLevels : position[r][p] <= highWatermark[p]
        /\ \A r \in IsolationLevels : \A o \in returned[r][p] : o < position[r][p]
        /\ \A o \in 0..(position["read_uncommitted"][p] - 1) :
                (o \in returned["read_uncommitted"][p]) = (o + 1 \in Data(p))

\* A transaction that is open in a partition is one that the coordinator knows, in its epoch, and will end there. In version 2 the
\* decision takes the next epoch: what is open then is of the one before, or the marker is refused. (In version 1 it need not.)
OpenIsKnown ==
    \A p \in Partitions, pid \in Pids :
        entry[p][pid].first >= 0 =>
            /\ stored.state \in {"Ongoing"} \cup Prepared /\ stored.pid = pid /\ p \in stored.partitions
            /\ stored.state = "Ongoing" => entry[p][pid].epoch = stored.epoch
            /\ V2 /\ stored.state \in Prepared => entry[p][pid].epoch = stored.epoch - 1

\* Per producer id and epoch the sequences of a partition begin with 0 and have no gap, and epochs ascend.
SequencesContiguous ==
    \A p \in DataPartitions : \A j \in Data(p) :
        LET before == {i \in Data(p) : i < j /\ log[p][i].pid = log[p][j].pid} IN
        IF before = {} THEN log[p][j].sequence = 0
        ELSE LET i == MaxOf(before) IN
             IF log[p][i].epoch = log[p][j].epoch
             THEN log[p][i].type = "data" /\ log[p][j].type = "data" => log[p][j].sequence = log[p][i].sequence + 1
             ELSE log[p][j].sequence = 0 /\ log[p][i].epoch < log[p][j].epoch

\* Version 2: a producer epoch is of one transaction. (In version 1 it may be of many.)
OneTransactionPerEpoch ==
    V2 => \A p, q \in Partitions : \A i \in Data(p), j \in Data(q) :
        log[p][i].pid = log[q][j].pid /\ log[p][i].epoch = log[q][j].epoch => TransactionAt(p, i) = TransactionAt(q, j)

\* The offsets that count are those of the last transaction that was committed: its marker has made them count, and nothing else.
OffsetsFollowMarkers == \A p \in Partitions \ DataPartitions : offsets[p] = [type |-> "offsets", committed |-> LastCommitted(p)]

\* The last epoch of a producer id is for the markers of its last transaction, which end it: no client has it, and nothing is open
\* in it.
LastEpochIsForMarkers ==
    /\ \A c \in Clients : client[c].epoch < MaxEpoch
    /\ stored.state = "Ongoing" => stored.epoch < MaxEpoch

\* The coordinator of a decided transaction sends its markers, or has begun to complete it.
DecidedIsSent ==
    \A b \in Brokers :
        Acting(b) /\ metadata[b].state \in Prepared => sending[b] = epoch[b] \/ pending[b] \in Completed

\* A transition is pending while its record is; a completion also while it is to be appended again.
PendingIsWritten == \A b \in Brokers : pending[b] # "none" => IsWritten(b) \/ pending[b] \in Completed

\* The coordinator's producer epoch is the log's, or one further: that with which it could not fence (version 1).
AtMostOneEpochAhead ==
    \A b \in Brokers :
        Acting(b) /\ unreplicated[b] = <<>> /\ metadata[b].pid = stored.pid => metadata[b].epoch <= stored.epoch + 1

\* The markers of a producer are of coordinators in the order of their epochs.
CoordinatorEpochsAscend ==
    \A p \in Partitions : \A i, j \in 1..Len(log[p]) :
        (i < j /\ log[p][i].type = "marker" /\ log[p][j].type = "marker") =>
            log[p][i].pid # log[p][j].pid \/ log[p][i].coordinatorEpoch <= log[p][j].coordinatorEpoch

\* The parts of a partition fit together; of a producer that has nothing open the leader may have forgotten something.
PartitionWellFormed ==
    \A p \in Partitions :
        /\ highWatermark[p] <= Len(log[p]) /\ lastStableOffset[p] <= highWatermark[p]
        /\ \A pid \in Pids :
            LET r == Replay(log[p], pid) IN
            /\ entry[p][pid].first = r.first
            /\ entry[p][pid].epoch = r.epoch \/ (entry[p][pid].epoch = -1 /\ r.first = -1)
            /\ entry[p][pid].sequence = r.sequence \/ (entry[p][pid].sequence = -1 /\ r.first = -1)
            /\ entry[p][pid].coordinatorEpoch \in {-1, r.coordinatorEpoch}

-----------------------------------------------------------------------------
(* Steps *)

\* The producer id and epoch of the transactional id only go on.
ProducerEpochAdvancesStep ==
    stored'.pid > stored.pid \/ (stored'.pid = stored.pid /\ stored'.epoch >= stored.epoch)
ProducerEpochAdvances == [][ProducerEpochAdvancesStep]_vars

\* No coordinator refuses the producer id that a client was told, and that follows with the completion.
NextIdIsKnownStep ==
    \A c \in Clients, p \in Partitions :
        (produce[c][p].type = "verifying" /\ produce'[c][p].type = "reply") =>
            (produce'[c][p].error = "INVALID_PRODUCER_ID_MAPPING" => stored.nextPid # produce[c][p].pid)
NextIdIsKnown == [][NextIdIsKnownStep]_vars

\* A partition that refuses the epoch of a batch does not end a process whose transaction was aborted for it, and that may yet go
\* on behind that (version 2). Whose TxnOffsetCommit is refused so ends.
TimedOutGoesOnStep ==
    V2 => \A c \in Clients, p \in DataPartitions :
        (produce[c][p].type = "reply" /\ produce'[c][p].type = "idle") =>
            \/ produce[c][p].error # "INVALID_PRODUCER_EPOCH" \/ client[c].state = "FATAL_ERROR"
            \/ stored.state \notin {"PrepareAbort", "CompleteAbort"}
            \/ stored.pid # client[c].pid \/ stored.epoch # client[c].epoch + 1
            \/ client'[c].state # "FATAL_ERROR"
TimedOutGoesOn == [][TimedOutGoesOnStep]_vars

\* No other process has taken the producer id and epoch that this request names: they are the log's, or follow with its completion.
IsCurrent(r) ==
    \/ r.pid = stored.pid /\ r.epoch = stored.epoch
    \/ stored.nextPid # 0 /\ r.pid = stored.nextPid /\ r.epoch = 0

\* Version 2: a process that nobody has replaced is not told that it is fenced. A coordinator answers it no error that ends it, and a
\* partition none of producer id or epoch. Exempt is a process that is an epoch behind. Its transaction has timed out
\* (TimedOutGoesOn), or it has not heard of its own decision, or a late copy of its own InitProducerId has taken the next epoch. In
\* version 1 a fence that could not be written refuses the current epoch, too.
FencedIsReplacedStep ==
    V2 =>
        /\ \A c \in Clients :
            (rpc[c].type = "request" /\ rpc'[c].type = "reply") => ~IsCurrent(rpc[c]) \/ rpc'[c].error \notin FatalErrors
        /\ \A c \in Clients, p \in Partitions :
            (IsOpen(produce[c][p]) /\ produce'[c][p].type = "reply") =>
                ~IsCurrent(produce[c][p]) \/ produce'[c][p].error \notin {"INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING"}
FencedIsReplaced == [][FencedIsReplacedStep]_vars

\* A client that repeats the InitProducerId of the log's last record is not told that it is replaced: no other
\* client has asked since. The last epoch of a producer id is exempt, because Kafka knows no repetition there.
RetryIsNotFencedStep ==
    LET record == LogEnd(leaderAndEpoch.broker) IN
    \A c \in Clients :
        (rpc[c].type = "request" /\ rpc'[c].type = "reply") =>
            \/ rpc[c].kind # "init"
            \/ record.state # "Empty" \/ Exhausted(record.epoch)
            \/ rpc[c].pid # record.previousPid \/ rpc[c].epoch # record.lastEpoch
            \/ rpc'[c].error # "PRODUCER_FENCED"
RetryIsNotFenced == [][RetryIsNotFencedStep]_vars

\* A decision stands until it is complete, and is completed as it was made.
DecisionStandsStep ==
    stored.state \in Prepared => stored' = stored \/ stored'.state = CompleteOf(stored.state)
DecisionStands == [][DecisionStandsStep]_vars

\* A transaction is complete when none of its partitions has it open, and no marker of it may be lost.
CompleteFollowsMarkersStep ==
    stored.state \in Prepared /\ stored'.state \in Completed =>
        \A p \in stored.partitions :
            /\ entry[p][stored.pid].first = -1
            /\ \A i \in Data(p) : log[p][i].pid = stored.pid => DecidedForGood(p, i)
CompleteFollowsMarkers == [][CompleteFollowsMarkersStep]_vars

\* A marker ends the transaction whose decision it is: that of the elected coordinator, for a partition of the transaction.
MarkerOfDecisionStep ==
    \A p \in Partitions :
        Len(log'[p]) > Len(log[p]) =>
            LET record == log'[p][Len(log'[p])] IN
            (record.type = "marker" /\ entry[p][record.pid].first >= 0) =>
                /\ stored.state \in Prepared /\ stored.pid = record.pid /\ stored.epoch = record.epoch /\ p \in stored.partitions
                /\ (record.type = "marker" => ResultOf(stored.state) = record.result)
MarkerOfDecision == [][MarkerOfDecisionStep]_vars

\* Nothing of an epoch is written behind a later epoch of the same producer. This is said of each partition by itself: one that has
\* neither batch nor marker of the later epoch yet may go on taking batches of the older, which are the open transaction's; that
\* they end with it is OpenIsKnown, OneOutcome and ToldIsSo.
NoAppendAfterFencingStep ==
    \A p \in Partitions :
        Len(log'[p]) > Len(log[p]) =>
            \A i \in 1..Len(log[p]) :
                log[p][i].pid = log'[p][Len(log'[p])].pid => log[p][i].epoch <= log'[p][Len(log'[p])].epoch
NoAppendAfterFencing == [][NoAppendAfterFencingStep]_vars

\* The coordinator epoch of a producer does not go back in a partition.
CoordinatorEpochMonotoneStep ==
    \A p \in Partitions :
        Len(log'[p]) > Len(log[p]) =>
            \A pid \in Pids : entry'[p][pid].coordinatorEpoch >= entry[p][pid].coordinatorEpoch
CoordinatorEpochMonotone == [][CoordinatorEpochMonotoneStep]_vars

\* The high watermark and the last stable offset never go back, and a log loses nothing below the high watermark. (But for the last
\* stable offset, by construction: an election keeps what is below the high watermark. It is for traces.)
StableStaysStep ==
    \A p \in Partitions :
        /\ highWatermark'[p] >= highWatermark[p] /\ Len(log'[p]) >= highWatermark[p]
        /\ \A i \in 1..highWatermark[p] : i <= Len(log'[p]) => log'[p][i] = log[p][i]
        /\ lastStableOffset'[p] >= lastStableOffset[p]
StableStays == [][StableStaysStep]_vars

\* A consumer does not go back, and what it has returned it has returned. (By construction: no response ends before the position that
\* it was asked from. It is for traces.)
ReturnedStaysStep ==
    \A r \in IsolationLevels, p \in Partitions :
        position'[r][p] >= position[r][p] /\ returned[r][p] \subseteq returned'[r][p]
ReturnedStays == [][ReturnedStaysStep]_vars

-----------------------------------------------------------------------------
(* At the end of a run whose faults have stopped and that had time to settle: the finite stand-in for liveness *)

\* No transaction is open or undecided, and no process has begun one, or is to end one, or waits for its producer id. (Who has
\* one may keep it, and who cannot go on does not.)
QuiescentNothingOpen ==
    /\ \A c \in Clients : client[c].state \in {"UNINITIALIZED", "READY", "FATAL_ERROR"}
    /\ stored.state \notin {"Ongoing"} \cup Prepared
    /\ \A p \in Partitions, pid \in Pids : entry[p][pid].first = -1

\* All that was written is committed, and a reader gets to its end.
QuiescentAllStable == \A p \in Partitions : lastStableOffset[p] = Len(log[p])

\* Consumers of committed records have got to the end, too, and hear of nothing but what comes next.
QuiescentConsumersAtEnd ==
    \A p \in Partitions :
        position["read_committed"][p] = Len(log[p]) /\ fetch["read_committed"][p].type \in {"idle", "delayed"}

\* The leader of the coordinators' log serves, and no other broker does. All of the log is committed.
QuiescentCoordinatorServes ==
    \A b \in Brokers : unreplicated[b] = <<>> /\ epoch[b] = (IF b = leaderAndEpoch.broker THEN leaderAndEpoch.epoch ELSE 0)

\* Nobody waits, and nothing is on its way.
QuiescentNothingInFlight ==
    /\ \A b \in Brokers : pending[b] = "none" /\ sending[b] = 0
    /\ \A b \in Brokers, p \in Partitions : marker[b][p].type = "idle" /\ lateMarker[b][p].type = "idle"
    /\ \A c \in Clients : rpc[c].type = "idle" /\ lateRpc[c].type = "idle"
    /\ \A c \in Clients, p \in Partitions : produce[c][p].type = "idle" /\ lateProduce[c][p].type = "idle"
=============================================================================
