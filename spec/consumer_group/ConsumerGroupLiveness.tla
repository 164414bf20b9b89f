----------------------- MODULE ConsumerGroupLiveness -----------------------
(***************************************************************************)
(* That a group of KIP-848 comes to rest. Faults are counted and end; time *)
(* -outs happen only when what they wait for will not come. What is fair   *)
(* stands in Helpful, and nothing else is. The assignor needs no balance:  *)
(* the target assignment changes only when the group epoch does. The       *)
(* interval between two target assignments passes: only so many heartbeats *)
(* are served from the last one.                                           *)
(*                                                                         *)
(* Everything else that a consumer or coordinator may do is left out:      *)
(* nobody subscribes anew, and nothing is read or committed.               *)
(***************************************************************************)
EXTENDS ConsumerGroup848Properties

CONSTANTS
    MaxFaults,     \* crashes, lost or doubled requests and fail-overs, all together
    Faults,        \* which kinds of them
    MaxWaits,      \* heartbeats that are served from the last target assignment until the interval has passed
    Hurried,       \* does the network hurry? (Then nothing happens while a message is under way, but its delivery or loss.)
    Unfair         \* kinds of helpful steps that are not fair, or "end": faults do not end, or "interval": it does not pass; what
                   \* then goes wrong shows that it is needed

VARIABLES
    faults,        \* how many there were
    started,       \* the consumers that have been started
    waited,        \* how many heartbeats were served from the last target assignment while the group epoch was ahead
    helped         \* was the last step one of Helpful? It flips where none is possible

liveVars == <<vars, faults, started, waited, helped>>

-----------------------------------------------------------------------------
(* Steps that help *)

Alive(m) == \E c \in Clients : consumer[c].running /\ consumer[c].member = m

Delivery ==
    \/ \E b \in Brokers, c \in Clients : RejectHeartbeat(b, c, FALSE)
    \/ \E b \in Brokers, c \in Clients : HandleHeartbeat(b, c, FALSE)
    \/ \E b \in Brokers, c \in Clients : BumpOnHeartbeat(b, c, FALSE)
    \/ \E b \in Brokers, c \in Clients, given \in [Partitions -> MemberOrNone] : AssignOnHeartbeat(b, c, FALSE, given)
    \/ \E c \in Clients : ReceiveHeartbeat(c)

\* The rebalance listener is called, and returns.
Listener == \E c \in Clients : Reconcile(c) \/ FinishReconciliation(c)

\* c's heartbeat would say something new to the elected coordinator, or be answered so.
Tells(c) ==
    LET b       == leaderAndEpoch.broker
        me      == consumer[c]
        member  == Coordinator.members[me.member]
        request == [type |-> "heartbeat", broker |-> b, member |-> me.member, memberEpoch |-> me.memberEpoch, full |-> FALSE, tells |-> FALSE,
                    subscription |-> {}, reports |-> FALSE, owned |-> {}] IN
    IF ~me.running THEN FALSE
    ELSE IF me.memberEpoch = 0 \/ me.unreported \/ me.full THEN TRUE
    ELSE IF HeartbeatError(b, c, request) # "NONE" \/ Coordinator.groupEpoch > Coordinator.assignmentEpoch THEN TRUE
    ELSE IF me.target # PartitionsOf(member.assigned) THEN TRUE
    ELSE Reconciled(b, member, Coordinator.target[me.member], Coordinator.assignmentEpoch, request) # member

Heartbeats == \E c \in Clients : Tells(c) /\ SendHeartbeat(c, leaderAndEpoch.broker)

Commits == CommitEntry(leaderAndEpoch.broker)

\* Sessions end of members that no process holds.
Sessions == \E b \in Brokers, m \in MemberIds : ~Alive(m) /\ ExpireSession(b, m)

Quiet == Hurried => \A c \in Clients : heartbeatRpc[c].type \in {"idle", "waiting"}

\* The helpful steps of these kinds.
Steps(kinds) ==
    \/ "delivery" \in kinds /\ Delivery
    \/ "listener" \in kinds /\ Quiet /\ Listener
    \/ "heartbeats" \in kinds /\ Quiet /\ Heartbeats
    \/ "commits" \in kinds /\ Quiet /\ Commits
    \/ "sessions" \in kinds /\ Quiet /\ Sessions
    \/ "resign" \in kinds /\ Quiet /\ \E b \in Brokers : Resign(b)
HelpfulKinds == {"delivery", "listener", "heartbeats", "commits", "sessions", "resign"}

ASSUME Unfair \subseteq HelpfulKinds \cup {"end", "interval"}

Helpful == Steps(HelpfulKinds \ Unfair)

\* Some step of these kinds is possible: ENABLED Steps(kinds), by hand. TLC evaluates an ENABLED without remembering what a LET is.
\* Where it were true and no step possible, no behaviour would be fair, and every property would hold (PossibleIsEnabled).
Possible(kinds) ==
    \/ "delivery" \in kinds /\ \E c \in Clients : heartbeatRpc[c].type \in {"heartbeat", "answered"}
    \/ "listener" \in kinds /\ Quiet /\ \E c \in Clients : consumer[c].running /\ (consumer[c].reconciling \/ consumer[c].state = "RECONCILING")
    \/ "heartbeats" \in kinds /\ Quiet /\ \E c \in Clients : heartbeatRpc[c].type = "idle" /\ Tells(c)
    \/ "commits" \in kinds /\ Quiet /\ appended[leaderAndEpoch.broker] # <<>>
    \/ "sessions" \in kinds /\ Quiet /\ \E b \in Brokers : Serving(b) /\ \E m \in Present(group[b]) : ~Alive(m)
    \/ "resign" \in kinds /\ Quiet /\ \E b \in Brokers : Serving(b) /\ ~Acting(b)

