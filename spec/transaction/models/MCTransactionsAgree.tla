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

ASSUME Follow \subseteq {"late rpc", "late produce", "late marker", "decide", "errors", "unload", "produce", "wait"}

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
    /\ "wait" \in Follow \/ \A p \in Partitions : highWatermark[p] = Len(log[p]) \/ Way <= 1
=============================================================================
