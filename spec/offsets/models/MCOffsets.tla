------------------------------ MODULE MCOffsets ------------------------------
(***************************************************************************)
(* Committed offsets made finite. One module, many cfgs: a cfg says how    *)
(* many records, ticks and elections a behaviour may have, and which       *)
(* families of actions it uses.                                            *)
(*                                                                         *)
(* MCNext lets everything hurry that a cfg does not slow down:             *)
(*  - a record commits before anything else but a fail-over ("slow log");  *)
(*  - a deposed coordinator resigns before anything else ("zombie");       *)
(*  - a TxnOffsetCommit is verified and answered at once ("slow request"), *)
(*    a marker is delivered at once ("slow marker"), replies are read at   *)
(*    once.                                                                *)
(* Plain commits are of offset 0, transactional ones of offset 1: nothing  *)
(* depends on offsets. A violation is real; what a "holds" covers the      *)
(* manifest says.                                                          *)
(***************************************************************************)
EXTENDS OffsetsProperties, TLC

CONSTANTS
    Families,      \* the families of actions in use
    FirstBrokers,  \* who may be the first coordinator
    Records,       \* how many records may be written
    LastTime,      \* the last tick
    LastEpoch,     \* the highest coordinator epoch
    Transactions,  \* how many transactions a producer may begin
    GenerationsUsed, \* the generations that TxnOffsetCommits name
    Waiting        \* the most records that wait to commit

ASSUME Families \subseteq {"tick", "rebalance", "commit", "expire", "delete", "delete group", "topic", "transaction", "give up",
                           "lose marker", "repeat marker", "fetch", "compact", "fail-over", "zombie", "slow log",
                           "slow request", "slow marker", "no generation"}

On(family, S) == IF family \in Families THEN S ELSE {}

-----------------------------------------------------------------------------
(* Bounds *)

\* Brokers are not alike: one is the first. Partitions and producers are.
Symmetry == Permutations(Partitions) \cup Permutations(Producers)

MCInit == Init /\ leaderAndEpoch.broker \in FirstBrokers

\* The coordinators with room for another record.
Writers == {b \in Brokers : Serving(b) /\ NextPosition(b) < Records /\ Len(appended[b]) < Waiting}

-----------------------------------------------------------------------------
(* Next, by families *)

Members ==
    \/ \E b \in On("rebalance", Writers), subscription \in SUBSET Partitions :
            Written(b).group.generation < MaxGeneration /\ Rebalance(b, subscription)
    \/ \E b \in On("commit", Writers), p \in Partitions : CommitOffset(b, p, 0)
    \/ \E b \in On("expire", Writers) : ExpireOffsets(b)
    \/ \E b \in On("delete", Writers), p \in Partitions : DeleteOffset(b, p)
    \/ \E b \in On("delete group", Writers) : DeleteGroup(b)
    \/ \E b \in On("topic", Writers), p \in Partitions : DropTopic(b, p)
    \/ \E b \in On("fetch", Brokers), stable \in BOOLEAN : Serving(b) /\ FetchOffsets(b, stable)
    \/ "tick" \in Families /\ now < LastTime /\ Tick

Servers == {b \in Brokers : Serving(b)}

Begin ==
    \/ \E t \in On("transaction", Producers) : transaction[t].epoch < Transactions /\ BeginTransaction(t)
    \/ \E t \in On("transaction", Producers), b \in Servers, generation \in GenerationsUsed \cup On("no generation", {-1}), p \in Partitions :
            SendTxnOffsetCommit(t, b, generation, p, 1)
    \/ \E t \in On("transaction", Producers), result \in Results : EndTransaction(t, result)
    \/ \E t \in On("transaction", Producers), b \in Servers : SendMarker(t, b)

Requests(isLate) ==
    \/ \E b \in Brokers, t \in Producers : VerifyTxnOffsetCommit(b, t, isLate)
    \/ \E b \in Writers, t \in Producers : HandleTxnOffsetCommit(b, t, isLate)
    \/ \E b \in Brokers, t \in Producers : RejectTxnOffsetCommit(b, t, isLate)
Markers(isLate) ==
    \/ \E b \in Writers, t \in Producers : HandleMarker(b, t, isLate)
    \/ \E b \in Brokers, t \in Producers : RejectMarker(b, t, isLate)

Faults ==
    \/ \E t \in On("give up", Producers) : GiveUpTxnOffsetCommit(t)
    \/ \E t \in On("lose marker", Producers) : LoseMarker(t)
    \/ \E t \in On("repeat marker", Producers) : RepeatMarker(t)

Elect ==
    /\ leaderAndEpoch.epoch < LastEpoch
    /\ \E b \in On("fail-over", Brokers), keep \in 0..Len(appended[leaderAndEpoch.broker]) : BecomeCoordinator(b, keep)

Clean ==
    \/ \E n \in On("compact", 1..Len(log)), horizon \in BOOLEAN : CleanedLog(n, horizon) # log /\ Compact(n, horizon)

Commits == CommitEntry(leaderAndEpoch.broker)

Deposed == {b \in Brokers : Serving(b) /\ ~Acting(b) /\ "zombie" \notin Families}

RequestMoves == \E t \in Producers : txnRpc[t].type \in {"request", "verified"}
MarkerMoves  == \E t \in Producers : marker[t].type = "marker"
Answered     == \E t \in Producers : txnRpc[t].type = "answered" \/ marker[t].type = "written"

MCNext ==
    IF Deposed # {} THEN \E b \in Deposed : Resign(b)
    ELSE IF Answered THEN \E t \in Producers : ReceiveTxnReply(t) \/ ReceiveMarkerReply(t)
    ELSE IF appended[leaderAndEpoch.broker] # <<>> /\ "slow log" \notin Families THEN Commits \/ Elect
    ELSE IF RequestMoves /\ "slow request" \notin Families THEN Requests(FALSE) \/ Faults
    ELSE IF MarkerMoves /\ "slow marker" \notin Families THEN Markers(FALSE) \/ Faults
    ELSE \/ Members \/ Begin \/ Requests(FALSE) \/ Requests(TRUE) \/ Markers(FALSE) \/ Markers(TRUE) \/ Faults \/ Elect \/ Clean
         \/ Commits
         \/ \E b \in Brokers : Resign(b)
=============================================================================
