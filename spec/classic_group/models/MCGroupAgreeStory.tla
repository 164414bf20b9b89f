------------------------- MODULE MCGroupAgreeStory -------------------------
(***************************************************************************)
(* One schedule out of the full graph, for `tidemark agree`, where states   *)
(* are needed that a small graph does not reach. Missed: a static consumer  *)
(* owns the partition, a generation passes without it, and it joins again   *)
(* with an older claim than the other's. InTurn: two processes of one       *)
(* instance, the second when the first has its assignment. Owing: a static  *)
(* consumer is to give something up, ends, and comes back.                  *)
(***************************************************************************)
EXTENDS MCGroupAgree

Coordinating == group[leaderAndEpoch.broker]

\* The dynamic consumer comes when the static one has its partition; neither crashes.
Missed ==
    /\ Bounds
    /\ \A s \in Static, c \in Dynamic :
        /\ issued > 0 => consumer[s].running
        /\ consumer[c].running => Coordinating.generation > 0 /\ consumer[s].member # 0
        /\ issued > 1 => consumer[c].running
        \* the first generation is the static consumer's alone, the second is the other's
        /\ Coordinating.generation = 1 /\ consumer[c].running => consumer[s].owned = Partitions
        /\ Coordinating.generation <= 1 => consumer[c].generation < 1
        /\ Coordinating.generation = 2 => consumer[s].generation = 1
        /\ Coordinating.generation = 3 => /\ Coordinating.state # "PreparingRebalance"
                                          /\ consumer[s].state # "UNJOINED" /\ consumer[c].state # "UNJOINED"
    \* nothing is lost
    /\ \A c \in Clients :
        memberRpc[c].type = "idle" /\ ~consumer[c].rejoin => consumer[c].state \in {"UNJOINED", "STABLE"}
    \* only replies are under way together
    /\ InSlots > 1 => \A c \in Clients : memberRpc[c].type # "join" /\ heartbeatRpc[c].type = "idle"
    \* a heartbeat is sent only if it tells something
    /\ \A c \in Clients : heartbeatRpc[c].type # "idle" =>
        /\ ~consumer[c].rejoin \/ heartbeatRpc[c].type = "answered"
        /\ Coordinating.state = "PreparingRebalance" \/ Coordinating.generation # consumer[c].generation

\* One process after the other gets its assignment; then they read and commit. Neither crashes, nothing is lost.
InTurn ==
    /\ Bounds
    /\ \A c, d \in Clients :
        c # d /\ consumer[c].running /\ consumer[d].running => "STABLE" \in {consumer[c].state, consumer[d].state}
    /\ issued > 0 => \E c \in Clients : consumer[c].running
    /\ \A c \in Clients :
        /\ memberRpc[c].type = "idle" /\ ~consumer[c].rejoin => consumer[c].state \in {"UNJOINED", "STABLE"}
        /\ offsetRpc[c].type # "idle" => \A d \in Clients : consumer[d].state = "STABLE" /\ memberRpc[d].type = "idle"
    /\ Coordinating.generation = 1 => Coordinating.state # "PreparingRebalance"
    /\ \A b \in Brokers : \A i \in 1..Len(appended[b]) : appended[b][i].type = "group"

\* The process ends when its group is stable and waits for it to give something up. Nothing is lost.
Owing ==
    /\ Bounds
    /\ \A s \in Static :
        /\ issued > 0 /\ ~consumer[s].running =>
            /\ Coordinating.state = "Stable"
            /\ \E m \in Present(Coordinating) :
                ~(Coordinating.members[m].owned \subseteq Coordinating.members[m].assignment)
        /\ memberRpc[s].type = "idle" /\ ~consumer[s].rejoin => consumer[s].state \in {"UNJOINED", "STABLE"}
=============================================================================
