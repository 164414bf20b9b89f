-------------------------- MODULE MCConsumerGroup --------------------------
(***************************************************************************)
(* The group of KIP-848 made finite. One module, many cfgs: a cfg says how *)
(* many processes, epochs and outages a behaviour may have, and which      *)
(* families of actions it uses.                                            *)
(*                                                                         *)
(* MCNext lets everything hurry that a cfg does not slow down:             *)
(*  - while a request or a reply is under way nothing happens but its      *)
(*    delivery or loss (the requests of the Late consumers do not hurry);  *)
(*  - a heartbeat is sent only if it says or will hear something new;      *)
(*  - a batch commits before anything else but a fail-over ("slow log");   *)
(*  - a deposed coordinator resigns before anything else ("zombie");       *)
(*  - a consumer that has no epoch joins at once, and one that has to      *)
(*    acknowledge does ("slow join");                                      *)
(*  - the rebalance listener is called at once ("slow call"); when it      *)
(*    returns is open.                                                     *)
(* A violation is real; what a "holds" covers the manifest says.           *)
(***************************************************************************)
EXTENDS ConsumerGroup848Properties, TLC

CONSTANTS
    Families,        \* the families of actions in use
    FirstPartitions, \* the partitions that exist at first
    FirstBrokers,    \* who may be the first coordinator
    Starts,          \* how many processes may be started
    LastGroupEpoch,  \* the highest group epoch
    LastEpoch,       \* the highest coordinator epoch
    Waiting,         \* the most batches that wait to commit
    Late             \* the consumers whose requests do not hurry

ASSUME Families \subseteq {"crash", "leave", "subscribe", "partitions", "poll", "commit", "session", "revocation", "fail-over", "zombie",
                           "repeat", "repeat commit", "lose", "lose commit", "slow log", "slow join", "slow call"}

On(family, S) == IF family \in Families THEN S ELSE {}

-----------------------------------------------------------------------------
(* Bounds *)

Bounds ==
    \A b \in Brokers : Len(appended[b]) <= Waiting /\ group[b].groupEpoch <= LastGroupEpoch

\* Of all heartbeats only joins are late.
LateJoins == Bounds /\ \A c \in Clients : stray[c].type = "heartbeat" => stray[c].memberEpoch = 0

\* Dynamic consumers and partitions are alike.
Symmetry == Permutations(Dynamic) \cup Permutations(Partitions)
ConsumerSymmetry == Permutations(Dynamic)
PartitionSymmetry == Permutations(Partitions)

MCInit == Init /\ partitions = FirstPartitions /\ leaderAndEpoch.broker \in FirstBrokers

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
(* Reachability *)

\* Falls: a late commit is taken for some of its partitions and refused for the others (KIP-1251).
NeverPartial == [][\A c \in Clients :
    LET b == leaderAndEpoch.broker IN
    stray[c].type = "commit" /\ stray'[c].type = "idle" /\ Len(appended'[b]) > Len(appended[b])
    => appended'[b][Len(appended'[b])].offsets = stray[c].offsets]_vars

-----------------------------------------------------------------------------
(* Next, by families *)

Servers == {b \in Brokers : Serving(b)}

UnderWay == {c \in Clients \ Late :
                \/ heartbeatRpc[c].type \in {"heartbeat", "answered"}
                \/ offsetRpc[c].type \in {"commit", "committed", "fetch", "fetched"}}

Processes ==
    \/ \E c \in Clients : issued < Starts /\ StartConsumer(c)
    \/ \E c \in On("crash", Clients) : CrashConsumer(c)
    \/ \E c \in On("leave", Clients), b \in Servers : LeaveGroup(c, b)
    \/ \E c \in On("subscribe", Clients), subscription \in SUBSET Partitions : ChangeSubscription(c, subscription)
    \/ \E p \in On("partitions", Partitions) : AddPartition(p)
    \/ \E c \in Clients : Reconcile(c)
    \/ \E c \in Clients : FinishReconciliation(c)
    \/ \E c \in On("poll", Clients), p \in Partitions, offset \in 1..MaxOffset : Poll(c, p, offset)

\* c's heartbeat would say something new, or be answered so. (It is answered by who is asked, who may be wrong.)
Tells(c, b) ==
    LET me      == consumer[c]
        g       == group[b]
        member  == g.members[me.member]
        request == [type |-> "heartbeat", broker |-> b, member |-> me.member, memberEpoch |-> me.memberEpoch, full |-> FALSE, tells |-> FALSE,
                    subscription |-> {}, reports |-> FALSE, owned |-> {}] IN
    IF ~me.running \/ me.memberEpoch = 0 \/ me.unreported \/ me.full \/ me.subscription # me.told THEN TRUE
    ELSE IF me.reconciling /\ ~Has("ReportUntilRevoked") THEN TRUE
    ELSE IF HeartbeatError(b, c, request) # "NONE" THEN TRUE
    ELSE IF g.groupEpoch > g.assignmentEpoch \/ g.metadata # Subscribed(g.members) THEN TRUE
    ELSE IF me.target # PartitionsOf(member.assigned) THEN TRUE
    ELSE Reconciled(b, member, g.target[me.member], g.assignmentEpoch, request) # member

