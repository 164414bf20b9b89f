----------------------- MODULE MCConsumerGroupHistory -----------------------
(***************************************************************************)
(* The group of KIP-848 with a history: what the log ever had, and what    *)
(* was read. It says what a state alone cannot: that a consumer was told   *)
(* nothing that was not committed, though its member is gone by now, and   *)
(* that a new owner goes on where the last one has committed.              *)
(***************************************************************************)
EXTENDS MCConsumerGroup

VARIABLES
    \* history
    had,   \* the member ids and member epochs that the log ever had
    done,  \* per partition: the highest offset that was ever committed
    read   \* per partition: the offsets of the records that applications were given

MembersOf(g) == {[member |-> m, memberEpoch |-> g.members[m].memberEpoch] : m \in Present(g)}
Reads(c, p)  == position[c][p] >= 0 /\ position'[c][p] = position[c][p] + 1

HistoryInit ==
    /\ MCInit
    /\ had = {}
    /\ done = [p \in Partitions |-> 0]
    /\ read = [p \in Partitions |-> {}]

HistoryNext ==
    /\ MCNext
    /\ had' = had \cup MembersOf(storedGroup')
    /\ done' = [p \in Partitions |-> Max(done[p], storedOffsets'[p])]
    /\ read' = [p \in Partitions |-> read[p] \cup {position[c][p] : c \in {x \in Clients : Reads(x, p)}}]

historyVars == <<vars, had, done, read>>

\* A member epoch that a consumer was told was on the log, also if its member is gone by now.
ToldWasCommitted ==
    \A c \in Clients :
        consumer[c].running /\ consumer[c].memberEpoch > 0 =>
            [member |-> consumer[c].member, memberEpoch |-> consumer[c].memberEpoch] \in had

\* A partition's active owner reads nothing that is committed, and has skipped nothing that nobody has read. (The second half falls
\* with SkippingNext alone: a consumer commits what it has read.)
NoneReadAgain ==
    [][\A c \in Clients, p \in Partitions :
            Reads(c, p) /\ ActivelyOwns(c, p) => position[c][p] >= storedOffsets[p] /\ 0..(position[c][p] - 1) \subseteq read[p]]_historyVars

\* It reads nothing that was ever committed. A copy of a commit that comes late takes the offset back, and this falls: Kafka keeps no
\* order among the commits of a member.
NeverReadAgain ==
    [][\A c \in Clients, p \in Partitions : Reads(c, p) /\ ActivelyOwns(c, p) => position[c][p] >= done[p]]_historyVars

\* A witness, which must fall: the owner reads the second record or a later one, and another consumer has come as far. No record is
\* read twice (ReadsOnceNext), so one of the two began at an offset that the other committed.
ReadsOnceNext == HistoryNext /\ \A c \in Clients, p \in Partitions : Reads(c, p) => position[c][p] \notin read[p]
NeverReadsOn ==
    [][\A c \in Clients, p \in Partitions :
            Reads(c, p) /\ ActivelyOwns(c, p) /\ position[c][p] > 0 =>
                \A d \in Clients \ {c} : position[d][p] < position[c][p]]_historyVars

\* A flaw that no rule stands against: the reply to an OffsetFetch names an offset behind the committed one. An owner skips a record,
\* and NoneReadAgain falls.
OffsetsBehind(c, p) ==
    /\ offsetRpc[c].type = "fetched" /\ offsetRpc[c].error = "NONE" /\ Max(offsetRpc[c].offsets[p], 0) < MaxOffset
    /\ offsetRpc' = [offsetRpc EXCEPT ![c].offsets[p] = Max(@, 0) + 1]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, position, partitions, heartbeatRpc, stray, had, done, read>>
SkippingNext == HistoryNext \/ \E c \in Clients, p \in Partitions : OffsetsBehind(c, p)
=============================================================================
