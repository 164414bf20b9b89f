---------------------------- MODULE Transactions ----------------------------
(***************************************************************************)
(* Transactions (Kafka 4.x): the processes that use one transactional id,  *)
(* the brokers that may be its coordinator, and the leaders of the data    *)
(* partitions that it writes to.                                           *)
(*                                                                         *)
(* Modelled: the coordinator's log, with pending transitions that count    *)
(* when their record has committed, election, load, a suffix that is lost  *)
(* or kept, and zombies; InitProducerId with bump, fence and a new         *)
(* producer id; AddPartitionsToTxn and AddOffsetsToTxn by the client       *)
(* (version 1) or by the partition (version 2); verification with its      *)
(* guard; EndTxn, with an epoch per transaction in version 2; time-out;    *)
(* markers, repeated, late and of older coordinators; producer state, high *)
(* watermark, last stable offset and aborted index of a partition, and a   *)
(* change of its leader; a partition of __consumer_offsets, to which       *)
(* TxnOffsetCommit goes, which the group may refuse, and whose offsets     *)
(* count with the marker;                                                  *)
(* requests and replies that are lost, and requests that arrive late;      *)
(* consumers of both isolation levels, whose fetches may wait.             *)
(* KIPs: 98, 360, 447, 890, 1228.                                          *)
(*                                                                         *)
(* Left out: the group's members (ExactlyOnce), the later fate of          *)
(* committed offsets (Offsets), other transactional ids, expiry of the id, *)
(* appends that time out and commit later, several batches in flight, the  *)
(* leaders of data partitions, two-phase commit.                           *)
(* docs/protocols/transactions.md says why, and what it could hide.        *)
(*                                                                         *)
(* Read: VARIABLES (which is what in the code is the table at the head of  *)
(* impl/tidemark/transactions/abstraction.py), the rules, the verdicts, the *)
(* actions from SendInitProducerId to LoseFetch, TransactionsProperties.   *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds

CONSTANTS
    Clients,             \* the processes that use the transactional id
    Brokers,             \* the brokers that may lead the partition of __transaction_state
    Partitions,          \* the data partitions
    MaxPid,              \* capacity: producer ids
    MaxEpoch,            \* the last producer epoch: 2^15 - 1 in Kafka
    MaxCoordinatorEpoch, \* capacity: coordinator epochs
    MaxUnreplicated,     \* capacity: records of a coordinator that are not committed
    MaxLog,              \* capacity: records of a data partition
    MaxSequence,         \* capacity: sequences
    MaxTransaction,      \* capacity: transactions
    Without              \* the safety rules that are not in force

VARIABLES
    \* the coordinator
    leaderAndEpoch, \* who leads the partition of __transaction_state, and in which epoch
    stored,       \* the last committed record of the transactional id
    unreplicated, \* per broker: the records of its log behind the committed ones, oldest first
    epoch,        \* per broker: the coordinator epoch in which it serves, 0: it does not
    metadata,     \* per broker: its memory (TransactionMetadata); of a decided transaction the partitions still without marker
    pending,      \* per broker: the state that its memory is about to take (pendingState); the record is the last of its log
    sending,      \* per broker: the coordinator epoch of its entry in transactionsWithPendingMarkers, 0: there is none
    hasFailedEpochFence, \* per broker: the epoch of its metadata is one that it wanted to fence with, and could not write
    pendingCompleteTxn,  \* per broker: the state that a second thread, which has found the transaction complete, too, leads it to
    earlierTimestamp,    \* per broker: the pending transition's txnLastUpdateTimestamp is before that of its metadata
    issued,       \* how many producer ids were issued; they are 1, 2, ...
    \* the clients
    begun,        \* how many transactions were begun; they are 1, 2, ...
    client,       \* per client: its TransactionManager
    rpc,          \* per client: its request to a coordinator, as request, as parked, or as reply
    lateRpc,      \* per client: one that it has given up
    produce,      \* per client and partition: its batch, as request, in verification, appended, or as reply
    lateProduce,  \* per client and partition: one that it has given up
    \* the markers
    marker,       \* per broker and partition: its WriteTxnMarkers, as request, appended, or as reply
    lateMarker,   \* per broker and partition: a copy, or one that it has given up
    \* the partitions
    log,          \* per partition: the records that its leader has, one offset each
    highWatermark,    \* per partition: how many of them are committed
    lastStableOffset, \* per partition: the first offset that a read_committed reader does not get
    entry,        \* per partition and producer id: what the leader knows (ProducerStateEntry, VerificationStateEntry)
    abortedIndex, \* per partition: the aborted transactions
    offsets,      \* per partition: whether it is one of __consumer_offsets, and the transaction whose offsets count there
    \* the consumers: of every partition one of each isolation level
    fetch,        \* per isolation level and partition: its fetch, as request, waiting, being read, or as response
    position,     \* per isolation level and partition: the offset that it reads next
    returned,     \* per isolation level and partition: the offsets of the records that it has given to its application
    \* history, never part of a trace
    told          \* per transaction: what its client was told by EndTxn

vars == <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence, pendingCompleteTxn,
          earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, marker, lateMarker, log, highWatermark,
          lastStableOffset, entry, abortedIndex, offsets, fetch, position, returned, told>>

Ghosts == <<told>>

-----------------------------------------------------------------------------
(* Types. The bounds are a trace's capacities. *)

Pids         == 1..MaxPid
PidOrNone    == 0..MaxPid
Epochs       == 0..MaxEpoch
EpochOrNone  == -1..MaxEpoch
CoordinatorEpochs == 0..MaxCoordinatorEpoch
Offsets      == 0..MaxLog
OffsetOrNone == -1..MaxLog
Sequences    == 0..MaxSequence
SequenceOrNone == -1..MaxSequence
Transactions == 1..MaxTransaction
Results      == {"COMMIT", "ABORT"}

Undecided == {"Empty", "Ongoing"}
Prepared  == {"PrepareCommit", "PrepareAbort"}
Completed == {"CompleteCommit", "CompleteAbort"}

\* previousPid: that of the record before; nextPid: follows when the epochs are used up; 0 none.
Metadata == [state : Undecided \cup Prepared \cup Completed, pid : Pids, previousPid : PidOrNone, nextPid : PidOrNone,
             epoch : EpochOrNone, lastEpoch : EpochOrNone, partitions : SUBSET Partitions]

ClientStates == {"UNINITIALIZED", "INITIALIZING", "READY", "IN_TRANSACTION", "COMMITTING_TRANSACTION", "ABORTING_TRANSACTION",
                 "ABORTABLE_ERROR", "FATAL_ERROR"}
\* partitions: those that it has added (version 2: written to); next: the sequence of the next batch; bump: after the abort it
\* asks for a new epoch (KIP-360).
Client == [state : ClientStates, pid : PidOrNone, epoch : EpochOrNone, transaction : 0..MaxTransaction,
           partitions : SUBSET Partitions, next : [Partitions -> Sequences], bump : BOOLEAN]

Errors == {"NONE", "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "CONCURRENT_TRANSACTIONS", "PRODUCER_FENCED",
           "INVALID_PRODUCER_ID_MAPPING", "INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE", "TRANSACTION_ABORTABLE",
           "OUT_OF_ORDER_SEQUENCE_NUMBER", "NOT_LEADER_OR_FOLLOWER", "TRANSACTION_COORDINATOR_FENCED",
           "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"}
\* A group's errors for a client that is not a member, or not any more.
GroupErrors == {"ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"}

\* InitProducerId (pid 0, epoch -1: none is expected), AddPartitionsToTxn or AddOffsetsToTxn, EndTxn. A "fence" is an InitProducerId
\* whose reply is that there was a transaction.
Kinds == {"init", "add", "end", "fence"}
RpcRequest == [type : {"request"}, kind : Kinds, broker : Brokers, pid : PidOrNone, epoch : EpochOrNone,
               partitions : SUBSET Partitions, result : Results]
RpcSlot ==
         [type : {"idle"}] \cup RpcRequest
    \cup [type : {"parked"}, kind : Kinds, broker : Brokers, partitions : SUBSET Partitions]
    \cup [type : {"reply"}, kind : Kinds, error : Errors, pid : PidOrNone, epoch : EpochOrNone, partitions : SUBSET Partitions]
LateRpc == [type : {"idle"}] \cup RpcRequest

\* A batch; or a TxnOffsetCommit, which has no sequence (-1). guard: the VerificationGuard of the batch is the one that the partition
\* has for its producer now. "adding": the coordinator has appended the partition to the transaction.
OpenBatch ==
         [type : {"request"}, pid : Pids, epoch : Epochs, sequence : SequenceOrNone, transaction : Transactions]
    \cup [type : {"verifying", "verified"}, pid : Pids, epoch : Epochs, sequence : SequenceOrNone, transaction : Transactions,
          guard : BOOLEAN]
    \cup [type : {"adding"}, pid : Pids, epoch : Epochs, sequence : SequenceOrNone, transaction : Transactions, guard : BOOLEAN,
          broker : Brokers]
ProduceSlot ==
         [type : {"idle"}] \cup OpenBatch
    \cup [type : {"waiting"}, pid : Pids, epoch : Epochs, sequence : SequenceOrNone, transaction : Transactions, offset : Offsets]
    \cup [type : {"reply"}, pid : Pids, epoch : Epochs, sequence : SequenceOrNone, transaction : Transactions, error : Errors]
LateProduce == [type : {"idle"}] \cup OpenBatch

MarkerRequest == [type : {"marker"}, pid : Pids, epoch : Epochs, result : Results, coordinatorEpoch : CoordinatorEpochs]
MarkerSlot ==
         [type : {"idle"}] \cup MarkerRequest
    \cup [type : {"waiting"}, coordinatorEpoch : CoordinatorEpochs, offset : Offsets]
    \cup [type : {"reply"}, coordinatorEpoch : CoordinatorEpochs, error : Errors]
LateMarker == [type : {"idle"}] \cup MarkerRequest

Record ==
         [type : {"data"}, pid : Pids, epoch : Epochs, sequence : SequenceOrNone, transaction : Transactions]
    \cup [type : {"marker"}, pid : Pids, epoch : Epochs, result : Results, coordinatorEpoch : CoordinatorEpochs]

\* committed: 0, no transaction's offsets count.
Held == [type : {"data"}] \cup [type : {"offsets"}, committed : 0..MaxTransaction]

IsolationLevels == {"read_committed", "read_uncommitted"}

\* reading: a broker has decided how far it reads (end; stable: to the high watermark, because nothing below it is undecided),
\* and is about to do so; delayed: it has waited. response: the records from the consumer's position to before end; aborted: where
\* the aborted transactions begin that they are of. (Kafka names the producer id, too: it is that of the record there.)
FetchSlot ==
         [type : {"idle", "request", "delayed"}]
    \cup [type : {"reading"}, end : Offsets, stable : BOOLEAN, delayed : BOOLEAN]
    \cup [type : {"response"}, end : Offsets, aborted : SUBSET Offsets]

\* sequence: that of its last batch in this epoch; first: where its open transaction begins; guard: the epoch of its
\* VerificationStateEntry. -1: none.
Entry == [epoch : EpochOrNone, sequence : -1..MaxSequence, coordinatorEpoch : -1..MaxCoordinatorEpoch, first : OffsetOrNone,
          guard : EpochOrNone]

TypeOK ==
    /\ leaderAndEpoch \in [broker : Brokers, epoch : CoordinatorEpochs]
    /\ stored \in Metadata
    /\ unreplicated \in [Brokers -> BoundedSeq(Metadata, MaxUnreplicated)]
    /\ epoch \in [Brokers -> CoordinatorEpochs]
    /\ metadata \in [Brokers -> Metadata]
    /\ pending \in [Brokers -> {"none"} \cup Undecided \cup Prepared \cup Completed]
    /\ sending \in [Brokers -> CoordinatorEpochs]
    /\ hasFailedEpochFence \in [Brokers -> BOOLEAN]
    /\ pendingCompleteTxn \in [Brokers -> {"none"} \cup Completed]
    /\ earlierTimestamp \in [Brokers -> BOOLEAN]
    /\ issued \in Pids
    /\ begun \in 0..MaxTransaction
    /\ client \in [Clients -> Client]
    /\ rpc \in [Clients -> RpcSlot]
    /\ lateRpc \in [Clients -> LateRpc]
    /\ produce \in [Clients -> [Partitions -> ProduceSlot]]
    /\ lateProduce \in [Clients -> [Partitions -> LateProduce]]
    /\ marker \in [Brokers -> [Partitions -> MarkerSlot]]
    /\ lateMarker \in [Brokers -> [Partitions -> LateMarker]]
    /\ log \in [Partitions -> BoundedSeq(Record, MaxLog)]
    /\ highWatermark \in [Partitions -> Offsets]
    /\ lastStableOffset \in [Partitions -> Offsets]
    /\ entry \in [Partitions -> [Pids -> Entry]]
    /\ abortedIndex \in [Partitions -> BoundedSeq([pid : Pids, first : Offsets, last : Offsets], MaxLog)]
    /\ offsets \in [Partitions -> Held]
    /\ fetch \in [IsolationLevels -> [Partitions -> FetchSlot]]
    /\ position \in [IsolationLevels -> [Partitions -> Offsets]]
    /\ returned \in [IsolationLevels -> [Partitions -> SUBSET Offsets]]
    /\ told \in [Transactions -> {"none"} \cup Results]

-----------------------------------------------------------------------------
(* Vocabulary *)

Max(a, b)  == IF a > b THEN a ELSE b
MinOf(S)   == CHOOSE i \in S : \A j \in S : i <= j
MaxOf(S)   == CHOOSE i \in S : \A j \in S : j <= i
Last(s)    == s[Len(s)]
Exhausted(e) == e >= MaxEpoch - 1

Idle    == [type |-> "idle"]
NoEntry == [epoch |-> -1, sequence |-> -1, coordinatorEpoch |-> -1, first |-> -1, guard |-> -1]

\* The coordinator makes it when it first hears of the transactional id.
FirstMetadata == [state |-> "Empty", pid |-> 1, previousPid |-> 0, nextPid |-> 0, epoch |-> -1, lastEpoch |-> -1,
                  partitions |-> {}]

NewClient == [state |-> "UNINITIALIZED", pid |-> 0, epoch |-> -1, transaction |-> 0, partitions |-> {},
              next |-> [p \in Partitions |-> 0], bump |-> FALSE]

IsOffsets(p) == offsets[p].type = "offsets"

Serving(b) == epoch[b] > 0
\* b leads the partition, and what it appends may commit.
Acting(b)  == leaderAndEpoch.broker = b /\ epoch[b] = leaderAndEpoch.epoch

\* The last record of b's log.
LogEnd(b) == IF unreplicated[b] = <<>> THEN stored ELSE Last(unreplicated[b])
\* The record of its pending transition is in its log.
IsWritten(b) == unreplicated[b] # <<>> /\ (unreplicated[b] # <<>> => Last(unreplicated[b]).state = pending[b])

ResultOf(state) == IF state \in {"PrepareCommit", "CompleteCommit"} THEN "COMMIT" ELSE "ABORT"
PrepareOf(result) == IF result = "COMMIT" THEN "PrepareCommit" ELSE "PrepareAbort"
CompleteOf(state) == IF state = "PrepareCommit" THEN "CompleteCommit" ELSE "CompleteAbort"

\* It is on its way to the partition.
IsMarkerOf(slot, pid) == IF slot.type = "marker" THEN slot.pid = pid ELSE FALSE
IsBatchOf(slot, pid)  == IF slot.type \in {"request", "verifying", "verified", "adding"} THEN slot.pid = pid ELSE FALSE

\* Where the transaction begins whose end is the marker at place i, or would be: its first record behind the last marker; 0 none.
Opened(records, pid, i) ==
    LET mine    == {j \in 1..(i - 1) : records[j].pid = pid}
        markers == {j \in mine : records[j].type = "marker"}
        data    == {j \in mine : \A k \in markers : k < j}
    IN  IF data = {} THEN 0 ELSE MinOf(data)

-----------------------------------------------------------------------------
(* The safety rules: what goes wrong without each. Guards and cases: docs/conventions.md, Rules. *)

\* The constants that only bound a trace; every other limit of TypeOK means something.
Capacities == {"MaxPid", "MaxCoordinatorEpoch", "MaxUnreplicated", "MaxLog", "MaxSequence", "MaxTransaction"}

Has(rule) == rule \notin Without

\* A guard answers "may this go ahead", and without its rule everything may. A case answers "does this case arise", and without
\* its rule it never does.
Guard(rule, may)   == Has(rule) => may
Case(rule, arises) == Has(rule) /\ arises

\* Transactions of version 2 (KIP-890, part 2), else of version 1. As a rule, EpochPerTransaction is asked in EndVerdictV2 alone.
V2 == Has("EpochPerTransaction")

\* KIP-890, part 2. A request with the epoch of the coordinator is of the next transaction, not of the one that is complete.
\* Without it (version 1) an EndTxn that is late ends a later transaction (row 72, KAFKA-17754), and a batch that is late falls
\* into it (row 71).
EpochPerTransaction(m, r) == Case("EpochPerTransaction", r.epoch = m.epoch)

\* KIP-98. Without it a process that was replaced goes on with the transaction of its successor.
RequestOfCurrentEpoch(m, r) == Guard("RequestOfCurrentEpoch", r.epoch = m.epoch)

\* KIP-360. Without it a client that does not know what became of a batch goes on in its epoch; the batch, late, falls into the
\* next transaction (row 71). Version 2 needs it no more.
BumpAfterDoubt(m) == Case("BumpAfterDoubt", m.bump)

\* KIP-98. Without it a new process begins while its predecessor's transaction is open, which nobody ends.
FenceOpenTransaction(m) == Case("FenceOpenTransaction", m.state = "Ongoing")

\* KAFKA-5231, KAFKA-6119. Without it a producer that is replaced or timed out goes on, and commits what is left (row 69, version 1).
FenceOnTimeOut(fenced) == Case("FenceOnTimeOut", fenced)

\* KAFKA-20090. Without it a transaction that its producer did not end is aborted in the last epoch of the producer id, and no other
\* id follows: the producer asks for the abort, is told that epoch, and goes on in it; nothing is left to end that with (row 78).
RotateOnFence(m) == Case("RotateOnFence", Exhausted(m.epoch))

\* KAFKA-19367. Without it, in version 2, the abort that follows a fence takes an epoch of its own: the producer that asks for that
\* abort is two epochs behind, and ends; behind the last epoch but one there is none (row 78).
BumpOnce(fences) == Case("BumpOnce", fences)

\* KAFKA-18660. Without it a producer whose epochs are used up is told the last one instead of the next producer id (row 79).
TellNextId(record) == Case("TellNextId", record.nextPid # 0)

\* KAFKA-18660. Without it a producer that was told the next producer id, and begins before the last transaction is complete, is
\* told that its id is none (row 79).
AwaitNextId(m, r) == Case("AwaitNextId", r.pid = m.nextPid)

\* KAFKA-18464. Without it, in version 2, a producer that aborts its next transaction before the last one is complete is told that
\* it is replaced, and ends (row 154).
AwaitCompletion(m, r) == Case("AwaitCompletion", r.epoch = m.epoch)

\* KIP-588. Without it a producer whose transaction has timed out, and that nobody has replaced, ends (row 92).
AbortOnInvalidEpoch(reply) == Case("AbortOnInvalidEpoch", reply.error = "INVALID_PRODUCER_EPOCH")

\* KAFKA-9666. Without it every attempt to fence takes an epoch, though none can be written, until there is none left (row 80,
\* version 1).
FenceOnce(b) == Case("FenceOnce", hasFailedEpochFence[b])

\* KAFKA-8803, KAFKA-5415. Without it a transition whose time is before the last one's is written, and pending for ever (row 88).
AcceptEarlierTime(b) == Case("AcceptEarlierTime", earlierTimestamp[b])

\* KAFKA-10080. Without it two threads that have found a transaction complete both write that down, one of them in the next
\* transaction (row 85).
CompleteOnce(b) == Guard("CompleteOnce", sending[b] = epoch[b])

\* KIP-98. Without it a transaction is complete, and the next begins, before all of its markers are written.
CompleteAfterMarkers(m) == Guard("CompleteAfterMarkers", m.partitions = {})

\* KAFKA-5351. kept: the record will be appended again. Without it a transition whose record could not be appended is pending for
\* ever (row 86).
ClearPendingOnFailure(kept) == Case("ClearPendingOnFailure", ~kept)

\* KAFKA-5416. Without it a completion whose append fails is pending no more, and the coordinator stays at the decision (row 87).
KeepPendingOnRetry(b) == Case("KeepPendingOnRetry", pending[b] \in Completed)

\* KIP-98. Without it a decided transaction whose coordinator fails stays open (row 81).
ResumeOnLoad(m) == Case("ResumeOnLoad", m.state \in Prepared)

\* Kafka up to 4.4.0 lacks it (KAFKA-20357): no record has the last producer epoch. Without it a process that asks for its epoch again,
\* as the coordinator has failed before it answered, is told by the successor that it is replaced (CAND-13, row 137, version 1).
PersistLastEpoch(m) == Case("PersistLastEpoch", m.lastEpoch # -1)

\* This project's repair; Kafka 4.x lacks it. Without it a coordinator sends the markers of a decision that is lost with it:
\* its successor decides anew, the other way (CAND-2, row 94).
ActOnCommitted(b) == Guard("ActOnCommitted", unreplicated[b] = <<>>)

\* This project's; Kafka 4.x lacks it. What a coordinator answers without a record is the elected coordinator's answer. (A broker makes
\* sure of that with a record of its coordinator epoch that has committed since the request came.) Without it one that was deposed
\* answers from its memory, and ends a process that nobody has replaced. In version 1 it tells a client that a transaction is
\* committed that is aborted, or stays open (CAND-22, rows 155 and 156).
AnswerOfElected(b) == Guard("AnswerOfElected", Acting(b))

\* KAFKA-16352. Without it the reply to a marker of an older coordinator epoch ends the sending of the present one (row 83).
CancelOwnEntry(b, reply) == Guard("CancelOwnEntry", sending[b] = reply.coordinatorEpoch)

\* KIP-890, part 1. Without it a batch that arrives behind its transaction's marker opens one that nobody ends (row 70).
VerifyTransaction(ongoing) == Case("VerifyTransaction", ~ongoing)

\* KAFKA-14884. Without it a batch is appended because it was verified, though the transaction has ended since (row 73).
VerificationGuard(r) == Guard("VerificationGuard", r.guard)

\* KAFKA-18654, which replaced the first repair of KAFKA-18575. Without it a batch of the next transaction is taken while the last one waits
\* for its marker (row 75).
OngoingOfItsEpoch(e, r) == Guard("OngoingOfItsEpoch", e.epoch = r.epoch)

\* KIP-98. Without it a process that was replaced writes behind its successor.
EpochNotOlder(e, r) == Guard("EpochNotOlder", r.epoch >= e.epoch)

\* The specification has no clock: producer.id.expiration.ms are over for a producer when nothing that was sent to the partition
\* before is still under way or being verified there, and every deposed coordinator has heard of that.
EnvironmentNothingOutlivesExpiration(p, pid) ==
    /\ \A b \in Brokers : Serving(b) => Acting(b)
    /\ \A b \in Brokers : ~IsMarkerOf(marker[b][p], pid) /\ ~IsMarkerOf(lateMarker[b][p], pid)
    /\ \A c \in Clients : ~IsBatchOf(produce[c][p], pid) /\ ~IsBatchOf(lateProduce[c][p], pid)

\* KAFKA-9144. A producer is forgotten producer.id.expiration.ms after its last batch or marker. Without it only batches count; a
\* producer is forgotten as soon as its marker is written, and the marker of an older coordinator is accepted (row 68).
TrackMarkerTime(p, pid) == Guard("TrackMarkerTime", EnvironmentNothingOutlivesExpiration(p, pid))

\* KAFKA-19446 (KIP-1228). Without it a marker that comes again ends the next transaction (row 76).
MarkerOfItsTransaction(e, m) == Guard("MarkerOfItsTransaction", m.epoch > e.epoch)

\* KAFKA-19999. Without it a marker whose reply was lost is refused when it comes again, and the transaction never completes
\* (row 77).
AcceptRepeatedMarker(e) == Case("AcceptRepeatedMarker", e.first = -1)

\* KIP-98. Without it the marker of a deposed coordinator is written behind its successor's (row 82).
CoordinatorNotOlder(e, m) == Guard("CoordinatorNotOlder", m.coordinatorEpoch >= e.coordinatorEpoch)

\* KIP-98. Without it a reader gets what is decided by a marker that may be lost (row 98).
AwaitMarker(i, offset) == Case("AwaitMarker", i > offset)

\* KAFKA-9807. Without it a fetch that has seen nothing undecided below the high watermark reads to the high watermark of later,
\* below which there may be something (row 95).
ReadHighWatermarkOnce(p, slot) == Case("ReadHighWatermarkOnce", slot.end < highWatermark[p])

\* KAFKA-5376. Without it the response to a fetch that has waited lacks the aborted transactions, and the consumer returns their
\* records (row 97).
AbortedListOfDelayedFetch(slot) == Case("AbortedListOfDelayedFetch", slot.delayed)

Rules == {"EpochPerTransaction", "RequestOfCurrentEpoch", "BumpAfterDoubt", "FenceOpenTransaction", "FenceOnTimeOut",
          "RotateOnFence", "BumpOnce", "TellNextId", "AwaitNextId", "AwaitCompletion", "AbortOnInvalidEpoch", "FenceOnce",
          "AcceptEarlierTime", "CompleteOnce", "CompleteAfterMarkers", "ClearPendingOnFailure", "KeepPendingOnRetry", "ResumeOnLoad",
          "PersistLastEpoch", "ActOnCommitted", "AnswerOfElected", "CancelOwnEntry",
          "VerifyTransaction", "VerificationGuard", "OngoingOfItsEpoch", "EpochNotOlder", "TrackMarkerTime", "MarkerOfItsTransaction",
          "AcceptRepeatedMarker", "CoordinatorNotOlder", "AwaitMarker", "ReadHighWatermarkOnce",
          "AbortedListOfDelayedFetch"}

\* A client adds partitions by itself in version 1 only.
FlawActions == {"SendAddPartitions", "SendAddOffsets", "ReceiveAddPartitions", "AppendAddPartitions"}

\* Baselines: Kafka 4.x with transaction.version 2; the same with version 1; Kafka before 3.6.
KafkaAsShipped == {"ActOnCommitted", "AnswerOfElected", "PersistLastEpoch"}
TransactionV1  == {"ActOnCommitted", "AnswerOfElected", "PersistLastEpoch", "EpochPerTransaction"}
TransactionV0  == {"ActOnCommitted", "AnswerOfElected", "PersistLastEpoch", "EpochPerTransaction", "VerifyTransaction",
                   "VerificationGuard"}

-----------------------------------------------------------------------------
(* The coordinator's verdicts and records (TransactionCoordinator, TransactionMetadata) *)

RpcOf(c, late) == IF late THEN lateRpc[c] ELSE rpc[c]

\* b's answer, where the verdict is none that appends a record.
AnswerOf(b, verdict) == IF verdict \in Errors /\ ~AnswerOfElected(b) THEN "NOT_COORDINATOR" ELSE verdict

InitVerdict(b, r) ==
    LET m == metadata[b] IN
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF pending[b] # "none" THEN "CONCURRENT_TRANSACTIONS"
    ELSE IF r.pid # 0 /\ m.epoch # -1 /\ r.pid # m.pid /\ ~(r.pid = m.previousPid /\ Exhausted(r.epoch)) THEN "PRODUCER_FENCED"
    ELSE IF m.state \in Prepared THEN "CONCURRENT_TRANSACTIONS"
    ELSE IF FenceOpenTransaction(m) THEN "FENCE"
    ELSE IF Exhausted(m.epoch) THEN IF r.pid = 0 \/ r.epoch = m.epoch THEN "ROTATE" ELSE "PRODUCER_FENCED"
    ELSE IF r.pid = 0 \/ m.epoch = -1 \/ r.epoch = m.epoch THEN "BUMP"
    ELSE IF r.epoch = m.lastEpoch THEN "SAME"
    ELSE "PRODUCER_FENCED"

InitRecord(m, r, verdict) ==
    [state |-> "Empty", previousPid |-> m.pid, nextPid |-> 0, partitions |-> {},
     pid |-> IF verdict = "ROTATE" THEN issued + 1 ELSE m.pid,
     epoch |-> CASE verdict = "ROTATE" -> 0 [] verdict = "BUMP" -> m.epoch + 1 [] OTHER -> m.epoch,
     lastEpoch |-> IF verdict = "SAME" THEN m.lastEpoch ELSE IF r.pid = 0 THEN -1 ELSE m.epoch]

\* The verdict on an AddPartitionsToTxn for p, from a client or (version 2) from the partition.
AddVerdict(b, r, p) ==
    LET m == metadata[b] IN
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF pending[b] # "none" THEN "CONCURRENT_TRANSACTIONS"
    ELSE IF AwaitNextId(m, r) THEN "CONCURRENT_TRANSACTIONS"
    ELSE IF r.pid # m.pid THEN "INVALID_PRODUCER_ID_MAPPING"
    ELSE IF ~RequestOfCurrentEpoch(m, r) THEN "PRODUCER_FENCED"
    ELSE IF m.state \in Prepared THEN "CONCURRENT_TRANSACTIONS"
    ELSE IF m.state = "Ongoing" /\ p \in m.partitions THEN "NONE"
    ELSE "APPEND"

\* Version 1: the partition only asks whether it belongs to the transaction.
VerifyVerdict(b, r, p) ==
    LET m == metadata[b] IN
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF r.pid # m.pid THEN "INVALID_PRODUCER_ID_MAPPING"
    ELSE IF ~RequestOfCurrentEpoch(m, r) THEN "PRODUCER_FENCED"
    ELSE IF m.state \in Prepared THEN "CONCURRENT_TRANSACTIONS"
    ELSE IF p \in m.partitions THEN "NONE"
    ELSE "TRANSACTION_ABORTABLE"
VerificationVerdict(b, r, p) == AnswerOf(b, IF V2 THEN AddVerdict(b, r, p) ELSE VerifyVerdict(b, r, p))

AddRecord(m, p) ==
    [state |-> "Ongoing", pid |-> m.pid, previousPid |-> m.pid, nextPid |-> m.nextPid, epoch |-> m.epoch,
     lastEpoch |-> m.lastEpoch, partitions |-> m.partitions \cup {p}]

EndVerdictV1(b, r) ==
    LET m == metadata[b] IN
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF r.pid # m.pid THEN "INVALID_PRODUCER_ID_MAPPING"
    ELSE IF ~RequestOfCurrentEpoch(m, r) THEN "PRODUCER_FENCED"
    ELSE IF pending[b] # "none" THEN "CONCURRENT_TRANSACTIONS"
    ELSE IF m.state = "Ongoing" THEN "APPEND"
    ELSE IF m.state = "Empty" \/ ResultOf(m.state) # r.result THEN "INVALID_TXN_STATE"
    ELSE IF m.state \in Prepared THEN "CONCURRENT_TRANSACTIONS"
    ELSE "NONE"

EndVerdictV2(b, r) ==
    LET m        == metadata[b]
        overflow == m.previousPid = r.pid /\ Exhausted(r.epoch) /\ m.epoch = 0
        retry    == m.epoch = r.epoch + 1 \/ overflow
        valid    == IF m.state \in Undecided THEN RequestOfCurrentEpoch(m, r)
                    ELSE IF m.state \in Prepared THEN m.epoch = r.epoch + 1
                    ELSE retry \/ r.epoch = m.epoch IN
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF pending[b] # "none" THEN "CONCURRENT_TRANSACTIONS"
    ELSE IF AwaitNextId(m, r) THEN "CONCURRENT_TRANSACTIONS"
    ELSE IF r.pid # m.pid /\ ~overflow THEN "INVALID_PRODUCER_ID_MAPPING"
    ELSE IF m.state \in Prepared /\ AwaitCompletion(m, r) THEN "CONCURRENT_TRANSACTIONS"
    ELSE IF ~valid THEN "PRODUCER_FENCED"
    ELSE IF m.state = "Ongoing" THEN "APPEND"
    ELSE IF m.state \in Prepared THEN IF ResultOf(m.state) = r.result THEN "CONCURRENT_TRANSACTIONS" ELSE "INVALID_TXN_STATE"
    ELSE IF m.state = "Empty" \/ EpochPerTransaction(m, r)
    THEN IF r.result = "ABORT" THEN "APPEND" ELSE "INVALID_TXN_STATE"
    ELSE IF ResultOf(m.state) = r.result THEN "NONE" ELSE "INVALID_TXN_STATE"

EndVerdict(b, r) == IF V2 THEN EndVerdictV2(b, r) ELSE EndVerdictV1(b, r)

\* The decision. fenced: a takeover's or a time-out's. A fence takes the next epoch (prepareFenceProducerEpoch), but in version 1 behind
\* a failed one. In version 2 so does every other decision (prepareAbortOrCommit), and if epochs are used up, a new id follows.
EndRecord(b, result, fenced) ==
    LET m       == metadata[b]
        fences  == FenceOnTimeOut(fenced)
        bumped  == IF fences /\ ~FenceOnce(b) THEN m.epoch + 1 ELSE m.epoch
        decided == IF V2 /\ ~BumpOnce(fences) THEN bumped + 1 ELSE bumped
        rotates == V2 /\ IF fenced THEN RotateOnFence(m) ELSE Exhausted(m.epoch) IN
    [state |-> PrepareOf(result), pid |-> m.pid, previousPid |-> m.pid,
     nextPid |-> IF rotates THEN issued + 1 ELSE 0,
     epoch |-> decided,
     lastEpoch |-> IF V2 THEN decided - 1 ELSE IF fences THEN -1 ELSE m.lastEpoch,
     partitions |-> m.partitions]

CompleteRecord(m) ==
    [state |-> CompleteOf(m.state), nextPid |-> 0, partitions |-> {},
     pid |-> IF m.nextPid # 0 THEN m.nextPid ELSE m.pid,
     previousPid |-> m.pid,
     epoch |-> IF m.nextPid # 0 THEN 0 ELSE m.epoch,
     lastEpoch |-> m.lastEpoch]

RpcVerdict(b, r) ==
    AnswerOf(b, CASE r.kind = "init" -> InitVerdict(b, r)
                  [] r.kind = "add"  -> AddVerdict(b, r, CHOOSE p \in r.partitions : TRUE)
                  [] OTHER           -> EndVerdict(b, r))

Parked(kind, b, partitions) == [type |-> "parked", kind |-> kind, broker |-> b, partitions |-> partitions]
RpcReply(kind, error, pid, e, partitions) ==
    [type |-> "reply", kind |-> kind, error |-> error, pid |-> pid, epoch |-> e, partitions |-> partitions]

\* The reply once the record has committed.
Committed(slot, record) ==
    LET kind  == IF slot.kind = "fence" THEN "init" ELSE slot.kind
        error == IF slot.kind = "fence" THEN "CONCURRENT_TRANSACTIONS" ELSE "NONE"
        says  == slot.kind = "init" \/ (slot.kind = "end" /\ V2)
        next  == says /\ TellNextId(record)
        pid   == IF ~says THEN 0 ELSE IF next THEN record.nextPid ELSE record.pid
        e     == IF ~says THEN -1 ELSE IF next THEN 0 ELSE record.epoch IN
    RpcReply(kind, error, pid, e, slot.partitions)

\* The reply to who is parked at b, if it comes to nothing.
Failed(slot, error) ==
    RpcReply(IF slot.kind = "fence" THEN "init" ELSE slot.kind, error, 0, -1, slot.partitions)

IsParked(slot, b) == IF slot.type # "parked" THEN FALSE ELSE slot.broker = b
IsAdding(slot, b) == IF slot.type # "adding" THEN FALSE ELSE slot.broker = b

-----------------------------------------------------------------------------
(* The partition's verdicts (UnifiedLog, ProducerAppendInfo) *)

BatchOf(c, p, late) == IF late THEN lateProduce[c][p] ELSE produce[c][p]
MarkerOf(b, p, late) == IF late THEN lateMarker[b][p] ELSE marker[b][p]

IsOngoing(e, r) == e.first >= 0 /\ OngoingOfItsEpoch(e, r)
MustVerify(p, r) == VerifyTransaction(IsOngoing(entry[p][r.pid], r))
IsStale(p, r) == ~EpochNotOlder(entry[p][r.pid], r)

\* It has arrived, and is not to be verified, or was.
IsReady(p, r) ==
    CASE r.type = "request" -> IsStale(p, r) \/ ~MustVerify(p, r)
      [] r.type = "verified" -> TRUE
      [] OTHER -> FALSE

\* A batch whose producer has no transaction here must come with the guard that the partition has given out.
LacksGuard(e, r) ==
    IF r.type # "verified" THEN FALSE ELSE ~IsOngoing(e, r) /\ ~VerificationGuard(r)

\* KAFKA-18202: in version 2 a partition that knows nothing of the producer takes the first batch only. What a group's coordinator
\* writes has no sequence, and nobody looks whether it is there already.
FitsSequence(e, r) ==
    IF r.sequence = -1 THEN TRUE
    ELSE IF e.epoch = -1 THEN V2 => r.sequence = 0
    ELSE IF e.epoch # r.epoch THEN r.sequence = 0
    ELSE r.sequence = e.sequence + 1

BatchVerdict(p, r) ==
    LET e == entry[p][r.pid] IN
    IF e.epoch = r.epoch /\ e.sequence = r.sequence /\ r.sequence # -1 THEN "DUPLICATE"
    ELSE IF IsStale(p, r) THEN "INVALID_PRODUCER_EPOCH"
    ELSE IF LacksGuard(e, r) THEN "INVALID_TXN_STATE"
    ELSE IF ~FitsSequence(e, r) THEN "OUT_OF_ORDER_SEQUENCE_NUMBER"
    ELSE "NONE"

MarkerVerdict(p, m) ==
    LET e == entry[p][m.pid] IN
    IF m.epoch < e.epoch THEN "INVALID_PRODUCER_EPOCH"
    ELSE IF V2 /\ ~MarkerOfItsTransaction(e, m)
            /\ ~AcceptRepeatedMarker(e)
    THEN "INVALID_PRODUCER_EPOCH"
    ELSE IF ~CoordinatorNotOlder(e, m) THEN "TRANSACTION_COORDINATOR_FENCED"
    ELSE "NONE"

\* The leader's state of a producer once its record is in the log at this offset.
After(e, record, offset) ==
    IF record.type = "data"
    THEN [epoch |-> record.epoch, sequence |-> record.sequence, coordinatorEpoch |-> e.coordinatorEpoch,
          first |-> IF e.first >= 0 THEN e.first ELSE offset, guard |-> -1]
    ELSE [epoch |-> record.epoch, sequence |-> IF record.epoch = e.epoch THEN e.sequence ELSE -1,
          coordinatorEpoch |-> record.coordinatorEpoch, first |-> -1,
          guard |-> IF V2 /\ e.guard = record.epoch THEN e.guard ELSE -1]

\* The same of a log that is loaded.
Replay(records, pid) ==
    FoldSeq(LAMBDA i, e : IF records[i].pid # pid THEN e
                          ELSE [epoch |-> After(e, records[i], i - 1).epoch, sequence |-> After(e, records[i], i - 1).sequence,
                                coordinatorEpoch |-> After(e, records[i], i - 1).coordinatorEpoch,
                                first |-> After(e, records[i], i - 1).first, guard |-> -1],
            NoEntry, [i \in 1..Len(records) |-> i])
ReplayAborted(records) ==
    FoldSeq(LAMBDA i, index : IF records[i].type # "marker" THEN index
                              ELSE IF records[i].result = "COMMIT" \/ Opened(records, records[i].pid, i) = 0 THEN index
                              ELSE Append(index, [pid |-> records[i].pid, first |-> Opened(records, records[i].pid, i) - 1,
                                                  last |-> i - 1]),
            <<>>, [i \in 1..Len(records) |-> i])

\* The offsets of which transaction a marker makes count: the last that its producer has written.
Materialised(records, pid, held) ==
    LET mine == {i \in 1..Len(records) : records[i].pid = pid /\ records[i].type = "data"}
        last == records[MaxOf(mine)] IN
    IF last.type = "data" THEN [type |-> "offsets", committed |-> last.transaction] ELSE held
ReplayOffsets(records) ==
    FoldSeq(LAMBDA i, held : IF records[i].type # "marker" THEN held
                             ELSE IF records[i].result = "ABORT" \/ Opened(records, records[i].pid, i) = 0 THEN held
                             ELSE Materialised(SubSeq(records, 1, i), records[i].pid, held),
            [type |-> "offsets", committed |-> 0], [i \in 1..Len(records) |-> i])

\* Everything before it is decided, and stays so.
StableEnd(records, known, offset) ==
    LET open    == {known[pid].first : pid \in {x \in Pids : known[x].first >= 0}}
        markers == {i \in 1..Len(records) : /\ records[i].type = "marker"
                                            /\ AwaitMarker(i, offset)
                                            /\ Opened(records, records[i].pid, i) # 0}
        undone  == {Opened(records, records[i].pid, i) - 1 : i \in markers}
    IN  MinOf({offset} \cup open \cup undone)

Verifying(r, guard) ==
    [type |-> "verifying", pid |-> r.pid, epoch |-> r.epoch, sequence |-> r.sequence, transaction |-> r.transaction,
     guard |-> guard]
Verified(r, guard) ==
    [type |-> "verified", pid |-> r.pid, epoch |-> r.epoch, sequence |-> r.sequence, transaction |-> r.transaction,
     guard |-> guard]
Adding(r, guard, b) ==
    [type |-> "adding", pid |-> r.pid, epoch |-> r.epoch, sequence |-> r.sequence, transaction |-> r.transaction, guard |-> guard,
     broker |-> b]
Waiting(r, offset) ==
    [type |-> "waiting", pid |-> r.pid, epoch |-> r.epoch, sequence |-> r.sequence, transaction |-> r.transaction,
     offset |-> offset]
BatchReply(r, error) ==
    [type |-> "reply", pid |-> r.pid, epoch |-> r.epoch, sequence |-> r.sequence, transaction |-> r.transaction, error |-> error]
BatchRequest(r) ==
    [type |-> "request", pid |-> r.pid, epoch |-> r.epoch, sequence |-> r.sequence, transaction |-> r.transaction]

\* A batch whose guard, if its producer is this one, is the partition's no more.
Unguarded(slot, pid) ==
    IF slot.type = "verifying" THEN IF slot.pid = pid THEN Verifying(slot, FALSE) ELSE slot
    ELSE IF slot.type = "verified" THEN IF slot.pid = pid THEN Verified(slot, FALSE) ELSE slot
    ELSE IF slot.type = "adding" THEN IF slot.pid = pid THEN Adding(slot, FALSE, slot.broker) ELSE slot
    ELSE slot

-----------------------------------------------------------------------------
(* Fetches (UnifiedLog.read, collectAbortedTransactions; on the consumer's side CompletedFetch) *)

LastReadable(r, p) == IF r = "read_committed" THEN lastStableOffset[p] ELSE highWatermark[p]

ReadEnd(p, slot) ==
    IF ReadHighWatermarkOnce(p, slot) \/ ~slot.stable THEN slot.end ELSE highWatermark[p]

\* Where the aborted transactions begin that have records from one offset to before another, or end among them.
AbortedIn(p, from, end) ==
    {abortedIndex[p][i].first : i \in {x \in 1..Len(abortedIndex[p]) : abortedIndex[p][x].first < end
                                                                   /\ abortedIndex[p][x].last >= from}}
ResponseAborted(r, p, slot, end) ==
    IF r = "read_uncommitted" THEN {}
    ELSE IF AbortedListOfDelayedFetch(slot) \/ ~slot.delayed
    THEN AbortedIn(p, position[r][p], end)
    ELSE {}

\* The consumer leaves the record at offset o out: its producer has an aborted transaction that begins at `first`, and its abort
\* marker is not among the records before o.
IsAborted(r, p, first, o) ==
    LET pid == log[p][o + 1].pid IN
    /\ first <= o
    /\ log[p][first + 1].pid = pid
    /\ \A j \in Max(first, position[r][p])..o :
            log[p][j + 1].type = "marker" => log[p][j + 1].pid # pid \/ log[p][j + 1].result = "COMMIT"

-----------------------------------------------------------------------------
(* History *)

NextTold(c) ==
    IF rpc[c].error # "NONE" THEN told
    ELSE [told EXCEPT ![client[c].transaction] = IF client[c].state = "COMMITTING_TRANSACTION" THEN "COMMIT" ELSE "ABORT"]

-----------------------------------------------------------------------------
(* Init: nobody has a producer id; any broker is the first coordinator, any partition one of __consumer_offsets. *)

Init ==
    /\ \E b \in Brokers :
        /\ leaderAndEpoch = [broker |-> b, epoch |-> 1]
        /\ epoch = [x \in Brokers |-> IF x = b THEN 1 ELSE 0]
    /\ stored = FirstMetadata
    /\ unreplicated = [b \in Brokers |-> <<>>]
    /\ metadata = [b \in Brokers |-> FirstMetadata]
    /\ pending = [b \in Brokers |-> "none"]
    /\ sending = [b \in Brokers |-> 0]
    /\ hasFailedEpochFence = [b \in Brokers |-> FALSE]
    /\ pendingCompleteTxn = [b \in Brokers |-> "none"]
    /\ earlierTimestamp = [b \in Brokers |-> FALSE]
    /\ issued = 1
    /\ begun = 0
    /\ client = [c \in Clients |-> NewClient]
    /\ rpc = [c \in Clients |-> Idle]
    /\ lateRpc = [c \in Clients |-> Idle]
    /\ produce = [c \in Clients |-> [p \in Partitions |-> Idle]]
    /\ lateProduce = [c \in Clients |-> [p \in Partitions |-> Idle]]
    /\ marker = [b \in Brokers |-> [p \in Partitions |-> Idle]]
    /\ lateMarker = [b \in Brokers |-> [p \in Partitions |-> Idle]]
    /\ log = [p \in Partitions |-> <<>>]
    /\ highWatermark = [p \in Partitions |-> 0]
    /\ lastStableOffset = [p \in Partitions |-> 0]
    /\ entry = [p \in Partitions |-> [pid \in Pids |-> NoEntry]]
    /\ abortedIndex = [p \in Partitions |-> <<>>]
    /\ offsets \in [Partitions -> {[type |-> "data"], [type |-> "offsets", committed |-> 0]}]
    /\ fetch = [r \in IsolationLevels |-> [p \in Partitions |-> Idle]]
    /\ position = [r \in IsolationLevels |-> [p \in Partitions |-> 0]]
    /\ returned = [r \in IsolationLevels |-> [p \in Partitions |-> {}]]
    /\ told = [k \in Transactions |-> "none"]

-----------------------------------------------------------------------------
(* The client's actions (TransactionManager) *)

\* SendInitProducerId   who: client   code: transactions/transactional_producer.py
\* After an abort that left a batch in doubt it names the epoch that it has (version 1, KIP-360).
SendInitProducerId(c, b) ==
    \* enabled when
    /\ client[c].state \in {"UNINITIALIZED", "INITIALIZING"} /\ rpc[c].type = "idle"
    \* effect
    /\ client' = [client EXCEPT ![c].state = "INITIALIZING"]
    /\ rpc' = [rpc EXCEPT ![c] = [type |-> "request", kind |-> "init", broker |-> b,
                                  pid |-> IF client[c].bump THEN client[c].pid ELSE 0,
                                  epoch |-> IF client[c].bump THEN client[c].epoch ELSE -1,
                                  partitions |-> {}, result |-> "ABORT"]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, lateRpc, produce, lateProduce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* BeginTransaction   who: client   code: transactions/transactional_producer.py
BeginTransaction(c, k) ==
    \* enabled when
    /\ client[c].state = "READY" /\ k = begun + 1
    \* effect
    /\ begun' = k
    /\ client' = [client EXCEPT ![c].state = "IN_TRANSACTION", ![c].transaction = k, ![c].partitions = {}]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, rpc, lateRpc, produce, lateProduce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

AddRequest(c, b, p) ==
    [type |-> "request", kind |-> "add", broker |-> b, pid |-> client[c].pid, epoch |-> client[c].epoch, partitions |-> {p},
     result |-> "ABORT"]

\* SendAddPartitions   who: client   code: transactions/transactional_producer.py
SendAddPartitions(c, b, p) ==
    \* enabled when
    /\ ~V2
    /\ client[c].state = "IN_TRANSACTION" /\ rpc[c].type = "idle" /\ p \notin client[c].partitions /\ ~IsOffsets(p)
    \* effect
    /\ rpc' = [rpc EXCEPT ![c] = AddRequest(c, b, p)]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, lateRpc, produce, lateProduce, marker, lateMarker,
                   log, highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* SendAddOffsets   who: client   code: transactions/transactional_producer.py
\* AddOffsetsToTxn names a group; its partition is what the coordinator adds, as any other.
SendAddOffsets(c, b, p) ==
    \* enabled when
    /\ ~V2
    /\ client[c].state = "IN_TRANSACTION" /\ rpc[c].type = "idle" /\ p \notin client[c].partitions /\ IsOffsets(p)
    \* effect
    /\ rpc' = [rpc EXCEPT ![c] = AddRequest(c, b, p)]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, lateRpc, produce, lateProduce, marker, lateMarker,
                   log, highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* SendProduce   who: client   code: transactions/transactional_producer.py
SendProduce(c, p) ==
    \* enabled when
    /\ client[c].state = "IN_TRANSACTION" /\ produce[c][p].type = "idle" /\ ~IsOffsets(p)
    /\ V2 \/ p \in client[c].partitions
    \* effect
    /\ client' = [client EXCEPT ![c].partitions = @ \cup {p}, ![c].next[p] = @ + 1]
    /\ produce' = [produce EXCEPT ![c][p] = [type |-> "request", pid |-> client[c].pid, epoch |-> client[c].epoch,
                                             sequence |-> client[c].next[p], transaction |-> client[c].transaction]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, rpc, lateRpc, lateProduce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* SendTxnOffsetCommit   who: client   code: transactions/transactional_producer.py
\* sendOffsetsToTransaction: what the group's coordinator writes of it is part of the transaction.
SendTxnOffsetCommit(c, p) ==
    \* enabled when
    /\ client[c].state = "IN_TRANSACTION" /\ produce[c][p].type = "idle" /\ IsOffsets(p)
    /\ V2 \/ p \in client[c].partitions
    \* effect
    /\ client' = [client EXCEPT ![c].partitions = @ \cup {p}]
    /\ produce' = [produce EXCEPT ![c][p] = [type |-> "request", pid |-> client[c].pid, epoch |-> client[c].epoch,
                                             sequence |-> -1, transaction |-> client[c].transaction]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, rpc, lateRpc, lateProduce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* SendEndTxn   who: client   code: transactions/transactional_producer.py
\* Every batch is answered or given up; after an error it can only abort.
SendEndTxn(c, b, result) ==
    \* enabled when
    /\ rpc[c].type = "idle"
    /\ \/ client[c].state = "IN_TRANSACTION" /\ client[c].partitions # {}
       \/ client[c].state = "ABORTABLE_ERROR" /\ result = "ABORT"
       \/ client[c].state = "COMMITTING_TRANSACTION" /\ result = "COMMIT"
       \/ client[c].state = "ABORTING_TRANSACTION" /\ result = "ABORT"
    /\ \A p \in Partitions : produce[c][p].type = "idle"
    \* effect
    /\ client' = [client EXCEPT ![c].state = IF result = "COMMIT" THEN "COMMITTING_TRANSACTION" ELSE "ABORTING_TRANSACTION"]
    /\ rpc' = [rpc EXCEPT ![c] = [type |-> "request", kind |-> "end", broker |-> b, pid |-> client[c].pid,
                                  epoch |-> client[c].epoch, partitions |-> {}, result |-> result]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, lateRpc, produce, lateProduce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

FatalErrors == {"PRODUCER_FENCED", "INVALID_PRODUCER_ID_MAPPING", "INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE"}

\* ReceiveInitProducerId   who: client   code: transactions/transactional_producer.py
ReceiveInitProducerId(c) ==
    LET reply == rpc[c]
        m     == client[c] IN
    \* enabled when
    /\ reply.type = "reply" /\ (reply.type = "reply" => reply.kind = "init")
    \* effect
    /\ rpc' = [rpc EXCEPT ![c] = Idle]
    /\ client' = [client EXCEPT ![c] =
                    [state |-> IF reply.error = "NONE" THEN "READY"
                               ELSE IF reply.error \in FatalErrors THEN "FATAL_ERROR" ELSE m.state,
                     pid |-> IF reply.error = "NONE" THEN reply.pid ELSE m.pid,
                     epoch |-> IF reply.error = "NONE" THEN reply.epoch ELSE m.epoch,
                     transaction |-> m.transaction, partitions |-> m.partitions,
                     next |-> [p \in Partitions |-> IF reply.error = "NONE" THEN 0 ELSE m.next[p]],
                     bump |-> m.bump /\ reply.error # "NONE"]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, lateRpc, produce, lateProduce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* ReceiveAddPartitions   who: client   code: transactions/transactional_producer.py
ReceiveAddPartitions(c) ==
    LET reply == rpc[c]
        m     == client[c] IN
    \* enabled when
    /\ reply.type = "reply" /\ (reply.type = "reply" => reply.kind = "add")
    \* effect
    /\ rpc' = [rpc EXCEPT ![c] = Idle]
    /\ client' = [client EXCEPT
                    ![c].state = IF m.state # "FATAL_ERROR" /\ reply.error \in FatalErrors THEN "FATAL_ERROR" ELSE @,
                    ![c].partitions = IF reply.error = "NONE" THEN @ \cup reply.partitions ELSE @]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, lateRpc, produce, lateProduce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* ReceiveEndTxn   who: client   code: transactions/transactional_producer.py
ReceiveEndTxn(c) ==
    LET reply == rpc[c]
        m     == client[c]
        done  == reply.error = "NONE" IN
    \* enabled when
    /\ reply.type = "reply" /\ (reply.type = "reply" => reply.kind = "end")
    \* effect
    /\ rpc' = [rpc EXCEPT ![c] = Idle]
    /\ client' = [client EXCEPT ![c] =
                    [state |-> IF done THEN IF BumpAfterDoubt(m) /\ ~V2 THEN "INITIALIZING" ELSE "READY"
                               ELSE IF reply.error \in FatalErrors THEN "FATAL_ERROR" ELSE m.state,
                     pid |-> IF done /\ V2 THEN reply.pid ELSE m.pid,
                     epoch |-> IF done /\ V2 THEN reply.epoch ELSE m.epoch,
                     transaction |-> IF done THEN 0 ELSE m.transaction,
                     partitions |-> IF done THEN {} ELSE m.partitions,
                     next |-> [p \in Partitions |-> IF done /\ V2 THEN 0 ELSE m.next[p]],
                     bump |-> m.bump /\ (~done \/ (Has("BumpAfterDoubt") /\ ~V2))]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, lateRpc, produce, lateProduce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ told' = NextTold(c)

Retriable == {"CONCURRENT_TRANSACTIONS", "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "NOT_LEADER_OR_FOLLOWER"}

\* ReceiveProduce   who: client   code: transactions/transactional_producer.py
\* A batch is sent again with its sequence, or the transaction can only be aborted.
ReceiveProduce(c, p) ==
    LET reply == produce[c][p]
        m     == client[c]
        again == reply.error \in Retriable /\ m.state # "FATAL_ERROR"
        ok    == reply.error = "NONE" \/ reply.error \in Retriable
        abort == \/ reply.error \notin {"INVALID_PRODUCER_ID_MAPPING", "INVALID_PRODUCER_EPOCH"}
                 \/ AbortOnInvalidEpoch(reply) IN
    \* enabled when
    /\ reply.type = "reply" /\ ~IsOffsets(p)
    \* effect
    /\ produce' = [produce EXCEPT ![c][p] = IF again THEN BatchRequest(reply) ELSE Idle]
    /\ client' = [client EXCEPT
                    ![c].state = IF ok \/ m.state = "FATAL_ERROR" THEN @
                                 ELSE IF abort THEN "ABORTABLE_ERROR" ELSE "FATAL_ERROR",
                    ![c].bump = @ \/ ~ok]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, rpc, lateRpc, lateProduce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* ReceiveTxnOffsetCommit   who: client   code: transactions/transactional_producer.py
\* A client outside the group can only abort (CommitFailedException). A fenced client stops, also if no other has replaced it.
ReceiveTxnOffsetCommit(c, p) ==
    LET reply == produce[c][p]
        m     == client[c]
        again == reply.error \in Retriable /\ m.state = "IN_TRANSACTION"
        ok    == reply.error = "NONE" \/ reply.error \in Retriable
        abort == reply.error \in GroupErrors \cup {"TRANSACTION_ABORTABLE"} IN
    \* enabled when
    /\ reply.type = "reply" /\ IsOffsets(p)
    \* effect
    /\ produce' = [produce EXCEPT ![c][p] = IF again THEN BatchRequest(reply) ELSE Idle]
    /\ client' = [client EXCEPT ![c].state = IF ok \/ (abort /\ m.state # "IN_TRANSACTION") THEN @
                                            ELSE IF abort THEN "ABORTABLE_ERROR" ELSE "FATAL_ERROR"]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, rpc, lateRpc, lateProduce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* Something of a batch may still come to the partition.
IsOpen(slot) == slot.type \in {"request", "verifying", "verified", "adding"}

\* GiveUpProduce   who: the client's clock   code: transactions/transactional_producer.py
\* delivery.timeout.ms: the batch has failed. It may be under way, or wait for its verification.
GiveUpProduce(c, p, keep) ==
    LET slot == produce[c][p] IN
    \* enabled when
    /\ slot.type # "idle" /\ ~IsOffsets(p)
    /\ keep => IsOpen(slot) /\ lateProduce[c][p].type = "idle"
    \* effect
    /\ produce' = [produce EXCEPT ![c][p] = Idle]
    /\ lateProduce' = IF keep THEN [lateProduce EXCEPT ![c][p] = slot] ELSE lateProduce
    /\ client' = [client EXCEPT ![c].state = IF @ = "FATAL_ERROR" THEN @ ELSE "ABORTABLE_ERROR", ![c].bump = TRUE]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, rpc, lateRpc, marker, lateMarker, log, highWatermark,
                   lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* DisconnectOffsets   who: the network   code: transactions/sim/processes.py
\* The connection to the group's coordinator fails: the client sends its TxnOffsetCommit again, if its transaction goes on; the
\* first may yet be read. No time-out of the client's puts it in doubt (BumpAfterDoubt): it asks until it is answered.
DisconnectOffsets(c, p, keep) ==
    LET slot == produce[c][p] IN
    \* enabled when
    /\ slot.type # "idle" /\ IsOffsets(p)
    /\ keep => IsOpen(slot) /\ lateProduce[c][p].type = "idle"
    \* effect
    /\ produce' = [produce EXCEPT ![c][p] = IF client[c].state = "IN_TRANSACTION" THEN BatchRequest(slot) ELSE Idle]
    /\ lateProduce' = IF keep THEN [lateProduce EXCEPT ![c][p] = slot] ELSE lateProduce
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* DisconnectRpc   who: the network   code: transactions/sim/processes.py
\* A request or its reply is lost, and the client will send it again; the coordinator may yet read what was sent.
DisconnectRpc(c, keep) ==
    \* enabled when
    /\ rpc[c].type # "idle"
    /\ keep => rpc[c].type = "request" /\ lateRpc[c].type = "idle"
    \* effect
    /\ rpc' = [rpc EXCEPT ![c] = Idle]
    /\ lateRpc' = IF keep THEN [lateRpc EXCEPT ![c] = rpc[c]] ELSE lateRpc
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, produce, lateProduce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* CrashClient   who: the nemesis   code: transactions/sim/processes.py
\* Another process takes its place; what it has sent may still arrive.
CrashClient(c) ==
    \* enabled when
    /\ client[c].state # "UNINITIALIZED"
    \* effect
    /\ client' = [client EXCEPT ![c] = NewClient]
    /\ rpc' = [rpc EXCEPT ![c] = Idle]
    /\ lateRpc' = IF rpc[c].type = "request" /\ lateRpc[c].type = "idle" THEN [lateRpc EXCEPT ![c] = rpc[c]] ELSE lateRpc
    /\ produce' = [produce EXCEPT ![c] = [p \in Partitions |-> Idle]]
    /\ lateProduce' = [lateProduce EXCEPT ![c] =
                        [p \in Partitions |-> IF IsOpen(produce[c][p]) /\ lateProduce[c][p].type = "idle" THEN produce[c][p]
                                              ELSE lateProduce[c][p]]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, marker, lateMarker, log, highWatermark, lastStableOffset,
                   entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

-----------------------------------------------------------------------------
(* The coordinator's actions *)

\* b appends a record; its memory changes when the record has committed.
Write(b, record) ==
    /\ unreplicated' = [unreplicated EXCEPT ![b] = Append(@, record)]
    /\ pending' = [pending EXCEPT ![b] = record.state]

IsRequest(r, b, kind) == IF r.type # "request" THEN FALSE ELSE r.broker = b /\ r.kind = kind

\* The client's request is parked until the record has committed.
Park(c, late, kind, b, partitions) ==
    /\ rpc' = IF late THEN rpc ELSE [rpc EXCEPT ![c] = Parked(kind, b, partitions)]
    /\ lateRpc' = IF late THEN [lateRpc EXCEPT ![c] = Idle] ELSE lateRpc

\* AppendInitProducerId   who: coordinator   code: transactions/coordinator.py
AppendInitProducerId(b, c, late) ==
    LET r == RpcOf(c, late) IN
    \* enabled when
    /\ IsRequest(r, b, "init")
    /\ InitVerdict(b, r) \in {"BUMP", "SAME", "ROTATE"}
    \* effect
    /\ Write(b, InitRecord(metadata[b], r, InitVerdict(b, r)))
    /\ issued' = IF InitVerdict(b, r) = "ROTATE" THEN issued + 1 ELSE issued
    /\ Park(c, late, "init", b, {})
    /\ UNCHANGED <<leaderAndEpoch, stored, epoch, metadata, sending, hasFailedEpochFence, pendingCompleteTxn, earlierTimestamp,
                   begun, client, produce, lateProduce, marker, lateMarker, log, highWatermark, lastStableOffset, entry,
                   abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* FenceProducer   who: coordinator   code: transactions/coordinator.py
\* There is a transaction: its producer is fenced, it is aborted, and the new process is to ask again.
FenceProducer(b, c, late) ==
    LET r == RpcOf(c, late) IN
    \* enabled when
    /\ IsRequest(r, b, "init")
    /\ InitVerdict(b, r) = "FENCE"
    \* effect
    /\ Write(b, EndRecord(b, "ABORT", TRUE))
    /\ issued' = IF EndRecord(b, "ABORT", TRUE).nextPid # 0 THEN issued + 1 ELSE issued
    /\ Park(c, late, "fence", b, {})
    /\ UNCHANGED <<leaderAndEpoch, stored, epoch, metadata, sending, hasFailedEpochFence, pendingCompleteTxn, earlierTimestamp,
                   begun, client, produce, lateProduce, marker, lateMarker, log, highWatermark, lastStableOffset, entry,
                   abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* AppendAddPartitions   who: coordinator   code: transactions/coordinator.py
AppendAddPartitions(b, c, late) ==
    LET r == RpcOf(c, late) IN
    \* enabled when
    /\ IsRequest(r, b, "add")
    /\ RpcVerdict(b, r) = "APPEND"
    \* effect
    /\ Write(b, AddRecord(metadata[b], CHOOSE p \in r.partitions : TRUE))
    /\ Park(c, late, "add", b, r.partitions)
    /\ UNCHANGED <<leaderAndEpoch, stored, epoch, metadata, sending, hasFailedEpochFence, pendingCompleteTxn, earlierTimestamp,
                   issued, begun, client, produce, lateProduce, marker, lateMarker, log, highWatermark, lastStableOffset, entry,
                   abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* AppendEndTxn   who: coordinator   code: transactions/coordinator.py
AppendEndTxn(b, c, late) ==
    LET r == RpcOf(c, late) IN
    \* enabled when
    /\ IsRequest(r, b, "end")
    /\ RpcVerdict(b, r) = "APPEND"
    \* effect
    /\ Write(b, EndRecord(b, r.result, FALSE))
    /\ issued' = IF EndRecord(b, r.result, FALSE).nextPid # 0 THEN issued + 1 ELSE issued
    /\ Park(c, late, "end", b, {})
    /\ UNCHANGED <<leaderAndEpoch, stored, epoch, metadata, sending, hasFailedEpochFence, pendingCompleteTxn, earlierTimestamp,
                   begun, client, produce, lateProduce, marker, lateMarker, log, highWatermark, lastStableOffset, entry,
                   abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* AnswerRpc   who: coordinator, or who was asked in its place   code: transactions/coordinator.py (answer_rpc)
\* An error, or what was asked for is so already.
AnswerRpc(b, c, late) ==
    LET r    == RpcOf(c, late)
        says == RpcVerdict(b, r) = "NONE" /\ r.kind = "end" /\ V2 IN
    \* enabled when
    /\ r.type = "request" /\ (r.type = "request" => r.broker = b)
    /\ RpcVerdict(b, r) \in Errors
    \* effect
    /\ rpc' = IF late THEN rpc
              ELSE [rpc EXCEPT ![c] = RpcReply(r.kind, RpcVerdict(b, r), IF says THEN metadata[b].pid ELSE 0,
                                               IF says THEN metadata[b].epoch ELSE -1, r.partitions)]
    /\ lateRpc' = IF late THEN [lateRpc EXCEPT ![c] = Idle] ELSE lateRpc
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, produce, lateProduce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* The batch goes on, or is answered; a late one is forgotten with its answer.
Goes(c, p, late, slot) ==
    /\ produce' = IF late THEN produce ELSE [produce EXCEPT ![c][p] = slot]
    /\ lateProduce' = IF late THEN [lateProduce EXCEPT ![c][p] = slot] ELSE lateProduce
Answered(c, p, late, slot) ==
    /\ produce' = IF late THEN produce ELSE [produce EXCEPT ![c][p] = slot]
    /\ lateProduce' = IF late THEN [lateProduce EXCEPT ![c][p] = Idle] ELSE lateProduce

\* VerifyPartition   who: coordinator   code: transactions/coordinator.py (verify_partition)
\* The partition belongs to the producer's transaction.
VerifyPartition(b, c, p, late) ==
    LET r == BatchOf(c, p, late) IN
    \* enabled when
    /\ r.type = "verifying"
    /\ VerificationVerdict(b, r, p) = "NONE"
    \* effect
    /\ Goes(c, p, late, Verified(r, r.guard))
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* AppendVerified   who: coordinator   code: transactions/coordinator.py (append_add_partitions)
\* Version 2: the partition is added by who asks.
AppendVerified(b, c, p, late) ==
    LET r == BatchOf(c, p, late) IN
    \* enabled when
    /\ r.type = "verifying"
    /\ VerificationVerdict(b, r, p) = "APPEND"
    \* effect
    /\ Write(b, AddRecord(metadata[b], p))
    /\ Goes(c, p, late, Adding(r, r.guard, b))
    /\ UNCHANGED <<leaderAndEpoch, stored, epoch, metadata, sending, hasFailedEpochFence, pendingCompleteTxn, earlierTimestamp,
                   issued, begun, client, rpc, lateRpc, marker, lateMarker, log, highWatermark, lastStableOffset, entry,
                   abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* RefuseVerification   who: coordinator, or who was asked in its place   code: transactions/coordinator.py (verify_partition)
RefuseVerification(b, c, p, late) ==
    LET r       == BatchOf(c, p, late)
        verdict == VerificationVerdict(b, r, p) IN
    \* enabled when
    /\ r.type = "verifying"
    /\ verdict \notin {"NONE", "APPEND"}
    \* effect
    /\ Answered(c, p, late, BatchReply(r, IF verdict = "PRODUCER_FENCED" THEN "INVALID_PRODUCER_EPOCH" ELSE verdict))
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* AbortTimedOutTransaction   who: the coordinator's clock   code: transactions/coordinator.py
AbortTimedOutTransaction(b) ==
    \* enabled when
    /\ Serving(b) /\ metadata[b].state = "Ongoing" /\ pending[b] = "none"
    \* effect
    /\ Write(b, EndRecord(b, "ABORT", TRUE))
    /\ issued' = IF EndRecord(b, "ABORT", TRUE).nextPid # 0 THEN issued + 1 ELSE issued
    /\ UNCHANGED <<leaderAndEpoch, stored, epoch, metadata, sending, hasFailedEpochFence, pendingCompleteTxn, earlierTimestamp,
                   begun, client, rpc, lateRpc, produce, lateProduce, marker, lateMarker, log, highWatermark, lastStableOffset,
                   entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* Clients that waited at b get their replies.
RpcAnswers(b, record) == [c \in Clients |-> IF IsParked(rpc[c], b) THEN Committed(rpc[c], record) ELSE rpc[c]]
RpcFailures(b, error) == [c \in Clients |-> IF IsParked(rpc[c], b) THEN Failed(rpc[c], error) ELSE rpc[c]]
Added(slots, b) ==
    [c \in Clients |-> [p \in Partitions |->
        IF IsAdding(slots[c][p], b) THEN Verified(slots[c][p], slots[c][p].guard) ELSE slots[c][p]]]
ProduceFailures(b, error) ==
    [c \in Clients |-> [p \in Partitions |->
        IF IsAdding(produce[c][p], b) THEN BatchReply(produce[c][p], error) ELSE produce[c][p]]]
LateFailures(b) ==
    [c \in Clients |-> [p \in Partitions |-> IF IsAdding(lateProduce[c][p], b) THEN Idle ELSE lateProduce[c][p]]]

\* ClockGoesBack   who: the broker's clock   code: transactions/sim/cluster.py
\* The time of the transition that is pending is before the last one's: another broker wrote that, or the clock was set.
ClockGoesBack(b) ==
    \* enabled when
    /\ Serving(b) /\ pending[b] # "none" /\ IsWritten(b) /\ ~earlierTimestamp[b]
    \* effect
    /\ earlierTimestamp' = [earlierTimestamp EXCEPT ![b] = TRUE]
    /\ UNCHANGED <<hasFailedEpochFence, pendingCompleteTxn>>
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, issued, begun, client, rpc, lateRpc,
                   produce, lateProduce, marker, lateMarker, log, highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* CommitRecord   who: the log   code: transactions/coordinator.py
\* The oldest record is replicated. If it is that of the pending transition, memory takes it, and who waited is answered.
CommitRecord(b) ==
    LET record == Head(unreplicated[b])
        mine   == /\ Serving(b) /\ pending[b] # "none" /\ IsWritten(b) /\ Len(unreplicated[b]) = 1
                  /\ AcceptEarlierTime(b) \/ ~earlierTimestamp[b] IN
    \* enabled when
    /\ leaderAndEpoch.broker = b /\ unreplicated[b] # <<>>
    \* effect
    /\ stored' = record
    /\ unreplicated' = [unreplicated EXCEPT ![b] = Tail(@)]
    /\ metadata' = [metadata EXCEPT ![b] = IF mine THEN record ELSE @]
    /\ pending' = [pending EXCEPT ![b] = IF mine THEN "none" ELSE @]
    /\ sending' = [sending EXCEPT ![b] = IF mine /\ record.state \in Prepared THEN epoch[b] ELSE @]
    /\ hasFailedEpochFence' = [hasFailedEpochFence EXCEPT ![b] = @ /\ ~(mine /\ record.state \in Prepared)]
    /\ pendingCompleteTxn' = [pendingCompleteTxn EXCEPT ![b] =
                                IF mine /\ record.state \in {"Empty"} \cup Prepared THEN "none" ELSE @]
    /\ earlierTimestamp' = [earlierTimestamp EXCEPT ![b] = @ /\ ~mine]
    /\ rpc' = IF mine THEN RpcAnswers(b, record) ELSE rpc
    /\ produce' = IF mine THEN Added(produce, b) ELSE produce
    /\ lateProduce' = IF mine THEN Added(lateProduce, b) ELSE lateProduce
    /\ UNCHANGED <<leaderAndEpoch, epoch, issued, begun, client, lateRpc, marker, lateMarker, log, highWatermark,
                   lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* FailAppend   who: the log   code: transactions/coordinator.py
\* Too few replicas are in sync: the record is not written. A completion will be appended again. In version 1 the epoch that was
\* to fence stays in memory.
FailAppend(b) ==
    LET keeps  == KeepPendingOnRetry(b)
        clears == ClearPendingOnFailure(keeps)
        record == Last(unreplicated[b])
        fences == ~V2 /\ pending[b] = "PrepareAbort" /\ record.epoch > metadata[b].epoch IN
    \* enabled when
    /\ Serving(b) /\ pending[b] # "none" /\ IsWritten(b)
    \* effect
    /\ unreplicated' = [unreplicated EXCEPT ![b] = SubSeq(@, 1, Len(@) - 1)]
    /\ pending' = [pending EXCEPT ![b] = IF clears THEN "none" ELSE @]
    /\ metadata' = [metadata EXCEPT ![b].epoch = IF fences THEN record.epoch ELSE @, ![b].lastEpoch = IF fences THEN -1 ELSE @]
    /\ hasFailedEpochFence' = [hasFailedEpochFence EXCEPT ![b] = @ \/ fences]
    /\ earlierTimestamp' = [earlierTimestamp EXCEPT ![b] = FALSE]
    /\ rpc' = RpcFailures(b, "COORDINATOR_NOT_AVAILABLE")
    /\ produce' = ProduceFailures(b, "COORDINATOR_NOT_AVAILABLE")
    /\ lateProduce' = LateFailures(b)
    /\ UNCHANGED <<pendingCompleteTxn>>
    /\ UNCHANGED <<leaderAndEpoch, stored, epoch, sending, issued, begun, client, lateRpc, marker, lateMarker,
                   log, highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* BecomeCoordinator   who: controller   code: transactions/sim/cluster.py
\* b is elected. Of the old leader's records that are not committed it has the first `keep`, the others are lost. The old
\* leader, if it lives, goes on until it hears of it.
BecomeCoordinator(b, keep) ==
    \* enabled when
    /\ ~Serving(b) /\ b # leaderAndEpoch.broker /\ keep <= Len(unreplicated[leaderAndEpoch.broker])
    \* effect
    /\ leaderAndEpoch' = [broker |-> b, epoch |-> leaderAndEpoch.epoch + 1]
    /\ unreplicated' = [unreplicated EXCEPT ![b] = SubSeq(unreplicated[leaderAndEpoch.broker], 1, keep),
                                            ![leaderAndEpoch.broker] = IF Serving(leaderAndEpoch.broker) THEN @ ELSE <<>>]
    /\ UNCHANGED <<stored, epoch, metadata, pending, sending, hasFailedEpochFence, pendingCompleteTxn, earlierTimestamp, issued,
                   begun, client, rpc, lateRpc, produce, lateProduce, marker, lateMarker, log, highWatermark, lastStableOffset,
                   entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* The state that b reads from its log.
Loaded(b) == [LogEnd(b) EXCEPT !.lastEpoch = IF PersistLastEpoch(LogEnd(b)) THEN @ ELSE -1]

\* LoadTransactions   who: broker   code: transactions/coordinator.py
\* Its memory is what its log says; the markers of what is decided go out again.
LoadTransactions(b) ==
    \* enabled when
    /\ leaderAndEpoch.broker = b /\ ~Serving(b)
    /\ ActOnCommitted(b)
    \* effect
    /\ epoch' = [epoch EXCEPT ![b] = leaderAndEpoch.epoch]
    /\ metadata' = [metadata EXCEPT ![b] = Loaded(b)]
    /\ sending' = [sending EXCEPT ![b] = IF ResumeOnLoad(LogEnd(b)) THEN leaderAndEpoch.epoch ELSE 0]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, pending, hasFailedEpochFence, pendingCompleteTxn, earlierTimestamp,
                   issued, begun, client, rpc, lateRpc, produce, lateProduce, marker, lateMarker, log, highWatermark,
                   lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* Resign   who: broker   code: transactions/coordinator.py
\* A deposed coordinator hears of it: who waits is told, its records are nobody's.
Resign(b) ==
    \* enabled when
    /\ Serving(b) /\ ~Acting(b)
    \* effect
    /\ epoch' = [epoch EXCEPT ![b] = 0]
    /\ unreplicated' = [unreplicated EXCEPT ![b] = <<>>]
    /\ metadata' = [metadata EXCEPT ![b] = FirstMetadata]
    /\ pending' = [pending EXCEPT ![b] = "none"]
    /\ sending' = [sending EXCEPT ![b] = 0]
    /\ hasFailedEpochFence' = [hasFailedEpochFence EXCEPT ![b] = FALSE]
    /\ pendingCompleteTxn' = [pendingCompleteTxn EXCEPT ![b] = "none"]
    /\ earlierTimestamp' = [earlierTimestamp EXCEPT ![b] = FALSE]
    /\ rpc' = RpcFailures(b, "NOT_COORDINATOR")
    /\ produce' = ProduceFailures(b, "NOT_COORDINATOR")
    /\ lateProduce' = LateFailures(b)
    /\ UNCHANGED <<leaderAndEpoch, stored, issued, begun, client, lateRpc, marker, lateMarker, log, highWatermark,
                   lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

-----------------------------------------------------------------------------
(* Markers (TransactionMarkerChannelManager) *)

\* SendMarker   who: coordinator   code: transactions/coordinator.py
SendMarker(b, p) ==
    LET m == metadata[b] IN
    \* enabled when
    /\ Serving(b) /\ sending[b] = epoch[b] /\ pending[b] = "none" /\ m.state \in Prepared
    /\ p \in m.partitions /\ marker[b][p].type = "idle"
    \* effect
    /\ marker' = [marker EXCEPT ![b][p] = [type |-> "marker", pid |-> m.pid, epoch |-> m.epoch, result |-> ResultOf(m.state),
                                           coordinatorEpoch |-> epoch[b]]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, lateMarker,
                   log, highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* ReceiveMarkerReply   who: coordinator   code: transactions/coordinator.py
\* The partition has its marker, or the marker is sent again, or somebody else coordinates and the sending ends.
ReceiveMarkerReply(b, p) ==
    LET reply  == marker[b][p]
        own    == Serving(b) /\ reply.coordinatorEpoch = epoch[b]
        fenced == reply.error \in {"INVALID_PRODUCER_EPOCH", "TRANSACTION_COORDINATOR_FENCED"}
        ends   == (~own \/ fenced) /\ CancelOwnEntry(b, reply) IN
    \* enabled when
    /\ reply.type = "reply"
    \* effect
    /\ marker' = [marker EXCEPT ![b][p] = Idle]
    /\ metadata' = [metadata EXCEPT ![b].partitions =
                        IF own /\ reply.error = "NONE" /\ metadata[b].state \in Prepared THEN @ \ {p} ELSE @]
    /\ sending' = [sending EXCEPT ![b] = IF ends THEN 0 ELSE @]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, pending, hasFailedEpochFence, pendingCompleteTxn, earlierTimestamp,
                   issued, begun, client, rpc, lateRpc, produce, lateProduce, lateMarker, log, highWatermark, lastStableOffset,
                   entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* CompleteTransaction   who: coordinator   code: transactions/coordinator.py
\* Every partition has its marker: the completion is appended (again, if that has failed).
CompleteTransaction(b) ==
    LET again == pending[b] \in Completed /\ ~IsWritten(b) IN
    \* enabled when
    /\ Serving(b) /\ metadata[b].state \in Prepared
    /\ again \/ (pending[b] = "none" /\ CompleteOnce(b))
    /\ CompleteAfterMarkers(metadata[b])
    \* effect
    /\ Write(b, CompleteRecord(metadata[b]))
    /\ sending' = [sending EXCEPT ![b] = 0]
    /\ UNCHANGED <<leaderAndEpoch, stored, epoch, metadata, hasFailedEpochFence, pendingCompleteTxn, earlierTimestamp, issued,
                   begun, client, rpc, lateRpc, produce, lateProduce, marker, lateMarker, log, highWatermark, lastStableOffset,
                   entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* FindCompletion   who: coordinator   code: transactions/coordinator.py (completion)
\* Replies of two partitions are read by two threads, and both find that no marker is missing.
FindCompletion(b) ==
    \* enabled when
    /\ Serving(b) /\ metadata[b].state \in Prepared /\ metadata[b].partitions = {}
    /\ sending[b] = epoch[b] /\ pending[b] = "none" /\ pendingCompleteTxn[b] = "none"
    \* effect
    /\ pendingCompleteTxn' = [pendingCompleteTxn EXCEPT ![b] = CompleteOf(metadata[b].state)]
    /\ UNCHANGED <<hasFailedEpochFence, earlierTimestamp>>
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, issued, begun, client, rpc, lateRpc,
                   produce, lateProduce, marker, lateMarker, log, highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* The second thread's record. It belongs to the completed transaction; no other has been decided since.
SecondRecord(b) ==
    [state |-> pendingCompleteTxn[b], pid |-> metadata[b].pid, previousPid |-> metadata[b].pid, nextPid |-> 0,
     epoch |-> metadata[b].epoch, lastEpoch |-> metadata[b].lastEpoch, partitions |-> {}]

\* CompleteAgain   who: coordinator   code: transactions/coordinator.py (complete_transaction)
\* The second thread goes on when the first has written the completion: it finds no entry, and leaves it at that.
CompleteAgain(b) ==
    LET writes == CompleteOnce(b) IN
    \* enabled when
    /\ Serving(b) /\ pendingCompleteTxn[b] # "none" /\ pending[b] = "none" /\ metadata[b].state \notin Prepared
    \* effect
    /\ IF writes THEN Write(b, SecondRecord(b)) ELSE UNCHANGED <<unreplicated, pending>>
    /\ pendingCompleteTxn' = [pendingCompleteTxn EXCEPT ![b] = "none"]
    /\ UNCHANGED <<hasFailedEpochFence, earlierTimestamp>>
    /\ UNCHANGED <<leaderAndEpoch, stored, epoch, metadata, sending, issued, begun, client, rpc, lateRpc, produce, lateProduce,
                   marker, lateMarker, log, highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

-----------------------------------------------------------------------------
(* The partition's actions *)

\* The changes that an appended record causes beside the log.
Appended(p, record) ==
    LET after == [entry[p] EXCEPT ![record.pid] = After(entry[p][record.pid], record, Len(log[p]))] IN
    /\ log' = [log EXCEPT ![p] = Append(@, record)]
    /\ entry' = [entry EXCEPT ![p] = after]
    /\ lastStableOffset' = [lastStableOffset EXCEPT ![p] = StableEnd(Append(log[p], record), after, highWatermark[p])]

\* The batches of p, those of the producer without their guard.
WithoutGuards(slots, p, pid) ==
    [c \in Clients |-> [q \in Partitions |-> IF q = p THEN Unguarded(slots[c][q], pid) ELSE slots[c][q]]]

\* StartVerification   who: partition leader   code: transactions/partition_leader.py (handle_produce)
\* The batch's producer has no transaction here that the leader knows of: it asks the coordinator.
StartVerification(c, p, late) ==
    LET r == BatchOf(c, p, late) IN
    \* enabled when
    /\ r.type = "request"
    /\ r.type = "request" => ~IsReady(p, r)
    \* effect
    /\ Goes(c, p, late, Verifying(r, TRUE))
    /\ entry' = [entry EXCEPT ![p][r.pid].guard = Max(@, r.epoch)]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, marker, lateMarker, log,
                   highWatermark, lastStableOffset, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* AppendBatch   who: partition leader   code: transactions/partition_leader.py (handle_produce)
AppendBatch(c, p, late) ==
    LET r      == BatchOf(c, p, late)
        record == [type |-> "data", pid |-> r.pid, epoch |-> r.epoch, sequence |-> r.sequence, transaction |-> r.transaction]
        live   == WithoutGuards(produce, p, r.pid)
        others == WithoutGuards(lateProduce, p, r.pid) IN
    \* enabled when
    /\ IsReady(p, r)
    /\ BatchVerdict(p, r) = "NONE"
    \* effect
    /\ Appended(p, record)
    /\ produce' = IF late THEN live ELSE [live EXCEPT ![c][p] = Waiting(r, Len(log[p]))]
    /\ lateProduce' = IF late THEN [others EXCEPT ![c][p] = Idle] ELSE others
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, marker, lateMarker, highWatermark,
                   abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* The place of the last batch of the producer with this sequence.
OldOffset(p, r) ==
    MaxOf({i \in 1..Len(log[p]) : IF log[p][i].type # "data" THEN FALSE
                                  ELSE log[p][i].pid = r.pid /\ log[p][i].epoch = r.epoch /\ log[p][i].sequence = r.sequence}) - 1

\* AnswerDuplicate   who: partition leader   code: transactions/partition_leader.py (handle_produce)
AnswerDuplicate(c, p, late) ==
    LET r      == BatchOf(c, p, late)
        offset == OldOffset(p, r) IN
    \* enabled when
    /\ IsReady(p, r)
    /\ BatchVerdict(p, r) = "DUPLICATE"
    \* effect
    /\ Answered(c, p, late, IF offset < highWatermark[p] THEN BatchReply(r, "NONE") ELSE Waiting(r, offset))
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* RejectBatch   who: partition leader   code: transactions/partition_leader.py (handle_produce)
RejectBatch(c, p, late) ==
    LET r == BatchOf(c, p, late) IN
    \* enabled when
    /\ IsReady(p, r)
    /\ BatchVerdict(p, r) \notin {"NONE", "DUPLICATE"}
    \* effect
    /\ Answered(c, p, late, BatchReply(r, BatchVerdict(p, r)))
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* RefuseOffsets   who: group coordinator   code: transactions/partition_leader.py
\* The group has no such member, or another generation. It is asked behind the transaction coordinator, which has the partition in
\* the transaction then, and again when a late request comes.
RefuseOffsets(c, p, late, error) ==
    LET r == BatchOf(c, p, late) IN
    \* enabled when
    /\ IsOffsets(p) /\ IsReady(p, r)
    /\ r.type = "request" => ~IsStale(p, r)
    /\ error \in GroupErrors
    \* effect
    /\ Answered(c, p, late, BatchReply(r, error))
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* AppendMarker   who: partition leader   code: transactions/partition_leader.py (handle_marker)
AppendMarker(b, p, late) ==
    LET m      == MarkerOf(b, p, late)
        e      == entry[p][m.pid]
        record == [type |-> "marker", pid |-> m.pid, epoch |-> m.epoch, result |-> m.result,
                   coordinatorEpoch |-> m.coordinatorEpoch]
        keeps  == V2 /\ e.guard = m.epoch IN
    \* enabled when
    /\ m.type = "marker"
    /\ MarkerVerdict(p, m) = "NONE"
    \* effect
    /\ Appended(p, record)
    /\ abortedIndex' = IF m.result = "ABORT" /\ e.first >= 0
                       THEN [abortedIndex EXCEPT ![p] = Append(@, [pid |-> m.pid, first |-> e.first, last |-> Len(log[p])])]
                       ELSE abortedIndex
    /\ offsets' = IF IsOffsets(p) /\ m.result = "COMMIT" /\ e.first >= 0
                  THEN [offsets EXCEPT ![p] = Materialised(log[p], m.pid, @)] ELSE offsets
    /\ produce' = IF keeps THEN produce ELSE WithoutGuards(produce, p, m.pid)
    /\ lateProduce' = IF keeps THEN lateProduce ELSE WithoutGuards(lateProduce, p, m.pid)
    /\ marker' = IF late THEN marker
                 ELSE [marker EXCEPT ![b][p] = [type |-> "waiting", coordinatorEpoch |-> m.coordinatorEpoch,
                                                offset |-> Len(log[p])]]
    /\ lateMarker' = IF late THEN [lateMarker EXCEPT ![b][p] = Idle] ELSE lateMarker
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, highWatermark>>
    /\ UNCHANGED <<fetch, position, returned>>
    /\ UNCHANGED told

\* RejectMarker   who: partition leader   code: transactions/partition_leader.py (handle_marker)
RejectMarker(b, p, late) ==
    LET m == MarkerOf(b, p, late) IN
    \* enabled when
    /\ m.type = "marker"
    /\ MarkerVerdict(p, m) # "NONE"
    \* effect
    /\ marker' = IF late THEN marker
                 ELSE [marker EXCEPT ![b][p] = [type |-> "reply", coordinatorEpoch |-> m.coordinatorEpoch,
                                                error |-> MarkerVerdict(p, m)]]
    /\ lateMarker' = IF late THEN [lateMarker EXCEPT ![b][p] = Idle] ELSE lateMarker
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* Requests below the offset get their replies.
BatchReplicated(slot, offset) ==
    IF slot.type # "waiting" THEN slot ELSE IF slot.offset < offset THEN BatchReply(slot, "NONE") ELSE slot
MarkerReplicated(slot, offset) ==
    IF slot.type # "waiting" THEN slot
    ELSE IF slot.offset < offset THEN [type |-> "reply", coordinatorEpoch |-> slot.coordinatorEpoch, error |-> "NONE"] ELSE slot

\* AdvanceHighWatermark   who: partition leader   code: transactions/partition_leader.py
AdvanceHighWatermark(p, offset) ==
    \* enabled when
    /\ offset > highWatermark[p] /\ offset <= Len(log[p])
    \* effect
    /\ highWatermark' = [highWatermark EXCEPT ![p] = offset]
    /\ lastStableOffset' = [lastStableOffset EXCEPT ![p] = StableEnd(log[p], entry[p], offset)]
    /\ produce' = [c \in Clients |-> [q \in Partitions |->
                        IF q = p THEN BatchReplicated(produce[c][q], offset) ELSE produce[c][q]]]
    /\ marker' = [b \in Brokers |-> [q \in Partitions |->
                        IF q = p THEN MarkerReplicated(marker[b][q], offset) ELSE marker[b][q]]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, lateProduce, lateMarker, log, entry,
                   abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* ExpireProducer   who: the partition leader's clock   code: transactions/partition.py
\* producer.id.expiration.ms: a producer that has nothing open is forgotten; its verification is not.
ExpireProducer(p, pid) ==
    \* enabled when
    /\ entry[p][pid].epoch # -1 /\ entry[p][pid].first = -1
    /\ TrackMarkerTime(p, pid)
    \* effect
    /\ entry' = [entry EXCEPT ![p][pid] = [NoEntry EXCEPT !.guard = entry[p][pid].guard]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, marker,
                   lateMarker, log, highWatermark, lastStableOffset, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* The error of a broker that does not lead the partition any more.
LeadsNoMore(p) == IF IsOffsets(p) THEN "NOT_COORDINATOR" ELSE "NOT_LEADER_OR_FOLLOWER"

\* ElectPartitionLeader   who: controller   code: transactions/sim/cluster.py
\* Another broker leads the partition, with `keep` of its records; what it knows of producers it has from them. Verifications
\* are forgotten; who waits is told that the old leader leads no more.
ElectPartitionLeader(p, keep) ==
    LET kept  == SubSeq(log[p], 1, keep)
        after == [pid \in Pids |-> Replay(kept, pid)] IN
    \* enabled when
    /\ keep >= highWatermark[p] /\ keep <= Len(log[p])
    \* effect
    /\ log' = [log EXCEPT ![p] = kept]
    /\ entry' = [entry EXCEPT ![p] = after]
    /\ abortedIndex' = [abortedIndex EXCEPT ![p] = ReplayAborted(kept)]
    /\ offsets' = IF IsOffsets(p) THEN [offsets EXCEPT ![p] = ReplayOffsets(kept)] ELSE offsets
    /\ lastStableOffset' = [lastStableOffset EXCEPT ![p] = StableEnd(kept, after, highWatermark[p])]
    /\ produce' = [c \in Clients |-> [q \in Partitions |->
                        IF q = p /\ produce[c][q].type \in {"verifying", "verified", "adding", "waiting"}
                        THEN BatchReply(produce[c][q], LeadsNoMore(q)) ELSE produce[c][q]]]
    /\ lateProduce' = [c \in Clients |-> [q \in Partitions |->
                        IF q = p /\ lateProduce[c][q].type # "request" THEN Idle ELSE lateProduce[c][q]]]
    /\ marker' = [b \in Brokers |-> [q \in Partitions |->
                        IF q = p /\ marker[b][q].type = "waiting"
                        THEN [type |-> "reply", coordinatorEpoch |-> marker[b][q].coordinatorEpoch,
                              error |-> "NOT_LEADER_OR_FOLLOWER"]
                        ELSE marker[b][q]]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, lateMarker, highWatermark>>
    /\ fetch' = [r \in IsolationLevels |-> [q \in Partitions |->
                    IF q = p /\ fetch[r][q].type = "delayed" THEN Idle ELSE fetch[r][q]]]
    /\ UNCHANGED <<position, returned>>
    /\ UNCHANGED told