Send ==
    \/ \E c \in Clients, b \in Servers : Tells(c, b) /\ SendHeartbeat(c, b)
    \/ \E c \in On("commit", Clients), b \in Servers : SendCommit(c, b)
    \/ \E c \in On("poll", Clients), b \in Servers : SendOffsetFetch(c, b)

TimeOuts ==
    \/ \E b \in On("session", Brokers), m \in 1..Starts : ExpireSession(b, m)
    \/ \E b \in On("revocation", Brokers), m \in 1..Starts : ExpireRevocation(b, m)

Elect ==
    /\ leaderAndEpoch.epoch < LastEpoch
    /\ \E b \in On("fail-over", Brokers), keep \in 0..Len(appended[leaderAndEpoch.broker]) : BecomeCoordinator(b, keep)

Faults ==
    \/ \E c \in On("repeat", Clients) : RepeatHeartbeat(c)
    \/ \E c \in On("repeat commit", Clients) : RepeatCommitRequest(c)
    \/ \E c \in On("lose", Clients) : LoseHeartbeat(c)
    \/ \E c \in On("lose commit", Clients) : LoseOffsetRpc(c)
    \/ \E c \in On("lose", Clients) : LoseStray(c)
    \/ \E b \in Brokers : Resign(b)

\* The coordinator's steps with a request of one of these consumers, or with a late one.
Handle(consumers, late) ==
    \/ \E b \in Brokers, c \in consumers : RejectHeartbeat(b, c, late)
    \/ \E b \in Brokers, c \in consumers : HandleHeartbeat(b, c, late)
    \/ \E b \in Brokers, c \in consumers : BumpOnHeartbeat(b, c, late)
    \/ \E b \in Brokers, c \in consumers, given \in [Partitions -> 0..Starts] : AssignOnHeartbeat(b, c, late, given)
    \/ \E b \in On("commit", Brokers), c \in consumers : HandleCommit(b, c, late)
    \/ \E b \in On("commit", Brokers), c \in consumers : RejectCommit(b, c, late)

Deliver(consumers) ==
    \/ Handle(consumers, FALSE)
    \/ \E c \in consumers : ReceiveHeartbeat(c)
    \/ \E c \in consumers : ReceiveCommit(c)
    \/ \E b \in On("poll", Brokers), c \in consumers : HandleOffsetFetch(b, c)
    \/ \E c \in consumers : ReceiveOffsets(c)

Strays ==
    \/ Handle({c \in Clients : stray[c].type # "idle"}, TRUE)
    \/ \E b \in On("leave", Brokers), c \in Clients : HandleLeave(b, c)

\* A consumer that has no epoch, or something to acknowledge, and waits for nothing, says so at once (but for "slow join").
Urgent == {c \in Clients \ Late : /\ "slow join" \notin Families
                                 /\ consumer[c].running /\ heartbeatRpc[c].type = "idle"
                                 /\ (consumer[c].memberEpoch = 0 \/ consumer[c].state = "ACKNOWLEDGING")}

\* The consumers whose listener is not called yet.
Uncalled == {c \in Clients \ Late : /\ "slow call" \notin Families
                                   /\ consumer[c].running /\ consumer[c].state = "RECONCILING" /\ ~consumer[c].reconciling}

Deposed == {b \in Brokers : Serving(b) /\ ~Acting(b) /\ "zombie" \notin Families}

MCNext ==
    IF Deposed # {} THEN \E b \in Deposed : Resign(b)
    ELSE IF appended[leaderAndEpoch.broker] # <<>> /\ "slow log" \notin Families
    THEN CommitEntry(leaderAndEpoch.broker) \/ Elect
    ELSE IF UnderWay # {}
    THEN Deliver(UnderWay) \/ Deliver(Late) \/ Faults
         \/ ("slow log" \in Families /\ CommitEntry(leaderAndEpoch.broker))
    ELSE IF Uncalled # {} THEN \E c \in Uncalled : Reconcile(c)
    ELSE IF Urgent # {}
    THEN (\E c \in Urgent, b \in Servers : SendHeartbeat(c, b)) \/ Elect \/ Deliver(Late) \/ CommitEntry(leaderAndEpoch.broker)
    ELSE Processes \/ Send \/ TimeOuts \/ Elect \/ CommitEntry(leaderAndEpoch.broker) \/ Faults \/ Strays \/ Deliver(Late)
=============================================================================
