----------------------------- MODULE ExactlyOnce -----------------------------
(***************************************************************************)
(* Exactly once (Kafka 4.x): a consumer group whose instances consume,     *)
(* transform and produce (KIP-447). Each has a transactional id of its     *)
(* own; it writes one result per input record to an output and commits its *)
(* input offsets in the same transaction.                                  *)
(*                                                                         *)
(* Modelled: the transaction of each transactional id, with an epoch per   *)
(* transaction (KIP-890), decided at once, its markers written to the      *)
(* output and to the offsets one by one and late; InitProducerId that      *)
(* fences, and aborts what is open; time-out; sequences on the output;     *)
(* the group's generations, members that were removed and do not know it,  *)
(* static members that are replaced; TxnOffsetCommit with the group's      *)
(* check of member id, generation and group.instance.id; offsets that are  *)
(* sent once or several times in a transaction and staged until the        *)
(* marker, and OffsetFetch with require_stable; instances that crash and   *)
(* come back under the same transactional id; requests that are given up,  *)
(* repeated and late; a read_committed reader of the output.               *)
(* KIPs: 98, 345, 447, 890, 1228.                                          *)
(*                                                                         *)
(* Left out: fail-over, pending records and high watermarks                *)
(* (Transactions), the steps of joining (ClassicGroup), the log of         *)
(* __consumer_offsets (Offsets), more than one output partition.           *)
(* docs/protocols/exactly_once.md says why, and what it could hide.        *)
(*                                                                         *)
(* Read in this order: VARIABLES, the rules, the verdicts, the actions     *)
(* from InitProducerId to ReadOutput, then ExactlyOnceProperties.          *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds

CONSTANTS
    Instances,     \* the processes of the group, each with its transactional id (and producer id)
    Static,        \* those of them that have a group.instance.id
    Partitions,    \* the input partitions 0, 1, ...
    MaxOffset,     \* capacity: records of an input partition
    MaxOutput,     \* capacity: records of the output
    MaxEpoch,      \* capacity: producer epochs
    MaxSequence,   \* capacity: sequences
    MaxMember,     \* capacity: member ids
    MaxGeneration, \* capacity: generations
    Without        \* the safety rules that are not in force

VARIABLES
    input,      \* per input partition: how many records it has
    \* the transaction coordinator
    txn,        \* per instance: the transaction of its transactional id; of a decided one the partitions still without marker
    \* the group's coordinator
    group,      \* its generation, its members, who has joined the next generation, its static members, who owns what
    issued,     \* how many member ids were given out; they are 1, 2, ...
    committed,  \* per input partition: the committed offset
    staged,     \* per instance and input partition: the offset of its transaction that is not decided here, -1: none
    known,      \* per instance: the latest producer epoch that its partition of __consumer_offsets has seen
    \* the output
    output,     \* its records
    entry,      \* per instance: what its leader knows of the producer (ProducerStateEntry)
    read,       \* how far a read_committed reader has got
    returned,   \* the results that it was given, in order
    \* the instances
    instance,   \* per instance: its process
    rpc,        \* per instance: its request, or the reply
    late,       \* per instance: a request that it has given up, or that it has sent again
    lateMarker  \* per instance: a marker of its transaction that comes again

vars == <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, instance, rpc, late, lateMarker>>

-----------------------------------------------------------------------------
(* Types. The bounds are a trace's capacities. *)

Targets      == {"output", "offsets"}
Results      == {"COMMIT", "ABORT"}
Epochs       == 0..MaxEpoch
EpochOrNone  == -1..MaxEpoch
MemberIds    == 1..MaxMember
MemberOrNone == 0..MaxMember
GenerationOrNone == -1..MaxGeneration
Offsets      == 0..MaxOffset
OffsetOrNone == -1..MaxOffset
Sequences    == 0..MaxSequence

Undecided == {"Empty", "Ongoing"}
Prepared  == {"PrepareCommit", "PrepareAbort"}
Completed == {"CompleteCommit", "CompleteAbort"}

Transaction == [state : Undecided \cup Prepared \cup Completed, epoch : EpochOrNone, partitions : SUBSET Targets]

\* joined: those of the members who take part in the next generation; instance: the member of a group.instance.id.
Group == [generation : 0..MaxGeneration, members : SUBSET MemberIds, joined : SUBSET MemberIds,
          instance : [Instances -> MemberOrNone], owner : [Partitions -> MemberOrNone]]

\* The result of an input record, and the end of a transaction.
Record ==
         [type : {"data"}, instance : Instances, epoch : Epochs, sequence : Sequences, partition : Partitions, offset : Offsets]
    \cup [type : {"marker"}, instance : Instances, epoch : Epochs, result : Results]

\* first: where its open transaction begins. -1: none.
Entry == [epoch : EpochOrNone, sequence : -1..MaxSequence, first : -1..MaxOutput]

States == {"UNINITIALIZED", "READY", "IN_TRANSACTION", "COMMITTING_TRANSACTION", "ABORTING_TRANSACTION", "ABORTABLE_ERROR",
           "FATAL_ERROR"}
\* next: the sequence of the next result; position: -1 if it is to be fetched; processed: the partitions with records in its
\* transaction; resent: its offsets were sent again, and a copy of them may be under way; sent: the offsets of all its results
\* are in the transaction.
Instance == [state : States, epoch : EpochOrNone, next : Sequences, member : MemberOrNone, generation : GenerationOrNone,
             owned : SUBSET Partitions, position : [Partitions -> OffsetOrNone], processed : SUBSET Partitions, resent : BOOLEAN,
             sent : BOOLEAN]

Kinds  == {"produce", "commit", "end"}
Errors == {"NONE", "INVALID_PRODUCER_EPOCH", "OUT_OF_ORDER_SEQUENCE_NUMBER", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID",
           "FENCED_INSTANCE_ID", "PRODUCER_FENCED", "INVALID_TXN_STATE"}

\* Produce, TxnOffsetCommit (member 0, generation -1: it names none), EndTxn.
Request ==
         [type : {"produce"}, epoch : Epochs, sequence : Sequences, partition : Partitions, offset : Offsets]
    \cup [type : {"commit"}, epoch : Epochs, member : MemberOrNone, generation : GenerationOrNone,
          offsets : [Partitions -> OffsetOrNone]]
    \cup [type : {"end"}, epoch : Epochs, result : Results]
Slot     == [type : {"idle"}] \cup Request
RpcSlot  == Slot \cup [type : {"reply"}, kind : Kinds, error : Errors, epoch : EpochOrNone]
LateMarker == [type : {"idle"}] \cup [type : {"marker"}, target : Targets, epoch : Epochs, result : Results]

TypeOK ==
    /\ input \in [Partitions -> Offsets]
    /\ txn \in [Instances -> Transaction]
    /\ group \in Group
    /\ issued \in MemberOrNone
    /\ committed \in [Partitions -> Offsets]
    /\ staged \in [Instances -> [Partitions -> OffsetOrNone]]
    /\ known \in [Instances -> EpochOrNone]
    /\ output \in BoundedSeq(Record, MaxOutput)
    /\ entry \in [Instances -> Entry]
    /\ read \in 0..MaxOutput
    /\ returned \in BoundedSeq([partition : Partitions, offset : Offsets], MaxOutput)
    /\ instance \in [Instances -> Instance]
    /\ rpc \in [Instances -> RpcSlot]
    /\ late \in [Instances -> Slot]
    /\ lateMarker \in [Instances -> LateMarker]

-----------------------------------------------------------------------------
(* Vocabulary *)

Min(a, b) == IF a < b THEN a ELSE b
MinOf(S)  == CHOOSE i \in S : \A j \in S : i <= j

Idle       == [type |-> "idle"]
NoOffsets  == [p \in Partitions |-> -1]
NobodyOwns == [p \in Partitions |-> 0]
NewProcess == [state |-> "UNINITIALIZED", epoch |-> -1, next |-> 0, member |-> 0, generation |-> -1, owned |-> {},
               position |-> NoOffsets, processed |-> {}, resent |-> FALSE, sent |-> FALSE]

IsRequest(slot) == slot.type \in Kinds
RequestOf(i, isLate) == IF isLate THEN late[i] ELSE rpc[i]

ResultOf(state)   == IF state \in {"PrepareCommit", "CompleteCommit"} THEN "COMMIT" ELSE "ABORT"
PrepareOf(result) == IF result = "COMMIT" THEN "PrepareCommit" ELSE "PrepareAbort"
CompleteOf(state) == IF state = "PrepareCommit" THEN "CompleteCommit" ELSE "CompleteAbort"

HasStaged(i) == \E p \in Partitions : staged[i][p] >= 0

\* The last stable offset: where the first open transaction begins.
LastStableOffset ==
    LET open == {entry[i].first : i \in {j \in Instances : entry[j].first >= 0}} IN
    IF open = {} THEN Len(output) ELSE MinOf(open)

\* The decision on the record at place n of the output: the first marker of its producer behind it.
Decision(n) ==
    LET markers == {m \in (n + 1)..Len(output) : output[m].instance = output[n].instance /\ output[m].type = "marker"} IN
    IF markers = {} THEN "none" ELSE output[MinOf(markers)].result

\* The assignor: partitions go round the members.
MemberAt(members, rank) == CHOOSE m \in members : Cardinality({x \in members : x < m}) = rank
Assignment(members) ==
    [p \in Partitions |-> IF members = {} THEN 0 ELSE MemberAt(members, p % Cardinality(members))]

-----------------------------------------------------------------------------
(* The safety rules. Each says what goes wrong without it; zoo.toml holds the schedule. *)

\* The constants that only bound a trace; every other limit of TypeOK means something.
Capacities == {"MaxOffset", "MaxOutput", "MaxEpoch", "MaxSequence", "MaxMember", "MaxGeneration"}

Has(rule) == rule \notin Without

\* A guard answers "may this go ahead", and without its rule everything may. A case answers "does this case arise", and without
\* its rule it never does.
Guard(rule, may)   == Has(rule) => may
Case(rule, arises) == Has(rule) /\ arises

\* KIP-98. Without it the EndTxn of a transaction that is over ends the next (row 128).
RequestOfCurrentEpoch(t, r) == Guard("RequestOfCurrentEpoch", r.epoch = t.epoch)

\* KIP-98. Without it what a process wrote stays open when it is replaced, which nobody ends.
FenceOpenTransaction(t) == Case("FenceOpenTransaction", t.state = "Ongoing")

\* KIP-98. Without it what is late is written behind its successors.
EpochNotOlder(epoch, r) == Guard("EpochNotOlder", r.epoch >= epoch)

\* KIP-890. A partition heeds the coordinator's refusal. Without it a request that is late opens a transaction that nobody will
\* end.
VerifyTransaction(open) == Case("VerifyTransaction", ~open)

\* KIP-890 (KIP-1228, KAFKA-19999). Without it a marker that comes again ends the next transaction.
MarkerEndsOlderEpoch(epoch, open, m) == Guard("MarkerEndsOlderEpoch", open => m.epoch > epoch)

\* KIP-98. Without it a result that is sent again is there twice (if SequenceIsNext is missing, too).
RecognizeDuplicate(e, r) == Case("RecognizeDuplicate", e.epoch = r.epoch /\ e.sequence = r.sequence)

\* KIP-98. Without it a result is written although the one before it was not, or twice.
SequenceIsNext(e, r) == Guard("SequenceIsNext", IF e.epoch = r.epoch THEN r.sequence = e.sequence + 1 ELSE r.sequence = 0)

\* KIP-447 (KAFKA-9365). Without it an instance whose partitions have gone to another commits what it has made of them, beside
\* the other.
TxnCommitOfCurrentGeneration(r) == Guard("TxnCommitOfCurrentGeneration", r.generation = group.generation)

\* KIP-447. Without it who was removed from the group commits as long as the generation lasts.
CommitOfMember(r) == Guard("CommitOfMember", r.member \in group.members)

\* KIP-345. Without it a process that was replaced commits beside its successor, which has its generation.
MemberOfInstance(i, r) == Guard("MemberOfInstance", r.member = group.instance[i])

\* KIP-447. Without it a new owner reads from before a transaction that has been committed.
FetchOnlyStable(p) == Guard("FetchOnlyStable", \A i \in Instances : staged[i][p] = -1)

\* The application's part of KIP-447. Without it (sendOffsetsToTransaction by group id alone) nobody can tell who commits.
SendGroupMetadata(named) == Guard("SendGroupMetadata", named)

\* The application's part of KIP-447; no broker checks it, nor the next three. Without it an instance rejoins with its
\* transaction open, and commits as a member of a generation in which others own what it has read (row 122).
RevokeOutsideTransaction(me) == Guard("RevokeOutsideTransaction", me.state \in {"UNINITIALIZED", "READY", "FATAL_ERROR"})

\* The application's part of KIP-98. Without it offsets are committed beside the transaction; if it aborts, nobody reads them.
CommitOutsideTransaction(me) == Guard("CommitOutsideTransaction", me.state = "READY")

\* The application's part of KIP-98. Without it an instance goes on behind the records of an aborted transaction.
RewindAfterAbort(me, p) == Case("RewindAfterAbort", p \in me.processed)

\* The client's part of KIP-98. Without it a transaction is committed although its offsets were refused (row 125).
CommitWithoutError(me) == Guard("CommitWithoutError", me.state # "ABORTABLE_ERROR")

\* This project's; Kafka 4.x lacks it. An instance that has sent offsets again sends no others in that transaction, which can
\* only be aborted if there are more results. Without it the copy of the older offsets may come last, and the group goes back
\* to them (row 153).
ResentOffsetsAreLast(me) == Guard("ResentOffsetsAreLast", ~me.resent)

\* KIP-98 (isolation.level). Without it the reader gets what is open, and what is aborted.
ReadCommitted(stable) == Guard("ReadCommitted", read < stable)

Rules == {"RequestOfCurrentEpoch", "FenceOpenTransaction", "EpochNotOlder", "VerifyTransaction", "MarkerEndsOlderEpoch",
          "RecognizeDuplicate", "SequenceIsNext", "TxnCommitOfCurrentGeneration", "CommitOfMember", "MemberOfInstance",
          "FetchOnlyStable", "SendGroupMetadata", "RevokeOutsideTransaction", "CommitOutsideTransaction", "RewindAfterAbort",
          "CommitWithoutError", "ResentOffsetsAreLast", "ReadCommitted"}

\* No action is a flaw's alone.
FlawActions == {}

\* The baseline of Kafka 4.x: what it ships without.
KafkaAsShipped == {"ResentOffsetsAreLast"}

-----------------------------------------------------------------------------
(* Verdicts *)

\* Does the coordinator take the request's partition into the transaction?
CoordinatorTakes(t, r) == RequestOfCurrentEpoch(t, r) /\ t.state \notin Prepared

\* Whether a partition may take the request of a transaction that is not open there: it asks the transaction coordinator.
Verification(i, open, r) ==
    IF ~VerifyTransaction(open) THEN "NONE"
    ELSE IF CoordinatorTakes(txn[i], r) THEN "NONE"
    ELSE IF RequestOfCurrentEpoch(txn[i], r) THEN "CONCURRENT_TRANSACTIONS"
    ELSE "INVALID_PRODUCER_EPOCH"

\* The transaction once the coordinator was asked, and took the partition into it.
Added(i, open, r, target) ==
    IF open \/ ~CoordinatorTakes(txn[i], r) THEN txn
    ELSE [txn EXCEPT ![i] = [state |-> "Ongoing", epoch |-> txn[i].epoch,
                             partitions |-> (IF txn[i].state = "Ongoing" THEN txn[i].partitions ELSE {}) \cup {target}]]

\* The transaction is open in the output.
OpenInOutput(i, r)  == entry[i].first >= 0 /\ entry[i].epoch = r.epoch
OpenInOffsets(i, r) == HasStaged(i) /\ known[i] = r.epoch

ProduceVerdict(i, r) ==
    IF ~EpochNotOlder(entry[i].epoch, r) THEN "INVALID_PRODUCER_EPOCH"
    ELSE IF Verification(i, OpenInOutput(i, r), r) # "NONE" THEN Verification(i, OpenInOutput(i, r), r)
    ELSE IF RecognizeDuplicate(entry[i], r) THEN "DUPLICATE"
    ELSE IF ~SequenceIsNext(entry[i], r) THEN "OUT_OF_ORDER_SEQUENCE_NUMBER"
    ELSE "NONE"

\* The group's check. A commit that names neither member nor generation comes from a client before KIP-447, and is taken.
\* (Kafka's empty group takes one without a generation whatever member it names; no instance sends that.)
GroupVerdict(i, r) ==
    IF r.generation < 0 /\ r.member = 0 THEN "NONE"
    ELSE IF i \in Static /\ group.instance[i] = 0 THEN "UNKNOWN_MEMBER_ID"
    ELSE IF i \in Static /\ ~MemberOfInstance(i, r) THEN "FENCED_INSTANCE_ID"
    ELSE IF ~CommitOfMember(r) THEN "UNKNOWN_MEMBER_ID"
    ELSE IF ~TxnCommitOfCurrentGeneration(r) THEN "ILLEGAL_GENERATION"
    ELSE "NONE"

CommitVerdict(i, r) ==
    IF Verification(i, OpenInOffsets(i, r), r) # "NONE" THEN Verification(i, OpenInOffsets(i, r), r)
    ELSE IF GroupVerdict(i, r) # "NONE" THEN GroupVerdict(i, r)
    ELSE IF ~EpochNotOlder(known[i], r) THEN "INVALID_PRODUCER_EPOCH"
    ELSE "NONE"

EndVerdict(i, r) ==
    LET t     == txn[i]
        valid == IF t.state \in Undecided THEN RequestOfCurrentEpoch(t, r)
                 ELSE IF t.state \in Prepared THEN t.epoch = r.epoch + 1
                 ELSE t.epoch \in {r.epoch, r.epoch + 1} IN
    IF ~valid THEN "PRODUCER_FENCED"
    ELSE IF t.state = "Ongoing" THEN "APPEND"
    ELSE IF t.state \in Prepared THEN IF ResultOf(t.state) = r.result THEN "CONCURRENT_TRANSACTIONS" ELSE "INVALID_TXN_STATE"
    ELSE IF t.state = "Empty" \/ t.epoch = r.epoch THEN IF r.result = "ABORT" THEN "APPEND" ELSE "INVALID_TXN_STATE"
    ELSE IF ResultOf(t.state) = r.result THEN "NONE" ELSE "INVALID_TXN_STATE"

\* The decision. In version 2 each takes the next epoch.
Decided(t, result) == [state |-> PrepareOf(result), epoch |-> t.epoch + 1,
                       partitions |-> IF t.state = "Ongoing" THEN t.partitions ELSE {}]

\* The transaction of a process that has just got its producer epoch.
Begun(t) == [state |-> "Empty", epoch |-> t.epoch + 1, partitions |-> {}]

\* The result is in the output, and the output in the transaction.
WriteResult(i, r) ==
    /\ output' = Append(output, [type |-> "data", instance |-> i, epoch |-> r.epoch, sequence |-> r.sequence,
                                 partition |-> r.partition, offset |-> r.offset])
    /\ entry' = [entry EXCEPT ![i] = [epoch |-> r.epoch, sequence |-> r.sequence,
                                      first |-> IF @.first >= 0 THEN @.first ELSE Len(output)]]
    /\ txn' = Added(i, OpenInOutput(i, r), r, "output")

\* The offsets are staged, and the partition of __consumer_offsets is in the transaction.
StageOffsets(i, r) ==
    /\ staged' = [staged EXCEPT ![i] = [p \in Partitions |-> IF r.offsets[p] >= 0 THEN r.offsets[p] ELSE staged[i][p]]]
    /\ known' = [known EXCEPT ![i] = r.epoch]
    /\ txn' = Added(i, OpenInOffsets(i, r), r, "offsets")

\* The reply goes to whoever waits for it.
Reply(kind, error, epoch) == [type |-> "reply", kind |-> kind, error |-> error, epoch |-> epoch]
Replied(i, isLate, reply) ==
    /\ rpc' = IF isLate THEN rpc ELSE [rpc EXCEPT ![i] = reply]
    /\ late' = IF isLate THEN [late EXCEPT ![i] = Idle] ELSE late

-----------------------------------------------------------------------------
Init ==
    /\ input \in [Partitions -> Offsets]
    /\ txn = [i \in Instances |-> [state |-> "Empty", epoch |-> -1, partitions |-> {}]]
    /\ group = [generation |-> 0, members |-> {}, joined |-> {}, instance |-> [i \in Instances |-> 0], owner |-> NobodyOwns]
    /\ issued = 0
    /\ committed = [p \in Partitions |-> 0]
    /\ staged = [i \in Instances |-> NoOffsets]
    /\ known = [i \in Instances |-> -1]
    /\ output = <<>>
    /\ entry = [i \in Instances |-> [epoch |-> -1, sequence |-> -1, first |-> -1]]
    /\ read = 0
    /\ returned = <<>>
    /\ instance = [i \in Instances |-> NewProcess]
    /\ rpc = [i \in Instances |-> Idle]
    /\ late = [i \in Instances |-> Idle]
    /\ lateMarker = [i \in Instances |-> Idle]

-----------------------------------------------------------------------------
(* InitProducerId *)

\* InitProducerId   who: transaction coordinator   code: transactions/coordinator.py (append_init_producer_id)
\* A process gets its producer epoch.
InitProducerId(i) ==
    LET t == txn[i] IN
    \* enabled when
    /\ instance[i].state = "UNINITIALIZED"
    /\ t.state \notin Prepared
    /\ ~FenceOpenTransaction(t)
    \* effect
    /\ txn' = [txn EXCEPT ![i] = Begun(t)]
    /\ instance' = [instance EXCEPT ![i].state = "READY", ![i].epoch = t.epoch + 1, ![i].next = 0]
    /\ UNCHANGED <<input, group, issued, committed, staged, known, output, entry, read, returned, rpc, late, lateMarker>>

\* FenceProducer   who: transaction coordinator   code: transactions/coordinator.py
\* The process before it has left a transaction open, which is aborted first.
FenceProducer(i) ==
    \* enabled when
    /\ instance[i].state = "UNINITIALIZED"
    /\ txn[i].state \notin Prepared
    /\ FenceOpenTransaction(txn[i])
    \* effect
    /\ txn' = [txn EXCEPT ![i] = Decided(txn[i], "ABORT")]
    /\ UNCHANGED <<input, group, issued, committed, staged, known, output, entry, read, returned, instance, rpc, late,
                   lateMarker>>

-----------------------------------------------------------------------------
(* The instance *)

\* SendResult   who: instance   code: exactly_once/message_processor.py
\* It reads the next record of a partition, and sends its result. If its offsets are in the transaction it has to send them anew.
SendResult(i, p) ==
    LET me == instance[i] IN
    \* enabled when
    /\ me.state \in {"READY", "IN_TRANSACTION"} /\ rpc[i].type = "idle"
    /\ p \in me.owned /\ me.position[p] >= 0 /\ me.position[p] < input[p]
    \* effect
    /\ rpc' = [rpc EXCEPT ![i] = [type |-> "produce", epoch |-> me.epoch, sequence |-> me.next, partition |-> p,
                                  offset |-> me.position[p]]]
    /\ instance' = [instance EXCEPT ![i].state = "IN_TRANSACTION", ![i].next = @ + 1, ![i].position[p] = @ + 1,
                                    ![i].processed = @ \cup {p}, ![i].sent = FALSE]
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, late, lateMarker>>

