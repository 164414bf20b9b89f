------------------------------ MODULE MCAgree ------------------------------
(***************************************************************************)
(* Replication on full graphs of some thousand states, for `tidemark agree` *)
(* and for coverage. Next is Replication's own, every action in it. The     *)
(* constraint says which states are expanded; what lies just outside is in  *)
(* the graph, too (the crash, the stop, the epoch too many). So each model  *)
(* has steps of almost every action, and goes on after a few.               *)
(***************************************************************************)
EXTENDS ReplicationProperties

CONSTANTS
    Records,       \* produce attempts
    LeaderEpochs,  \* the highest leader epoch
    Changes,       \* partition changes after the first
    Outages,       \* brokers going down, all together
    UnderWay,      \* fetches and AlterPartitions under way, all together
    FirstLeaders,  \* who may lead first
    Families       \* what goes on; other actions are taken, and what would follow them is left out

AllButTruncateByEpoch == Rules \ {"TruncateByEpoch"}

ASSUME Families \subseteq {"elect", "fence", "fence live", "stop", "fetch", "late read", "shrink", "expand", "disk", "wait"}

Downs == FoldSet(LAMBDA b, n : n + registered[b].epoch - 1 + (IF Running(b) THEN 0 ELSE 1), 0, Brokers)

InSlots ==
    Cardinality({p \in Brokers \X Brokers : fetch[p[1]][p[2]].type # "idle"}) + Cardinality({b \in Brokers : alter[b].type # "idle"})
    + Cardinality({c \in Consumers : consumer[c].type # "idle"})

Bounds ==
    /\ metadata[1].leader \in FirstLeaders
    /\ produced <= Records
    /\ Partition.leaderEpoch <= LeaderEpochs
    /\ Len(metadata) <= Changes + 1
    /\ InSlots <= UnderWay
    /\ Downs <= Outages
    /\ "elect" \in Families \/ \A n \in 2..Len(metadata) :
                                metadata[n].leader # metadata[n - 1].leader => metadata[n].isr # metadata[n - 1].isr
    /\ "fence" \in Families \/ \A b \in Brokers : registered[b].state # "fenced"
    /\ "fence live" \in Families \/ \A b \in Brokers : registered[b].state = "fenced" /\ Running(b) => registered[b].epoch > 1
    /\ "stop" \in Families \/ \A b \in Brokers : registered[b].state # "stopping"
    /\ "fetch" \in Families \/ \A f, l \in Brokers : fetch[f][l].type = "idle"
    /\ "late read" \in Families \/ \A f, l \in Brokers : fetch[f][l].type \notin {"reading", "truncated"}
    /\ "shrink" \in Families \/ \A b \in Brokers : ~(pendingIsr[b].active /\ pendingIsr[b].isr \subseteq view[b].isr)
    /\ "expand" \in Families \/ \A b \in Brokers : ~(pendingIsr[b].active /\ view[b].isr \subseteq pendingIsr[b].isr)
    /\ "disk" \in Families \/ \A b \in Brokers : flushed[b] = 0 /\ checkpoint[b] = 0
    /\ "wait" \in Families \/ \A b \in Brokers : waiting[b] = NotWaiting
=============================================================================
