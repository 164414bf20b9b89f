---------------------------- MODULE MCGroupAgree ----------------------------
(***************************************************************************)
(* The classic group on full graphs of some thousand states, for `tidemark *)
(* agree` and for coverage. Next is ClassicGroup's own, every action in it.*)
(* The constraint says which states are expanded; what lies just outside   *)
(* is in the graph, too. Nothing hurries.                                  *)
(***************************************************************************)
EXTENDS ClassicGroupProperties

CONSTANTS
    Starts,      \* member ids that may be issued
    LastGeneration, \* the highest generation
    UnderWay,    \* messages under way, all together; parked requests do not count
    Strays,      \* late or doubled requests
    Waiting,     \* records that wait to commit
    Elections,   \* the highest coordinator epoch
    FirstBrokers, \* who may be the first coordinator
    Runners,     \* how many consumers run
    ModesUsed,   \* the modes of consumers
    Families     \* what goes on; other requests are sent, and what would follow them is left out

Moving(slot) == slot.type \notin {"idle", "joining", "syncing", "committing", "fetching"}
InSlots ==
    Cardinality({c \in Clients : Moving(memberRpc[c])}) + Cardinality({c \in Clients : Moving(heartbeatRpc[c])})
    + Cardinality({c \in Clients : Moving(offsetRpc[c])})

Bounds ==
    /\ leaderAndEpoch.epoch = 1 => leaderAndEpoch.broker \in FirstBrokers
    /\ "partitions" \in Families \/ partitions = Partitions
    /\ issued <= Starts
    /\ leaderAndEpoch.epoch <= Elections
    /\ InSlots <= UnderWay
    /\ Cardinality({c \in Clients : stray[c].type # "idle"}) <= Strays
    /\ Cardinality({c \in Clients : consumer[c].running}) <= Runners
    /\ \A c \in Clients : consumer[c].running => consumer[c].mode \in ModesUsed
    /\ "heartbeats" \in Families \/ \A c \in Clients : heartbeatRpc[c].type = "idle"
    /\ "offsets" \in Families \/ \A c \in Clients : offsetRpc[c].type = "idle"
    /\ "subscriptions" \in Families \/ \A c \in Clients : consumer[c].running => consumer[c].subscription = Partitions
    /\ \A b \in Brokers : Len(appended[b]) <= Waiting /\ group[b].generation <= LastGeneration
=============================================================================
