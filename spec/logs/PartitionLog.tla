---------------------------- MODULE PartitionLog ----------------------------
(***************************************************************************)
(* The visible part of a partition's log: its batches, one after the other.*)
(*                                                                         *)
(* Modelled: offsets and leader epochs of the batches, in the order of the *)
(* files. A log may begin anywhere, as retention leaves it.                *)
(* Left out: records, segments, the leader-epoch cache, other replicas.    *)
(*                                                                         *)
(* `tidemark logs audit` makes a trace of each partition's folder: a step  *)
(* a batch. Holes between batches are no fault: compaction leaves them.    *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
    MaxOffset,  \* the largest offset
    MaxEpoch    \* the largest leader epoch

VARIABLES
    batch,  \* the batch that was read last; before the first one, a batch that means nothing
    end,    \* the offset after the last one read
    epoch,  \* the leader epoch of the last batch, -1 before the first one
    odd     \* whether the number of batches is odd: a batch like the one before it is a change, too

vars == <<batch, end, epoch, odd>>

Hidden == <<end, epoch, odd>>

-----------------------------------------------------------------------------
(* Types *)

Offset == 0..MaxOffset
Epoch  == -1..MaxEpoch    \* -1: written before leader epochs were
Batch  == [first : Offset, last : Offset, epoch : Epoch]

TypeOK ==
    /\ batch \in Batch
    /\ end \in 0..(MaxOffset + 1)
    /\ epoch \in Epoch
    /\ odd \in BOOLEAN

-----------------------------------------------------------------------------
(* What a leader's log allows of the next batch b *)

\* A batch begins behind the one before it.
Behind(b) == b.first >= end /\ b.last >= b.first

\* A leader appends in its own epoch, and a follower takes the leader's batches in their order (KIP-101).
InLaterEpoch(b) == b.epoch >= epoch

-----------------------------------------------------------------------------
Init ==
    /\ batch = [first |-> 0, last |-> 0, epoch |-> -1]
    /\ end = 0
    /\ epoch = -1
    /\ odd = FALSE

\* Next   who: whoever wrote the log
\* The next batch is read.
Next ==
    /\ batch' \in Batch
    /\ Behind(batch')
    /\ InLaterEpoch(batch')
    /\ end' = batch'.last + 1
    /\ epoch' = batch'.epoch
    /\ odd' = ~odd

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties. By construction each is a conjunct of Next: a step that is refused so has a name. *)

OffsetsIncrease       == [][Behind(batch')]_vars
LeaderEpochsNeverFall == [][InLaterEpoch(batch')]_vars
=============================================================================
