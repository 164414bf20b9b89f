--------------------------- MODULE MCClassicGroup ---------------------------
(***************************************************************************)
(* The classic group made finite. One module, many cfgs: a cfg says how    *)
(* many members, generations and outages a behaviour may have, and which   *)
(* families of actions it uses.                                            *)
(*                                                                         *)
(* MCNext keeps all interleavings of its families. With Hurry as an action *)
(* constraint the network hurries: while a request or reply is under way   *)
(* nothing happens but deliveries (a parked request is not under way, and  *)
(* the requests of Late consumers do not hurry), and a heartbeat is sent   *)
(* only if it will tell something. A violation under it is real; a "holds" *)
(* covers such networks only, and the manifest says so.                    *)
(***************************************************************************)
EXTENDS ClassicGroupProperties, TLC

CONSTANTS
    Families,        \* the families of actions in use
    ModesUsed,       \* the modes of consumers
    FirstPartitions, \* the partitions that exist at first
    Starts,          \* how many member ids may be issued
    LastGeneration,  \* the highest generation of an epoch
    LastEpoch,       \* the highest coordinator epoch
    Waiting,         \* the most records that wait to commit
    Late             \* the consumers whose requests do not hurry

ASSUME Families \subseteq {"crash", "leave", "subscribe", "partitions", "heartbeat", "poll", "commit", "session", "pending", "join time-out",
                           "sync time-out", "fail-over", "resign", "repeat", "repeat commit", "lose", "lose heartbeat", "lose commit",
                           "slow log"}

On(family, S) == IF family \in Families THEN S ELSE {}

-----------------------------------------------------------------------------
(* Bounds *)

Bounds ==
    /\ issued <= Starts
    /\ office.epoch <= LastEpoch
    /\ \A b \in Brokers :
        /\ Len(appended[b]) <= Waiting
        /\ group[b].generation <= IF Has("GenerationExceedsOlderEpochs") THEN (Max(epoch[b], 1) - 1) * EpochGenerations + LastGeneration
                                  ELSE LastGeneration

\* Dynamic consumers and partitions are alike.
Symmetry == Permutations(Dynamic) \cup Permutations(Partitions)
ConsumerSymmetry == Permutations(Dynamic)

MCInit == Init /\ partitions = FirstPartitions

\* Without the histories.
NoHistory == <<office, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position, partitions,
               memberRpc, heartbeatRpc, offsetRpc, stray>>

-----------------------------------------------------------------------------
(* Next, by families *)

Servers == {b \in Brokers : Serving(b)}
LateOn  == IF "repeat" \in Families \/ "repeat commit" \in Families THEN BOOLEAN ELSE {FALSE}

Processes ==
    \/ \E c \in Clients, mode \in ModesUsed : StartConsumer(c, mode)
    \/ \E c \in On("crash", Clients) : CrashConsumer(c)
    \/ \E c \in On("leave", Clients), b \in Servers : LeaveGroup(c, b)
    \/ \E c \in On("subscribe", Clients), subscription \in SUBSET Partitions : ChangeSubscription(c, subscription)
    \/ \E p \in On("partitions", Partitions) : AddPartition(p)
    \/ \E c \in On("partitions", Clients) : NoticePartitions(c)
    \/ \E c \in Clients : FinishRevocation(c)
    \/ \E c \in On("poll", Clients), p \in Partitions, offset \in 1..MaxOffset : Poll(c, p, offset)

Send ==
    \/ \E c \in Clients, b \in Servers : SendJoin(c, b)
    \/ \E c \in On("heartbeat", Clients), b \in Servers : SendHeartbeat(c, b)
    \/ \E c \in On("commit", Clients), b \in Servers : SendCommit(c, b)
    \/ \E c \in On("poll", Clients), b \in Servers : SendOffsetFetch(c, b)

TimeOuts ==
    \/ \E b \in On("session", Brokers), m \in MemberIds : ExpireSession(b, m)
    \/ \E b \in On("pending", Brokers), m \in MemberIds : ExpirePendingMember(b, m)
    \/ \E b \in On("join time-out", Brokers) : ExpireJoin(b)
    \/ \E b \in Brokers : "join time-out" \notin Families /\ group[b].initial /\ ExpireJoin(b)
    \/ \E b \in On("sync time-out", Brokers) : ExpireSync(b)