-----------------------------------------------------------------------------
(* The network *)

\* LoseMarker   who: the network   code: transactions/sim/cluster.py
\* A marker or its reply is lost, and the coordinator will send it again; the partition may yet read what was sent.
LoseMarker(b, p, keep) ==
    \* enabled when
    /\ marker[b][p].type # "idle"
    /\ keep => marker[b][p].type = "marker" /\ lateMarker[b][p].type = "idle"
    \* effect
    /\ marker' = [marker EXCEPT ![b][p] = Idle]
    /\ lateMarker' = IF keep THEN [lateMarker EXCEPT ![b][p] = marker[b][p]] ELSE lateMarker
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* DropLateRpc   who: the network   code: transactions/sim/cluster.py
DropLateRpc(c) ==
    \* enabled when
    /\ lateRpc[c].type # "idle"
    \* effect
    /\ lateRpc' = [lateRpc EXCEPT ![c] = Idle]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, produce, lateProduce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* DropLateProduce   who: the network   code: transactions/sim/cluster.py
DropLateProduce(c, p) ==
    \* enabled when
    /\ lateProduce[c][p].type # "idle"
    \* effect
    /\ lateProduce' = [lateProduce EXCEPT ![c][p] = Idle]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* DropLateMarker   who: the network   code: transactions/sim/cluster.py
