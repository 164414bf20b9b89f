---------------------------- MODULE ReplicaLogs -----------------------------
(***************************************************************************)
(* The visible part of two replicas of a partition, side by side: their    *)
(* logs read together, from the lower offsets to the higher ones.          *)
(*                                                                         *)
(* Modelled: what each replica has at the same offsets; where each log     *)
(* begins and ends; the checkpointed high watermarks. Copies may be of     *)
(* running brokers and of different instants, if a broker's checkpoint is  *)
(* copied before its log.                                                  *)
(* Left out: who was in the ISR; the leader-epoch cache; what is missing   *)
(* from a compacted log.                                                   *)
(*                                                                         *)
(* `tidemark logs audit` makes a trace of each two replicas: a step is two *)
(* batches that share offsets, or a batch where the other log has none. A  *)
(* batch that compaction has rewritten is read record by record.           *)
(* Replication refines it (models: MCReplicaLogs...).                      *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
    MaxOffset,   \* the largest offset
    MaxEpoch,    \* the largest leader epoch
    MaxContent   \* contents are numbers up to it; equal bytes have equal ones

VARIABLES
    start,          \* per side: the offset at which its log begins
    end,            \* per side: the offset after its last batch
    highWatermark,  \* per side: the checkpointed high watermark, -1 none
    stopped,        \* per side: the broker has stopped cleanly, so that log and checkpoint are of one instant
    compacted,      \* whether compaction may have removed records
    pair,           \* per side: what was read last; before the first step, nothing
    parted          \* whether the logs have had different epochs at an offset

vars == <<start, end, highWatermark, stopped, compacted, pair, parted>>

Hidden == <<parted>>

-----------------------------------------------------------------------------
(* Types *)

Sides  == {"one", "other"}
Offset == 0..MaxOffset
Batch  ==
         [type : {"none"}]
    \cup [type : {"batch"}, first : Offset, last : Offset, epoch : -1..MaxEpoch, content : 0..MaxContent]

TypeOK ==
    /\ start \in [Sides -> Offset]
    /\ end \in [Sides -> 0..(MaxOffset + 1)]
    /\ highWatermark \in [Sides -> -1..MaxOffset]
    /\ stopped \in [Sides -> BOOLEAN]
    /\ compacted \in BOOLEAN
    /\ pair \in [Sides -> Batch]
    /\ parted \in BOOLEAN

-----------------------------------------------------------------------------
(* Vocabulary *)

Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b

Has(p, s) == p[s].type = "batch"
Both(p)   == Has(p, "one") /\ Has(p, "other")
Other(s)  == IF s = "one" THEN "other" ELSE "one"

\* Two batches stand in a step because they share an offset.
Shared(p) == Both(p) => p["one"].first <= p["other"].last /\ p["other"].first <= p["one"].last

\* Epochs are the same, and known: before leader epochs were, all batches had -1.
SameEpoch(p) == Both(p) /\ p["one"].epoch = p["other"].epoch /\ p["one"].epoch >= 0
Parts(p)     == Both(p) /\ p["one"].epoch # p["other"].epoch

\* Both replicas had this offset below their high watermarks.
Committed(offset) == offset < Min(highWatermark["one"], highWatermark["other"])

\* Side s should have what the other log has at this offset: s begins before it and goes on behind it, or it was stopped cleanly
\* with a higher high watermark.
Covers(s, offset) == start[s] <= offset /\ (offset < end[s] \/ (stopped[s] /\ offset < highWatermark[s]))

-----------------------------------------------------------------------------
(* What replication allows of the next pair p *)

\* The other replica's batch is the same: a follower copies its leader's batches byte by byte, and one leader writes an epoch.
OneBatch(p) == SameEpoch(p) => p["one"] = p["other"]

\* The other replica's batch is of the same epoch: both have it below their checkpointed high watermarks, and what is committed is the
\* same on all replicas.
CommittedIsOne(p) == Parts(p) => ~Committed(Max(p["one"].first, p["other"].first))

\* The other replica has a batch here, and its log has others behind it: a follower copies a log without holes.
NoneMissing(p) ==
    \A s \in Sides : ~Has(p, s) /\ Has(p, Other(s)) /\ ~compacted => ~Covers(s, p[Other(s)].first)

\* The other replica's batch is of another epoch: the logs part further up, and a follower truncates to there before it copies on
\* (KIP-101, KIP-279).
StillParted(p) == SameEpoch(p) => ~parted

-----------------------------------------------------------------------------
Init ==
    /\ start \in [Sides -> Offset]
    /\ end \in [Sides -> 0..(MaxOffset + 1)]
    /\ highWatermark \in [Sides -> -1..MaxOffset]
    /\ stopped \in [Sides -> BOOLEAN]
    /\ compacted \in BOOLEAN
    /\ pair = [s \in Sides |-> [type |-> "none"]]
    /\ parted = FALSE

\* Next   who: whoever wrote the logs
\* The next offsets are read.
Next ==
    /\ UNCHANGED <<start, end, highWatermark, stopped, compacted>>
    /\ pair' \in [Sides -> Batch]
    /\ Shared(pair')
    /\ OneBatch(pair')
    /\ CommittedIsOne(pair')
    /\ NoneMissing(pair')
    /\ StillParted(pair')
    /\ parted' = (parted \/ Parts(pair'))

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties. By construction each is a conjunct of Next: a step that is refused so has a name. *)

SameEpochSameBatch    == [][OneBatch(pair')]_vars
CommittedBatchesAgree   == [][CommittedIsOne(pair')]_vars
NoBatchIsMissing      == [][NoneMissing(pair')]_vars
PartedLogsStayParted  == [][StillParted(pair')]_vars
=============================================================================
