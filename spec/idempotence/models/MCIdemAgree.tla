---------------------------- MODULE MCIdemAgree ----------------------------
(***************************************************************************)
(* IdempotentProducer on full graphs of some thousand states, for          *)
(* `tidemark agree` and for coverage. Next is the specification's own,     *)
(* every action in it. The constraint says which states are expanded; what *)
(* lies just outside is in the graph, too.                                 *)
(***************************************************************************)
EXTENDS IdempotentProducerProperties

CONSTANTS
    Batches,       \* batches that a process sends to a partition
    LastEpoch,     \* the highest producer epoch
    Ids,           \* how many producer ids are issued
    OnWire,        \* requests and replies on the way, all together
    LateRequests,  \* requests that outlive their connection, all together
    FirstLeaders,  \* who may lead first
    Families       \* what goes on; other actions are taken, and what would follow them is left out

ASSUME Families \subseteq {"elect", "forget", "forget first", "doubt", "unresolved"}

Pairs == Producers \X Partitions
OnTheWay  == FoldSet(LAMBDA x, n : n + Len(wire[x[1]][x[2]]), 0, Pairs)
Remaining == FoldSet(LAMBDA x, n : n + Len(late[x[1]][x[2]]), 0, Pairs)

Bounds ==
    /\ \A c \in Producers : producer[c].epoch <= LastEpoch
    /\ \A c \in Producers, p \in Partitions : sender[c][p].created <= Batches
    /\ issued <= Ids
    /\ issued > 0 => \E c \in Producers : producer[c].pid # 0
    /\ OnTheWay <= OnWire /\ Remaining <= LateRequests
    /\ \A p \in Partitions : Len(log[p]) <= Batches
    /\ \A p \in Partitions : leader[p] \in FirstLeaders
    /\ "elect" \in Families \/ \A p \in Partitions, pid \in Pids :
            Cardinality({i \in 1..Len(log[p]) : log[p][i].pid = pid}) >= Window => Len(entry[p][pid].batches) >= Window
    /\ "forget" \in Families \/ \A p \in Partitions, pid \in Pids : entry[p][pid] = NoEntry =>
            \A i \in 1..Len(log[p]) : log[p][i].pid # pid
    /\ "forget first" \in Families => \A c \in Producers, p \in Partitions, pid \in Pids :
            sender[c][p].created > 1 => entry[p][pid].epoch # 0
    /\ "doubt" \in Families \/ \A x \in Pairs : \A i \in 1..Len(sender[x[1]][x[2]].batches) : ~sender[x[1]][x[2]].batches[i].doubt
    /\ "unresolved" \in Families \/ \A x \in Pairs : sender[x[1]][x[2]].unresolved = -1
=============================================================================