\* SendTxnOffsetCommit   who: instance   code: exactly_once/message_processor.py (send_offsets)
\* Its positions go into the transaction. It names its member id and generation, as it knows them.
SendTxnOffsetCommit(i, named) ==
    LET me == instance[i] IN
    \* enabled when
    /\ me.state = "IN_TRANSACTION" /\ ~me.sent /\ me.processed # {} /\ rpc[i].type = "idle"
    /\ SendGroupMetadata(named)
    /\ ResentOffsetsAreLast(me)
    \* effect
    /\ rpc' = [rpc EXCEPT ![i] = [type |-> "commit", epoch |-> me.epoch, member |-> IF named THEN me.member ELSE 0,
                                  generation |-> IF named THEN me.generation ELSE -1,
                                  offsets |-> [p \in Partitions |-> IF p \in me.processed THEN me.position[p] ELSE -1]]]
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, instance, late,
                   lateMarker>>

\* SendEndTxn   who: instance   code: exactly_once/message_processor.py (send_end)
SendEndTxn(i, result) ==
    LET me == instance[i] IN
    \* enabled when
    /\ rpc[i].type = "idle"
    /\ me.state = "ABORTABLE_ERROR" \/ (me.state = "IN_TRANSACTION" /\ (result = "COMMIT" => me.sent))
    /\ result = "COMMIT" => CommitWithoutError(me)
    \* effect
    /\ rpc' = [rpc EXCEPT ![i] = [type |-> "end", epoch |-> me.epoch, result |-> result]]
    /\ instance' = [instance EXCEPT ![i].state = IF result = "COMMIT" THEN "COMMITTING_TRANSACTION" ELSE "ABORTING_TRANSACTION"]
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, late, lateMarker>>

