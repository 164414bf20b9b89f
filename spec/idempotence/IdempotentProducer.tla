------------------------- MODULE IdempotentProducer -------------------------
(***************************************************************************)
(* Idempotent producers (Kafka 4.x, acks=all, no transactional id) and the *)
(* leaders of the partitions that they write to.                           *)
(*                                                                         *)
(* Modelled: producer ids and local epoch bumps; sequences assigned at     *)
(* drain, which wrap around; several batches in flight, retried in order;  *)
(* the batches that a leader remembers of each producer, duplicates        *)
(* answered with their old offset, gaps refused; batches that expire in    *)
(* flight and what becomes of those behind them; expiry of producer state; *)
(* a change of leader, which loses what is not committed and rebuilds      *)
(* producer state from a snapshot and the log; requests and replies that   *)
(* are lost, and requests that arrive after their connection was given up. *)
(* KIPs: 98, 185, 360, 679.                                                *)
(*                                                                         *)
(* Left out: replication (a new leader has all that is committed), batches *)
(* of several records, errors that no retry helps, an exhausted epoch,     *)
(* transactions, clocks (an armed time-out may happen at any time).        *)
(* docs/protocols/idempotence.md says why, and what it could hide.         *)
(*                                                                         *)
(* Read in this order: VARIABLES, the rules, the leader's vocabulary       *)
(* (Verdict), the producer's, the actions from GetProducerId to            *)
(* CrashProducer, then IdempotentProducerProperties.                       *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds

CONSTANTS
    Producers,    \* the producers; one that crashes is followed by another process
    Brokers,      \* the brokers that may lead a partition
    Partitions,
    Window,       \* batches that a leader remembers of a producer: 5 in Kafka
    MaxInFlight,  \* max.in.flight.requests.per.connection: at most Window
    MaxSequence,  \* the last sequence before 0: 2^31 - 1 in Kafka
    MaxPid,       \* capacity: producer ids
    MaxEpoch,     \* capacity: producer epochs
    MaxLog,       \* capacity: batches in a log
    MaxNumber,    \* capacity: batches that a process sends to a partition
    MaxWire,      \* capacity: requests and replies of a producer on the way, per partition
    MaxLate,      \* capacity: requests of a producer that outlive their connection, per partition
    Without       \* the safety rules that are not in force

ASSUME MaxInFlight <= Window /\ Window <= MaxSequence

VARIABLES
    \* the partition
    leader,         \* per partition: the broker that leads it
    log,            \* per partition: the batches that its leader has, one offset each
    highWatermark,  \* per partition: how many of them are committed
    entry,          \* per partition and producer id: what the leader remembers (ProducerStateEntry)
    issued,         \* how many producer ids were issued; they are 1, 2, ...
    \* the producer
    producer,       \* per producer: its id (0: none yet) and epoch
    sender,         \* per producer and partition: sequences, and the batches in flight in the order in which they go
    \* the network
    wire,           \* per producer and partition: requests and replies on the way, oldest first; each connection is FIFO
    late,           \* per producer and partition: requests that a broker may still read though nobody waits for a reply
    \* history, never part of a trace
    acked           \* per producer id, partition and batch: the offset + 1 that the application was told, 0 none

partitionVars == <<leader, log, highWatermark, entry, issued>>
producerVars  == <<producer, sender>>
networkVars   == <<wire, late>>
vars == <<leader, log, highWatermark, entry, issued, producer, sender, wire, late, acked>>

Ghosts == <<acked>>

-----------------------------------------------------------------------------
(* Types. The bounds are a trace's capacities. *)

Pids        == 1..MaxPid
Epochs      == 0..MaxEpoch
Sequences   == 0..MaxSequence
SequenceOrNone == -1..MaxSequence
Offsets     == 0..MaxLog
Numbers     == 1..MaxNumber

\* A batch of the log: the number-th that its process sent to the partition, and the sequence that it was given.
Record == [pid : Pids, epoch : Epochs, sequence : Sequences, number : Numbers]

\* epoch -1: nothing is known of the producer.
Entry == [epoch : -1..MaxEpoch, batches : BoundedSeq([sequence : Sequences, offset : Offsets], Window)]

\* doubt: some attempt of it came to nothing that the producer knows of, so it may be in the log, or may still get there.
Batch == [number : Numbers, epoch : Epochs, sequence : Sequences, sent : BOOLEAN, doubt : BOOLEAN]

Sender == [epoch : Epochs,                 \* the producer epoch that the sequences belong to
           next : Sequences,               \* the sequence of the next batch
           lastAcked : SequenceOrNone,     \* the latest sequence that was acknowledged
           unresolved : SequenceOrNone,    \* the sequence behind a batch that expired in flight, until its fate is known
           rewrite : BOOLEAN,              \* the epoch must be bumped, and the batches in flight get new sequences
           created : 0..MaxNumber,         \* batches so far
           batches : BoundedSeq(Batch, MaxInFlight)]

Errors  == {"NONE", "NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS", "OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH",
            "KAFKA_STORAGE_ERROR"}
Request == [broker : Brokers, pid : Pids, number : Numbers, epoch : Epochs, sequence : Sequences]
\* "waiting": appended, or found to be there, and not answered until it is committed.
Item ==
         [type : {"request"}, broker : Brokers, pid : Pids, number : Numbers, epoch : Epochs, sequence : Sequences]
    \cup [type : {"waiting"}, broker : Brokers, number : Numbers, epoch : Epochs, sequence : Sequences, offset : Offsets]
    \cup [type : {"reply"}, broker : Brokers, number : Numbers, epoch : Epochs, sequence : Sequences, offset : Offsets,
          error : Errors]

TypeOK ==
    /\ leader \in [Partitions -> Brokers]
    /\ log \in [Partitions -> BoundedSeq(Record, MaxLog)]
    /\ highWatermark \in [Partitions -> Offsets]
    /\ entry \in [Partitions -> [Pids -> Entry]]
    /\ issued \in 0..MaxPid
    /\ producer \in [Producers -> [pid : 0..MaxPid, epoch : Epochs]]
    /\ sender \in [Producers -> [Partitions -> Sender]]
    /\ wire \in [Producers -> [Partitions -> BoundedSeq(Item, MaxWire)]]
    /\ late \in [Producers -> [Partitions -> BoundedSeq(Request, MaxLate)]]
    /\ acked \in [Pids -> [Partitions -> [Numbers -> Offsets]]]

-----------------------------------------------------------------------------
(* Vocabulary *)

Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b
Least(S)  == CHOOSE i \in S : \A j \in S : i <= j

RemoveAt(s, i) == SubSeq(s, 1, i - 1) \o SubSeq(s, i + 1, Len(s))
Last(s, n)     == SubSeq(s, Max(1, Len(s) - n + 1), Len(s))

\* How far sequence b is ahead of a.
Ahead(a, b) == (b - a + MaxSequence + 1) % (MaxSequence + 1)
Successor(sequence) == IF sequence = MaxSequence THEN 0 ELSE sequence + 1

NoEntry   == [epoch |-> -1, batches |-> <<>>]
NewSender == [epoch |-> 0, next |-> 0, lastAcked |-> -1, unresolved |-> -1, rewrite |-> FALSE, created |-> 0, batches |-> <<>>]

\* The place of the batch with this number among those in flight, 0 if it is not there.
PlaceOf(s, number) ==
    LET places == {i \in 1..Len(s.batches) : s.batches[i].number = number} IN IF places = {} THEN 0 ELSE Least(places)
IsInFlight(pid, p, number) ==
    \E c \in Producers : producer[c].pid = pid /\ PlaceOf(sender[c][p], number) # 0
IsWritten(pid, p, number) ==
    \E i \in 1..Len(log[p]) : log[p][i].pid = pid /\ log[p][i].number = number

\* On the connection of c to b for p: the place of what b handles next, and of what c hears next; 0 nothing.
NextAt(b, c, p) ==
    LET places == {i \in 1..Len(wire[c][p]) : wire[c][p][i].broker = b /\ wire[c][p][i].type # "reply"}
    IN  IF places = {} THEN 0 ELSE Least(places)
NextFrom(b, c, p) ==
    LET places == {i \in 1..Len(wire[c][p]) : wire[c][p][i].broker = b}
    IN  IF places = {} THEN 0 ELSE Least(places)
Handles(b, c, p)  == NextAt(b, c, p) # 0 /\ (NextAt(b, c, p) # 0 => wire[c][p][NextAt(b, c, p)].type = "request")
Hears(b, c, p)    == NextFrom(b, c, p) # 0 /\ (NextFrom(b, c, p) # 0 => wire[c][p][NextFrom(b, c, p)].type = "reply")
AtBroker(b, c, p) == wire[c][p][NextAt(b, c, p)]
Heard(b, c, p)    == wire[c][p][NextFrom(b, c, p)]

-----------------------------------------------------------------------------
(* The safety rules. Each says what goes wrong without it; zoo.toml holds the schedule. *)

\* The constants that only bound a trace; every other limit of TypeOK means something.
Capacities == {"MaxPid", "MaxEpoch", "MaxLog", "MaxNumber", "MaxWire", "MaxLate"}

Has(rule) == rule \notin Without

\* A guard answers "may this go ahead", and without its rule everything may. A case answers "does this case arise", and without
\* its rule it never does.
Guard(rule, may)   == Has(rule) => may
Case(rule, arises) == Has(rule) /\ arises

\* KIP-98. Without it and InSequence a retry after a lost reply is a second batch, and one after a failure is written behind
\* its successors (row 60).
RecognizeDuplicate(e, r) == Case("RecognizeDuplicate",
    e.epoch = r.epoch /\ \E i \in 1..Len(e.batches) : e.batches[i].sequence = r.sequence)

\* KIP-98. Without it a batch is written although the one before it was not (row 60).
InSequence(e, r) == Guard("InSequence",
    e.batches # <<>> /\ (e.batches # <<>> => r.sequence = Successor(e.batches[Len(e.batches)].sequence)))

\* KAFKA-5494. Without it a leader remembers one batch of a producer, and refuses the retries of the others (row 61).
RememberWindow(e, r) == Case("RememberWindow", e.epoch = r.epoch)

\* KAFKA-15591, KAFKA-18202. Without it a leader that knows nothing of a producer takes any sequence; the batches before it are
\* refused for ever (row 63). Kafka 4.3 asks it of transactions of version 2 only (KAFKA-18202).
FirstSequenceIsZero(r) == Guard("FirstSequenceIsZero", r.sequence = 0)

\* KIP-98. Without it a later batch of a new epoch is taken before the first.
NewEpochStartsAtZero(r) == Guard("NewEpochStartsAtZero", r.sequence = 0)

\* KIP-98. Without it a request of an older epoch is written behind the batches that replaced it.
EpochNotOlder(e, r) == Guard("EpochNotOlder", r.epoch >= e.epoch)

\* KIP-98. Without it a duplicate of a batch that is not committed is acknowledged, and the batch is lost with its leader.
DuplicateWaitsForCommit(p, offset) == Case("DuplicateWaitsForCommit", offset >= highWatermark[p])

\* KAFKA-6683. Without it a leader remembers a batch that it did not append, and acknowledges the retry (row 67).
StateFollowsAppend(appended) == Guard("StateFollowsAppend", appended)

\* KIP-360 (KAFKA-7190). Without it a leader forgets a producer whose last batch may be retried, and takes it again (row 62).
\* A leader compares times: producer.id.expiration.ms have gone since it appended the producer's last batch, and these exceed
\* delivery.timeout.ms and the life of any request. By then nothing is under way of the batches that it has appended. A later
\* batch may be.
StateOutlivesRetries(p, pid) == Guard("StateOutlivesRetries",
    LET IsLater(number) == \A i \in 1..Len(log[p]) : log[p][i].pid = pid => log[p][i].number < number IN
    \A c \in Producers :
        /\ producer[c].pid = pid => \A i \in 1..Len(sender[c][p].batches) : IsLater(sender[c][p].batches[i].number)
        /\ \A i \in 1..Len(wire[c][p]) :
              wire[c][p][i].type = "request" => wire[c][p][i].pid # pid \/ IsLater(wire[c][p][i].number)
        /\ \A i \in 1..Len(late[c][p]) : late[c][p][i].pid # pid \/ IsLater(late[c][p][i].number))

\* KIP-98. Without it a new leader remembers batches that it has truncated, and acknowledges their retries.
StateFollowsTruncation(p, keep) == Case("StateFollowsTruncation", keep < Len(log[p]))

\* This project's repair; Kafka 4.x lacks it. Without it a snapshot holds the last batch of a producer only. A leader that starts
\* from one refuses the retries of the others (CAND-7, row 112).
SnapshotOfSeveralBatches(before) == Case("SnapshotOfSeveralBatches", before > 1)

\* This project's repair; Kafka 4.x lacks it. Without it a batch that may be in the log gets a sequence of the new epoch, and is
\* written twice. An older request may still bring it there, too (CAND-8, row 113).
ResequenceOnlyRefused(c, p) == Guard("ResequenceOnlyRefused",
    \A i \in 1..Len(sender[c][p].batches) : ~sender[c][p].batches[i].sent /\ ~sender[c][p].batches[i].doubt)

\* KIP-360. Without it a bump for one partition gives new sequences to another's batches, which may be in the log
\* (row 66, librdkafka 4953).
RewriteOnlyRequested(c, p) == Guard("RewriteOnlyRequested", sender[c][p].rewrite)

\* KAFKA-8483. Without it the batches in flight get their new sequences in the order of a heap whose least was taken away.
\* There the third is before the second (row 65). Two are in order in any heap.
ResequenceInOrder(s) == Case("ResequenceInOrder", Len(s.batches) > 2)

\* KAFKA-12152. Without it a partition that was idle during a bump goes on counting in the new epoch, where 0 is due (row 64).
RestartSequencePerPartition(c, p) == Case("RestartSequencePerPartition", sender[c][p].epoch # producer[c].epoch)

\* KAFKA-5494. Without it another batch gets the sequence of the only one in flight, which expired. The leader takes it for that.
OnlyBatchExpired(s) == Case("OnlyBatchExpired", Len(s.batches) = 1)

\* This project's repair; Kafka 4.x lacks it. Without it batches before and behind the wrap-around are in flight together. At a
\* bump those behind it come first, being lower. A leader that knows nothing of the producer takes this 0 for a first batch
\* (CAND-9, row 114).
DrainBeforeWrap(s, sequence) == Guard("DrainBeforeWrap", sequence = 0 => s.batches = <<>>)

\* This project's repair; Kafka 4.x lacks it (TxnPartitionEntry only raises what was acknowledged). Without it no batch behind
\* the wrap-around follows the acknowledged ones. A gap is not noticed, and the batch behind it is retried until it expires
\* (row 146).
CountAnewBehindWrap(s, sequence) == Case("CountAnewBehindWrap", sequence = 0 /\ s.batches = <<>> /\ s.lastAcked >= 0)

\* This project's repair; Kafka 4.x lacks it. Without it later batches are acknowledged and others sent while the first is still
\* in doubt. The leader remembers those, and refuses the retry of the first, which it has (CAND-11, row 115).
SpanWithinWindow(s) == Guard("SpanWithinWindow", s.batches # <<>> => Ahead(s.batches[1].sequence, s.next) < Window)

Rules == {"RecognizeDuplicate", "InSequence", "RememberWindow", "FirstSequenceIsZero", "NewEpochStartsAtZero",
          "EpochNotOlder", "DuplicateWaitsForCommit", "StateFollowsAppend", "StateOutlivesRetries",
          "StateFollowsTruncation", "SnapshotOfSeveralBatches", "ResequenceOnlyRefused", "RewriteOnlyRequested",
          "ResequenceInOrder", "RestartSequencePerPartition", "OnlyBatchExpired", "DrainBeforeWrap", "CountAnewBehindWrap",
          "SpanWithinWindow"}

\* No action is a flaw's alone.
FlawActions == {}

\* The baseline of Kafka 4.x: the rules that it lacks.
KafkaAsShipped == {"FirstSequenceIsZero", "SnapshotOfSeveralBatches", "ResequenceOnlyRefused", "DrainBeforeWrap",
                   "CountAnewBehindWrap", "SpanWithinWindow"}

-----------------------------------------------------------------------------
(* The leader (ProducerStateManager, ProducerAppendInfo) *)

\* The leader's verdict on a producer's request to p, in Kafka's order.
Verdict(p, r) ==
    LET e == entry[p][r.pid]
    IN  IF RecognizeDuplicate(e, r) THEN "DUPLICATE"
        ELSE IF e.epoch = -1
             THEN IF FirstSequenceIsZero(r) THEN "NONE" ELSE "OUT_OF_ORDER_SEQUENCE_NUMBER"
        ELSE IF ~EpochNotOlder(e, r) THEN "INVALID_PRODUCER_EPOCH"
        ELSE IF e.epoch # r.epoch
             THEN IF NewEpochStartsAtZero(r) THEN "NONE" ELSE "OUT_OF_ORDER_SEQUENCE_NUMBER"
        ELSE IF InSequence(e, r) THEN "NONE" ELSE "OUT_OF_ORDER_SEQUENCE_NUMBER"

\* The entry once r is appended at this offset.
Remember(e, r, offset) ==
    [epoch |-> r.epoch,
     batches |-> Last((IF RememberWindow(e, r) THEN e.batches ELSE <<>>)
                          \o <<[sequence |-> r.sequence, offset |-> offset]>>, Window)]

\* The places in a log of the batches of a producer's latest epoch.
Latest(pid, batches) ==
    FoldSeq(LAMBDA i, run : IF batches[i].pid # pid THEN run
                            ELSE IF run = <<>> THEN <<i>>
                            ELSE IF batches[run[1]].epoch = batches[i].epoch THEN Append(run, i)
                            ELSE <<i>>,
            <<>>, [i \in 1..Len(batches) |-> i])

\* The entry of a producer by the batches of a log: the last of its latest epoch.
Replay(pid, batches) ==
    LET latest == Latest(pid, batches)
        kept   == Last(latest, IF Has("RememberWindow") THEN Window ELSE 1)
    IN  IF latest = <<>> THEN NoEntry
        ELSE [epoch |-> batches[latest[1]].epoch,
              batches |-> [k \in 1..Len(kept) |-> [sequence |-> batches[kept[k]].sequence, offset |-> kept[k] - 1]]]

\* The rest of an entry that was loaded from a snapshot taken at an offset, and the log behind it.
FromSnapshot(e, snapshot) ==
    LET before == Cardinality({i \in 1..Len(e.batches) : e.batches[i].offset < snapshot})
    IN  IF SnapshotOfSeveralBatches(before) THEN e
        ELSE [e EXCEPT !.batches = SubSeq(@, Max(1, before), Len(@))]

\* Producer state as a broker loads it.
Load(batches, snapshot) == [pid \in Pids |-> FromSnapshot(Replay(pid, batches), snapshot)]

\* The batch of a request as it stands in the log, and the offset at which the leader remembers it.
AsRecord(r) == [pid |-> r.pid, epoch |-> r.epoch, sequence |-> r.sequence, number |-> r.number]
OldOffset(e, r) ==
    e.batches[Least({i \in 1..Len(e.batches) : e.batches[i].sequence = r.sequence})].offset

\* The state that the leader of p keeps once r was handled, and appended or not.
Known(p, r, appended) ==
    IF StateFollowsAppend(appended)
    THEN [entry EXCEPT ![p][r.pid] = Remember(@, r, Len(log[p]))] ELSE entry

Waiting(r, offset) ==
    [type |-> "waiting", broker |-> r.broker, number |-> r.number, epoch |-> r.epoch, sequence |-> r.sequence, offset |-> offset]
Reply(r, error, offset) ==
    [type |-> "reply", broker |-> r.broker, number |-> r.number, epoch |-> r.epoch, sequence |-> r.sequence, offset |-> offset,
     error |-> error]

-----------------------------------------------------------------------------
(* The producer (TransactionManager, RecordAccumulator, Sender) *)

\* The sequence follows the latest that was acknowledged.
IsNext(s, sequence) == sequence = s.lastAcked + 1

\* The batches in flight, and one more, by sequence.
Insert(batches, batch) ==
    LET before == Cardinality({i \in 1..Len(batches) : batches[i].sequence < batch.sequence})
    IN  SubSeq(batches, 1, before) \o <<batch>> \o SubSeq(batches, before + 1, Len(batches))

\* The epoch is bumped before anything else is sent.
MustBump(c) == \E p \in Partitions : sender[c][p].rewrite
MayBump(c)  ==
    \A p \in Partitions : sender[c][p].rewrite => ResequenceOnlyRefused(c, p)

\* The partitions whose batches get new sequences.
Rewritten(c) == {p \in Partitions : RewriteOnlyRequested(c, p)}

\* Which batch in flight gets the i-th sequence of a new epoch.
InTurn(s, i) ==
    IF ResequenceInOrder(s) \/ Len(s.batches) <= 2 \/ i \notin {2, 3} THEN i ELSE 5 - i

\* A sender in a new epoch: its batches are numbered from 0.
Resequenced(s, e) ==
    [s EXCEPT !.epoch = e, !.next = Len(s.batches), !.lastAcked = -1, !.unresolved = -1, !.rewrite = FALSE,
              !.batches = [i \in 1..Len(s.batches) |-> [s.batches[InTurn(s, i)] EXCEPT !.epoch = e, !.sequence = i - 1]]]

RequestOf(c, b, batch) ==
    [type |-> "request", broker |-> b, pid |-> producer[c].pid, number |-> batch.number, epoch |-> batch.epoch,
     sequence |-> batch.sequence]

\* Does an OUT_OF_ORDER_SEQUENCE_NUMBER mean that there is a gap that no retry closes? There is none if the batch has got
\* another sequence meanwhile, or if those before it are still to come.
IsGap(s, batch, reply) ==
    IF s.unresolved = -1
    THEN batch.epoch = reply.epoch /\ batch.sequence = reply.sequence /\ IsNext(s, batch.sequence)
    ELSE batch.sequence = s.unresolved

\* The sender when a batch has failed for now: it is retried, unless its epoch is fenced.
Failed(s, i, reply) ==
    CASE reply.error = "INVALID_PRODUCER_EPOCH" -> [s EXCEPT !.batches = RemoveAt(@, i), !.rewrite = TRUE]
      [] reply.error = "OUT_OF_ORDER_SEQUENCE_NUMBER" ->
            [s EXCEPT !.batches[i].sent = FALSE, !.rewrite = @ \/ IsGap(s, s.batches[i], reply)]
      [] reply.error \in {"NOT_LEADER_OR_FOLLOWER", "KAFKA_STORAGE_ERROR"} ->
            [s EXCEPT !.batches[i].sent = FALSE, !.batches[i].doubt = TRUE]
      [] OTHER -> [s EXCEPT !.batches[i].sent = FALSE]

-----------------------------------------------------------------------------
(* History *)

\* The acknowledgements that applications received.
NextAcked(b, c, p) ==
    LET reply == Heard(b, c, p)
    IN  IF PlaceOf(sender[c][p], reply.number) = 0 THEN acked
        ELSE [acked EXCEPT ![producer[c].pid][p][reply.number] = reply.offset + 1]

-----------------------------------------------------------------------------
(* Init: nobody has a producer id; any broker leads first. *)

Init ==
    /\ leader \in [Partitions -> Brokers]
    /\ log = [p \in Partitions |-> <<>>]
    /\ highWatermark = [p \in Partitions |-> 0]
    /\ entry = [p \in Partitions |-> [pid \in Pids |-> NoEntry]]
    /\ issued = 0
    /\ producer = [c \in Producers |-> [pid |-> 0, epoch |-> 0]]
    /\ sender = [c \in Producers |-> [p \in Partitions |-> NewSender]]
    /\ wire = [c \in Producers |-> [p \in Partitions |-> <<>>]]
    /\ late = [c \in Producers |-> [p \in Partitions |-> <<>>]]
    /\ acked = [pid \in Pids |-> [p \in Partitions |-> [n \in Numbers |-> 0]]]

-----------------------------------------------------------------------------
(* The producer's actions *)

\* GetProducerId   who: producer   code: idempotence/producer.py
\* InitProducerId without a transactional id: each gets an id of its own. (A lost reply leaves an id that nobody uses.)
GetProducerId(c, pid) ==
    \* enabled when
    /\ producer[c].pid = 0 /\ pid = issued + 1
    \* effect
    /\ issued' = pid
    /\ producer' = [producer EXCEPT ![c] = [pid |-> pid, epoch |-> 0]]
    /\ UNCHANGED <<leader, log, highWatermark, entry, sender, wire, late>>
    /\ UNCHANGED acked

\* SendBatch   who: producer   code: idempotence/producer.py
\* A batch is drained: it gets its sequence, and goes to whom the producer takes for the leader. None is drained while a batch
\* waits to be retried, or while sequences are unresolved. In a new epoch none is drained while batches of the old one are in
\* flight. Behind the wrap-around it counts anew what was acknowledged.
SendBatch(c, p, b) ==
    LET s     == sender[c][p]
        anew  == RestartSequencePerPartition(c, p)
        batch == [number |-> s.created + 1, epoch |-> producer[c].epoch, sequence |-> IF anew THEN 0 ELSE s.next,
                  sent |-> TRUE, doubt |-> FALSE] IN
    \* enabled when
    /\ producer[c].pid # 0
    /\ ~MustBump(c) \/ ~MayBump(c)
    /\ ~s.rewrite /\ s.unresolved = -1
    /\ Len(s.batches) < MaxInFlight /\ \A i \in 1..Len(s.batches) : s.batches[i].sent
    /\ s.epoch # producer[c].epoch => s.batches = <<>>
    /\ SpanWithinWindow(s)
    /\ DrainBeforeWrap(s, batch.sequence)
    \* effect
    /\ sender' = [sender EXCEPT ![c][p] =
                    [s EXCEPT !.epoch = producer[c].epoch, !.next = Successor(batch.sequence), !.created = @ + 1,
                              !.lastAcked = IF s.epoch # producer[c].epoch \/ CountAnewBehindWrap(s, batch.sequence) THEN -1 ELSE @,
                              !.batches = Insert(@, batch)]]
    /\ wire' = [wire EXCEPT ![c][p] = Append(@, RequestOf(c, b, batch))]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, producer, late>>
    /\ UNCHANGED acked

\* ResendBatch   who: producer   code: idempotence/producer.py
\* A retry keeps its sequence. Only the first batch in flight is retried.
ResendBatch(c, p, b) ==
    LET s == sender[c][p] IN
    \* enabled when
    /\ s.batches # <<>> /\ (s.batches # <<>> => ~s.batches[1].sent)
    /\ ~MustBump(c) \/ ~MayBump(c)
    \* effect
    /\ sender' = [sender EXCEPT ![c][p].batches[1].sent = TRUE]
    /\ wire' = [wire EXCEPT ![c][p] = Append(@, RequestOf(c, b, s.batches[1]))]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, producer, late>>
    /\ UNCHANGED acked

\* ReceiveAck   who: producer   code: idempotence/producer.py
\* The application is told, unless the batch has expired meanwhile.
ReceiveAck(b, c, p) ==
    LET s     == sender[c][p]
        reply == Heard(b, c, p)
        place == PlaceOf(s, reply.number) IN
    \* enabled when
    /\ Hears(b, c, p)
    /\ reply.error = "NONE"
    \* effect
    /\ wire' = [wire EXCEPT ![c][p] = RemoveAt(@, NextFrom(b, c, p))]
    /\ sender' = IF place = 0 THEN sender
                 ELSE [sender EXCEPT ![c][p].batches = RemoveAt(@, place),
                                     ![c][p].lastAcked = Max(@, s.batches[place].sequence)]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, producer, late>>
    /\ acked' = NextAcked(b, c, p)

\* ReceiveError   who: producer   code: idempotence/producer.py
\* The batch is retried; a gap asks for a new epoch.
ReceiveError(b, c, p) ==
    LET s     == sender[c][p]
        reply == Heard(b, c, p)
        place == PlaceOf(s, reply.number) IN
    \* enabled when
    /\ Hears(b, c, p)
    /\ reply.error # "NONE"
    \* effect
    /\ wire' = [wire EXCEPT ![c][p] = RemoveAt(@, NextFrom(b, c, p))]
    /\ sender' = IF place = 0 THEN sender ELSE [sender EXCEPT ![c][p] = Failed(s, place, reply)]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, producer, late>>
    /\ UNCHANGED acked

\* ExpireBatch   who: the producer's clock   code: idempotence/producer.py
\* delivery.timeout.ms is over for the oldest batch: the application is told that it failed, and nobody knows whether it did.
ExpireBatch(c, p) ==
    LET s     == sender[c][p]
        place == Least({i \in 1..Len(s.batches) : \A j \in 1..Len(s.batches) : s.batches[i].number <= s.batches[j].number})
        keeps == OnlyBatchExpired(s) \/ Len(s.batches) > 1 IN
    \* enabled when
    /\ s.batches # <<>>
    \* effect
    /\ sender' = [sender EXCEPT ![c][p] =
                    IF keeps THEN [s EXCEPT !.batches = RemoveAt(@, place), !.unresolved = Successor(s.batches[place].sequence)]
                    ELSE [s EXCEPT !.batches = <<>>, !.next = s.batches[place].sequence]]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, producer, wire, late>>
    /\ UNCHANGED acked

\* ResolveSequences   who: producer   code: idempotence/producer.py
\* Nothing is in flight any more: if what came behind the expired batch was acknowledged, so was its sequence taken; otherwise
\* the epoch is bumped.
ResolveSequences(c, p) ==
    LET s == sender[c][p] IN
    \* enabled when
    /\ s.unresolved # -1 /\ s.batches = <<>>
    \* effect
    /\ sender' = [sender EXCEPT ![c][p].unresolved = -1, ![c][p].rewrite = @ \/ ~IsNext(s, s.next)]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, producer, wire, late>>
    /\ UNCHANGED acked

\* BumpEpoch   who: producer   code: idempotence/producer.py
\* The producer takes the next epoch by itself (KIP-360). The partitions that asked for it number their batches from 0; the
\* others follow when nothing of the old epoch is in flight.
BumpEpoch(c) ==
    LET e == producer[c].epoch + 1 IN
    \* enabled when
    /\ MustBump(c)
    /\ MayBump(c)
    \* effect
    /\ producer' = [producer EXCEPT ![c].epoch = e]
    /\ sender' = [sender EXCEPT ![c] =
                    [p \in Partitions |-> IF p \in Rewritten(c) THEN Resequenced(sender[c][p], e) ELSE sender[c][p]]]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, wire, late>>
    /\ UNCHANGED acked

-----------------------------------------------------------------------------
(* The leader's actions *)

\* AppendBatch   who: leader   code: idempotence/partition.py (append_batch)
AppendBatch(b, c, p) ==
    LET i == NextAt(b, c, p)
        r == AtBroker(b, c, p) IN
    \* enabled when
    /\ Handles(b, c, p)
    /\ leader[p] = b /\ Verdict(p, r) = "NONE"
    \* effect
    /\ log' = [log EXCEPT ![p] = Append(@, AsRecord(r))]
    /\ entry' = Known(p, r, TRUE)
    /\ wire' = [wire EXCEPT ![c][p][i] = Waiting(r, Len(log[p]))]
    /\ UNCHANGED <<leader, highWatermark, issued, producer, sender, late>>
    /\ UNCHANGED acked

\* AnswerDuplicate   who: leader   code: idempotence/partition.py (append_batch)
\* The batch is in the log: its old offset is the answer, once it is committed.
AnswerDuplicate(b, c, p) ==
    LET i      == NextAt(b, c, p)
        r      == AtBroker(b, c, p)
        offset == OldOffset(entry[p][r.pid], r) IN
    \* enabled when
    /\ Handles(b, c, p)
    /\ leader[p] = b /\ Verdict(p, r) = "DUPLICATE"
    \* effect
    /\ wire' = [wire EXCEPT ![c][p][i] =
                    IF DuplicateWaitsForCommit(p, offset) THEN Waiting(r, offset)
                    ELSE Reply(r, "NONE", offset)]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, producer, sender, late>>
    /\ UNCHANGED acked

\* RejectBatch   who: leader, or who was asked in its place   code: idempotence/partition.py (append_batch)
RejectBatch(b, c, p) ==
    LET i == NextAt(b, c, p)
        r == AtBroker(b, c, p) IN
    \* enabled when
    /\ Handles(b, c, p)
    /\ leader[p] # b \/ Verdict(p, r) \notin {"NONE", "DUPLICATE"}
    \* effect
    /\ wire' = [wire EXCEPT ![c][p][i] =
                    Reply(r, IF leader[p] # b THEN "NOT_LEADER_OR_FOLLOWER" ELSE Verdict(p, r), 0)]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, producer, sender, late>>
    /\ UNCHANGED acked

\* RejectUnderMinIsr   who: leader   code: idempotence/partition.py (append_batch)
\* Fewer replicas are in sync than min.insync.replicas. The leader refuses every batch, a duplicate too: it does not look at
\* the producer's state (Partition.appendRecordsToLeader).
RejectUnderMinIsr(b, c, p) ==
    LET i == NextAt(b, c, p)
        r == AtBroker(b, c, p) IN
    \* enabled when
    /\ Handles(b, c, p)
    /\ leader[p] = b
    \* effect
    /\ wire' = [wire EXCEPT ![c][p][i] = Reply(r, "NOT_ENOUGH_REPLICAS", 0)]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, producer, sender, late>>
    /\ UNCHANGED acked

\* FailAppend   who: leader   code: idempotence/partition.py (append_batch)
\* The batch is in order, and the disk does not take it. The producer does not know that nothing was written.
FailAppend(b, c, p) ==
    LET i == NextAt(b, c, p)
        r == AtBroker(b, c, p) IN
    \* enabled when
    /\ Handles(b, c, p)
    /\ leader[p] = b /\ Verdict(p, r) = "NONE"
    \* effect
    /\ entry' = Known(p, r, FALSE)
    /\ wire' = [wire EXCEPT ![c][p][i] = Reply(r, "KAFKA_STORAGE_ERROR", 0)]
    /\ UNCHANGED <<leader, log, highWatermark, issued, producer, sender, late>>
    /\ UNCHANGED acked

\* AppendLate   who: leader   code: idempotence/partition.py (append_batch)
\* A request arrives whose connection is gone. The leader does not know that.
AppendLate(c, p) ==
    LET r == late[c][p][1] IN
    \* enabled when
    /\ late[c][p] # <<>>
    /\ leader[p] = r.broker /\ Verdict(p, r) = "NONE"
    \* effect
    /\ log' = [log EXCEPT ![p] = Append(@, AsRecord(r))]
    /\ entry' = Known(p, r, TRUE)
    /\ late' = [late EXCEPT ![c][p] = Tail(@)]
    /\ UNCHANGED <<leader, highWatermark, issued, producer, sender, wire>>
    /\ UNCHANGED acked

\* DropLate   who: network, or a broker that refuses it   code: idempotence/sim/cluster.py
DropLate(c, p) ==
    \* enabled when
    /\ late[c][p] # <<>>
    \* effect
    /\ late' = [late EXCEPT ![c][p] = Tail(@)]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, producer, sender, wire>>
    /\ UNCHANGED acked

\* CompleteProduce   who: leader   code: idempotence/sim/cluster.py (handle)
\* acks=all: the answer waits until the batch is committed.
CompleteProduce(b, c, p) ==
    LET i == NextAt(b, c, p) IN
    \* enabled when
    /\ i # 0 /\ ~Handles(b, c, p)
    /\ i # 0 => wire[c][p][i].type = "waiting" /\ wire[c][p][i].offset < highWatermark[p]
    \* effect
    /\ wire' = [wire EXCEPT ![c][p][i] = Reply(@, "NONE", @.offset)]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, producer, sender, late>>
    /\ UNCHANGED acked

\* AdvanceHighWatermark   who: leader   code: idempotence/partition.py
\* The replicas have the batches below the offset.
AdvanceHighWatermark(p, offset) ==
    \* enabled when
    /\ offset > highWatermark[p] /\ offset <= Len(log[p])
    \* effect
    /\ highWatermark' = [highWatermark EXCEPT ![p] = offset]
    /\ UNCHANGED <<leader, log, entry, issued, producer, sender, wire, late>>
    /\ UNCHANGED acked

\* ExpireProducer   who: leader   code: idempotence/partition.py
\* producer.id.expiration.ms have passed since the leader appended the producer's last batch.
ExpireProducer(p, pid) ==
    \* enabled when
    /\ entry[p][pid] # NoEntry
    /\ StateOutlivesRetries(p, pid)
    \* effect
    /\ entry' = [entry EXCEPT ![p][pid] = NoEntry]
    /\ UNCHANGED <<leader, log, highWatermark, issued, producer, sender, wire, late>>
    /\ UNCHANGED acked

\* ElectLeader   who: controller   code: idempotence/partition.py (restart, truncate_to)
\* b leads (perhaps the same broker, started again). It has what is committed and `keep` batches in all, and has loaded its
\* producer state from a snapshot taken at some offset. Waiting requests are told that it leads no more.
ElectLeader(p, b, keep, snapshot) ==
    LET kept  == SubSeq(log[p], 1, keep)
        known == IF StateFollowsTruncation(p, keep) THEN kept ELSE log[p] IN
    \* enabled when
    /\ keep >= highWatermark[p] /\ keep <= Len(log[p])
    /\ snapshot <= keep
    \* effect
    /\ leader' = [leader EXCEPT ![p] = b]
    /\ log' = [log EXCEPT ![p] = kept]
    /\ entry' = [entry EXCEPT ![p] = Load(known, snapshot)]
    /\ wire' = [c \in Producers |-> [wire[c] EXCEPT ![p] =
                    [i \in 1..Len(@) |-> IF @[i].type = "waiting" THEN Reply(@[i], "NOT_LEADER_OR_FOLLOWER", 0) ELSE @[i]]]]
    /\ UNCHANGED <<highWatermark, issued, producer, sender, late>>
    /\ UNCHANGED acked

-----------------------------------------------------------------------------
(* Faults *)

\* Disconnect   who: network   code: idempotence/sim/cluster.py
\* A connection breaks, or the producer gives up on it (request.timeout.ms). Its replies are lost; of its requests that were
\* not handled the broker may yet read the first `keep`. The batches are retried.
Disconnect(c, p, b, keep) ==
    LET mine     == SelectSeq(wire[c][p], LAMBDA item : item.broker = b)
        requests == SelectSeq(mine, LAMBDA item : item.type = "request")
        lost(batch) == batch.sent /\ \E i \in 1..Len(mine) : mine[i].number = batch.number IN
    \* enabled when
    /\ mine # <<>>
    /\ keep <= Len(requests)
    \* effect
    /\ wire' = [wire EXCEPT ![c][p] = SelectSeq(@, LAMBDA item : item.broker # b)]
    /\ late' = [late EXCEPT ![c][p] = @ \o [i \in 1..keep |->
                    [broker |-> b, pid |-> requests[i].pid, number |-> requests[i].number, epoch |-> requests[i].epoch,
                     sequence |-> requests[i].sequence]]]
    /\ sender' = [sender EXCEPT ![c][p].batches =
                    [i \in 1..Len(@) |-> IF lost(@[i]) THEN [@[i] EXCEPT !.sent = FALSE, !.doubt = TRUE] ELSE @[i]]]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, producer>>
    /\ UNCHANGED acked

\* CrashProducer   who: the nemesis   code: idempotence/sim/cluster.py
\* The process ends, with all that it knew; another will have an id of its own.
CrashProducer(c) ==
    \* enabled when
    /\ producer[c].pid # 0
    \* effect
    /\ producer' = [producer EXCEPT ![c] = [pid |-> 0, epoch |-> 0]]
    /\ sender' = [sender EXCEPT ![c] = [p \in Partitions |-> NewSender]]
    /\ wire' = [wire EXCEPT ![c] = [p \in Partitions |-> <<>>]]
    /\ UNCHANGED <<leader, log, highWatermark, entry, issued, late>>
    /\ UNCHANGED acked

-----------------------------------------------------------------------------
Next ==
    \/ \E c \in Producers, pid \in Pids : GetProducerId(c, pid)
    \/ \E c \in Producers, p \in Partitions, b \in Brokers : SendBatch(c, p, b)
    \/ \E c \in Producers, p \in Partitions, b \in Brokers : ResendBatch(c, p, b)
    \/ \E b \in Brokers, c \in Producers, p \in Partitions : ReceiveAck(b, c, p)
    \/ \E b \in Brokers, c \in Producers, p \in Partitions : ReceiveError(b, c, p)
    \/ \E c \in Producers, p \in Partitions : ExpireBatch(c, p)
    \/ \E c \in Producers, p \in Partitions : ResolveSequences(c, p)
    \/ \E c \in Producers : BumpEpoch(c)
    \/ \E b \in Brokers, c \in Producers, p \in Partitions : AppendBatch(b, c, p)
    \/ \E b \in Brokers, c \in Producers, p \in Partitions : AnswerDuplicate(b, c, p)
    \/ \E b \in Brokers, c \in Producers, p \in Partitions : RejectBatch(b, c, p)
    \/ \E b \in Brokers, c \in Producers, p \in Partitions : RejectUnderMinIsr(b, c, p)
    \/ \E b \in Brokers, c \in Producers, p \in Partitions : FailAppend(b, c, p)
    \/ \E c \in Producers, p \in Partitions : AppendLate(c, p)
    \/ \E c \in Producers, p \in Partitions : DropLate(c, p)
    \/ \E b \in Brokers, c \in Producers, p \in Partitions : CompleteProduce(b, c, p)
    \/ \E p \in Partitions, offset \in Offsets : AdvanceHighWatermark(p, offset)
    \/ \E p \in Partitions, pid \in Pids : ExpireProducer(p, pid)
    \/ \E p \in Partitions, b \in Brokers, keep \in Offsets, snapshot \in Offsets : ElectLeader(p, b, keep, snapshot)
    \/ \E c \in Producers, p \in Partitions, b \in Brokers, keep \in 0..MaxLate : Disconnect(c, p, b, keep)
    \/ \E c \in Producers : CrashProducer(c)

Spec == Init /\ [][Next]_vars
=============================================================================
