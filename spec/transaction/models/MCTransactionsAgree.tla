------------------------- MODULE MCTransactionsAgree -------------------------
(***************************************************************************)
(* Transactions on full graphs of some hundred states, for `tidemark       *)
(* agree`. Next is the specification's own, every action in it. The        *)
(* constraint says which states are expanded; what lies just outside is in *)
(* the graph, too.                                                         *)
(***************************************************************************)
EXTENDS TransactionsProperties

CONSTANTS
    Begins,        \* transactions
    LastElection,  \* the highest coordinator epoch
    LastEpoch,     \* the highest producer epoch of the coordinator's log
    OnTheWay,      \* requests, replies and markers on the way, all together
    Follow           \* what goes on; other actions are taken, and what would follow them is left out

ASSUME Follow \subseteq {"late rpc", "late produce", "late marker", "decide", "errors", "unload", "produce", "wait", "fetch",
                          "aside", "expiry"}

Way == Cardinality({c \in Clients : rpc[c].type # "idle"}) + Cardinality({c \in Clients : lateRpc[c].type # "idle"})
       + Cardinality({x \in Clients \X Partitions : produce[x[1]][x[2]].type # "idle"})
       + Cardinality({x \in Clients \X Partitions : lateProduce[x[1]][x[2]].type # "idle"})
       + Cardinality({x \in Brokers \X Partitions : marker[x[1]][x[2]].type # "idle"})
       + Cardinality({x \in Brokers \X Partitions : lateMarker[x[1]][x[2]].type # "idle"})

Bounds ==
    /\ begun <= Begins /\ office.epoch <= LastElection
    /\ \A b \in Brokers : LogEnd(b).epoch <= LastEpoch
    /\ Way <= OnTheWay
    /\ \A p \in Partitions : Len(log[p]) < MaxLog
    /\ \A b \in Brokers : Len(unreplicated[b]) <= 1
    /\ \A c \in Clients : client[c].state # "FATAL_ERROR"
    /\ "errors" \in Follow \/ \A c \in Clients : client[c].state # "ABORTABLE_ERROR"
    /\ "late rpc" \in Follow \/ \A c \in Clients : lateRpc[c].type = "idle"
    /\ "late produce" \in Follow \/ \A x \in Clients \X Partitions : lateProduce[x[1]][x[2]].type = "idle"
    /\ "late marker" \in Follow \/ \A x \in Brokers \X Partitions : lateMarker[x[1]][x[2]].type = "idle"
    /\ "decide" \in Follow \/ \A b \in Brokers : LogEnd(b).state \in Undecided
    /\ "produce" \in Follow \/ \A x \in Clients \X Partitions : produce[x[1]][x[2]].type = "idle"
    /\ "fetch" \in Follow \/ \A r \in IsolationLevels, p \in Partitions : fetch[r][p].type = "idle"
    /\ "aside" \in Follow \/ \A b \in Brokers : aside[b] = NothingAside
    /\ "expiry" \in Follow \/ \A p \in Partitions, pid \in Pids :
            entry[p][pid].epoch # -1 \/ \A i \in 1..Len(log[p]) : log[p][i].pid # pid
    /\ "wait" \in Follow \/ \A p \in Partitions : highWatermark[p] = Len(log[p]) \/ Way <= 1
-----------------------------------------------------------------------------
(* The next transaction is open, and a copy of the last one's marker is still to come. *)

OfOne(x) == [b \in Brokers |-> x]
ToOne(x) == [b \in Brokers |-> [p \in Partitions |-> x]]

OpenMetadata == [state |-> "Ongoing", pid |-> 1, previousPid |-> 1, nextPid |-> 0, epoch |-> 1, lastEpoch |-> 0,
                 partitions |-> Partitions]
RepeatedInit ==
    /\ office \in [broker : Brokers, epoch : {1}]
    /\ stored = OpenMetadata
    /\ unreplicated = OfOne(<<>>)
    /\ epoch = OfOne(1)
    /\ metadata = OfOne(OpenMetadata)
    /\ pending = OfOne("none")
    /\ sending = OfOne(0)
    /\ aside = [b \in Brokers |-> NothingAside]
    /\ issued = 1
    /\ begun = 2
    /\ client = [c \in Clients |-> [state |-> "IN_TRANSACTION", pid |-> 1, epoch |-> 1, transaction |-> 2,
                                   partitions |-> Partitions, next |-> [p \in Partitions |-> 1], bump |-> FALSE]]
    /\ rpc = [c \in Clients |-> Idle]
    /\ lateRpc = [c \in Clients |-> Idle]
    /\ produce = [c \in Clients |-> [p \in Partitions |-> Idle]]
    /\ lateProduce = [c \in Clients |-> [p \in Partitions |-> Idle]]
    /\ marker = ToOne(Idle)
    /\ lateMarker = ToOne([type |-> "marker", pid |-> 1, epoch |-> 1, result |-> "COMMIT", coordinatorEpoch |-> 1])
    /\ log = [p \in Partitions |->
                <<[type |-> "data", pid |-> 1, epoch |-> 0, sequence |-> 0, transaction |-> 1],
                  [type |-> "marker", pid |-> 1, epoch |-> 1, result |-> "COMMIT", coordinatorEpoch |-> 1],
                  [type |-> "data", pid |-> 1, epoch |-> 1, sequence |-> 0, transaction |-> 2]>>]
    /\ highWatermark = [p \in Partitions |-> 3]
    /\ lastStableOffset = [p \in Partitions |-> 2]
    /\ entry = [p \in Partitions |-> [pid \in Pids |->
                IF pid = 1 THEN [epoch |-> 1, sequence |-> 0, coordinatorEpoch |-> 1, first |-> 2, guard |-> -1] ELSE NoEntry]]
    /\ abortedIndex = [p \in Partitions |-> <<>>]
    /\ fetch = [r \in IsolationLevels |-> [p \in Partitions |-> Idle]]
    /\ position = [r \in IsolationLevels |-> [p \in Partitions |-> 0]]
    /\ returned = [r \in IsolationLevels |-> [p \in Partitions |-> {}]]
    /\ told = [k \in Transactions |-> IF k = 1 THEN "COMMIT" ELSE "none"]
=============================================================================
