--------------------------- MODULE MCReplication ---------------------------
(***************************************************************************)
(* Replication made finite. One module, many cfgs: a cfg says how many     *)
(* records, leader epochs, partition changes and outages a behaviour may   *)
(* have, and which families of actions it uses.                            *)
(*                                                                         *)
(* MCNext keeps all interleavings of its families. HurriedNext lets the    *)
(* network hurry: while a fetch is under way nothing happens but its       *)
(* delivery, which gives the behaviours of an atomic fetch (some fetches   *)
(* may be exempt: Late); AlterPartition never hurries. A violation under it is real; a "holds" covers atomic    *)
(* fetches only, and the manifest says so.                                 *)
(***************************************************************************)
EXTENDS ReplicationProperties, TLC

CONSTANTS
    Records,   \* produce attempts
    LeaderEpochs, \* the highest leader epoch
    Changes,   \* partition changes after the first
    Outages,   \* brokers going down, all together
    Families,  \* the families of actions in use
    AcksUsed,  \* the acks of produce attempts
    FirstLeaders,   \* who may lead first
    LateFollowers,  \* the fetches of these followers from
    LateLeaders     \* these leaders do not hurry

ASSUME Families \subseteq {"elect", "fence", "fence live", "restart", "stop", "crash", "shrink", "expand", "lose alter", "flush",
                           "checkpoint", "lose fetch", "late read", "time out"}

On(family, S) == IF family \in Families THEN S ELSE {}
Either(one, other, S) == IF one \in Families \/ other \in Families THEN S ELSE {}

-----------------------------------------------------------------------------
(* Bounds *)

\* How often brokers went down.
Downs == FoldSet(LAMBDA b, n : n + registered[b].epoch - 1 + (IF Running(b) THEN 0 ELSE 1), 0, Brokers)

Bounds ==
    /\ Partition.leaderEpoch <= LeaderEpochs
    /\ Len(metadata) <= Changes + 1
    /\ Downs <= Outages
    /\ "fence live" \in Families \/ \A b \in Brokers : registered[b].state = "fenced" /\ Running(b) => registered[b].epoch > 1

\* Only where all brokers may do the same.
Symmetry == Permutations(Brokers)

MCInit == Init /\ \E l \in FirstLeaders : Partition.leader = l

\* Without the histories that only AckedOnLeader and DivergingPointNeverIncreases read.
\* Whether a view's metadata was applied matters only to KeepProposalAtKnownEpoch: with the rule in force nothing else reads it.
Views == [b \in Brokers |-> IF Has("KeepProposalAtKnownEpoch") THEN [view[b] EXCEPT !.applied = TRUE] ELSE view[b]]
NoHistory == <<metadata, registered, status, brokerEpoch, Views, log, flushed, epochCache, highWatermark, checkpoint,
               epochStart, remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter,
               asked, stalled, consumer, committed>>

-----------------------------------------------------------------------------
(* Next, by families *)

Control ==
    \/ \E l \in On("elect", Brokers) : ElectLeader(l)
    \/ \E b \in Either("fence", "fence live", Brokers), l \in Leaders : FenceBroker(b, l)
    \/ \E b \in Either("fence", "fence live", Brokers), l \in Leaders : UnfenceBroker(b, l)
    \/ \E b \in On("restart", Brokers), l \in Leaders : RegisterBroker(b, l)
    \/ \E b \in On("stop", Brokers), l \in Leaders : ControlledShutdown(b, l)
    \/ \E b \in Brokers : HandleAlterPartition(b)
    \/ \E b \in Brokers, n \in 1..MaxMetadata : ApplyMetadata(b, n)

\* The offset that the client of a waiting produce may be told: one offset, so TLC need not try them all.
Told(b, v) == IF waiting[b][v] <= 0 THEN {} ELSE {waiting[b][v] - 1}

Produce ==
    \/ \E b \in Brokers, v \in 1..Records, acks \in AcksUsed : AppendRecord(b, v, acks)
    \/ \E b \in LateWaiting, v \in 1..Records : AppendRecordsToLeader(b, v)
    \/ \E b \in LateWaiting, v \in 1..Records : AddDelayedProduce(b, v)
    \/ \E b \in Brokers, v \in 1..Records : \E offset \in Told(b, v) : CompleteProduce(b, v, offset)
    \/ \E b \in Brokers, v \in 1..Records,
          error \in {"NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"} : FailProduce(b, v, error)
    \/ \E b \in Brokers, v \in On("time out", 1..Records) : FailProduce(b, v, "REQUEST_TIMED_OUT")

Isr ==
    \/ \E b \in On("shrink", Brokers), f \in Brokers : ShrinkIsr(b, f)
    \/ \E b \in On("expand", Brokers), f \in Brokers : ExpandIsr(b, f)
    \/ \E b \in On("lose alter", Brokers) : ResendAlterPartition(b)
    \/ \E b \in Either("shrink", "expand", Brokers) : HandleAlterPartitionReply(b)
    \/ \E b \in On("lose alter", Brokers) : LoseAlterPartition(b)