\* The process once its transaction has ended.
Ended(me, epoch) ==
    [me EXCEPT !.state = "READY", !.epoch = epoch, !.next = 0, !.processed = {}, !.resent = FALSE, !.sent = FALSE,
               !.position = [p \in Partitions |->
                   IF me.state = "ABORTING_TRANSACTION" /\ RewindAfterAbort(me, p) THEN -1
                   ELSE me.position[p]]]

\* ReceiveReply   who: instance   code: exactly_once/message_processor.py
\* After an error of the group a transaction can only be aborted (CommitFailedException); who is fenced has to stop.
ReceiveReply(i) ==
    LET me == instance[i] reply == rpc[i] IN
    \* enabled when
    /\ reply.type = "reply"
    \* effect
    /\ rpc' = [rpc EXCEPT ![i] = Idle]
    /\ instance' =
        [instance EXCEPT ![i] =
            IF reply.kind = "end"
            THEN IF reply.error = "NONE" THEN Ended(me, reply.epoch) ELSE [me EXCEPT !.state = "FATAL_ERROR"]
            ELSE IF reply.error = "NONE" THEN [me EXCEPT !.sent = reply.kind = "commit"]
            ELSE IF reply.kind = "commit" /\ reply.error = "INVALID_PRODUCER_EPOCH" THEN [me EXCEPT !.state = "FATAL_ERROR"]
            ELSE [me EXCEPT !.state = "ABORTABLE_ERROR"]]
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, late, lateMarker>>