Log ==
    \/ \E b \in Brokers : CommitEntry(b)
    \/ \E b \in On("fail-over", Brokers), keep \in 0..MaxAppended : BecomeCoordinator(b, keep)
    \/ \E b \in On("resign", Brokers) : Resign(b)

Faults ==
    \/ \E c \in On("repeat", Clients) : RepeatMemberRequest(c)
    \/ \E c \in On("repeat commit", Clients) : RepeatCommitRequest(c)
    \/ \E c \in On("lose", Clients) : LoseMemberRpc(c)
    \/ \E c \in On("lose heartbeat", Clients) : LoseHeartbeat(c)
    \/ \E c \in On("lose commit", Clients) : LoseOffsetRpc(c)
    \/ \E c \in On("lose", Clients) : LoseStray(c)

Deliver ==
    \/ \E c \in Clients : JoinAsFollower(c)
    \/ \E c \in Clients, given \in [Partitions -> 0..Starts] : JoinAsLeader(c, given)
    \/ \E c \in Clients : ReceiveMemberError(c)
    \/ \E c \in Clients : ReceiveAssignment(c)
    \/ \E c \in On("heartbeat", Clients) : ReceiveHeartbeat(c)
    \/ \E c \in On("commit", Clients) : ReceiveCommit(c)
    \/ \E c \in On("poll", Clients) : ReceiveOffsets(c)
    \/ \E b \in Brokers, c \in Clients, late \in LateOn : RejectJoin(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in LateOn, m \in MemberIds : IssueMemberId(b, c, late, m)
    \/ \E b \in Brokers, c \in Clients, late \in LateOn, m \in MemberIds : AddMember(b, c, late, m)
    \/ \E b \in Brokers, c \in Clients, late \in LateOn, m \in MemberIds : ReplaceStaticMember(b, c, late, m)
    \/ \E b \in Brokers, c \in Clients, late \in LateOn : RejoinMember(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in LateOn : RejectSync(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in LateOn : HandleSync(b, c, late)
    \/ \E b \in On("heartbeat", Brokers), c \in Clients : HandleHeartbeat(b, c)
    \/ \E b \in On("leave", Brokers), c \in Clients : HandleLeave(b, c)
    \/ \E b \in On("commit", Brokers), c \in Clients, late \in LateOn : HandleCommit(b, c, late)
    \/ \E b \in On("commit", Brokers), c \in Clients, late \in LateOn : RejectCommit(b, c, late)
    \/ \E b \in On("poll", Brokers), c \in Clients : HandleOffsetFetch(b, c)

MCNext == Processes \/ Send \/ TimeOuts \/ Log \/ Faults \/ Deliver

-----------------------------------------------------------------------------
(* A network that hurries *)

MovingMember == {"join", "sync", "joined", "synced", "failed"}
MovingOffset == {"commit", "committed", "fetch", "fetched"}
UnderWay == {c \in Clients \ Late :
                \/ memberRpc[c].type \in MovingMember
                \/ heartbeatRpc[c].type # "idle"
                \/ offsetRpc[c].type \in MovingOffset}
Delivers(c) == memberRpc'[c] # memberRpc[c] \/ heartbeatRpc'[c] # heartbeatRpc[c] \/ offsetRpc'[c] # offsetRpc[c]

\* While something is under way, something that is under way is delivered; of the consumers that wait the first in no order.
Hurry ==
    /\ UnderWay # {} => \E c \in UnderWay : Delivers(c)
    /\ \A c \in Clients :
        heartbeatRpc[c].type = "idle" /\ heartbeatRpc'[c].type = "heartbeat" =>
            HeartbeatError(heartbeatRpc'[c].broker, c, heartbeatRpc'[c]) \notin
                {"NONE"} \cup (IF consumer[c].rejoin THEN {"REBALANCE_IN_PROGRESS"} ELSE {})
    \* a log that hurries: its records commit before anything else, but for a fail-over
    /\ "slow log" \notin Families /\ appended[office.broker] # <<>> => office' # office \/ appended'[office.broker] # appended[office.broker]
=============================================================================
