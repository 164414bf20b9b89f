--------------------------- MODULE MCTransactions ---------------------------
(***************************************************************************)
(* Transactions made finite. One module, many cfgs: a cfg says how many    *)
(* transactions, elections and faults a behaviour may have, and which      *)
(* families of actions it uses. The bounds are guards of MCNext, because   *)
(* TLC checks every property also in the states that a CONSTRAINT cuts off. *)
(*                                                                         *)
(* MCNext lets hurry what a cfg does not slow down:                        *)
(*  - replies are read at once, and what is asked for again is at once;    *)
(*  - what a partition has appended commits before anything else           *)
(*    ("slow commit");                                                     *)
(*  - a coordinator's record commits before anything but an election and   *)
(*    what is late ("slow log");                                           *)
(*  - an elected broker loads, and a deposed one resigns ("zombie"), as    *)
(*    soon as it can;                                                      *)
(*  - a request is handled before anything but what is late ("slow rpc",   *)
(*    "slow produce"), a marker is written at once ("slow marker");        *)
(*  - a fetch that is read is answered and received at once ("slow fetch"). *)
(* Consumers fetch with "fetch" (of committed records) and "uncommitted".  *)
(* With "offsets" one of the partitions is of __consumer_offsets.          *)
(* A client asks who coordinates, but for "stale". A violation is real;    *)
(* what a "holds" covers the manifest says.                                *)
(***************************************************************************)
EXTENDS TransactionsProperties, TLC

CONSTANTS
    Families,      \* the families of actions in use
    FirstBrokers,  \* who may coordinate first
    Begins,        \* transactions of all clients together
    Batches,       \* records of a transaction per partition
    LastElection,  \* the highest coordinator epoch
    Electable,     \* who may be elected
    Starts,        \* who of the clients starts
    Faults,        \* how many requests, replies and markers are given up, lost or copied
    TimeOuts       \* producer epochs up to which transactions time out

ASSUME Families \subseteq {"give up", "late produce", "disconnect", "late rpc", "crash", "time out", "fail-over", "lose log",
                           "zombie", "fail", "lose marker", "late marker", "repeat marker", "slow commit", "slow log",
                           "slow rpc", "slow produce", "slow marker", "elect", "stale", "abort", "clock", "second thread", "expire",
                           "fetch", "uncommitted", "slow fetch", "lose fetch", "offsets", "refuse", "reconnect"}

VARIABLE faults
mcVars == <<vars, faults>>

On(family, S) == IF family \in Families THEN S ELSE {}

MCInit ==
    /\ Init /\ leaderAndEpoch.broker \in FirstBrokers /\ faults = 0
    /\ Cardinality(Partitions \ DataPartitions) = IF "offsets" \in Families THEN 1 ELSE 0

-----------------------------------------------------------------------------
(* Refinement *)

\* The state of a transaction in a partition; only a replicated marker decides it.
PartOf(k, p) ==
    LET mine    == {i \in Data(p) : TransactionAt(p, i) = k}
        decided == {i \in mine : \E j \in (i + 1)..highWatermark[p] : log[p][j].type = "marker" /\ log[p][j].pid = log[p][i].pid}
    IN  IF mine = {} THEN "none" ELSE IF decided # mine THEN "open" ELSE Decision(p, MinOf(mine))
OutcomeOf(k) ==
    IF told[k] # "none" THEN told[k]
    ELSE IF \E p \in Partitions : PartOf(k, p) = "COMMIT" THEN "COMMIT"
    ELSE IF \E p \in Partitions : PartOf(k, p) = "ABORT" THEN "ABORT" ELSE "open"

Abstract == INSTANCE AtomicWrite WITH
    Writes  <- 1..Begins, Topics <- Partitions,
    outcome <- [k \in 1..Begins |-> OutcomeOf(k)],
    part    <- [k \in 1..Begins |-> [p \in Partitions |-> PartOf(k, p)]]
AtomicWriteRefined == Abstract!Spec
\* Its steps alone, which TLC can name when they fall.
AtomicWriteSteps == [][Abstract!Next]_(Abstract!vars)

Symmetry == Permutations(Partitions)
\* Where every client starts.
ClientSymmetry == Permutations(Clients) \cup Symmetry

-----------------------------------------------------------------------------
(* What is due *)

Coordinators == IF "stale" \in Families THEN {b \in Brokers : Serving(b)} ELSE {leaderAndEpoch.broker}

Committing == {p \in Partitions : highWatermark[p] < Len(log[p]) /\ "slow commit" \notin Families}
Deposed    == {b \in Brokers : Serving(b) /\ ~Acting(b) /\ "zombie" \notin Families}
Loading    == ~Serving(leaderAndEpoch.broker) /\ (unreplicated[leaderAndEpoch.broker] = <<>> \/ ~Has("ActOnCommitted"))
ReadRpc    == {c \in Clients : rpc[c].type = "reply"}
ReadBatch  == {x \in Clients \X Partitions : produce[x[1]][x[2]].type = "reply"}
ReadMarker == {x \in Brokers \X Partitions : marker[x[1]][x[2]].type = "reply"}

\* A batch that is refused for now is not sent again until the coordinator may say something else.
Stuck(x) == /\ produce[x[1]][x[2]].error = "CONCURRENT_TRANSACTIONS"
            /\ \E b \in Brokers : Acting(b) /\ (pending[b] # "none" \/ metadata[b].state \in Prepared)

Reading == ReadRpc # {} \/ (\E x \in ReadBatch : ~Stuck(x)) \/ ReadMarker # {}

Replies ==
    \/ \E c \in Clients : ReceiveInitProducerId(c) \/ ReceiveAddPartitions(c) \/ ReceiveEndTxn(c)
    \/ \E x \in ReadBatch : ~Stuck(x) /\ (ReceiveProduce(x[1], x[2]) \/ ReceiveTxnOffsetCommit(x[1], x[2]))
    \/ \E x \in ReadMarker : ReceiveMarkerReply(x[1], x[2])

-----------------------------------------------------------------------------
(* Next, by families *)

\* A request that would be answered CONCURRENT_TRANSACTIONS waits.
Now(b, r) == RpcVerdict(b, r) # "CONCURRENT_TRANSACTIONS"

Rpcs(late) ==
    \/ \E b \in Brokers, c \in Clients : AppendInitProducerId(b, c, late)
    \/ \E b \in Brokers, c \in Clients : FenceProducer(b, c, late)
    \/ \E b \in Brokers, c \in Clients : AppendAddPartitions(b, c, late)
    \/ \E b \in Brokers, c \in Clients : AppendEndTxn(b, c, late)
    \/ \E b \in Brokers, c \in Clients : AnswerRpc(b, c, late) /\ (late \/ Now(b, rpc[c]))
RpcMoves == \E c \in Clients : rpc[c].type = "request" /\ (rpc[c].type = "request" => Now(rpc[c].broker, rpc[c]))

Batch(late) ==
    \/ \E b \in Coordinators, c \in Clients, p \in Partitions : VerifyPartition(b, c, p, late)
    \/ \E b \in Coordinators, c \in Clients, p \in Partitions : AppendVerified(b, c, p, late)
    \/ \E b \in Coordinators, c \in Clients, p \in Partitions : RefuseVerification(b, c, p, late)
    \/ \E c \in Clients, p \in Partitions : StartVerification(c, p, late)
    \/ \E c \in Clients, p \in Partitions : AppendBatch(c, p, late)
    \/ \E c \in Clients, p \in Partitions : AnswerDuplicate(c, p, late)
    \/ \E c \in Clients, p \in Partitions : RejectBatch(c, p, late)
    \/ \E c \in On("refuse", Clients), p \in Partitions : RefuseOffsets(c, p, late, "ILLEGAL_GENERATION")
BatchMoves == \E c \in Clients, p \in Partitions : produce[c][p].type \in {"request", "verifying", "verified"}

Markers(late) ==
    \/ \E b \in Brokers, p \in Partitions : AppendMarker(b, p, late)
    \/ \E b \in Brokers, p \in Partitions : RejectMarker(b, p, late)
MarkerMoves == \E b \in Brokers, p \in Partitions : marker[b][p].type = "marker"

\* Records of the client's transaction that it has sent to p.
Sent(c, p) == Cardinality({i \in Data(p) : TransactionAt(p, i) = client[c].transaction})

Client1(c) ==
    \/ \E b \in Coordinators : c \in Starts /\ SendInitProducerId(c, b)
    \/ begun < Begins /\ BeginTransaction(c, begun + 1)
    \/ \E b \in Coordinators, p \in Partitions : SendAddPartitions(c, b, p) \/ SendAddOffsets(c, b, p)
    \/ \E p \in Partitions : Sent(c, p) < Batches /\ (SendProduce(c, p) \/ SendTxnOffsetCommit(c, p))
    \/ \E b \in Coordinators, result \in Results :
            (result = "ABORT" /\ client[c].state = "IN_TRANSACTION" => "abort" \in Families) /\ SendEndTxn(c, b, result)

\* The consumers that there are.
Levels == On("fetch", {"read_committed"}) \cup On("uncommitted", {"read_uncommitted"})
Fetched == {x \in Levels \X Partitions : fetch[x[1]][x[2]].type \in {"reading", "response"} /\ "slow fetch" \notin Families}

Answer(r, p) == ReceiveFetch(r, p) \/ \E end \in 0..Len(log[p]) : AnswerFetch(r, p, end)
Fetches == \E r \in Levels, p \in Partitions : SendFetch(r, p) \/ DelayFetch(r, p) \/ StartRead(r, p) \/ Answer(r, p)

Losses ==
    \/ \E c \in On("give up", Clients), p \in Partitions, keep \in On("late produce", {TRUE}) \cup {FALSE} : GiveUpProduce(c, p, keep)
    \/ \E c \in On("reconnect", Clients), p \in Partitions, keep \in On("late produce", {TRUE}) \cup {FALSE} :
            DisconnectOffsets(c, p, keep)
    \/ \E c \in On("disconnect", Clients), keep \in On("late rpc", {TRUE}) \cup {FALSE} : DisconnectRpc(c, keep)
    \/ \E c \in On("crash", Clients) : CrashClient(c)
    \/ \E b \in On("lose marker", Brokers), p \in Partitions, keep \in On("late marker", {TRUE}) \cup {FALSE} : LoseMarker(b, p, keep)
    \/ \E b \in On("repeat marker", Brokers), p \in Partitions : RepeatMarker(b, p)
    \/ \E b \in On("fail", Brokers) : FailAppend(b)
    \/ \E r \in On("lose fetch", Levels), p \in Partitions : LoseFetch(r, p)
    \/ \E p \in On("expire", Partitions), pid \in Pids : ExpireProducer(p, pid)
    \/ \E b \in On("clock", Brokers) : ClockGoesBack(b)
    \/ \E b \in On("second thread", Brokers) : FindCompletion(b)
    \/ \E p \in On("elect", Partitions) : \E keep \in highWatermark[p]..Len(log[p]) : ElectPartitionLeader(p, keep)

Elect ==
    /\ leaderAndEpoch.epoch < LastElection
    /\ \E b \in On("fail-over", Electable) :
        LET last == Len(unreplicated[leaderAndEpoch.broker]) IN
        \E keep \in IF "lose log" \in Families THEN 0..last ELSE {last} : BecomeCoordinator(b, keep)

Steady == UNCHANGED faults
Fault  == faults < Faults /\ Losses /\ faults' = faults + 1

Coordinate ==
    \/ \E b \in Brokers, p \in Partitions : SendMarker(b, p)
    \/ \E b \in Brokers : CompleteTransaction(b)
    \/ \E b \in Brokers : CompleteAgain(b)
    \/ \E b \in On("time out", Brokers) : metadata[b].epoch < TimeOuts /\ AbortTimedOutTransaction(b)

Late == Rpcs(TRUE) \/ Batch(TRUE) \/ Markers(TRUE)

MCNext ==
    IF Committing # {} THEN Steady /\ \E p \in Committing : AdvanceHighWatermark(p, Len(log[p]))
    ELSE IF Fetched # {} THEN Steady /\ \E x \in Fetched : Answer(x[1], x[2])
    ELSE IF Deposed # {} THEN Steady /\ \E b \in Deposed : Resign(b)
    ELSE IF Reading THEN Steady /\ Replies
    ELSE IF Loading THEN Steady /\ (LoadTransactions(leaderAndEpoch.broker) \/ CommitRecord(leaderAndEpoch.broker) \/ Elect)
    ELSE IF unreplicated[leaderAndEpoch.broker] # <<>> /\ "slow log" \notin Families
    THEN (Steady /\ CommitRecord(leaderAndEpoch.broker)) \/ (Steady /\ Elect) \/ Fault
    ELSE IF MarkerMoves /\ "slow marker" \notin Families THEN (Steady /\ Markers(FALSE)) \/ Fault
    ELSE IF RpcMoves /\ "slow rpc" \notin Families THEN (Steady /\ Rpcs(FALSE)) \/ (Steady /\ Elect) \/ Fault
    ELSE IF BatchMoves /\ "slow produce" \notin Families THEN (Steady /\ (Batch(FALSE) \/ Late)) \/ Fault
    ELSE \/ Steady /\ (Rpcs(FALSE) \/ Batch(FALSE) \/ Markers(FALSE) \/ Late \/ Coordinate \/ Elect)
         \/ Steady /\ \E c \in Clients : Client1(c)
         \/ Steady /\ Fetches
         \/ Steady /\ \E b \in Brokers : (b = leaderAndEpoch.broker /\ CommitRecord(b)) \/ Resign(b)
         \/ Steady /\ "slow commit" \in Families /\ \E p \in Partitions : \E offset \in 1..Len(log[p]) : AdvanceHighWatermark(p, offset)
         \/ Fault
=============================================================================