\* The instance's request, once the instance has given it up.
Abandoned(i) ==
    IF IsRequest(rpc[i]) /\ late[i].type = "idle" THEN [late EXCEPT ![i] = rpc[i]] ELSE late

\* GiveUpRequest   who: instance   code: exactly_once/message_processor.py
\* It waits no longer (delivery.timeout.ms); the request may still be under way.
GiveUpRequest(i) ==
    \* enabled when
    /\ \/ rpc[i].type \in {"produce", "commit"}
       \/ IF rpc[i].type = "reply" THEN rpc[i].kind \in {"produce", "commit"} ELSE FALSE
    \* effect
    /\ rpc' = [rpc EXCEPT ![i] = Idle]
    /\ late' = Abandoned(i)
    /\ instance' = [instance EXCEPT ![i].state = "ABORTABLE_ERROR"]
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, lateMarker>>

\* RepeatRequest   who: instance, the network
\* The connection is lost, and the request is sent again. If the late one is handled first, this is a reply that was lost.
RepeatRequest(i) ==
    \* enabled when
    /\ IsRequest(rpc[i]) /\ late[i].type = "idle"
    \* effect
    /\ late' = [late EXCEPT ![i] = rpc[i]]
    /\ instance' = [instance EXCEPT ![i].resent = @ \/ rpc[i].type = "commit"]
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, rpc, lateMarker>>