DropLateMarker(b, p) ==
    \* enabled when
    /\ lateMarker[b][p].type # "idle"
    \* effect
    /\ lateMarker' = [lateMarker EXCEPT ![b][p] = Idle]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, marker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* RepeatMarker   who: the network   code: transactions/sim/cluster.py
RepeatMarker(b, p) ==
    \* enabled when
    /\ marker[b][p].type = "marker" /\ lateMarker[b][p].type = "idle"
    \* effect
    /\ lateMarker' = [lateMarker EXCEPT ![b][p] = marker[b][p]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, marker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

-----------------------------------------------------------------------------
(* The consumers' actions: a consumer has one fetch per partition under way *)

\* SendFetch   who: consumer   code: transactions/fetcher.py
SendFetch(r, p) ==
    \* enabled when
    /\ fetch[r][p].type = "idle"
    \* effect
    /\ fetch' = [fetch EXCEPT ![r][p] = [type |-> "request"]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, marker,
                   lateMarker, log, highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, position, returned>>
    /\ UNCHANGED told

\* DelayFetch   who: partition leader   code: transactions/partition_leader.py (receive_fetch)
\* There is nothing to be read: the fetch waits (DelayedFetch).
DelayFetch(r, p) ==
    \* enabled when
    /\ fetch[r][p].type = "request"
    /\ LastReadable(r, p) <= position[r][p]
    \* effect
    /\ fetch' = [fetch EXCEPT ![r][p] = [type |-> "delayed"]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, marker,
                   lateMarker, log, highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, position, returned>>
    /\ UNCHANGED told

\* StartRead   who: partition leader   code: transactions/partition_leader.py (receive_fetch)
\* There is something to be read, or a fetch has waited long enough.
StartRead(r, p) ==
    \* enabled when
    /\ \/ fetch[r][p].type = "request" /\ LastReadable(r, p) > position[r][p]
       \/ fetch[r][p].type = "delayed"
    \* effect
    /\ fetch' = [fetch EXCEPT ![r][p] = [type |-> "reading", end |-> Max(LastReadable(r, p), position[r][p]),
                                          stable |-> LastReadable(r, p) = highWatermark[p],
                                          delayed |-> fetch[r][p].type = "delayed"]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, marker,
                   lateMarker, log, highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, position, returned>>
    /\ UNCHANGED told

