--------------------------- MODULE MCOffsetsAgree ---------------------------
(***************************************************************************)
(* Committed offsets on full graphs of some thousand states, for `tidemark *)
(* agree` and for coverage. Next is Offsets' own, every action in it. The  *)
(* constraint says which states are expanded; what lies just outside is in *)
(* the graph, too. Nothing hurries.                                        *)
(***************************************************************************)
EXTENDS OffsetsProperties

CONSTANTS
    Records,      \* records that may be written
    Waiting,      \* records that may wait to commit
    LastTime,     \* the last tick
    Elections,    \* the highest coordinator epoch
    UnderWay,     \* requests, markers and replies under way, all together
    LateOnes,     \* of those that nobody waits for
    LastOffset,   \* the highest offset that is committed
    Transactions, \* transactions that a producer may begin
    LastGeneration, \* the highest generation
    FirstBrokers, \* who may be the first coordinator
    Families      \* what goes on: "faults", "fetch", "group", "plain", "transactions"; "uncompacted", "copies": only logs that
                  \* were not compacted, only second transactions that a copy of the first one's marker may meet

Bounds ==
    /\ leaderAndEpoch.epoch = 1 => leaderAndEpoch.broker \in FirstBrokers
    /\ leaderAndEpoch.epoch <= Elections
    /\ now <= LastTime
    /\ \A b \in Brokers :
        /\ end[b] + Len(appended[b]) <= Records /\ Len(appended[b]) <= Waiting
        /\ Written(b).group.generation <= LastGeneration
        /\ \A p \in Partitions : Written(b).offsets[p].offset <= LastOffset
    /\ Cardinality({t \in Producers : txnRpc[t].type # "idle"}) + Cardinality({t \in Producers : marker[t].type # "idle"})
            <= UnderWay
    /\ Cardinality({t \in Producers : late[t].type # "idle"}) + Cardinality({t \in Producers : lateMarker[t].type # "idle"})
            <= LateOnes
    /\ \A t \in Producers :
        /\ transaction[t].epoch + (IF transaction[t].phase = "ongoing" THEN 1 ELSE 0) <= Transactions
        /\ "faults" \in Families \/ ~transaction[t].failed
        /\ "transactions" \in Families \/ transaction[t].phase = "idle"
        /\ IF txnRpc[t].type = "request"
           THEN txnRpc[t].offset <= LastOffset /\ txnRpc[t].generation \in {-1, 1} ELSE TRUE
    /\ "uncompacted" \in Families => Len(log) = end[leaderAndEpoch.broker]
    /\ "copies" \in Families => \A t \in Producers :
            transaction[t].epoch = 0 \/ transaction[t].phase = "ending" \/ lateMarker[t].type # "idle"
    /\ "fetch" \in Families \/ fetch.type = "idle"
    /\ "group" \in Families \/ \A b \in Brokers : Written(b).group.generation = 0
    /\ "plain" \in Families \/ \A b \in Brokers : \A i \in 1..Len(appended[b]) : appended[b][i].type # "commit"
=============================================================================
