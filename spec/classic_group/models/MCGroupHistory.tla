--------------------------- MODULE MCGroupHistory ---------------------------
(***************************************************************************)
(* The classic group with a history of what was read and committed: a new  *)
(* owner goes on where the last one has committed. And a static consumer   *)
(* whose instance no other process has used should not be fenced.          *)
(***************************************************************************)
EXTENDS MCClassicGroup

VARIABLES
    \* history
    done,  \* per partition: the highest offset that was ever committed
    read   \* per partition: the offsets of the records that applications were given

Reads(c, p) == position[c][p] >= 0 /\ position'[c][p] = position[c][p] + 1

HistoryInit ==
    /\ MCInit
    /\ done = [p \in Partitions |-> 0]
    /\ read = [p \in Partitions |-> {}]

HistoryNext ==
    /\ MCNext
    /\ done' = [p \in Partitions |-> Max(done[p], storedOffsets'[p])]
    /\ read' = [p \in Partitions |-> read[p] \cup {position[c][p] : c \in {x \in Clients : Reads(x, p)}}]

historyVars == <<vars, done, read>>

\* A partition's active owner reads nothing that is committed, and has skipped nothing that nobody has read. (The second half falls
\* with SkippingNext alone: a consumer commits what it has read.)
NoneReadAgain ==
    [][\A c \in Clients, p \in Partitions :
            Reads(c, p) /\ ActivelyOwns(c, p) => position[c][p] >= storedOffsets[p] /\ 0..(position[c][p] - 1) \subseteq read[p]]_historyVars

\* It reads nothing that was ever committed.
NeverReadAgain ==
    [][\A c \in Clients, p \in Partitions : Reads(c, p) /\ ActivelyOwns(c, p) => position[c][p] >= done[p]]_historyVars

IsFenced(slot) == IF slot.type \in {"failed", "answered", "committed"} THEN slot.error = "FENCED_INSTANCE_ID" ELSE FALSE

\* The only process of an instance is not told that another has replaced it.
AloneIsNotFenced ==
    \A c \in Static :
        Static = {c} => ~IsFenced(memberRpc[c]) /\ ~IsFenced(heartbeatRpc[c]) /\ ~IsFenced(offsetRpc[c])

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
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position, partitions,
                   memberRpc, heartbeatRpc, stray, rosters, reissued, known, settled, done, read>>
SkippingNext == HistoryNext \/ \E c \in Clients, p \in Partitions : OffsetsBehind(c, p)
=============================================================================
