------------------------ MODULE ClassicGroupLiveness ------------------------
(***************************************************************************)
(* That a classic group comes to rest. Faults are counted and end; time-   *)
(* outs happen only when what they wait for will not come; assignors       *)
(* balance, so that they stop moving partitions. What is fair stands in    *)
(* Helpful, and nothing else is.                                           *)
(*                                                                         *)
(* Everything else that a consumer or coordinator may do is left out:      *)
(* nobody subscribes anew, and nothing is read or committed.               *)
(***************************************************************************)
EXTENDS ClassicGroupProperties

CONSTANTS
    MaxFaults,     \* crashes, lost requests and fail-overs, all together
    Faults,        \* which kinds of them
    FirstModes,    \* the modes of consumers
    Hurried,       \* does the network hurry? (Then nothing happens while a message is under way, but its delivery or loss.)
    Unfair         \* kinds of helpful steps that are not fair, or "end": faults do not end; what then goes wrong shows that it
                   \* is needed

VARIABLES
    faults,        \* how many there were
    started,       \* the consumers that have been started
    helped         \* was the last step one of Helpful? It flips where none is possible

liveVars == <<vars, faults, started, helped>>

-----------------------------------------------------------------------------
(* An assignor that balances *)

Joiners(roster) == {m \in MemberIds : roster[m].present}
Share(count, members, roundUp) == (count + (IF roundUp THEN members - 1 ELSE 0)) \div members
Load(given, m) == Cardinality({p \in Partitions : given[p] = m})
Claims(roster, m) == Cardinality(roster[m].owned)