Process ==
    \/ \E b \in On("flush", Brokers) : FlushLog(b)
    \/ \E b \in On("checkpoint", Brokers) : CheckpointHighWatermark(b)
    \/ \E b \in On("stop", Brokers) : StopBroker(b)
    \/ \E b \in On("crash", Brokers), keep \in Offsets : CrashBroker(b, keep)

Deliver ==
    \/ \E l \in Brokers, f \in Brokers, n \in 0..MaxFetch : HandleFetch(l, f, n)
    \/ \E l \in LateCounting, f \in Brokers, n \in 0..MaxFetch : FetchRecords(l, f, n)
    \/ \E l \in LateCounting, f \in Brokers : UpdateFollowerFetchState(l, f)
    \/ \E l \in On("late read", Brokers), f \in Brokers, n \in 1..MaxFetch : ValidateFetch(l, f, n)
    \/ \E l \in On("late read", Brokers), f \in Brokers : ReadFetch(l, f)
    \/ \E f \in On("late read", Brokers), l \in Brokers : fetch[f][l].type = "truncated" /\ LoseFetch(f, l)
    \/ \E l \in Brokers, f \in Brokers : AnswerDiverging(l, f)
    \/ \E l \in Brokers, f \in Brokers : RejectFetch(l, f)
    \/ \E f \in Brokers, l \in Brokers : FollowerAppend(f, l)
    \/ \E f \in LateTruncating, l \in Brokers : CheckDiverging(f, l)
    \/ \E f \in Brokers, l \in Brokers : FollowerTruncate(f, l)
    \/ \E f \in Brokers, l \in Brokers : FollowerAdoptHw(f, l)
    \/ \E f \in Brokers, l \in Brokers : FollowerOutOfRange(f, l)
    \/ \E f \in Brokers, l \in Brokers : DropFetchResponse(f, l)
    \/ \E f \in On("lose fetch", Brokers), l \in Brokers : LoseFetch(f, l)

\* Optional parts of a model: consumers, and brokers that are asked to stop or whose fetcher may die.
Around ==
    \/ \E c \in Reading, b \in Brokers, e \in 0..LeaderEpochs : SendRead(c, b, e)
    \/ \E b \in Brokers, c \in Reading, n \in 0..MaxFetch : AnswerRead(b, c, n)
    \/ \E b \in Brokers, c \in Reading : RejectRead(b, c)
    \/ \E c \in Reading : TakeRead(c)
    \/ \E c \in Reading : LoseRead(c)
    \/ \E b \in Stoppable : AskToStop(b)
    \/ \E f \in Stallable : StallFetcher(f)

Send == \E f \in Brokers, l \in Brokers : SendFetch(f, l)

MCNext == Control \/ Produce \/ Isr \/ Process \/ Send \/ Deliver \/ Around

-----------------------------------------------------------------------------
(* A network that hurries *)

Late == {p \in LateFollowers \X LateLeaders : p[1] # p[2]}
UnderWay == {p \in (Brokers \X Brokers) \ Late : fetch[p[1]][p[2]].type # "idle"}

\* A fetch that somebody learns something from: it is answered, and moves a log, a high watermark or the leader's knowledge.
Telling(f, l, request) ==
    /\ Running(l) /\ FetchError(l, request) \in {"NONE", "OFFSET_OUT_OF_RANGE"}
    /\ \/ FetchError(l, request) # "NONE" \/ Diverges(l, request)
       \/ request.offset < Leo(l) \/ remoteLeo[l][f] # request.offset \/ remoteEpoch[l][f] # request.brokerEpoch
       \/ highWatermark[f] # Min(highWatermark[l], request.offset)

HurriedNext ==
    \/ UnderWay = {} /\ (Control \/ Produce \/ Isr \/ Process)
    \/ UnderWay = {} /\ \E f, l \in Brokers : SendFetch(f, l) /\ Telling(f, l, fetch'[f][l])
    \/ (UnderWay # {} \/ Late # {}) /\ Deliver /\ \A p \in UnderWay : fetch'[p[1]][p[2]] # fetch[p[1]][p[2]]

\* The same as an action constraint, which leaves the actions their names.
Hurry ==
    /\ \A p \in UnderWay : fetch'[p[1]][p[2]] # fetch[p[1]][p[2]]
    /\ \A f, l \in Brokers :
        fetch[f][l].type = "idle" /\ fetch'[f][l].type = "request" => Telling(f, l, fetch'[f][l])

\* A leader sends as much as the fetch may carry.
Greedy ==
    \A f, l \in Brokers :
        fetch[f][l].type = "request" /\ fetch'[f][l].type = "records" =>
            Len(fetch'[f][l].batch) = Min(MaxFetch, Leo(l) - fetch[f][l].offset)
=============================================================================
