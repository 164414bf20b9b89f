------------------------- MODULE MCTransactionsAgree -------------------------
(***************************************************************************)
(* Transactions on full graphs of some thousand states, for `tidemark      *)
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
                          "coordinator", "expiry"}

Way == Cardinality({c \in Clients : rpc[c].type # "idle"}) + Cardinality({c \in Clients : lateRpc[c].type # "idle"})
       + Cardinality({x \in Clients \X Partitions : produce[x[1]][x[2]].type # "idle"})
       + Cardinality({x \in Clients \X Partitions : lateProduce[x[1]][x[2]].type # "idle"})
       + Cardinality({x \in Brokers \X Partitions : marker[x[1]][x[2]].type # "idle"})
       + Cardinality({x \in Brokers \X Partitions : lateMarker[x[1]][x[2]].type # "idle"})

Bounds ==
    /\ begun <= Begins /\ leaderAndEpoch.epoch <= LastElection
    /\ \A b \in Brokers : LogEnd(b).epoch <= LastEpoch
    /\ issued < MaxPid
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
    /\ \/ "coordinator" \in Follow
       \/ \A b \in Brokers : ~hasFailedEpochFence[b] /\ pendingCompleteTxn[b] = "none" /\ ~earlierTimestamp[b]
    /\ "expiry" \in Follow \/ \A p \in Partitions, pid \in Pids :
            entry[p][pid].epoch # -1 \/ \A i \in 1..Len(log[p]) : log[p][i].pid # pid
    /\ "wait" \in Follow \/ \A p \in Partitions : highWatermark[p] = Len(log[p]) \/ Way <= 1
-----------------------------------------------------------------------------
(* The next transaction is open, and a copy of the last one's marker is still to come. *)

DataInit == Init /\ DataPartitions = Partitions
OffsetsInit == Init /\ DataPartitions = {}

OfOne(x) == [b \in Brokers |-> x]
ToOne(x) == [b \in Brokers |-> [p \in Partitions |-> x]]

OpenMetadata == [state |-> "Ongoing", pid |-> 1, previousPid |-> 1, nextPid |-> 0, epoch |-> 1, lastEpoch |-> 0,
                 partitions |-> Partitions]
RecordAt(i) ==
    IF i = 2 THEN [type |-> "marker", pid |-> 1, epoch |-> 1, result |-> "COMMIT", coordinatorEpoch |-> 1]
    ELSE [type |-> "data", pid |-> 1, epoch |-> IF i = 1 THEN 0 ELSE 1, sequence |-> 0, transaction |-> IF i = 1 THEN 1 ELSE 2]
RepeatedInit ==
    /\ leaderAndEpoch \in [broker : Brokers, epoch : {1}]
    /\ stored = OpenMetadata
    /\ unreplicated = OfOne(<<>>)
    /\ epoch = OfOne(1)
    /\ metadata = OfOne(OpenMetadata)
    /\ pending = OfOne("none")
    /\ sending = OfOne(0)
    /\ hasFailedEpochFence = OfOne(FALSE)
    /\ pendingCompleteTxn = OfOne("none")
    /\ earlierTimestamp = OfOne(FALSE)
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
    /\ log = [p \in Partitions |-> [i \in 1..3 |-> RecordAt(i)]]
    /\ highWatermark = [p \in Partitions |-> 3]
    /\ lastStableOffset = [p \in Partitions |-> 2]
    /\ entry = [p \in Partitions |-> [pid \in Pids |->
                IF pid = 1 THEN [epoch |-> 1, sequence |-> 0, coordinatorEpoch |-> 1, first |-> 2, guard |-> -1] ELSE NoEntry]]
    /\ abortedIndex = [p \in Partitions |-> <<>>]
    /\ offsets = [p \in Partitions |-> [type |-> "data"]]
    /\ fetch = [r \in IsolationLevels |-> [p \in Partitions |-> Idle]]
    /\ position = [r \in IsolationLevels |-> [p \in Partitions |-> 0]]
    /\ returned = [r \in IsolationLevels |-> [p \in Partitions |-> {}]]
    /\ told = [k \in Transactions |-> IF k = 1 THEN "COMMIT" ELSE "none"]
-----------------------------------------------------------------------------
(* A transaction is decided, and none of its markers is written; or it is open, or over. *)

\* Its epoch is the first, or where MaxEpoch is 2 the last that producers have: then the next producer id follows.
Rotates == Exhausted(1)
Decided == [state |-> "PrepareCommit", pid |-> 1, previousPid |-> 1, nextPid |-> IF Rotates THEN 2 ELSE 0,
            epoch |-> IF Rotates THEN 2 ELSE 1, lastEpoch |-> IF Rotates THEN 1 ELSE 0, partitions |-> Partitions]
Open    == [state |-> "Ongoing", pid |-> 1, previousPid |-> 1, nextPid |-> 0, epoch |-> 1, lastEpoch |-> 0,
            partitions |-> Partitions]
Over    == [state |-> "CompleteAbort", pid |-> 2, previousPid |-> 1, nextPid |-> 0, epoch |-> 0, lastEpoch |-> 1,
            partitions |-> {}]

\* Its producer has asked for the next epoch.
Asked   == [state |-> "Empty", pid |-> 1, previousPid |-> 1, nextPid |-> 0, epoch |-> 1, lastEpoch |-> 0, partitions |-> {}]

\* Records in the log.
Written(record) == IF record.state \in Completed THEN 2 ELSE IF record.state = "Empty" THEN 0 ELSE 1
Placed(record) ==
    /\ leaderAndEpoch \in [broker : Brokers, epoch : {1}]
    /\ stored = record
    /\ unreplicated = OfOne(<<>>)
    /\ epoch = [b \in Brokers |-> IF b = leaderAndEpoch.broker THEN 1 ELSE 0]
    /\ metadata = [b \in Brokers |-> IF b = leaderAndEpoch.broker THEN record ELSE FirstMetadata]
    /\ pending = OfOne("none")
    /\ sending = [b \in Brokers |-> IF b = leaderAndEpoch.broker /\ record.state \in Prepared THEN 1 ELSE 0]
    /\ hasFailedEpochFence = OfOne(FALSE)
    /\ pendingCompleteTxn = OfOne("none")
    /\ earlierTimestamp = OfOne(FALSE)
    /\ issued = IF record.nextPid # 0 \/ record.pid = 2 THEN 2 ELSE 1
    /\ rpc = [c \in Clients |-> Idle]
    /\ lateRpc = [c \in Clients |-> Idle]
    /\ marker = ToOne(Idle)
    /\ lateMarker = ToOne(Idle)
    /\ log = [p \in Partitions |-> [i \in 1..Written(record) |->
                IF i = 2 THEN [type |-> "marker", pid |-> 1, epoch |-> 2, result |-> "ABORT", coordinatorEpoch |-> 1]
                ELSE [type |-> "data", pid |-> 1, epoch |-> IF Rotates THEN 1 ELSE 0, sequence |-> 0, transaction |-> 1]]]
    /\ highWatermark = [p \in Partitions |-> Written(record)]
    /\ lastStableOffset = [p \in Partitions |-> IF Written(record) = 2 THEN 2 ELSE 0]
    /\ entry = [p \in Partitions |-> [pid \in Pids |->
                IF pid # 1 \/ Written(record) = 0 THEN NoEntry
                ELSE IF Written(record) = 1
                THEN [epoch |-> IF Rotates THEN 1 ELSE 0, sequence |-> 0, coordinatorEpoch |-> -1, first |-> 0, guard |-> -1]
                ELSE [epoch |-> 2, sequence |-> -1, coordinatorEpoch |-> 1, first |-> -1, guard |-> -1]]]
    /\ abortedIndex = [p \in Partitions |-> [i \in 1..(IF Written(record) = 2 THEN 1 ELSE 0) |-> [pid |-> 1, first |-> 0, last |-> 1]]]
    /\ offsets = [p \in Partitions |-> [type |-> "data"]]
    /\ fetch = [r \in IsolationLevels |-> [p \in Partitions |-> Idle]]
    /\ position = [r \in IsolationLevels |-> [p \in Partitions |-> 0]]
    /\ returned = [r \in IsolationLevels |-> [p \in Partitions |-> {}]]

Process(state, pid, e, k, partitions) ==
    [c \in Clients |-> [state |-> state, pid |-> pid, epoch |-> e, transaction |-> k, partitions |-> partitions,
                        next |-> [p \in Partitions |-> IF p \in partitions THEN 1 ELSE 0], bump |-> FALSE]]

\* Its client has heard of it.
DecidedInit ==
    /\ Placed(Decided)
    /\ begun = 1
    /\ client = Process("READY", IF Rotates THEN 2 ELSE 1, IF Rotates THEN 0 ELSE 1, 0, {})
    /\ produce = [c \in Clients |-> [p \in Partitions |-> Idle]]
    /\ lateProduce = [c \in Clients |-> [p \in Partitions |-> Idle]]
    /\ told = [k \in Transactions |-> IF k = 1 THEN "COMMIT" ELSE "none"]

\* Its client has begun the next one, and given up a batch of it, which was verified and has lost its guard since.
LaterInit ==
    /\ Placed(Decided)
    /\ begun = 2
    /\ client = Process("ABORTABLE_ERROR", 1, 1, 2, Partitions)
    /\ produce = [c \in Clients |-> [p \in Partitions |-> Idle]]
    /\ lateProduce = [c \in Clients |-> [p \in Partitions |->
            [type |-> "verified", pid |-> 1, epoch |-> 1, sequence |-> 0, transaction |-> 2, guard |-> FALSE]]]
    /\ told = [k \in Transactions |-> IF k = 1 THEN "COMMIT" ELSE "none"]

\* Epochs run out. It is open, in the last one; or its client is in the next one with the next producer id; or it has not heard
\* that it was ended.
RotatedInit ==
    /\ begun = 2
    /\ lateProduce = [c \in Clients |-> [p \in Partitions |-> Idle]]
    /\ \/ /\ Placed(Open)
          /\ client = Process("IN_TRANSACTION", 1, 1, 1, Partitions)
          /\ produce = [c \in Clients |-> [p \in Partitions |-> Idle]]
       \/ /\ Placed(Decided)
          /\ client = Process("IN_TRANSACTION", 2, 0, 2, Partitions)
          /\ produce = [c \in Clients |-> [p \in Partitions |->
                [type |-> "request", pid |-> 2, epoch |-> 0, sequence |-> 0, transaction |-> 2]]]
       \/ /\ Placed(Over)
          /\ client = Process("IN_TRANSACTION", 1, 1, 1, Partitions)
          /\ produce = [c \in Clients |-> [p \in Partitions |->
                [type |-> "verifying", pid |-> 1, epoch |-> 1, sequence |-> 1, transaction |-> 1, guard |-> TRUE]]]
    /\ told = [k \in Transactions |-> IF k = 1 /\ stored.state = "PrepareCommit" THEN "COMMIT" ELSE "none"]

\* It has not heard the answer. The batch that it has given up never arrived.
RetriedInit ==
    /\ Placed(Asked)
    /\ begun = 1
    /\ client = [c \in Clients |-> [Process("INITIALIZING", 1, 0, 0, {})[c] EXCEPT !.bump = TRUE]]
    /\ produce = [c \in Clients |-> [p \in Partitions |-> Idle]]
    /\ lateProduce = [c \in Clients |-> [p \in Partitions |-> Idle]]
    /\ told = [k \in Transactions |-> IF k = 1 THEN "ABORT" ELSE "none"]

\* Nothing but coordinators, markers and their log goes on.
Coordinators == Bounds /\ \A c \in Clients : rpc[c].type = "idle" /\ client[c].state = "READY"

\* One consumer reads, the other has not begun.
OneReads == Bounds /\ \A p \in Partitions : \E r \in IsolationLevels : fetch[r][p].type = "idle" /\ position[r][p] = 0
=============================================================================