\* Nobody gets more than its share, rounded up; nobody less, rounded down, unless something is withheld. A partition is
\* withheld from a member that has more than its share, or while another has less. It keeps its share then, and gets nothing
\* new.
Balanced(roster, given) ==
    LET all  == Joiners(roster)
        low  == Share(Cardinality(partitions), Cardinality(all), FALSE)
        high == Share(Cardinality(partitions), Cardinality(all), TRUE) IN
    /\ \A m \in all : Load(given, m) <= high
    /\ (\A p \in partitions : given[p] # 0) => \A m \in all : Load(given, m) >= low
    /\ \A p \in partitions : given[p] = 0 =>
        \E o \in Owners(roster, p) : /\ Load(given, o) >= low
                                     /\ \A q \in partitions : given[q] = o => o \in Owners(roster, q)
                                     /\ Claims(roster, o) > high \/ \E m \in all : Load(given, m) < low

-----------------------------------------------------------------------------
(* Steps that help *)

Holds(c, m) == consumer[c].running /\ consumer[c].member = m
Alive(m)    == \E c \in Clients : Holds(c, m)
Delivery ==
    \/ \E b \in Brokers, c \in Clients : RejectJoin(b, c, FALSE)
    \/ \E b \in Brokers, c \in Clients, m \in MemberIds : IssueMemberId(b, c, FALSE, m)
    \/ \E b \in Brokers, c \in Clients, m \in MemberIds : AddMember(b, c, FALSE, m)
    \/ \E b \in Brokers, c \in Clients, m \in MemberIds : JoinStaticMember(b, c, FALSE, m)
    \/ \E b \in Brokers, c \in Clients : RejoinMember(b, c, FALSE)
    \/ \E b \in Brokers, c \in Clients : RejectSync(b, c, FALSE)
    \/ \E b \in Brokers, c \in Clients : HandleSync(b, c, FALSE)
    \/ \E b \in Brokers, c \in Clients : HandleHeartbeat(b, c)
    \/ \E c \in Clients : JoinAsFollower(c)
    \/ \E c \in Clients, given \in [Partitions -> MemberOrNew] :
            memberRpc[c].type = "joined" /\ Balanced(memberRpc[c].roster, given) /\ JoinAsLeader(c, given)
    \/ \E c \in Clients : ReceiveMemberError(c)
    \/ \E c \in Clients : ReceiveAssignment(c)
    \/ \E c \in Clients : ReceiveHeartbeat(c)

\* A consumer that has something to say; it finds the elected coordinator.
Rejoins ==
    \/ \E c \in Clients : SendJoin(c, leaderAndEpoch.broker)
    \/ \E c \in Clients : FinishRevocation(c)

\* The heartbeat thread, as far as it will hear something new: of a rebalance, only while it is in a generation.
Heartbeats ==
    \E c \in Clients :
        /\ HeartbeatError(leaderAndEpoch.broker, c, [member |-> consumer[c].member, generation |-> consumer[c].generation]) \notin
               {"NONE"} \cup (IF consumer[c].rejoin \/ consumer[c].state # "STABLE" THEN {"REBALANCE_IN_PROGRESS"} ELSE {})
        /\ SendHeartbeat(c, leaderAndEpoch.broker)

Commits == CommitEntry(leaderAndEpoch.broker)

\* Sessions end of members that no process holds.
Sessions ==
    \E b \in Brokers, m \in MemberIds :
        /\ ~Alive(m)
        /\ ~\E c \in Clients : memberRpc[c].type \in {"joining", "syncing", "joined", "failed"} /\ memberRpc[c].member = m
        /\ ExpireSession(b, m) \/ ExpirePendingMember(b, m)

\* The join phase ends by its time-out when it was entered from Empty, or when a member that has not joined will not.
JoinTimeOut ==
    \E b \in Brokers :
        /\ group[b].initial \/ \E m \in Present(group[b]) : group[b].members[m].awaiting # "join" /\ ~Alive(m)
        /\ ExpireJoin(b)

SyncTimeOut == \E b \in Brokers : (\E m \in group[b].pendingSync : ~Alive(m)) /\ ExpireSync(b)

Quiet ==
    Hurried => \A c \in Clients :
        memberRpc[c].type \in {"idle", "joining", "syncing"} /\ heartbeatRpc[c].type = "idle"

\* The helpful steps of these kinds.
Steps(kinds) ==
    \/ "delivery" \in kinds /\ Delivery
    \/ "poll" \in kinds /\ Quiet /\ Rejoins
    \/ "heartbeats" \in kinds /\ Quiet /\ Heartbeats
    \/ "commits" \in kinds /\ Quiet /\ Commits
    \/ "sessions" \in kinds /\ Quiet /\ Sessions
    \/ "join time-out" \in kinds /\ Quiet /\ JoinTimeOut
    \/ "sync time-out" \in kinds /\ Quiet /\ SyncTimeOut
    \/ "resign" \in kinds /\ Quiet /\ \E b \in Brokers : Resign(b)
HelpfulKinds == {"delivery", "poll", "heartbeats", "commits", "sessions", "join time-out", "sync time-out", "resign"}

ASSUME Unfair \subseteq HelpfulKinds \cup {"end"}

Helpful == Steps(HelpfulKinds \ Unfair)

-----------------------------------------------------------------------------
(* Steps that do not *)

Fault ==
    \/ \E c \in Clients : "crash" \in Faults /\ CrashConsumer(c)
    \/ \E c \in Static : "crash static" \in Faults /\ CrashConsumer(c)
    \/ \E c \in Clients : "lose" \in Faults /\ LoseMemberRpc(c)
    \/ \E c \in Clients : "lose join" \in Faults /\ memberRpc[c].type = "join" /\ LoseMemberRpc(c)
    \/ \E b \in Brokers : "fail-over" \in Faults /\ \E keep \in 0..MaxAppended : BecomeCoordinator(b, keep)
    \/ \E c \in started, mode \in FirstModes : "restart" \in Faults /\ StartConsumer(c, mode)

Start(c) == c \notin started /\ (\E mode \in FirstModes : StartConsumer(c, mode)) /\ started' = started \cup {c}

LiveInit ==
    /\ Init /\ faults = 0 /\ started = {} /\ partitions = Partitions /\ helped = FALSE
    /\ leaderAndEpoch.broker = CHOOSE b \in Brokers : TRUE  \* brokers are interchangeable
LiveNext ==
    \/ <<Helpful>>_vars /\ helped' = TRUE /\ UNCHANGED <<faults, started>>
    \/ ~ENABLED <<Helpful>>_vars /\ helped' = ~helped /\ UNCHANGED <<vars, faults, started>>
    \/ Steps(Unfair) /\ helped' = FALSE /\ UNCHANGED <<faults, started>>
    \/ Quiet /\ (\E c \in Clients : Start(c)) /\ helped' = FALSE /\ UNCHANGED faults
    \/ faults < MaxFaults /\ Fault /\ faults' = faults + (IF "end" \in Unfair THEN 0 ELSE 1) /\ helped' = FALSE /\ UNCHANGED started

\* Weak fairness of Helpful: such steps go on for ever, or there is none again and again, and then `helped` flips. So TLC evaluates
\* ENABLED once in each state; under WF_vars it does at each step, for each property. Steps of one kind may starve another.
LiveSpec == LiveInit /\ [][LiveNext]_liveVars /\ []<><<helped'>>_liveVars

-----------------------------------------------------------------------------
(* What happens in the end *)

\* The join phase ends.
PreparingEnds == Coordinator.state = "PreparingRebalance" ~> Coordinator.state # "PreparingRebalance"

\* So does the leader's turn.
CompletingEnds == Coordinator.state = "CompletingRebalance" ~> Coordinator.state # "CompletingRebalance"

\* Members and pending ids that no process holds go.
InGroup(m) == m \in Present(Coordinator) \cup Coordinator.pending
DeadGo == \A m \in MemberIds : (InGroup(m) /\ ~Alive(m)) ~> (~InGroup(m) \/ Alive(m))

\* In the end membership is what runs, and all is owned.
Converges == <>[](QuiescentGroupSettled /\ QuiescentAllOwned)

\* In the end nobody joins again (which a cooperative group does once for each revocation).
RejoiningEnds == <>[][\A c \in Clients : memberRpc'[c].type = "join" => memberRpc[c].type = "join"]_liveVars
=============================================================================