\* LoseLate   who: the network
LoseLate(i) ==
    \* enabled when
    /\ late[i].type # "idle"
    \* effect
    /\ late' = [late EXCEPT ![i] = Idle]
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, instance, rpc,
                   lateMarker>>

\* Crash   who: the environment
\* The process ends, and another begins with the same transactional id. Nobody is told.
Crash(i) ==
    \* enabled when
    /\ instance[i] # NewProcess
    \* effect
    /\ instance' = [instance EXCEPT ![i] = NewProcess]
    /\ rpc' = [rpc EXCEPT ![i] = Idle]
    /\ late' = Abandoned(i)
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, lateMarker>>

-----------------------------------------------------------------------------
(* Produce *)

\* AppendResult   who: leader of the output   code: exactly_once/results_partition.py (append_result)
\* The result is written. If it is the first of its transaction, the output is taken into the transaction.
AppendResult(i, isLate) ==
    LET r == RequestOf(i, isLate) IN
    \* enabled when
    /\ r.type = "produce"
    /\ ProduceVerdict(i, r) = "NONE"
    \* effect
    /\ WriteResult(i, r)
    /\ Replied(i, isLate, Reply("produce", "NONE", -1))
    /\ UNCHANGED <<input, group, issued, committed, staged, known, read, returned, instance, lateMarker>>

