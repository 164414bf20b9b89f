------------------------ MODULE MCConsumerGroupAgree ------------------------
(***************************************************************************)
(* The group of KIP-848 on full graphs of some thousand states, for        *)
(* `tidemark agree` and for coverage. Next is ConsumerGroup848's own,      *)
(* every action in it. The constraint says which states are expanded; what *)
(* lies just outside is in the graph, too. Nothing hurries.                *)
(***************************************************************************)
EXTENDS ConsumerGroup848Properties

CONSTANTS
    Starts,         \* processes that may be started
    LastGroupEpoch, \* the highest group epoch
    UnderWay,       \* messages under way, all together; replies that wait for the log do not count
    Strays,         \* late or doubled requests
    Waiting,        \* batches that wait to commit
    Elections,      \* the highest coordinator epoch
    FirstBrokers,   \* who may be the first coordinator
    Runners,        \* how many consumers run
    Families        \* what goes on; other requests are sent, and what would follow them is left out

Moving(slot) == slot.type \notin {"idle", "waiting", "committing", "fetching"}
InSlots == Cardinality({c \in Clients : Moving(heartbeatRpc[c])}) + Cardinality({c \in Clients : Moving(offsetRpc[c])})

Bounds ==
    /\ leaderAndEpoch.epoch = 1 => leaderAndEpoch.broker \in FirstBrokers
    /\ "partitions" \in Families \/ partitions = Partitions
    /\ issued <= Starts
    /\ leaderAndEpoch.epoch <= Elections
    /\ InSlots <= UnderWay
    /\ Cardinality({c \in Clients : stray[c].type # "idle"}) <= Strays
    /\ Cardinality({c \in Clients : consumer[c].running}) <= Runners
    /\ "offsets" \in Families \/ \A c \in Clients : offsetRpc[c].type = "idle"
    /\ "subscriptions" \in Families \/ \A c \in Clients : consumer[c].running => consumer[c].subscription = Partitions
    /\ \A b \in Brokers : Len(appended[b]) <= Waiting /\ group[b].groupEpoch <= LastGroupEpoch
=============================================================================