\* AnswerFetch   who: partition leader   code: transactions/partition.py (read)
\* As many records as fit into a response; none if there are none.
AnswerFetch(r, p, end) ==
    \* enabled when
    /\ fetch[r][p].type = "reading"
    /\ fetch[r][p].type = "reading" => end <= ReadEnd(p, fetch[r][p])
    /\ end >= position[r][p]
    /\ (fetch[r][p].type = "reading" /\ end = position[r][p]) => ReadEnd(p, fetch[r][p]) = end
    \* effect
    /\ fetch' = [fetch EXCEPT ![r][p] = [type |-> "response", end |-> end,
                                          aborted |-> ResponseAborted(r, p, fetch[r][p], end)]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, marker,
                   lateMarker, log, highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, position, returned>>
    /\ UNCHANGED told

\* ReceiveFetch   who: consumer   code: transactions/fetcher.py
\* The application gets the records but markers, and but those of aborted transactions.
ReceiveFetch(r, p) ==
    \* enabled when
    /\ fetch[r][p].type = "response"
    \* effect
    /\ fetch' = [fetch EXCEPT ![r][p] = Idle]
    /\ position' = [position EXCEPT ![r][p] = fetch[r][p].end]
    /\ returned' = [returned EXCEPT ![r][p] = @ \cup
                        {o \in position[r][p]..(fetch[r][p].end - 1) :
                            /\ log[p][o + 1].type = "data"
                            /\ \A first \in fetch[r][p].aborted : ~IsAborted(r, p, first, o)}]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, marker,
                   lateMarker, log, highWatermark, lastStableOffset, entry, abortedIndex, offsets>>
    /\ UNCHANGED told