\* AnswerDuplicate   who: leader of the output   code: exactly_once/results_partition.py (append_result)
AnswerDuplicate(i, isLate) ==
    LET r == RequestOf(i, isLate) IN
    \* enabled when
    /\ r.type = "produce"
    /\ ProduceVerdict(i, r) = "DUPLICATE"
    \* effect
    /\ Replied(i, isLate, Reply("produce", "NONE", -1))
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, instance, lateMarker>>

\* RejectResult   who: leader of the output   code: exactly_once/results_partition.py (append_result)
\* The transaction coordinator may have taken the output into the transaction all the same.
RejectResult(i, isLate) ==
    LET r == RequestOf(i, isLate) IN
    \* enabled when
    /\ r.type = "produce"
    /\ ProduceVerdict(i, r) \in Errors \ {"NONE"}
    \* effect
    /\ txn' = IF ProduceVerdict(i, r) = "OUT_OF_ORDER_SEQUENCE_NUMBER" THEN Added(i, OpenInOutput(i, r), r, "output") ELSE txn
    /\ Replied(i, isLate, Reply("produce", ProduceVerdict(i, r), -1))
    /\ UNCHANGED <<input, group, issued, committed, staged, known, output, entry, read, returned, instance, lateMarker>>

-----------------------------------------------------------------------------
(* TxnOffsetCommit *)

\* HandleTxnOffsetCommit   who: group coordinator   code: exactly_once/group.py (commit_transactional_offsets)
\* The offsets are staged until the marker.
HandleTxnOffsetCommit(i, isLate) ==
    LET r == RequestOf(i, isLate) IN
    \* enabled when
    /\ r.type = "commit"
    /\ CommitVerdict(i, r) = "NONE"
    \* effect
    /\ StageOffsets(i, r)
    /\ Replied(i, isLate, Reply("commit", "NONE", -1))
    /\ UNCHANGED <<input, group, issued, committed, output, entry, read, returned, instance, lateMarker>>

\* RejectTxnOffsetCommit   who: group coordinator   code: exactly_once/group.py (commit_transactional_offsets)
\* If it is the group that refuses it, the transaction coordinator was asked before.
RejectTxnOffsetCommit(i, isLate) ==
    LET r == RequestOf(i, isLate) IN
    \* enabled when
    /\ r.type = "commit"
    /\ CommitVerdict(i, r) \in Errors \ {"NONE"}
    \* effect
    /\ txn' = IF Verification(i, OpenInOffsets(i, r), r) = "NONE" THEN Added(i, OpenInOffsets(i, r), r, "offsets") ELSE txn
    /\ Replied(i, isLate, Reply("commit", CommitVerdict(i, r), -1))
    /\ UNCHANGED <<input, group, issued, committed, staged, known, output, entry, read, returned, instance, lateMarker>>

\* CommitOffset   who: instance   code: exactly_once/message_processor.py (commit_offsets)
\* A plain OffsetCommit of its positions. Between transactions they are committed already.
CommitOffset(i) ==
    LET me == instance[i] IN
    \* enabled when
    /\ me.state \in {"READY", "IN_TRANSACTION"} /\ rpc[i].type = "idle"
    /\ me.member \in group.members /\ me.generation = group.generation
    /\ \E p \in me.owned : me.position[p] >= 0
    /\ CommitOutsideTransaction(me)
    \* effect
    /\ committed' = [p \in Partitions |-> IF p \in me.owned /\ me.position[p] >= 0 THEN me.position[p] ELSE committed[p]]
    /\ UNCHANGED <<input, txn, group, issued, staged, known, output, entry, read, returned, instance, rpc, late, lateMarker>>

-----------------------------------------------------------------------------
(* The end of a transaction *)

\* HandleEndTxn   who: transaction coordinator   code: transactions/coordinator.py (append_end_txn)
\* The outcome is decided; who asked is told at once, before the markers.
HandleEndTxn(i, isLate) ==
    LET r == RequestOf(i, isLate) IN
    \* enabled when
    /\ r.type = "end"
    /\ EndVerdict(i, r) = "APPEND"
    \* effect
    /\ txn' = [txn EXCEPT ![i] = Decided(txn[i], r.result)]
    /\ Replied(i, isLate, Reply("end", "NONE", txn[i].epoch + 1))
    /\ UNCHANGED <<input, group, issued, committed, staged, known, output, entry, read, returned, instance, lateMarker>>

\* AnswerEndTxn   who: transaction coordinator   code: transactions/coordinator.py (end_txn_answer)
\* It is refused, or the transaction has ended so.
AnswerEndTxn(i, isLate) ==
    LET r == RequestOf(i, isLate) IN
    \* enabled when
    /\ r.type = "end"
    /\ EndVerdict(i, r) \in Errors
    \* effect
    /\ Replied(i, isLate, Reply("end", EndVerdict(i, r), IF EndVerdict(i, r) = "NONE" THEN txn[i].epoch ELSE -1))
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, instance, lateMarker>>

\* AbortTimedOutTransaction   who: transaction coordinator   code: transactions/coordinator.py
AbortTimedOutTransaction(i) ==
    \* enabled when
    /\ txn[i].state = "Ongoing"
    \* effect
    /\ txn' = [txn EXCEPT ![i] = Decided(txn[i], "ABORT")]
    /\ UNCHANGED <<input, group, issued, committed, staged, known, output, entry, read, returned, instance, rpc, late,
                   lateMarker>>

MarkerAccepted(i, m) ==
    LET epoch == IF m.target = "output" THEN entry[i].epoch ELSE known[i]
        open  == IF m.target = "output" THEN entry[i].first >= 0 ELSE HasStaged(i) IN
    /\ m.epoch >= epoch
    /\ MarkerEndsOlderEpoch(epoch, open, m)