PossibleIsEnabled == Possible(HelpfulKinds \ Unfair) = ENABLED <<Helpful>>_vars

-----------------------------------------------------------------------------
(* Steps that do not *)

Fault ==
    \/ \E c \in Clients : "crash" \in Faults /\ CrashConsumer(c)
    \/ \E c \in Clients : "lose" \in Faults /\ LoseHeartbeat(c)
    \/ \E c \in Clients : "repeat" \in Faults /\ RepeatHeartbeat(c)
    \/ \E b \in Brokers : "fail-over" \in Faults /\ \E keep \in 0..MaxAppended : BecomeCoordinator(b, keep)
    \/ \E c \in started : "restart" \in Faults /\ StartConsumer(c)

\* A late request arrives, or never does.
LateRequests ==
    \/ \E b \in Brokers, c \in Clients : RejectHeartbeat(b, c, TRUE)
    \/ \E b \in Brokers, c \in Clients : HandleHeartbeat(b, c, TRUE)
    \/ \E b \in Brokers, c \in Clients : BumpOnHeartbeat(b, c, TRUE)
    \/ \E b \in Brokers, c \in Clients, given \in [Partitions -> MemberOrNone] : AssignOnHeartbeat(b, c, TRUE, given)
    \/ \E c \in Clients : LoseStray(c)

\* A heartbeat is taken, and the group epoch stays ahead.
Waits ==
    \E c \in Clients :
        /\ heartbeatRpc[c].type = "heartbeat"
        /\ heartbeatRpc'[c].type = "waiting" \/ (heartbeatRpc'[c].type = "answered" /\ heartbeatRpc'[c].error = "NONE")
        /\ group'[heartbeatRpc[c].broker].groupEpoch > group'[heartbeatRpc[c].broker].assignmentEpoch
Assigns == \E b \in Brokers : epoch'[b] = epoch[b] /\ group'[b].assignmentEpoch > group[b].assignmentEpoch

\* The interval has not passed while a heartbeat waits. (A new target assignment is always possible instead.)
Interval ==
    IF "interval" \in Unfair THEN UNCHANGED waited
    ELSE /\ Waits => waited < MaxWaits
         /\ waited' = IF Assigns THEN 0 ELSE IF Waits THEN waited + 1 ELSE waited

\* Dynamic consumers are interchangeable: one of them starts first.
Start(c) ==
    /\ c \notin started /\ (c \in Dynamic /\ started \cap Dynamic = {} => c = CHOOSE d \in Dynamic : TRUE)
    /\ StartConsumer(c) /\ started' = started \cup {c}

LiveInit ==
    /\ Init /\ faults = 0 /\ started = {} /\ waited = 0 /\ partitions = Partitions /\ helped = FALSE
    /\ leaderAndEpoch.broker = CHOOSE b \in Brokers : TRUE  \* brokers are interchangeable
LiveNext ==
    /\ \/ <<Helpful>>_vars /\ helped' = TRUE /\ UNCHANGED <<faults, started>>
       \/ ~Possible(HelpfulKinds \ Unfair) /\ helped' = ~helped /\ UNCHANGED <<vars, faults, started>>
       \/ Steps(Unfair) /\ helped' = FALSE /\ UNCHANGED <<faults, started>>
       \/ Quiet /\ (\E c \in Clients : Start(c)) /\ helped' = FALSE /\ UNCHANGED faults
       \/ Quiet /\ LateRequests /\ helped' = FALSE /\ UNCHANGED <<faults, started>>
       \/ faults < MaxFaults /\ Fault /\ faults' = faults + (IF "end" \in Unfair THEN 0 ELSE 1) /\ helped' = FALSE /\ UNCHANGED started
    /\ Interval

\* Weak fairness of Helpful: such steps go on for ever, or there is none again and again, and then `helped` flips. So TLC evaluates
\* Possible once in each state; under WF_vars it evaluates ENABLED at each step, for each property. Steps of one kind may starve another.
LiveSpec == LiveInit /\ [][LiveNext]_liveVars /\ []<><<helped'>>_liveVars

-----------------------------------------------------------------------------
(* What happens in the end *)

\* Every group epoch is assigned, if anybody is left.
AssigningEnds == Coordinator.groupEpoch > Coordinator.assignmentEpoch ~> Coordinator.groupEpoch = Coordinator.assignmentEpoch

\* A member does not revoke, nor wait for what others hold, for ever.
ReconcilingEnds ==
    \A m \in MemberIds :
        (m \in Present(Coordinator) /\ Coordinator.members[m].state # "STABLE")
            ~> (m \notin Present(Coordinator) \/ Coordinator.members[m].state = "STABLE")

\* A joining consumer becomes a member, or ends.
Joins(c) == consumer[c].running /\ consumer[c].state = "JOINING"
JoiningEnds == \A c \in Clients : Joins(c) ~> ~Joins(c)

\* Members that no process holds go.
DeadGo == \A m \in MemberIds : (m \in Present(Coordinator) /\ ~Alive(m)) ~> (m \notin Present(Coordinator) \/ Alive(m))

\* In the end membership is what runs, and all is owned.
Converges == <>[](QuiescentGroupSettled /\ QuiescentAllOwned)
=============================================================================