\* LoseFetch   who: the network   code: transactions/sim/fetching.py
\* A fetch or its response is lost; the consumer will fetch again.
LoseFetch(r, p) ==
    \* enabled when
    /\ fetch[r][p].type # "idle"
    \* effect
    /\ fetch' = [fetch EXCEPT ![r][p] = Idle]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, marker,
                   lateMarker, log, highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, position, returned>>
    /\ UNCHANGED told

-----------------------------------------------------------------------------
Next ==
    \/ \E c \in Clients, b \in Brokers : SendInitProducerId(c, b)
    \/ \E c \in Clients, k \in Transactions : BeginTransaction(c, k)
    \/ \E c \in Clients, b \in Brokers, p \in Partitions : SendAddPartitions(c, b, p)
    \/ \E c \in Clients, b \in Brokers, p \in Partitions : SendAddOffsets(c, b, p)
    \/ \E c \in Clients, p \in Partitions : SendProduce(c, p)
    \/ \E c \in Clients, p \in Partitions : SendTxnOffsetCommit(c, p)
    \/ \E c \in Clients, b \in Brokers, result \in Results : SendEndTxn(c, b, result)
    \/ \E c \in Clients : ReceiveInitProducerId(c)
    \/ \E c \in Clients : ReceiveAddPartitions(c)
    \/ \E c \in Clients : ReceiveEndTxn(c)
    \/ \E c \in Clients, p \in Partitions : ReceiveProduce(c, p)
    \/ \E c \in Clients, p \in Partitions : ReceiveTxnOffsetCommit(c, p)
    \/ \E c \in Clients, p \in Partitions, keep \in BOOLEAN : GiveUpProduce(c, p, keep)
    \/ \E c \in Clients, p \in Partitions, keep \in BOOLEAN : DisconnectOffsets(c, p, keep)
    \/ \E c \in Clients, keep \in BOOLEAN : DisconnectRpc(c, keep)
    \/ \E c \in Clients : CrashClient(c)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : AppendInitProducerId(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : FenceProducer(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : AppendAddPartitions(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : AppendEndTxn(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : AnswerRpc(b, c, late)
    \/ \E b \in Brokers, c \in Clients, p \in Partitions, late \in BOOLEAN : VerifyPartition(b, c, p, late)
    \/ \E b \in Brokers, c \in Clients, p \in Partitions, late \in BOOLEAN : AppendVerified(b, c, p, late)
    \/ \E b \in Brokers, c \in Clients, p \in Partitions, late \in BOOLEAN : RefuseVerification(b, c, p, late)
    \/ \E b \in Brokers : AbortTimedOutTransaction(b)
    \/ \E b \in Brokers : ClockGoesBack(b)
    \/ \E b \in Brokers : CommitRecord(b)
    \/ \E b \in Brokers : FailAppend(b)
    \/ \E b \in Brokers, keep \in 0..MaxUnreplicated : BecomeCoordinator(b, keep)
    \/ \E b \in Brokers : LoadTransactions(b)
    \/ \E b \in Brokers : Resign(b)
    \/ \E b \in Brokers, p \in Partitions : SendMarker(b, p)
    \/ \E b \in Brokers, p \in Partitions : ReceiveMarkerReply(b, p)
    \/ \E b \in Brokers : CompleteTransaction(b)
    \/ \E b \in Brokers : FindCompletion(b)
    \/ \E b \in Brokers : CompleteAgain(b)
    \/ \E c \in Clients, p \in Partitions, late \in BOOLEAN : StartVerification(c, p, late)
    \/ \E c \in Clients, p \in Partitions, late \in BOOLEAN : AppendBatch(c, p, late)
    \/ \E c \in Clients, p \in Partitions, late \in BOOLEAN : AnswerDuplicate(c, p, late)
    \/ \E c \in Clients, p \in Partitions, late \in BOOLEAN : RejectBatch(c, p, late)
    \/ \E c \in Clients, p \in Partitions, late \in BOOLEAN, error \in GroupErrors : RefuseOffsets(c, p, late, error)
    \/ \E b \in Brokers, p \in Partitions, late \in BOOLEAN : AppendMarker(b, p, late)
    \/ \E b \in Brokers, p \in Partitions, late \in BOOLEAN : RejectMarker(b, p, late)
    \/ \E p \in Partitions, offset \in Offsets : AdvanceHighWatermark(p, offset)
    \/ \E p \in Partitions, pid \in Pids : ExpireProducer(p, pid)
    \/ \E p \in Partitions, keep \in Offsets : ElectPartitionLeader(p, keep)
    \/ \E b \in Brokers, p \in Partitions, keep \in BOOLEAN : LoseMarker(b, p, keep)
    \/ \E c \in Clients : DropLateRpc(c)
    \/ \E c \in Clients, p \in Partitions : DropLateProduce(c, p)
    \/ \E b \in Brokers, p \in Partitions : DropLateMarker(b, p)
    \/ \E b \in Brokers, p \in Partitions : RepeatMarker(b, p)
    \/ \E r \in IsolationLevels, p \in Partitions : SendFetch(r, p)
    \/ \E r \in IsolationLevels, p \in Partitions : DelayFetch(r, p)
    \/ \E r \in IsolationLevels, p \in Partitions : StartRead(r, p)
    \/ \E r \in IsolationLevels, p \in Partitions, end \in Offsets : AnswerFetch(r, p, end)
    \/ \E r \in IsolationLevels, p \in Partitions : ReceiveFetch(r, p)
    \/ \E r \in IsolationLevels, p \in Partitions : LoseFetch(r, p)

Spec == Init /\ [][Next]_vars
=============================================================================