\* A marker is written: what is open ends.
Mark(i, m) ==
    /\ output' = IF m.target = "output"
                 THEN Append(output, [type |-> "marker", instance |-> i, epoch |-> m.epoch, result |-> m.result]) ELSE output
    /\ entry' = IF m.target = "output"
                THEN [entry EXCEPT ![i] = [epoch |-> m.epoch, sequence |-> IF m.epoch = @.epoch THEN @.sequence ELSE -1,
                                           first |-> -1]]
                ELSE entry
    /\ committed' = [p \in Partitions |->
                        IF m.target = "offsets" /\ m.result = "COMMIT" /\ staged[i][p] >= 0 THEN staged[i][p] ELSE committed[p]]
    /\ staged' = IF m.target = "offsets" THEN [staged EXCEPT ![i] = NoOffsets] ELSE staged
    /\ known' = IF m.target = "offsets" THEN [known EXCEPT ![i] = m.epoch] ELSE known

\* WriteMarker   who: transaction coordinator, partition leaders   code: transactions/coordinator.py (send_marker)
\* A marker of a decided transaction is sent, written and answered; a copy of it may be still under way.
WriteMarker(i, target, copy) ==
    LET m == [type |-> "marker", target |-> target, epoch |-> txn[i].epoch, result |-> ResultOf(txn[i].state)] IN
    \* enabled when
    /\ txn[i].state \in Prepared /\ target \in txn[i].partitions
    /\ MarkerAccepted(i, m)
    /\ copy => lateMarker[i].type = "idle"
    \* effect
    /\ txn' = [txn EXCEPT ![i].partitions = @ \ {target}]
    /\ lateMarker' = IF copy THEN [lateMarker EXCEPT ![i] = m] ELSE lateMarker
    /\ Mark(i, m)
    /\ UNCHANGED <<input, group, issued, read, returned, instance, rpc, late>>

\* WriteLateMarker   who: partition leaders   code: transactions/partition.py (append_marker)
WriteLateMarker(i) ==
    LET m == lateMarker[i] IN
    \* enabled when
    /\ m.type = "marker"
    /\ MarkerAccepted(i, m)
    \* effect
    /\ lateMarker' = [lateMarker EXCEPT ![i] = Idle]
    /\ Mark(i, m)
    /\ UNCHANGED <<input, txn, group, issued, read, returned, instance, rpc, late>>

\* RejectLateMarker   who: partition leaders   code: transactions/partition.py (marker_error)
RejectLateMarker(i) ==
    LET m == lateMarker[i] IN
    \* enabled when
    /\ m.type = "marker"
    /\ ~MarkerAccepted(i, m)
    \* effect
    /\ lateMarker' = [lateMarker EXCEPT ![i] = Idle]
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, instance, rpc, late>>

\* LoseLateMarker   who: the network
LoseLateMarker(i) ==
    \* enabled when
    /\ lateMarker[i].type # "idle"
    \* effect
    /\ lateMarker' = [lateMarker EXCEPT ![i] = Idle]
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, instance, rpc, late>>

\* CompleteTransaction   who: transaction coordinator   code: transactions/coordinator.py
\* All of its markers are written.
CompleteTransaction(i) ==
    \* enabled when
    /\ txn[i].state \in Prepared /\ txn[i].partitions = {}
    \* effect
    /\ txn' = [txn EXCEPT ![i].state = CompleteOf(@)]
    /\ UNCHANGED <<input, group, issued, committed, staged, known, output, entry, read, returned, instance, rpc, late,
                   lateMarker>>

-----------------------------------------------------------------------------
(* The group *)

\* RevokePartitions   who: instance   code: exactly_once/message_processor.py (revoke)
\* It polls, and lets go of its partitions: a generation is to come, or it was told that it is no member.
RevokePartitions(i) ==
    LET me == instance[i] IN
    \* enabled when
    /\ me.owned # {} /\ rpc[i].type = "idle"
    /\ RevokeOutsideTransaction(me)
    \* effect
    /\ instance' = [instance EXCEPT ![i].owned = {},
                                    ![i].position = [p \in Partitions |-> IF p \in me.processed THEN me.position[p] ELSE -1]]
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, rpc, late, lateMarker>>

\* JoinGroup   who: group coordinator   code: exactly_once/group.py
\* An instance takes part in the next generation. If the group does not know its member id it gets another one. Until it hears
\* of the generation (SyncGroup) it has none.
JoinGroup(i) ==
    LET me      == instance[i]
        isKnown == me.member \in group.members
        id      == IF isKnown THEN me.member ELSE issued + 1
        gone    == IF isKnown THEN {} ELSE {group.instance[i]} IN
    \* enabled when
    /\ me.owned = {} /\ rpc[i].type = "idle" /\ me.state # "FATAL_ERROR" /\ me.member \notin group.joined
    \* effect
    /\ issued' = IF isKnown THEN issued ELSE issued + 1
    /\ group' = [group EXCEPT !.members = (@ \ gone) \cup {id}, !.joined = (@ \ gone) \cup {id},
                              !.instance = IF i \in Static THEN [@ EXCEPT ![i] = id] ELSE @]
    /\ instance' = [instance EXCEPT ![i].member = id, ![i].generation = -1]
    /\ UNCHANGED <<input, txn, committed, staged, known, output, entry, read, returned, rpc, late, lateMarker>>

\* ReplaceMember   who: group coordinator   code: exactly_once/group.py
\* A new process of a static member takes its place (KIP-345). The generation stays.
ReplaceMember(i) ==
    LET old == group.instance[i] id == issued + 1 IN
    \* enabled when
    /\ i \in Static /\ old # 0 /\ instance[i].member = 0 /\ group.joined = {}
    \* effect
    /\ issued' = id
    /\ group' = [group EXCEPT !.members = (@ \ {old}) \cup {id}, !.instance = [@ EXCEPT ![i] = id],
                              !.owner = [p \in Partitions |-> IF @[p] = old THEN id ELSE @[p]]]
    /\ instance' = [instance EXCEPT ![i].member = id, ![i].generation = group.generation,
                                    ![i].owned = {p \in Partitions : group.owner[p] = old}]
    /\ UNCHANGED <<input, txn, committed, staged, known, output, entry, read, returned, rpc, late, lateMarker>>

