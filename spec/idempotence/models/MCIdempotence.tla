--------------------------- MODULE MCIdempotence ---------------------------
(***************************************************************************)
(* Idempotent producers made finite. One module, many cfgs: a cfg says how *)
(* many batches, epochs and producer ids a behaviour may have, and which   *)
(* families of actions it uses. The bounds are guards of MCNext, because   *)
(* TLC checks every property also in the states that a CONSTRAINT cuts off. *)
(*                                                                         *)
(* MCNext lets hurry what a cfg does not slow down:                        *)
(*  - a producer gets its id at once, and resolves its sequences at once;  *)
(*  - what is appended commits before anything else ("slow commit");       *)
(*  - what waits for a commit is answered as soon as it can be.            *)
(* A violation is real; what a "holds" covers the manifest says.           *)
(***************************************************************************)
EXTENDS IdempotentProducerProperties, TLC

CONSTANTS
    Families,      \* the families of actions in use
    Batches,       \* batches that a process sends to a partition
    LastEpoch,     \* the highest producer epoch
    Ids,           \* how many producer ids are issued
    LateRequests,  \* how many requests of a producer outlive their connection at a time, per partition
    Stale,         \* producers may take any of these brokers for the leader, beside the one that leads
    FirstLeaders   \* who may lead first

ASSUME Families \subseteq {"disconnect", "late", "elect", "lose", "snapshot", "expire", "expire state", "few in sync", "fail",
                           "crash", "slow commit"}

On(family, S) == IF family \in Families THEN S ELSE {}

MCInit == Init /\ \A p \in Partitions : leader[p] \in FirstLeaders

Symmetry == Permutations(Producers) \cup Permutations(Partitions)

\* Without the histories.
NoHistory == <<leader, log, highWatermark, entry, issued, producer, sender, wire, late>>

-----------------------------------------------------------------------------
(* Refinement *)

Abstract == INSTANCE OrderedAppend WITH
    Writers   <- Pids, Topics <- Partitions,
    written   <- [p \in Partitions |-> [i \in 1..Len(log[p]) |-> [writer |-> log[p][i].pid, number |-> log[p][i].number]]],
    committed <- highWatermark,
    told      <- acked
OrderedAppendRefined == Abstract!Spec
\* Its steps alone, which TLC can name when they fall.
OrderedAppendSteps == [][Abstract!Next]_(Abstract!vars)

-----------------------------------------------------------------------------
(* Next, by families *)

Supposed(p) == {leader[p]} \cup Stale

NewIds    == {c \in Producers : producer[c].pid = 0 /\ issued < Ids}
Resolving == {x \in Producers \X Partitions : sender[x[1]][x[2]].unresolved # -1 /\ sender[x[1]][x[2]].batches = <<>>}
Committing == {p \in Partitions : highWatermark[p] < Len(log[p]) /\ "slow commit" \notin Families}
Committed(c, p) ==
    {b \in Brokers :
        LET i == NextAt(b, c, p) IN
        IF i = 0 THEN FALSE
        ELSE IF wire[c][p][i].type # "waiting" THEN FALSE ELSE wire[c][p][i].offset < highWatermark[p]}
Answerable == {x \in Producers \X Partitions : Committed(x[1], x[2]) # {}}

Sending ==
    \/ \E c \in Producers, p \in Partitions : \E b \in Supposed(p) : sender[c][p].created < Batches /\ SendBatch(c, p, b)
    \/ \E c \in Producers, p \in Partitions : \E b \in Supposed(p) : ResendBatch(c, p, b)
    \/ \E c \in Producers : producer[c].epoch < LastEpoch /\ BumpEpoch(c)
    \/ \E c \in On("expire", Producers), p \in Partitions : ExpireBatch(c, p)

Receiving ==
    \/ \E b \in Brokers, c \in Producers, p \in Partitions : ReceiveAck(b, c, p)
    \/ \E b \in Brokers, c \in Producers, p \in Partitions : ReceiveError(b, c, p)

Handling ==
    \/ \E b \in Brokers, c \in Producers, p \in Partitions : AppendBatch(b, c, p)
    \/ \E b \in Brokers, c \in Producers, p \in Partitions : AnswerDuplicate(b, c, p)
    \/ \E b \in Brokers, c \in Producers, p \in Partitions : RejectBatch(b, c, p)
    \/ \E b \in On("few in sync", Brokers), c \in Producers, p \in Partitions : RejectUnderMinIsr(b, c, p)
    \/ \E b \in On("fail", Brokers), c \in Producers, p \in Partitions : FailAppend(b, c, p)
    \/ \E c \in Producers, p \in Partitions : AppendLate(c, p)
    \/ \E c \in Producers, p \in Partitions : DropLate(c, p)
    \/ \E p \in On("slow commit", Partitions) : \E offset \in 1..Len(log[p]) : AdvanceHighWatermark(p, offset)

Faults ==
    \/ \E p \in On("expire state", Partitions), pid \in Pids : ExpireProducer(p, pid)
    \/ \E p \in On("elect", Partitions), b \in Brokers :
        \E keep \in IF "lose" \in Families THEN highWatermark[p]..Len(log[p]) ELSE {Len(log[p])} :
        \E snapshot \in IF "snapshot" \in Families THEN 0..keep ELSE {0} : ElectLeader(p, b, keep, snapshot)
    \/ \E c \in On("disconnect", Producers), p \in Partitions, b \in Brokers :
        \E keep \in IF "late" \in Families THEN 0..(LateRequests - Len(late[c][p])) ELSE {0} : Disconnect(c, p, b, keep)
    \/ \E c \in On("crash", Producers) : issued < Ids /\ CrashProducer(c)

MCNext ==
    IF NewIds # {} THEN \E c \in NewIds, pid \in 1..Ids : GetProducerId(c, pid)
    ELSE IF Resolving # {} THEN \E x \in Resolving : ResolveSequences(x[1], x[2])
    ELSE IF Committing # {} THEN \E p \in Committing : AdvanceHighWatermark(p, Len(log[p]))
    ELSE IF Answerable # {} THEN \E x \in Answerable : \E b \in Committed(x[1], x[2]) : CompleteProduce(b, x[1], x[2])
    ELSE Sending \/ Receiving \/ Handling \/ Faults
=============================================================================
