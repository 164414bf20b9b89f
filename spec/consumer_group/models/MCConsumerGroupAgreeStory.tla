--------------------- MODULE MCConsumerGroupAgreeStory ---------------------
(***************************************************************************)
(* Schedules out of the full graph of KIP-848, for `tidemark agree`, where *)
(* states are needed that a small graph does not reach. Moves: a partition *)
(* goes from one consumer to another, and perhaps back. Leaves: a static   *)
(* consumer that has to give a partition up leaves for a while. Narrowing: *)
(* one consumer subscribes to less, and then to the rest; meanwhile a      *)
(* partition is added, or a commit is late. Overtaken: who was removed     *)
(* joins again behind the next owner, and the log cleaner overtakes the    *)
(* next leader's load. Outlived: a commit comes when its sender has been   *)
(* removed and another consumer has the partition. Asks: a consumer asks   *)
(* for its offset while another one joins.                                 *)
(***************************************************************************)
EXTENDS MCConsumerGroupAgree

CONSTANTS
    First, Second,  \* the consumers, in the order in which they start
    Kept            \* the partition that is given up last

Coordinating == group[leaderAndEpoch.broker]

\* The listener is called, and records commit, before anybody says anything.
Hurry ==
    /\ \A c \in Clients :
        consumer[c].running /\ consumer[c].state = "RECONCILING" /\ ~consumer[c].reconciling => InSlots = 0
    /\ appended[leaderAndEpoch.broker] # <<>> => InSlots = 0

\* The second comes when the first has everything, and gets it; nobody crashes. A heartbeat is sent only if it tells something; one
\* of the first that says nothing may be doubled.
Moves ==
    /\ Bounds /\ Hurry
    /\ issued > 0 => consumer[First].running
    /\ issued > 1 => consumer[Second].running
    /\ consumer[Second].running => issued = 2 /\ Coordinating.groupEpoch > 0
    /\ Coordinating.groupEpoch = 1 /\ consumer[Second].running =>
        consumer[First].owned = Partitions /\ ~consumer[First].unreported /\ heartbeatRpc[First].type = "idle"
    /\ Coordinating.assignmentEpoch = 2 => Coordinating.target[2] = Partitions
    /\ \A c \in Clients : heartbeatRpc[c].type = "heartbeat" =>
        \/ heartbeatRpc[c].memberEpoch = 0 \/ heartbeatRpc[c].reports
        \/ LET member == Coordinating.members[consumer[c].member] IN
           member.state # "STABLE" \/ member.memberEpoch < Coordinating.groupEpoch
    /\ Cardinality({c \in Clients : consumer[c].full /\ consumer[c].memberEpoch > 0}) <= 1
    /\ stray[Second].type = "idle"
    /\ stray[First].type # "idle" => stray[First].type = "heartbeat" /\ stray[First].memberEpoch = 1 /\ ~stray[First].reports

\* The second comes when the first has everything, and is to get it; the first, which is static, goes for a while. A heartbeat is sent
\* only if it tells something.
Leaves ==
    LET told == Coordinating.members[1].state = "UNREVOKED_PARTITIONS" \/ Coordinating.members[1].memberEpoch = -2 IN
    /\ Bounds /\ Hurry
    /\ issued > 0 => consumer[First].running \/ told
    /\ issued > 1 => consumer[Second].running
    /\ consumer[Second].running => issued = 2 /\ Coordinating.groupEpoch > 0
    /\ Coordinating.groupEpoch = 1 /\ consumer[Second].running =>
        consumer[First].owned = Partitions /\ ~consumer[First].unreported /\ heartbeatRpc[First].type = "idle"
    /\ Coordinating.assignmentEpoch = 2 => Coordinating.target[2] = Partitions
    /\ \A c \in Clients : heartbeatRpc[c].type = "heartbeat" =>
        \/ heartbeatRpc[c].memberEpoch = 0 \/ heartbeatRpc[c].reports
        \/ LET member == Coordinating.members[consumer[c].member] IN
           member.state # "STABLE" \/ member.memberEpoch < Coordinating.groupEpoch
    /\ \A c \in Clients : consumer[c].memberEpoch > 0 => ~consumer[c].full
    /\ stray[Second].type = "idle" /\ stray[First].type \in {"idle", "leave"}

\* It begins with all partitions, has to give up some, and then the last one before it gets the others back. A doubled commit is of
\* the first epoch.
Narrowing ==
    LET e       == Coordinating.groupEpoch
        Plan(n) == IF n <= 1 THEN Partitions ELSE IF n = 2 THEN {Kept} ELSE Partitions \ {Kept} IN
    /\ Bounds /\ Hurry
    /\ Kept \in partitions
    /\ issued > 0 => consumer[First].running
    /\ consumer[First].running => consumer[First].subscription \in {Plan(e), Plan(e + 1)}
    /\ e > 0 => Present(Coordinating) # {}
    /\ consumer[First].memberEpoch > 0 => ~consumer[First].full
    /\ heartbeatRpc[First].type = "heartbeat" =>
        heartbeatRpc[First].memberEpoch = 0 \/ heartbeatRpc[First].tells \/ heartbeatRpc[First].reports
    /\ offsetRpc[First].type # "idle" => e = 1
    /\ stray[First].type # "idle" => stray[First].type = "commit" /\ stray[First].memberEpoch = 1

\* The first has everything, is removed, and comes back when the second has everything; then somebody is elected. Records commit
\* only while the first joins.
Overtaken ==
    LET e == Coordinating.groupEpoch IN
    /\ Bounds
    /\ issued > 0 => consumer[First].running
    /\ issued > 1 => consumer[Second].running
    /\ Serving(leaderAndEpoch.broker) => (issued > 1 => e > 1)
    /\ storedGroup.groupEpoch <= 1 \/ leaderAndEpoch.epoch > 1
    /\ e <= 1 => Len(appended[leaderAndEpoch.broker]) <= 1
    /\ e > 1 /\ leaderAndEpoch.epoch = 1 => storedGroup.groupEpoch = 1 /\ consumer[First].state # "RECONCILING"
    /\ e > 2 => Coordinating.target[1] # Partitions
    /\ e > 2 /\ e < 4 => consumer[First].memberEpoch = 0 \/ heartbeatRpc[First].type # "idle"
    /\ leaderAndEpoch.epoch > 1 => heartbeatRpc[First].type # "heartbeat" /\ heartbeatRpc[Second].type # "heartbeat"
    /\ \A c \in Clients : heartbeatRpc[c].type = "heartbeat" => heartbeatRpc[c].memberEpoch = 0 \/ e \in {2, 3}

\* The first has everything and commits; before that arrives it is removed, and the second gets everything. Nobody crashes, and a
\* heartbeat is sent only if it tells something, and records have committed.
Outlived ==
    LET e        == Coordinating.groupEpoch
        Sends(c) == heartbeatRpc[c].type = "heartbeat" IN
    /\ Bounds
    /\ issued > 0 => consumer[First].running
    /\ issued > 1 => consumer[Second].running /\ e > 1
    /\ offsetRpc[Second].type = "idle"
    /\ e > 1 => offsetRpc[First].type # "idle"
    /\ offsetRpc[First].type # "idle" => heartbeatRpc[First].type = "idle"
    /\ appended[leaderAndEpoch.broker] # <<>> => \A c \in Clients : ~Moving(heartbeatRpc[c])
    /\ \A c \in Clients : Sends(c) =>
        /\ ~consumer[c].reconciling => consumer[c].state # "RECONCILING"
        /\ \/ heartbeatRpc[c].memberEpoch = 0 \/ heartbeatRpc[c].reports
           \/ LET member == Coordinating.members[consumer[c].member] IN
              member.state # "STABLE" \/ member.memberEpoch < Coordinating.groupEpoch

\* The first has everything, and keeps it when the second joins; then it asks for the offset. Nobody crashes, and only joins are sent.
Asks ==
    /\ Bounds
    /\ issued > 0 => consumer[First].running
    /\ issued > 1 => consumer[Second].running /\ consumer[First].owned = Partitions
    /\ Coordinating.groupEpoch = 2 => Coordinating.target[1] = Partitions
    /\ offsetRpc[First].type # "idle" => Coordinating.groupEpoch = 2
    /\ \A c \in Clients : heartbeatRpc[c].type = "heartbeat" => heartbeatRpc[c].memberEpoch = 0
=============================================================================
