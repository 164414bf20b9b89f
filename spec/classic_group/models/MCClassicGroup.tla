--------------------------- MODULE MCClassicGroup ---------------------------
(***************************************************************************)
(* The classic group made finite. One module, many cfgs: a cfg says how    *)
(* many members, generations and outages a behaviour may have, and which   *)
(* families of actions it uses.                                            *)
(*                                                                         *)
(* MCNext lets everything hurry that a cfg does not slow down:             *)
(*  - while a request or a reply is under way nothing happens but its      *)
(*    delivery or loss (a parked request is not under way; the requests of *)
(*    the Late consumers do not hurry); JoinGroup replies and errors go    *)
(*    first, in order, since they touch their consumers only, none of      *)
(*    which owns anything then that counts;                                *)
(*  - a heartbeat is sent only if it will tell something new;              *)
(*  - a record commits before anything else but a fail-over ("slow log");  *)
(*  - a deposed coordinator resigns before anything else ("zombie");       *)
(*  - a consumer without a generation joins at once ("slow join").         *)
(* A violation is real; what a "holds" covers the manifest says. A bound   *)
(* is a guard of Next: TLC would check every property also in the states   *)
(* that a CONSTRAINT cuts off.                                             *)
(***************************************************************************)
EXTENDS ClassicGroupProperties, TLC

CONSTANTS
    Families,        \* the families of actions in use
    ModesUsed,       \* the modes of consumers
    FirstPartitions, \* the partitions that exist at first
    FirstBrokers,    \* who may be the first coordinator
    Starts,          \* how many member ids may be issued
    LastGeneration,  \* how many generations the first epoch has
    LaterGenerations, \* how many the others have
    LastEpoch,       \* the highest coordinator epoch
    Waiting,         \* the most records that wait to commit
    Late             \* the consumers whose requests do not hurry

ASSUME Families \subseteq {"crash", "leave", "subscribe", "partitions", "heartbeat", "poll", "commit", "session", "pending",
                           "join time-out", "sync time-out", "fail-over", "zombie", "repeat", "repeat commit", "lose",
                           "lose heartbeat", "lose commit", "slow log", "slow join"}

On(family, S) == IF family \in Families THEN S ELSE {}

-----------------------------------------------------------------------------
(* Bounds *)

Bounds ==
    /\ \A b \in Brokers :
        /\ Len(appended[b]) <= Waiting
        /\ group[b].generation <= IF epoch[b] <= 1 THEN LastGeneration
                                  ELSE LaterGenerations + (IF Has("GenerationOfOlderEpoch")
                                                           THEN (epoch[b] - 1) * EpochGenerations ELSE LastGeneration)

\* Dynamic consumers and partitions are alike.
Symmetry == Permutations(Dynamic) \cup Permutations(Partitions)
ConsumerSymmetry == Permutations(Dynamic)
PartitionSymmetry == Permutations(Partitions)

MCInit == Init /\ partitions = FirstPartitions /\ leaderAndEpoch.broker \in FirstBrokers

\* Without the histories.
NoHistory == <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
               partitions, memberRpc, heartbeatRpc, offsetRpc, stray>>

-----------------------------------------------------------------------------
(* Refinement *)

Abstract == INSTANCE Ownership WITH
    Consumers <- Clients, Topics <- Partitions, Offsets <- OffsetOrNone,
    owners    <- [p \in Partitions |-> {c \in Clients : ActivelyOwns(c, p)}],
    asked     <- {[by |-> c, late |-> FALSE, offsets |-> offsetRpc[c].offsets] : c \in {x \in Clients : offsetRpc[x].type = "commit"}}
            \cup {[by |-> c, late |-> TRUE, offsets |-> stray[c].offsets] : c \in {x \in Clients : stray[x].type = "commit"}},
    accepted  <- LET waiting == SelectSeq(appended[leaderAndEpoch.broker], LAMBDA entry : entry.type = "offsets")
                 IN  [i \in 1..Len(waiting) |-> waiting[i].offsets],
    committed <- storedOffsets
OwnershipRefined == Abstract!Spec
\* Its steps alone, which TLC can name when they fall.
OwnershipSteps == [][Abstract!Next]_(Abstract!vars)

-----------------------------------------------------------------------------
(* Next, by families *)

Servers == {b \in Brokers : Serving(b)}

MovingMember == {"join", "sync", "joined", "synced", "failed"}
MovingOffset == {"commit", "committed", "fetch", "fetched"}
UnderWay == {c \in Clients \ Late :
                \/ memberRpc[c].type \in MovingMember
                \/ heartbeatRpc[c].type # "idle"
                \/ offsetRpc[c].type \in MovingOffset}

Processes ==
    \/ \E c \in Clients, mode \in ModesUsed : StartConsumer(c, mode)
    \/ \E c \in On("crash", Clients) : CrashConsumer(c)
    \/ \E c \in On("leave", Clients), b \in Servers : LeaveGroup(c, b)
    \/ \E c \in On("subscribe", Clients), subscription \in SUBSET Partitions : ChangeSubscription(c, subscription)
    \/ \E p \in On("partitions", Partitions) : AddPartition(p)
    \/ \E c \in On("partitions", Clients) : NoticePartitions(c)
    \/ \E c \in Clients : FinishRevocation(c)
    \/ \E c \in On("poll", Clients), p \in Partitions, offset \in 1..MaxOffset : Poll(c, p, offset)