\* CompleteJoin   who: group coordinator   code: exactly_once/group.py
\* The next generation is of those who have joined. Who has not is removed, and does not know it; a static member stays, and is
\* given partitions, until its session expires.
CompleteJoin ==
    LET stays == group.joined \cup {m \in group.members : \E i \in Instances : group.instance[i] = m} IN
    \* enabled when
    /\ group.joined # {} \/ (group.members = {} /\ group.owner # NobodyOwns)
    \* effect
    /\ group' = [generation |-> group.generation + 1, members |-> stays, joined |-> {}, instance |-> group.instance,
                 owner |-> Assignment(stays)]
    /\ UNCHANGED <<input, txn, issued, committed, staged, known, output, entry, read, returned, instance, rpc, late, lateMarker>>

\* SyncGroup   who: instance   code: exactly_once/message_processor.py (sync)
\* A member that has joined learns its generation and its partitions.
SyncGroup(i) ==
    LET me == instance[i] IN
    \* enabled when
    /\ me.member \in group.members \ group.joined /\ me.generation = -1
    /\ me.owned = {} /\ rpc[i].type = "idle"
    \* effect
    /\ instance' = [instance EXCEPT ![i].generation = group.generation,
                                    ![i].owned = {p \in Partitions : group.owner[p] = me.member}]
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, rpc, late, lateMarker>>

\* RemoveMember   who: group coordinator   code: exactly_once/group.py
\* Its session has expired, or it leaves. The generation stays until the next one is complete.
RemoveMember(m) ==
    \* enabled when
    /\ m \in group.members
    \* effect
    /\ group' = [group EXCEPT !.members = @ \ {m}, !.joined = @ \ {m},
                              !.instance = [i \in Instances |-> IF @[i] = m THEN 0 ELSE @[i]]]
    /\ UNCHANGED <<input, txn, issued, committed, staged, known, output, entry, read, returned, instance, rpc, late, lateMarker>>

\* FetchOffset   who: instance, group coordinator   code: exactly_once/group.py (stable_offset)
\* It asks where to read on (require_stable). As long as a transaction has staged an offset it is told UNSTABLE_OFFSET_COMMIT.
FetchOffset(i, p) ==
    LET me == instance[i] IN
    \* enabled when
    /\ p \in me.owned /\ me.position[p] = -1 /\ rpc[i].type = "idle"
    /\ FetchOnlyStable(p)
    \* effect
    /\ instance' = [instance EXCEPT ![i].position[p] = committed[p]]
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, read, returned, rpc, late, lateMarker>>

-----------------------------------------------------------------------------
(* The reader *)

\* ReadOutput   who: reader   code: exactly_once/results_partition.py (fetch)
\* It gets past one record, and returns it if it is a result that was committed.
ReadOutput ==
    LET record == output[read + 1]
        counts == Has("ReadCommitted") => Decision(read + 1) = "COMMIT" IN
    \* enabled when
    /\ read < Len(output)
    /\ ReadCommitted(LastStableOffset)
    \* effect
    /\ read' = read + 1
    /\ returned' = IF record.type = "data" /\ counts
                   THEN Append(returned, [partition |-> record.partition, offset |-> record.offset]) ELSE returned
    /\ UNCHANGED <<input, txn, group, issued, committed, staged, known, output, entry, instance, rpc, late, lateMarker>>

-----------------------------------------------------------------------------
Next ==
    \/ \E i \in Instances : InitProducerId(i)
    \/ \E i \in Instances : FenceProducer(i)
    \/ \E i \in Instances, p \in Partitions : SendResult(i, p)
    \/ \E i \in Instances, named \in BOOLEAN : SendTxnOffsetCommit(i, named)
    \/ \E i \in Instances, result \in Results : SendEndTxn(i, result)
    \/ \E i \in Instances : ReceiveReply(i)
    \/ \E i \in Instances : GiveUpRequest(i)
    \/ \E i \in Instances : RepeatRequest(i)
    \/ \E i \in Instances : LoseLate(i)
    \/ \E i \in Instances : Crash(i)
    \/ \E i \in Instances, isLate \in BOOLEAN : AppendResult(i, isLate)
    \/ \E i \in Instances, isLate \in BOOLEAN : AnswerDuplicate(i, isLate)
    \/ \E i \in Instances, isLate \in BOOLEAN : RejectResult(i, isLate)
    \/ \E i \in Instances, isLate \in BOOLEAN : HandleTxnOffsetCommit(i, isLate)
    \/ \E i \in Instances, isLate \in BOOLEAN : RejectTxnOffsetCommit(i, isLate)
    \/ \E i \in Instances : CommitOffset(i)
    \/ \E i \in Instances, isLate \in BOOLEAN : HandleEndTxn(i, isLate)
    \/ \E i \in Instances, isLate \in BOOLEAN : AnswerEndTxn(i, isLate)
    \/ \E i \in Instances : AbortTimedOutTransaction(i)
    \/ \E i \in Instances, target \in Targets, copy \in BOOLEAN : WriteMarker(i, target, copy)
    \/ \E i \in Instances : WriteLateMarker(i)
    \/ \E i \in Instances : RejectLateMarker(i)
    \/ \E i \in Instances : LoseLateMarker(i)
    \/ \E i \in Instances : CompleteTransaction(i)
    \/ \E i \in Instances : RevokePartitions(i)
    \/ \E i \in Instances : JoinGroup(i)
    \/ \E i \in Instances : ReplaceMember(i)
    \/ CompleteJoin
    \/ \E i \in Instances : SyncGroup(i)
    \/ \E m \in MemberIds : RemoveMember(m)
    \/ \E i \in Instances, p \in Partitions : FetchOffset(i, p)
    \/ ReadOutput

Spec == Init /\ [][Next]_vars
=============================================================================
