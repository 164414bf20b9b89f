------------------------------- MODULE Offsets -------------------------------
(***************************************************************************)
(* The committed offsets of one consumer group (Kafka 4.x): the partition  *)
(* of __consumer_offsets that holds them, the brokers that may be its      *)
(* coordinator, and the producers that commit offsets in transactions.     *)
(*                                                                         *)
(* Modelled: plain commits; transactional commits, staged until the        *)
(* transaction's marker says COMMIT or ABORT, with verification, fencing   *)
(* by group generation and by producer epoch, and one epoch per            *)
(* transaction (KIP-890); expiry by age (KIP-211), of offsets and of the   *)
(* group; OffsetDelete, DeleteGroups and topics that go; OffsetFetch with  *)
(* and without require_stable; compaction of the log, with tombstones and  *)
(* markers that are kept for a time; a coordinator that is deposed without *)
(* hearing of it, its uncommitted records lost or kept, and replay by the  *)
(* next one; requests and markers that are late, lost or doubled.          *)
(* KIPs: 98, 211, 229, 447, 496, 890.                                      *)
(*                                                                         *)
(* Left out: membership (ClassicGroup; here it is one step, Rebalance),    *)
(* the transaction coordinator (the environment decides), replies to plain *)
(* commits, retention times in requests of old clients.                    *)
(* docs/protocols/offsets.md says why, and what it could hide.             *)
(*                                                                         *)
(* Read in this order: VARIABLES, the rules, replay, the actions from      *)
(* Tick to BecomeCoordinator, then OffsetsProperties.                      *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds

CONSTANTS
    Brokers,          \* the brokers that may lead the group's partition of __consumer_offsets
    Partitions,       \* the partitions with offsets; each is a topic of its own
    Producers,        \* the transactional producers (producer ids)
    Retention,        \* offsets.retention.minutes, in ticks
    MaxTime,          \* capacity: the clock
    MaxOffset,        \* capacity: offsets
    MaxGeneration,    \* capacity: generations
    MaxProducerEpoch, \* capacity: producer epochs
    MaxEpoch,         \* capacity: coordinator epochs
    MaxPosition,      \* capacity: records that were ever written
    MaxLog,           \* capacity: records of the log after compaction
    MaxAppended,      \* capacity: records of a coordinator that are not committed yet
    Without           \* the safety rules that are not in force

VARIABLES
    now,          \* the clock, in ticks
    \* the log
    leaderAndEpoch, \* who leads the partition of __consumer_offsets, and in which epoch
    log,          \* the committed log, as far as compaction has left it, oldest record first
    appended,     \* per broker: its records that are not committed yet, oldest first
    end,          \* per broker: the position after the last record that it knows to be committed
    producers,    \* per broker and producer: the committed state that the partition keeps of it
    \* the coordinator's memory: what the committed records come to
    epoch,        \* per broker: the epoch in which it serves the group, 0: it does not
    group,        \* per broker: the group
    offsets,      \* per broker and partition: the committed offset
    staged,       \* per broker, producer and partition: the offset of a transaction that is not decided
    \* the environment
    transaction,  \* per producer: its transaction, as the transaction coordinator has it
    txnRpc,       \* per producer: its outstanding TxnOffsetCommit, as request, as parked, or as reply
    late,         \* per producer: a TxnOffsetCommit that it has given up
    marker,       \* per producer: the outstanding WriteTxnMarkers of its transaction
    lateMarker,   \* per producer: a copy of a marker, for whose reply nobody waits
    fetch         \* the last OffsetFetch: waiting, or its answer

vars == <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late, marker,
          lateMarker, fetch>>

-----------------------------------------------------------------------------
(* Types. The bounds are a trace's capacities. *)

Times     == 0..MaxTime
Positions == 0..MaxPosition
PositionOrNone == -1..MaxPosition
Generations == 0..MaxGeneration
ProducerEpochs == 0..MaxProducerEpoch
Results   == {"COMMIT", "ABORT"}

\* The value of a group record. "Simple": no record, but offsets are committed or staged. `since`: when it became so.
Group == [state : {"None", "Simple", "Empty", "Stable"}, generation : Generations, subscribed : SUBSET Partitions,
          since : Times]
\* A committed or staged offset; position: that of its record. Absent: -1, -1, 0.
Committed == [offset : -1..MaxOffset, position : PositionOrNone, time : Times]

\* A record. A tombstone is for offsets, and for the group record if `group`; `cause` says who wrote it.
Entry ==      [type : {"commit"}, position : Positions, partition : Partitions, offset : 0..MaxOffset, time : Times]
         \cup [type : {"staged"}, position : Positions, producer : Producers, epoch : ProducerEpochs,
               partition : Partitions, offset : 0..MaxOffset, time : Times]
         \cup [type : {"tombstone"}, position : Positions, cause : {"expiry", "delete", "topic"},
               partitions : SUBSET Partitions, group : BOOLEAN]
         \cup [type : {"group"}, position : Positions, value : Group]
         \cup [type : {"marker"}, position : Positions, producer : Producers, epoch : ProducerEpochs, result : Results]

\* first: the position of the first record of its open transaction, -1: none is open.
Producer == [epoch : ProducerEpochs, first : PositionOrNone]

\* added: the group's partition belongs to it; failed: the producer cannot commit it any more.
Transaction == [phase : {"idle", "ongoing", "ending"}, epoch : ProducerEpochs, result : Results, added : BOOLEAN,
                failed : BOOLEAN]

Errors == {"NONE", "NOT_COORDINATOR", "ILLEGAL_GENERATION", "INVALID_PRODUCER_EPOCH"}

\* "verified": the transaction coordinator has answered, or need not be asked.
Request == [type : {"request", "verified"}, broker : Brokers, epoch : ProducerEpochs, generation : -1..MaxGeneration,
            partition : Partitions, offset : 0..MaxOffset]
\* "committing", "writing", "waiting": so many records have to commit until the answer.
TxnSlot ==
         [type : {"idle"}] \cup Request
    \cup [type : {"committing"}, broker : Brokers, remaining : 1..MaxAppended]
    \cup [type : {"answered"}, error : Errors]
LateSlot == [type : {"idle"}] \cup Request

Marker == [type : {"marker"}, broker : Brokers, epoch : ProducerEpochs, result : Results]
MarkerSlot ==
         [type : {"idle"}] \cup Marker
    \cup [type : {"writing"}, broker : Brokers, remaining : 1..MaxAppended]
    \cup [type : {"written"}, error : Errors]
LateMarker == [type : {"idle"}] \cup Marker

Found == [Partitions -> -1..MaxOffset]
FetchSlot ==
         [type : {"idle"}]
    \cup [type : {"waiting"}, broker : Brokers, remaining : 1..MaxAppended, offsets : Found, unstable : SUBSET Partitions]
    \cup [type : {"fetched"}, broker : Brokers, error : Errors, stable : BOOLEAN, offsets : Found,
          unstable : SUBSET Partitions]

TypeOK ==
    /\ now \in Times
    /\ leaderAndEpoch \in [broker : Brokers, epoch : 1..MaxEpoch]
    /\ log \in BoundedSeq(Entry, MaxLog)
    /\ appended \in [Brokers -> BoundedSeq(Entry, MaxAppended)]
    /\ end \in [Brokers -> Positions]
    /\ producers \in [Brokers -> [Producers -> Producer]]
    /\ epoch \in [Brokers -> 0..MaxEpoch]
    /\ group \in [Brokers -> Group]
    /\ offsets \in [Brokers -> [Partitions -> Committed]]
    /\ staged \in [Brokers -> [Producers -> [Partitions -> Committed]]]
    /\ transaction \in [Producers -> Transaction]
    /\ txnRpc \in [Producers -> TxnSlot]
    /\ late \in [Producers -> LateSlot]
    /\ marker \in [Producers -> MarkerSlot]
    /\ lateMarker \in [Producers -> LateMarker]
    /\ fetch \in FetchSlot

-----------------------------------------------------------------------------
(* Vocabulary *)

Idle         == [type |-> "idle"]
NoCommitted  == [offset |-> -1, position |-> -1, time |-> 0]
NoOffsets    == [p \in Partitions |-> NoCommitted]
NoStaged     == [t \in Producers |-> NoOffsets]
NoGroup      == [state |-> "None", generation |-> 0, subscribed |-> {}, since |-> 0]
SimpleGroup  == [state |-> "Simple", generation |-> 0, subscribed |-> {}, since |-> 0]
NoProducers  == [t \in Producers |-> [epoch |-> 0, first |-> -1]]
NothingFound == [p \in Partitions |-> -1]
NoMemory     == [group |-> NoGroup, offsets |-> NoOffsets, staged |-> NoStaged]

Serving(b) == epoch[b] > 0
\* b leads the partition, and what it appends may commit.
Acting(b)  == leaderAndEpoch.broker = b /\ epoch[b] = leaderAndEpoch.epoch
Memory(b)  == [group |-> group[b], offsets |-> offsets[b], staged |-> staged[b]]

NextPosition(b) == end[b] + Len(appended[b])

IsStaged(memory, p) == \E t \in Producers : memory.staged[t][p].offset >= 0

-----------------------------------------------------------------------------
(* What compaction of the log's first n records leaves of each: the last record of a key, a tombstone included *)

OfPartition(entry, p) ==
    IF entry.type = "commit" THEN entry.partition = p ELSE IF entry.type = "staged" THEN entry.partition = p ELSE FALSE
OfProducer(entry, type, t) == IF entry.type # type THEN FALSE ELSE IF entry.type = "staged" THEN entry.producer = t
                              ELSE IF entry.type = "marker" THEN entry.producer = t ELSE FALSE

\* The first marker after it says ABORT.
Aborted(entry) ==
    IF entry.type # "staged" THEN FALSE
    ELSE \E i \in 1..Len(log) :
            /\ log[i].position > entry.position /\ OfProducer(log[i], "marker", entry.producer)
            /\ IF log[i].type = "marker" THEN log[i].result = "ABORT" ELSE FALSE
            /\ ~\E j \in 1..Len(log) : /\ entry.position < log[j].position /\ log[j].position < log[i].position
                                       /\ OfProducer(log[j], "marker", entry.producer)

Superseded(entry, p, n) ==
    \E i \in 1..n :
        /\ log[i].position > entry.position
        /\ \/ OfPartition(log[i], p) /\ ~Aborted(log[i])
           \/ IF log[i].type = "tombstone" THEN p \in log[i].partitions ELSE FALSE
GroupSuperseded(entry, n) ==
    \E i \in 1..n :
        /\ log[i].position > entry.position
        /\ log[i].type = "group" \/ (IF log[i].type = "tombstone" THEN log[i].group ELSE FALSE)

DataSurvives(entry, n) ==
    CASE entry.type = "commit" -> ~Superseded(entry, entry.partition, n)
      [] entry.type = "staged" -> ~Aborted(entry) /\ ~Superseded(entry, entry.partition, n)
      [] entry.type = "group"  -> ~GroupSuperseded(entry, n)
      [] OTHER                 -> FALSE

-----------------------------------------------------------------------------
(* The safety rules. Each says what goes wrong without it; zoo.toml holds the schedule. *)

\* The constants that only bound a trace; every other limit of TypeOK means something.
Capacities == {"MaxTime", "MaxOffset", "MaxGeneration", "MaxProducerEpoch", "MaxEpoch", "MaxPosition", "MaxLog",
               "MaxAppended"}

Has(rule) == rule \notin Without

\* A guard answers "may this go ahead", and without its rule everything may. A case answers "does this case arise", and without
\* its rule it never does.
Guard(rule, may)   == Has(rule) => may
Case(rule, arises) == Has(rule) /\ arises

\* KIP-211 (KAFKA-4682). Without it the offset of a partition that a member reads expires (row 53).
ExpireOnlyUnsubscribed(g, p) == Guard("ExpireOnlyUnsubscribed", p \notin g.subscribed)

\* KIP-211. In the groups of KIP-848 Kafka 4.x lacks it. Without it the offsets of a group expire as soon as its last member has gone, if
\* it committed seldom (row 147).
CountFromEmpty(g) == Case("CountFromEmpty", g.state = "Empty")

\* This project's; Kafka 4.x lacks it. An offset that is committed into an empty group counts from its commit. Without it, if the
\* group has been empty for long, the next sweep removes what was committed a moment ago (row 110).
CountFromCommit(g, committed) == Case("CountFromCommit", g.since <= committed.time)

\* Without it an offset expires although a transaction has staged another; the staged one goes with the tombstone, and the
\* transaction commits nothing (row 58).
ExpireOnlyUnstaged(memory, p) == Guard("ExpireOnlyUnstaged", ~IsStaged(memory, p))

\* KAFKA-19163. Without it a group that has only staged offsets is removed as empty; its transaction commits offsets that no
\* fetch finds (row 111).
GroupHasNoOpenTransaction(memory) == Guard("GroupHasNoOpenTransaction", \A p \in Partitions : ~IsStaged(memory, p))

\* KIP-496. Without it an operator deletes the offset of a partition that a member reads.
DeleteOnlyUnsubscribed(g, p) == Guard("DeleteOnlyUnsubscribed", p \notin g.subscribed)

\* KIP-229. Without it an operator deletes a group with its members.
DeleteOnlyEmptyGroup(g) == Guard("DeleteOnlyEmptyGroup", g.state # "Stable")

\* KAFKA-14505. Without it a deleted offset comes back with a transaction that staged it before, but not after compaction.
TombstoneClearsStaged(tombstone, p) == Case("TombstoneClearsStaged", p \in tombstone.partitions)

\* KAFKA-5247. Without it the marker of a transaction puts its offset over one that was committed later; after compaction
\* only the later is there (row 59).
KeepLaterRecord(existing, new) == Case("KeepLaterRecord", existing.position > new.position)

\* KAFKA-5600. Without it what a load has read first stays (row 55).
LoadReplaces(existing) == Case("LoadReplaces", existing.offset >= 0)

\* KIP-447 (KAFKA-9365). Without it a producer whose consumer was removed from the group commits offsets of partitions that
\* others read by now (row 51).
TxnCommitOfCurrentGeneration(g, generation) == Guard("TxnCommitOfCurrentGeneration", generation = g.generation)

\* A transactional commit without a generation comes from a client before KIP-447, and is taken.
FitsGroup(g, generation) ==
    generation < 0 \/ TxnCommitOfCurrentGeneration(g, generation)

\* KAFKA-15784. Without it the group is asked before the transaction coordinator is, and not when the answer is there (row 57).
ValidateAfterVerification(g, request) == Guard("ValidateAfterVerification", FitsGroup(g, request.generation))

\* The transaction coordinator has this transaction of the producer.
IsOngoing(t, request) == transaction[t].phase = "ongoing" /\ transaction[t].epoch = request.epoch

\* KIP-890. Without it a late request opens a transaction that nobody will end.
CommitOfOngoingTransaction(t, request) == Guard("CommitOfOngoingTransaction", IsOngoing(t, request))

\* KIP-98. Without it a late request of an older transaction falls into the next, or opens one that nobody will end.
ProducerEpochNotOlder(known, request) == Guard("ProducerEpochNotOlder", request.epoch >= known.epoch)

\* KIP-890 (KAFKA-19446, KAFKA-19999). Without it a copy of the last transaction's marker ends the next.
MarkerEndsOlderEpoch(known, request) == Guard("MarkerEndsOlderEpoch", known.first >= 0 => request.epoch > known.epoch)

\* Offsets of the transaction are staged, or will be once they are written.
AtStake(b, t) ==
    \/ producers[b][t].first >= 0
    \/ \E i \in 1..Len(appended[b]) : appended[b][i].type = "staged" /\ appended[b][i].producer = t

\* KAFKA-17507. Without it a marker is answered before the offsets count, and nobody sends it again if it is lost (row 56).
MaterialiseFirst(b, t) == Case("MaterialiseFirst", AtStake(b, t))

\* KIP-447. Without it a new owner reads from before a transaction that has been committed (row 52).
FetchOnlyStable(memory, p) == Guard("FetchOnlyStable", ~IsStaged(memory, p))

\* Without it a fetch is told an offset that the next coordinator does not have.
FetchWaitsForCommit(b) == Case("FetchWaitsForCommit", appended[b] # <<>>)

\* KAFKA-13194. Without it compaction drops the last committed offset for one whose transaction aborts later.
CleanBelowUnstable(position) == Guard("CleanBelowUnstable",
    \A t \in Producers : producers[leaderAndEpoch.broker][t].first \notin 0..position)

\* KAFKA-14055. Without it compaction drops a marker and leaves its records, which are open for ever after the next load.
MarkerOutlivesItsData(entry, n) == Case("MarkerOutlivesItsData",
    \E i \in 1..n : OfProducer(log[i], "staged", entry.producer) /\ log[i].position < entry.position /\ DataSurvives(log[i], n))

Rules == {"ExpireOnlyUnsubscribed", "CountFromEmpty", "CountFromCommit", "ExpireOnlyUnstaged", "GroupHasNoOpenTransaction",
          "DeleteOnlyUnsubscribed", "DeleteOnlyEmptyGroup", "TombstoneClearsStaged", "KeepLaterRecord", "LoadReplaces",
          "TxnCommitOfCurrentGeneration", "ValidateAfterVerification", "CommitOfOngoingTransaction", "ProducerEpochNotOlder",
          "MarkerEndsOlderEpoch", "MaterialiseFirst", "FetchOnlyStable", "FetchWaitsForCommit", "CleanBelowUnstable",
          "MarkerOutlivesItsData"}

\* The baselines of Kafka 4.x: what it ships without, for a classic group and for a group of KIP-848.
KafkaAsShipped              == {"CountFromCommit"}
KafkaAsShippedConsumerGroup == {"CountFromEmpty"}

-----------------------------------------------------------------------------
(* Replay: memories to memories. It is the only way in which a coordinator's memory changes. *)

\* The offset after a transaction's commit: the staged one, unless a later record has been committed.
Materialised(existing, new) ==
    IF new.offset < 0 THEN existing
    ELSE IF KeepLaterRecord(existing, new) THEN existing ELSE new

\* A group that is not managed exists as long as it has offsets.
AtLeastSimple(g) == IF g.state = "None" THEN SimpleGroup ELSE g

Replayed(entry, memory) ==
    CASE entry.type = "commit" ->
            [group   |-> AtLeastSimple(memory.group),
             offsets |-> [memory.offsets EXCEPT ![entry.partition] =
                            [offset |-> entry.offset, position |-> entry.position, time |-> entry.time]],
             staged  |-> memory.staged]
      [] entry.type = "staged" ->
            [group   |-> AtLeastSimple(memory.group),
             offsets |-> memory.offsets,
             staged  |-> [memory.staged EXCEPT ![entry.producer][entry.partition] =
                            [offset |-> entry.offset, position |-> entry.position, time |-> entry.time]]]
      [] entry.type = "tombstone" ->
            [group   |-> IF entry.group THEN NoGroup ELSE memory.group,
             offsets |-> [p \in Partitions |-> IF p \in entry.partitions THEN NoCommitted ELSE memory.offsets[p]],
             staged  |-> [t \in Producers |-> [p \in Partitions |->
                            IF TombstoneClearsStaged(entry, p) THEN NoCommitted
                            ELSE memory.staged[t][p]]]]
      [] entry.type = "group" ->
            [group |-> entry.value, offsets |-> memory.offsets, staged |-> memory.staged]
      [] OTHER ->
            [group   |-> memory.group,
             offsets |-> [p \in Partitions |->
                            IF entry.result = "COMMIT" THEN Materialised(memory.offsets[p], memory.staged[entry.producer][p])
                            ELSE memory.offsets[p]],
             staged  |-> [memory.staged EXCEPT ![entry.producer] = NoOffsets]]

\* A load reads the same records; what is later replaces what is earlier.
Loading(entry, memory) ==
    IF entry.type # "commit" THEN Replayed(entry, memory)
    ELSE IF LoadReplaces(memory.offsets[entry.partition]) \/ memory.offsets[entry.partition].offset < 0
    THEN Replayed(entry, memory) ELSE memory

\* The partition's state of a record's producer.
Produced(entry, known) ==
    CASE entry.type = "staged" ->
            [known EXCEPT ![entry.producer] =
                [epoch |-> entry.epoch, first |-> IF @.first >= 0 THEN @.first ELSE entry.position]]
      [] entry.type = "marker" -> [known EXCEPT ![entry.producer] = [epoch |-> entry.epoch, first |-> -1]]
      [] OTHER -> known

Replay(entries)  == FoldSeq(Replayed, NoMemory, entries)
\* With what is appended and not committed: by this a coordinator decides.
Written(b)       == FoldSeq(Replayed, Memory(b), appended[b])
WrittenKnown(b)  == FoldSeq(Produced, producers[b], appended[b])

-----------------------------------------------------------------------------
(* Init: nothing is committed; any broker is the first coordinator. *)

Init ==
    /\ now = 0
    /\ \E b \in Brokers :
        /\ leaderAndEpoch = [broker |-> b, epoch |-> 1]
        /\ epoch = [x \in Brokers |-> IF x = b THEN 1 ELSE 0]
    /\ log = <<>>
    /\ appended = [b \in Brokers |-> <<>>]
    /\ end = [b \in Brokers |-> 0]
    /\ producers = [b \in Brokers |-> NoProducers]
    /\ group = [b \in Brokers |-> NoGroup]
    /\ offsets = [b \in Brokers |-> NoOffsets]
    /\ staged = [b \in Brokers |-> NoStaged]
    /\ transaction = [t \in Producers |-> [phase |-> "idle", epoch |-> 0, result |-> "ABORT", added |-> FALSE, failed |-> FALSE]]
    /\ txnRpc = [t \in Producers |-> Idle]
    /\ late = [t \in Producers |-> Idle]
    /\ marker = [t \in Producers |-> Idle]
    /\ lateMarker = [t \in Producers |-> Idle]
    /\ fetch = Idle

-----------------------------------------------------------------------------
(* Time, and the group's members *)

\* Tick   who: the clock
Tick ==
    /\ now' = now + 1
    /\ UNCHANGED <<leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late,
                   marker, lateMarker, fetch>>

\* b writes a record.
Write(b, entry) == appended' = [appended EXCEPT ![b] = Append(@, entry)]

\* Rebalance   who: coordinator   code: offsets/coordinator.py
\* The group has a new generation, whose members subscribe to these partitions; {}: all have gone. (ClassicGroup says how.)
Rebalance(b, subscription) ==
    LET g == Written(b).group IN
    \* enabled when
    /\ Serving(b)
    /\ subscription # {} \/ g.state = "Stable"
    \* effect
    /\ Write(b, [type |-> "group", position |-> NextPosition(b),
                 value |-> [state |-> IF subscription = {} THEN "Empty" ELSE "Stable", generation |-> g.generation + 1,
                            subscribed |-> subscription, since |-> now]])
    /\ UNCHANGED <<now, leaderAndEpoch, log, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late, marker,
                   lateMarker, fetch>>

-----------------------------------------------------------------------------
(* Plain commits, expiry, deletion (OffsetMetadataManager) *)

\* CommitOffset   who: coordinator   code: offsets/coordinator.py
\* A member, or in a group without members anybody, commits an offset. (ClassicGroup says whose commits are refused.)
CommitOffset(b, p, offset) ==
    \* enabled when
    /\ Serving(b)
    \* effect
    /\ Write(b, [type |-> "commit", position |-> NextPosition(b), partition |-> p, offset |-> offset, time |-> now])
    /\ UNCHANGED <<now, leaderAndEpoch, log, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late, marker,
                   lateMarker, fetch>>

\* When the retention of an offset begins.
CountsFrom(g, committed) ==
    IF CountFromEmpty(g) /\ ~CountFromCommit(g, committed)
    THEN g.since ELSE committed.time

Expired(memory, p) ==
    /\ memory.offsets[p].offset >= 0
    /\ now - CountsFrom(memory.group, memory.offsets[p]) >= Retention
    /\ ExpireOnlyUnsubscribed(memory.group, p)
    /\ ExpireOnlyUnstaged(memory, p)

\* No offset stays, none is staged, nobody is a member: then the group itself goes.
GroupExpires(b, memory) ==
    /\ memory.group.state \in {"Simple", "Empty"}
    /\ \A p \in Partitions : memory.offsets[p].offset >= 0 => Expired(memory, p)
    /\ GroupHasNoOpenTransaction(memory)

Tombstone(b, cause, partitions, removesGroup) ==
    [type |-> "tombstone", position |-> NextPosition(b), cause |-> cause, partitions |-> partitions, group |-> removesGroup]

\* ExpireOffsets   who: coordinator   code: offsets/coordinator.py
\* The sweep that comes every offsets.retention.check.interval.ms.
ExpireOffsets(b) ==
    LET memory  == Written(b)
        expired == {p \in Partitions : Expired(memory, p)} IN
    \* enabled when
    /\ Serving(b)
    /\ expired # {} \/ GroupExpires(b, memory)
    \* effect
    /\ Write(b, Tombstone(b, "expiry", expired, GroupExpires(b, memory)))
    /\ UNCHANGED <<now, leaderAndEpoch, log, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late, marker,
                   lateMarker, fetch>>

HasOffset(memory, p) == memory.offsets[p].offset >= 0 \/ IsStaged(memory, p)

\* DeleteOffset   who: coordinator   code: offsets/coordinator.py
\* An operator's OffsetDelete.
DeleteOffset(b, p) ==
    LET memory == Written(b) IN
    \* enabled when
    /\ Serving(b) /\ HasOffset(memory, p)
    /\ DeleteOnlyUnsubscribed(memory.group, p)
    \* effect
    /\ Write(b, Tombstone(b, "delete", {p}, FALSE))
    /\ UNCHANGED <<now, leaderAndEpoch, log, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late, marker,
                   lateMarker, fetch>>

\* DeleteGroup   who: coordinator   code: offsets/coordinator.py
\* An operator's DeleteGroups: its offsets, staged ones too, and its record.
DeleteGroup(b) ==
    LET memory == Written(b) IN
    \* enabled when
    /\ Serving(b) /\ memory.group.state # "None"
    /\ DeleteOnlyEmptyGroup(memory.group)
    \* effect
    /\ Write(b, Tombstone(b, "delete", {p \in Partitions : HasOffset(memory, p)}, TRUE))
    /\ UNCHANGED <<now, leaderAndEpoch, log, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late, marker,
                   lateMarker, fetch>>

\* DropTopic   who: coordinator   code: offsets/coordinator.py
\* The coordinator hears that the topic was deleted.
DropTopic(b, p) ==
    \* enabled when
    /\ Serving(b) /\ HasOffset(Written(b), p)
    \* effect
    /\ Write(b, Tombstone(b, "topic", {p}, FALSE))
    /\ UNCHANGED <<now, leaderAndEpoch, log, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late, marker,
                   lateMarker, fetch>>

-----------------------------------------------------------------------------
(* Transactions: the producer and the transaction coordinator, as far as the group's partition sees them *)

\* BeginTransaction   who: producer
BeginTransaction(t) ==
    \* enabled when
    /\ transaction[t].phase = "idle"
    \* effect
    /\ transaction' = [transaction EXCEPT ![t].phase = "ongoing", ![t].added = FALSE, ![t].failed = FALSE]
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, txnRpc, late, marker,
                   lateMarker, fetch>>

\* SendTxnOffsetCommit   who: producer
\* It names the generation that its consumer believes to be in; -1: it names none.
SendTxnOffsetCommit(t, b, generation, p, offset) ==
    \* enabled when
    /\ transaction[t].phase = "ongoing" /\ txnRpc[t].type = "idle"
    \* effect
    /\ txnRpc' = [txnRpc EXCEPT ![t] = [type |-> "request", broker |-> b, epoch |-> transaction[t].epoch,
                                        generation |-> generation, partition |-> p, offset |-> offset]]
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, transaction, late, marker,
                   lateMarker, fetch>>

RequestOf(t, isLate) == IF isLate THEN late[t] ELSE txnRpc[t]

\* The reply goes to whoever waits for it.
Replied(t, isLate, slot) ==
    /\ txnRpc' = IF isLate THEN txnRpc ELSE [txnRpc EXCEPT ![t] = slot]
    /\ late' = IF isLate THEN [late EXCEPT ![t] = Idle] ELSE late

\* The transaction is open here, so that the transaction coordinator need not be asked.
OpenHere(b, t, request) ==
    LET known == WrittenKnown(b)[t] IN known.first >= 0 /\ known.epoch = request.epoch

\* Before KAFKA-15784 the group was asked when the request arrived.
ValidatedOnArrival(b, request) == Has("ValidateAfterVerification") \/ FitsGroup(Written(b).group, request.generation)

MayVerify(b, t, request) ==
    OpenHere(b, t, request) \/ CommitOfOngoingTransaction(t, request)

\* VerifyTxnOffsetCommit   who: coordinator   code: offsets/coordinator.py
\* The transaction coordinator takes the group's partition into the transaction, if it is the producer's and ongoing.
VerifyTxnOffsetCommit(b, t, isLate) ==
    LET request  == RequestOf(t, isLate)
        verified == [type |-> "verified", broker |-> b, epoch |-> request.epoch, generation |-> request.generation,
                     partition |-> request.partition, offset |-> request.offset] IN
    \* enabled when
    /\ request.type = "request" /\ request.broker = b
    /\ Serving(b)
    /\ ValidatedOnArrival(b, request)
    /\ MayVerify(b, t, request)
    \* effect
    /\ txnRpc' = IF isLate THEN txnRpc ELSE [txnRpc EXCEPT ![t] = verified]
    /\ late' = IF isLate THEN [late EXCEPT ![t] = verified] ELSE late
    /\ transaction' = [transaction EXCEPT ![t].added = @ \/ IsOngoing(t, request)]
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, marker, lateMarker, fetch>>

TxnCommitError(b, t, request) ==
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF request.type = "request"
    THEN IF ~ValidatedOnArrival(b, request) THEN "ILLEGAL_GENERATION"
         ELSE IF MayVerify(b, t, request) THEN "NONE" ELSE "INVALID_PRODUCER_EPOCH"
    ELSE IF ~ValidateAfterVerification(Written(b).group, request) THEN "ILLEGAL_GENERATION"
    ELSE IF ~ProducerEpochNotOlder(WrittenKnown(b)[t], request) THEN "INVALID_PRODUCER_EPOCH"
    ELSE "NONE"

\* HandleTxnOffsetCommit   who: coordinator   code: offsets/coordinator.py
HandleTxnOffsetCommit(b, t, isLate) ==
    LET request == RequestOf(t, isLate) IN
    \* enabled when
    /\ request.type = "verified" /\ request.broker = b
    /\ TxnCommitError(b, t, request) = "NONE"
    \* effect
    /\ Write(b, [type |-> "staged", position |-> NextPosition(b), producer |-> t, epoch |-> request.epoch,
                 partition |-> request.partition, offset |-> request.offset, time |-> now])
    /\ Replied(t, isLate, [type |-> "committing", broker |-> b, remaining |-> Len(appended[b]) + 1])
    /\ UNCHANGED <<now, leaderAndEpoch, log, end, producers, epoch, group, offsets, staged, transaction, marker, lateMarker,
                   fetch>>

\* RejectTxnOffsetCommit   who: coordinator   code: offsets/coordinator.py
RejectTxnOffsetCommit(b, t, isLate) ==
    LET request == RequestOf(t, isLate) IN
    \* enabled when
    /\ request.type \in {"request", "verified"} /\ request.broker = b
    /\ TxnCommitError(b, t, request) # "NONE"
    \* effect
    /\ Replied(t, isLate, [type |-> "answered", error |-> TxnCommitError(b, t, request)])
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, transaction, marker,
                   lateMarker, fetch>>

\* ReceiveTxnReply   who: producer
\* A transaction one of whose commits failed can only be aborted.
ReceiveTxnReply(t) ==
    \* enabled when
    /\ txnRpc[t].type = "answered"
    \* effect
    /\ txnRpc' = [txnRpc EXCEPT ![t] = Idle]
    /\ transaction' = [transaction EXCEPT ![t].failed = @ \/ txnRpc[t].error # "NONE"]
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, late, marker, lateMarker,
                   fetch>>

\* GiveUpTxnOffsetCommit   who: producer
\* It waits no longer; the request may still be under way, or waiting for its verification.
GiveUpTxnOffsetCommit(t) ==
    \* enabled when
    /\ txnRpc[t].type # "idle"
    \* effect
    /\ txnRpc' = [txnRpc EXCEPT ![t] = Idle]
    /\ late' = IF late[t].type # "idle" THEN late
               ELSE IF txnRpc[t].type = "request" THEN [late EXCEPT ![t] = txnRpc[t]]
               ELSE IF txnRpc[t].type = "verified" THEN [late EXCEPT ![t] = txnRpc[t]]
               ELSE late
    /\ transaction' = [transaction EXCEPT ![t].failed = TRUE]
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, marker, lateMarker, fetch>>

\* EndTransaction   who: transaction coordinator
\* The outcome is decided, and the producer epoch is the next one. If the group's partition belongs to it a marker follows.
EndTransaction(t, result) ==
    \* enabled when
    /\ transaction[t].phase = "ongoing" /\ txnRpc[t].type = "idle"
    /\ result = "COMMIT" => ~transaction[t].failed
    \* effect
    /\ transaction' = [transaction EXCEPT ![t].phase = IF transaction[t].added THEN "ending" ELSE "idle",
                                          ![t].epoch = @ + 1, ![t].result = result]
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, txnRpc, late, marker,
                   lateMarker, fetch>>

\* SendMarker   who: transaction coordinator
SendMarker(t, b) ==
    \* enabled when
    /\ transaction[t].phase = "ending" /\ marker[t].type = "idle"
    \* effect
    /\ marker' = [marker EXCEPT ![t] = [type |-> "marker", broker |-> b, epoch |-> transaction[t].epoch,
                                        result |-> transaction[t].result]]
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late,
                   lateMarker, fetch>>

MarkerOf(t, isLate) == IF isLate THEN lateMarker[t] ELSE marker[t]

MarkerError(b, t, request) ==
    LET known == WrittenKnown(b)[t] IN
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF request.epoch < known.epoch THEN "INVALID_PRODUCER_EPOCH"
    ELSE IF ~MarkerEndsOlderEpoch(known, request) THEN "INVALID_PRODUCER_EPOCH"
    ELSE "NONE"

\* HandleMarker   who: coordinator   code: offsets/coordinator.py
\* The marker is written; it is answered when it has committed and the offsets count.
HandleMarker(b, t, isLate) ==
    LET request == MarkerOf(t, isLate)
        waits   == MaterialiseFirst(b, t) \/ ~AtStake(b, t) IN
    \* enabled when
    /\ request.type = "marker" /\ request.broker = b
    /\ MarkerError(b, t, request) = "NONE"
    \* effect
    /\ Write(b, [type |-> "marker", position |-> NextPosition(b), producer |-> t, epoch |-> request.epoch,
                 result |-> request.result])
    /\ marker' = IF isLate THEN marker
                 ELSE [marker EXCEPT ![t] = IF waits THEN [type |-> "writing", broker |-> b, remaining |-> Len(appended[b]) + 1]
                                            ELSE [type |-> "written", error |-> "NONE"]]
    /\ lateMarker' = IF isLate THEN [lateMarker EXCEPT ![t] = Idle] ELSE lateMarker
    /\ UNCHANGED <<now, leaderAndEpoch, log, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late, fetch>>

\* RejectMarker   who: coordinator   code: offsets/coordinator.py
RejectMarker(b, t, isLate) ==
    LET request == MarkerOf(t, isLate) IN
    \* enabled when
    /\ request.type = "marker" /\ request.broker = b
    /\ MarkerError(b, t, request) # "NONE"
    \* effect
    /\ marker' = IF isLate THEN marker
                 ELSE [marker EXCEPT ![t] = [type |-> "written", error |-> MarkerError(b, t, request)]]
    /\ lateMarker' = IF isLate THEN [lateMarker EXCEPT ![t] = Idle] ELSE lateMarker
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late,
                   fetch>>

\* ReceiveMarkerReply   who: transaction coordinator
\* The transaction is complete, or the marker is to be sent again.
ReceiveMarkerReply(t) ==
    \* enabled when
    /\ marker[t].type = "written"
    \* effect
    /\ marker' = [marker EXCEPT ![t] = Idle]
    /\ transaction' = [transaction EXCEPT ![t].phase = IF marker[t].error = "NONE" THEN "idle" ELSE @]
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, txnRpc, late, lateMarker,
                   fetch>>

-----------------------------------------------------------------------------
(* OffsetFetch *)

\* FetchOffsets   who: coordinator   code: offsets/coordinator.py
\* Somebody asks for the offsets. Without require_stable: those that are committed now. With it: those that are written, when
\* they have committed, and none of a partition for which a transaction has staged another.
FetchOffsets(b, stable) ==
    LET memory   == IF stable THEN Written(b) ELSE Memory(b)
        unstable == {p \in Partitions : stable /\ ~FetchOnlyStable(memory, p)}
        found    == [p \in Partitions |-> IF memory.group.state = "None" \/ p \in unstable THEN -1
                                          ELSE memory.offsets[p].offset] IN
    \* enabled when
    /\ fetch.type # "waiting"
    \* effect
    /\ fetch' = IF ~Serving(b)
                THEN [type |-> "fetched", broker |-> b, error |-> "NOT_COORDINATOR", stable |-> stable, offsets |-> NothingFound,
                      unstable |-> {}]
                ELSE IF stable /\ FetchWaitsForCommit(b)
                THEN [type |-> "waiting", broker |-> b, remaining |-> Len(appended[b]), offsets |-> found, unstable |-> unstable]
                ELSE [type |-> "fetched", broker |-> b, error |-> "NONE", stable |-> stable, offsets |-> found,
                      unstable |-> unstable]
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late,
                   marker, lateMarker>>

-----------------------------------------------------------------------------
(* The log *)

\* One record less until the answer.
TxnAnswers(b) ==
    [t \in Producers |->
        LET slot == txnRpc[t] IN
        IF slot.type # "committing" THEN slot
        ELSE IF slot.broker # b THEN slot
        ELSE IF slot.remaining > 1 THEN [type |-> "committing", broker |-> b, remaining |-> slot.remaining - 1]
        ELSE [type |-> "answered", error |-> "NONE"]]
MarkerAnswers(b) ==
    [t \in Producers |->
        LET slot == marker[t] IN
        IF slot.type # "writing" THEN slot
        ELSE IF slot.broker # b THEN slot
        ELSE IF slot.remaining > 1 THEN [type |-> "writing", broker |-> b, remaining |-> slot.remaining - 1]
        ELSE [type |-> "written", error |-> "NONE"]]
FetchAnswer(b) ==
    IF fetch.type # "waiting" THEN fetch
    ELSE IF fetch.broker # b THEN fetch
    ELSE IF fetch.remaining > 1
    THEN [type |-> "waiting", broker |-> b, remaining |-> fetch.remaining - 1, offsets |-> fetch.offsets,
          unstable |-> fetch.unstable]
    ELSE [type |-> "fetched", broker |-> b, error |-> "NONE", stable |-> TRUE, offsets |-> fetch.offsets,
          unstable |-> fetch.unstable]

\* CommitEntry   who: the log   code: offsets/coordinator.py
\* The oldest record of the coordinator is replicated: it counts, and who waited for it is answered.
CommitEntry(b) ==
    LET entry  == Head(appended[b])
        memory == Replayed(entry, Memory(b)) IN
    \* enabled when
    /\ Acting(b) /\ appended[b] # <<>>
    \* effect
    /\ appended' = [appended EXCEPT ![b] = Tail(@)]
    /\ log' = Append(log, entry)
    /\ end' = [end EXCEPT ![b] = @ + 1]
    /\ producers' = [producers EXCEPT ![b] = Produced(entry, @)]
    /\ group' = [group EXCEPT ![b] = memory.group]
    /\ offsets' = [offsets EXCEPT ![b] = memory.offsets]
    /\ staged' = [staged EXCEPT ![b] = memory.staged]
    /\ txnRpc' = TxnAnswers(b)
    /\ marker' = MarkerAnswers(b)
    /\ fetch' = FetchAnswer(b)
    /\ UNCHANGED <<now, leaderAndEpoch, epoch, transaction, late, lateMarker>>

\* The rest of a record after compaction.
Cleaned(entry, n) ==
    IF entry.type # "tombstone" THEN entry
    ELSE [type |-> "tombstone", position |-> entry.position, cause |-> entry.cause,
          partitions |-> {p \in entry.partitions : ~Superseded(entry, p, n)}, group |-> entry.group /\ ~GroupSuperseded(entry, n)]
Survives(entry, n, horizon) ==
    CASE entry.type = "tombstone" ->
            ~horizon /\ (Cleaned(entry, n).partitions # {} \/ Cleaned(entry, n).group)
      [] entry.type = "marker" ->
            ~horizon \/ MarkerOutlivesItsData(entry, n)
      [] OTHER -> DataSurvives(entry, n)

CleanedLog(n, horizon) ==
    FoldSeq(LAMBDA entry, kept : IF Survives(entry, n, horizon) THEN Append(kept, Cleaned(entry, n)) ELSE kept,
            <<>>, SubSeq(log, 1, n))
    \o SubSeq(log, n + 1, Len(log))

\* Compact   who: the log   code: offsets/compaction.py
\* The cleaner goes over the first n records. horizon: tombstones and markers have been there for delete.retention.ms.
Compact(n, horizon) ==
    \* enabled when
    /\ n <= Len(log)
    /\ CleanBelowUnstable(log[n].position)
    \* effect
    /\ log' = CleanedLog(n, horizon)
    /\ UNCHANGED <<now, leaderAndEpoch, appended, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late,
                   marker, lateMarker, fetch>>

\* BecomeCoordinator   who: broker   code: offsets/coordinator.py
\* b is elected for the partition; of the old leader's uncommitted records it has the first `keep`, the others are lost. It
\* replays the log. The old leader, if it lives, goes on until it hears of it.
BecomeCoordinator(b, keep) ==
    LET kept   == SubSeq(appended[leaderAndEpoch.broker], 1, keep)
        memory == FoldSeq(Loading, NoMemory, log \o kept) IN
    \* enabled when
    /\ ~Serving(b) /\ keep <= Len(appended[leaderAndEpoch.broker])
    \* effect
    /\ leaderAndEpoch' = [broker |-> b, epoch |-> leaderAndEpoch.epoch + 1]
    /\ log' = log \o kept
    /\ end' = [end EXCEPT ![b] = end[leaderAndEpoch.broker] + keep]
    /\ producers' = [producers EXCEPT ![b] = FoldSeq(Produced, producers[leaderAndEpoch.broker], kept)]
    /\ epoch' = [epoch EXCEPT ![b] = leaderAndEpoch.epoch + 1]
    /\ group' = [group EXCEPT ![b] = memory.group]
    /\ offsets' = [offsets EXCEPT ![b] = memory.offsets]
    /\ staged' = [staged EXCEPT ![b] = memory.staged]
    /\ UNCHANGED <<now, appended, transaction, txnRpc, late, marker, lateMarker, fetch>>

\* Resign   who: broker   code: offsets/coordinator.py
\* A deposed coordinator hears of it: who waits is told, its records are nobody's.
Resign(b) ==
    \* enabled when
    /\ Serving(b) /\ ~Acting(b)
    \* effect
    /\ epoch' = [epoch EXCEPT ![b] = 0]
    /\ appended' = [appended EXCEPT ![b] = <<>>]
    /\ end' = [end EXCEPT ![b] = 0]
    /\ producers' = [producers EXCEPT ![b] = NoProducers]
    /\ group' = [group EXCEPT ![b] = NoGroup]
    /\ offsets' = [offsets EXCEPT ![b] = NoOffsets]
    /\ staged' = [staged EXCEPT ![b] = NoStaged]
    /\ txnRpc' = [t \in Producers |->
                    IF txnRpc[t].type = "committing" /\ txnRpc[t].broker = b
                    THEN [type |-> "answered", error |-> "NOT_COORDINATOR"] ELSE txnRpc[t]]
    /\ marker' = [t \in Producers |->
                    IF marker[t].type = "writing" /\ marker[t].broker = b
                    THEN [type |-> "written", error |-> "NOT_COORDINATOR"] ELSE marker[t]]
    /\ fetch' = IF fetch.type = "waiting" /\ fetch.broker = b
                THEN [type |-> "fetched", broker |-> b, error |-> "NOT_COORDINATOR", stable |-> TRUE, offsets |-> NothingFound,
                      unstable |-> {}]
                ELSE fetch
    /\ UNCHANGED <<now, leaderAndEpoch, log, transaction, late, lateMarker>>

-----------------------------------------------------------------------------
(* The network *)

\* RepeatMarker   who: the network
RepeatMarker(t) ==
    \* enabled when
    /\ marker[t].type = "marker" /\ lateMarker[t].type = "idle"
    \* effect
    /\ lateMarker' = [lateMarker EXCEPT ![t] = marker[t]]
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late,
                   marker, fetch>>

\* LoseMarker   who: the network
\* The request or its reply is lost; the transaction coordinator sends it again.
LoseMarker(t) ==
    \* enabled when
    /\ marker[t].type # "idle"
    \* effect
    /\ marker' = [marker EXCEPT ![t] = Idle]
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late,
                   lateMarker, fetch>>

\* LoseLate   who: the network
LoseLate(t) ==
    \* enabled when
    /\ late[t].type # "idle"
    \* effect
    /\ late' = [late EXCEPT ![t] = Idle]
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, transaction, txnRpc, marker,
                   lateMarker, fetch>>

\* LoseLateMarker   who: the network
LoseLateMarker(t) ==
    \* enabled when
    /\ lateMarker[t].type # "idle"
    \* effect
    /\ lateMarker' = [lateMarker EXCEPT ![t] = Idle]
    /\ UNCHANGED <<now, leaderAndEpoch, log, appended, end, producers, epoch, group, offsets, staged, transaction, txnRpc, late,
                   marker, fetch>>

-----------------------------------------------------------------------------
Next ==
    \/ Tick
    \/ \E b \in Brokers, subscription \in SUBSET Partitions : Rebalance(b, subscription)
    \/ \E b \in Brokers, p \in Partitions, offset \in 0..MaxOffset : CommitOffset(b, p, offset)
    \/ \E b \in Brokers : ExpireOffsets(b)
    \/ \E b \in Brokers, p \in Partitions : DeleteOffset(b, p)
    \/ \E b \in Brokers : DeleteGroup(b)
    \/ \E b \in Brokers, p \in Partitions : DropTopic(b, p)
    \/ \E t \in Producers : BeginTransaction(t)
    \/ \E t \in Producers, b \in Brokers, generation \in -1..MaxGeneration, p \in Partitions, offset \in 0..MaxOffset :
            SendTxnOffsetCommit(t, b, generation, p, offset)
    \/ \E b \in Brokers, t \in Producers, isLate \in BOOLEAN : VerifyTxnOffsetCommit(b, t, isLate)
    \/ \E b \in Brokers, t \in Producers, isLate \in BOOLEAN : HandleTxnOffsetCommit(b, t, isLate)
    \/ \E b \in Brokers, t \in Producers, isLate \in BOOLEAN : RejectTxnOffsetCommit(b, t, isLate)
    \/ \E t \in Producers : ReceiveTxnReply(t)
    \/ \E t \in Producers : GiveUpTxnOffsetCommit(t)
    \/ \E t \in Producers, result \in Results : EndTransaction(t, result)
    \/ \E t \in Producers, b \in Brokers : SendMarker(t, b)
    \/ \E b \in Brokers, t \in Producers, isLate \in BOOLEAN : HandleMarker(b, t, isLate)
    \/ \E b \in Brokers, t \in Producers, isLate \in BOOLEAN : RejectMarker(b, t, isLate)
    \/ \E t \in Producers : ReceiveMarkerReply(t)
    \/ \E b \in Brokers, stable \in BOOLEAN : FetchOffsets(b, stable)
    \/ \E b \in Brokers : CommitEntry(b)
    \/ \E n \in 1..MaxLog, horizon \in BOOLEAN : Compact(n, horizon)
    \/ \E b \in Brokers, keep \in 0..MaxAppended : BecomeCoordinator(b, keep)
    \/ \E b \in Brokers : Resign(b)
    \/ \E t \in Producers : RepeatMarker(t)
    \/ \E t \in Producers : LoseMarker(t)
    \/ \E t \in Producers : LoseLate(t)
    \/ \E t \in Producers : LoseLateMarker(t)

\* Enabled only while a rule is not in force.
FlawActions == {}

Spec == Init /\ [][Next]_vars
=============================================================================