\* A heartbeat to b would tell the consumer something that it does not know.
Tells(c, b) ==
    HeartbeatError(b, c, [member |-> consumer[c].member, generation |-> consumer[c].generation]) \notin
        {"NONE"} \cup (IF consumer[c].rejoin \/ consumer[c].state # "STABLE" THEN {"REBALANCE_IN_PROGRESS"} ELSE {})

Send ==
    \/ \E c \in Clients, b \in Servers : SendJoin(c, b)
    \/ \E c \in On("heartbeat", Clients), b \in Servers : Tells(c, b) /\ SendHeartbeat(c, b)
    \/ \E c \in On("commit", Clients), b \in Servers : SendCommit(c, b)
    \/ \E c \in On("poll", Clients), b \in Servers : SendOffsetFetch(c, b)

TimeOuts ==
    \/ \E b \in On("session", Brokers) : \E m \in Present(group[b]) : ExpireSession(b, m)
    \/ \E b \in On("pending", Brokers) : \E m \in group[b].pending : ExpirePendingMember(b, m)
    \/ \E b \in Brokers : ("join time-out" \in Families \/ group[b].initial) /\ ExpireJoin(b)
    \/ \E b \in On("sync time-out", Brokers) : ExpireSync(b)

Elect ==
    /\ leaderAndEpoch.epoch < LastEpoch
    /\ \E b \in On("fail-over", Brokers), keep \in 0..Len(appended[leaderAndEpoch.broker]) : BecomeCoordinator(b, keep)

Faults ==
    \/ \E c \in On("repeat", Clients) : RepeatMemberRequest(c)
    \/ \E c \in On("repeat commit", Clients) : RepeatCommitRequest(c)
    \/ \E c \in On("lose", Clients) : LoseMemberRpc(c)
    \/ \E c \in On("lose heartbeat", Clients) : LoseHeartbeat(c)
    \/ \E c \in On("lose commit", Clients) : LoseOffsetRpc(c)
    \/ \E c \in On("lose", Clients) : LoseStray(c)
    \/ \E b \in Brokers : Resign(b)

\* The coordinator's steps with a request of one of these consumers, or with a late one.
Handle(consumers, late) ==
    \/ \E b \in Brokers, c \in consumers : RejectJoin(b, c, late)
    \/ \E b \in Brokers, c \in consumers, m \in 1..Starts : IssueMemberId(b, c, late, m)
    \/ \E b \in Brokers, c \in consumers, m \in 1..Starts : AddMember(b, c, late, m)
    \/ \E b \in Brokers, c \in consumers, m \in 1..Starts : JoinStaticMember(b, c, late, m)
    \/ \E b \in Brokers, c \in consumers : RejoinMember(b, c, late)
    \/ \E b \in Brokers, c \in consumers : RejectSync(b, c, late)
    \/ \E b \in Brokers, c \in consumers : HandleSync(b, c, late)
    \/ \E b \in On("commit", Brokers), c \in consumers : HandleCommit(b, c, late)
    \/ \E b \in On("commit", Brokers), c \in consumers : RejectCommit(b, c, late)

Deliver(consumers) ==
    \/ Handle(consumers, FALSE)
    \/ \E c \in consumers : JoinAsFollower(c)
    \/ \E c \in consumers, given \in [Partitions -> 0..Starts] : JoinAsLeader(c, given)
    \/ \E c \in consumers : ReceiveMemberError(c)
    \/ \E c \in consumers : ReceiveAssignment(c)
    \/ \E b \in On("heartbeat", Brokers), c \in consumers : HandleHeartbeat(b, c)
    \/ \E c \in consumers : ReceiveHeartbeat(c)
    \/ \E c \in consumers : ReceiveCommit(c)
    \/ \E b \in On("poll", Brokers), c \in consumers : HandleOffsetFetch(b, c)
    \/ \E c \in consumers : ReceiveOffsets(c)

Strays ==
    \/ Handle({c \in Clients : stray[c].type # "idle"}, TRUE)
    \/ \E b \in On("leave", Brokers), c \in Clients : HandleLeave(b, c)

\* A consumer that has no generation, and waits for nothing, joins at once (but for "slow join").
Joining == {c \in Clients \ Late : /\ "slow join" \notin Families
                                  /\ consumer[c].running /\ consumer[c].state # "STABLE" /\ memberRpc[c].type = "idle"}

Deposed == {b \in Brokers : Serving(b) /\ ~Acting(b) /\ "zombie" \notin Families}

\* JoinGroup replies and errors: the one with the lowest member id goes first.
Replies == {c \in UnderWay : memberRpc[c].type \in {"joined", "failed"}}
First   == {c \in Replies : \A d \in Replies : memberRpc[c].member <= memberRpc[d].member}

Unbounded ==
    IF Deposed # {} THEN \E b \in Deposed : Resign(b)
    ELSE IF appended[leaderAndEpoch.broker] # <<>> /\ "slow log" \notin Families
    THEN CommitEntry(leaderAndEpoch.broker) \/ Elect
    ELSE IF UnderWay # {}
    THEN Deliver(IF Replies # {} THEN First ELSE UnderWay) \/ Deliver(Late) \/ Faults
         \/ ("slow log" \in Families /\ CommitEntry(leaderAndEpoch.broker))
    ELSE IF Joining # {}
    THEN (\E c \in Joining, b \in Servers : SendJoin(c, b)) \/ Elect \/ Deliver(Late) \/ CommitEntry(leaderAndEpoch.broker)
    ELSE Processes \/ Send \/ TimeOuts \/ Elect \/ CommitEntry(leaderAndEpoch.broker) \/ Faults \/ Strays \/ Deliver(Late)

MCNext == Unbounded /\ Bounds'
=============================================================================
