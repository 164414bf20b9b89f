---------------------------- MODULE ProducerLog -----------------------------
(***************************************************************************)
(* The visible part of a partition's log, of one producer: the batches     *)
(* with its id, and the markers of its transactions.                       *)
(*                                                                         *)
(* Modelled: producer epochs, sequences, whether a transaction is open, the*)
(* coordinator's epochs. What the log does not show any more is adopted:   *)
(* the state before the first batch, and the sequence behind a hole or     *)
(* after a producer's state has expired.                                   *)
(* Left out: what a transaction has in other partitions, the decision in   *)
(* __transaction_state, the index of aborted transactions.                 *)
(*                                                                         *)
(* `tidemark logs audit` makes a trace of each producer in a folder.       *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
    MaxEpoch,        \* the largest producer epoch
    MaxSequence,     \* the largest sequence; after it comes 0
    MaxCoordinator,  \* the largest epoch of a coordinator
    MaxTime,         \* the largest timestamp, in milliseconds
    Expiration       \* producer.id.expiration.ms

VARIABLES
    sequenced,    \* whether batches have sequences of their own; a group coordinator's transactional ones all begin at 0
    batch,        \* the batch that was read last; before the first one, a batch that means nothing
    known,        \* whether a batch with records has been read
    epoch,        \* the largest producer epoch so far, -1 before the first batch
    next,         \* the next sequence
    open,         \* whether a transaction has records and no marker yet
    coordinator,  \* the epoch of the coordinator that wrote the last marker, -1 before the first one
    time,         \* the largest timestamp of the last batch
    odd           \* whether the number of batches is odd: a batch like the one before it is a change, too

vars == <<sequenced, batch, known, epoch, next, open, coordinator, time, odd>>

Hidden == <<known, epoch, next, open, coordinator, time, odd>>

-----------------------------------------------------------------------------
(* Types *)

Epoch       == -1..MaxEpoch
Sequence    == 0..MaxSequence
Coordinator == -1..MaxCoordinator
Time        == -1..MaxTime

\* `hole`: offsets are missing between batches of the log, since the producer's batch before this one.
Data   == [type : {"data"}, epoch : Epoch, transactional : BOOLEAN, first : Sequence, last : Sequence,
           hole : BOOLEAN, time : Time]
\* `coordinator`: -1 of a marker whose record compaction has removed.
Marker == [type : {"marker"}, epoch : Epoch, coordinator : Coordinator, time : Time]
Batch  == Data \cup Marker

TypeOK ==
    /\ sequenced \in BOOLEAN
    /\ batch \in Batch
    /\ known \in BOOLEAN
    /\ epoch \in Epoch
    /\ next \in Sequence
    /\ open \in BOOLEAN
    /\ coordinator \in Coordinator
    /\ time \in Time
    /\ odd \in BOOLEAN

-----------------------------------------------------------------------------
(* What a partition's leader allows of the next batch b *)

IsData(b) == b.type = "data"

\* A batch of an older epoch is a zombie's (KIP-98).
InLaterEpoch(b) == b.epoch >= epoch

\* The producer's state counts: nothing is missing, and the state has not expired.
Counts(b) == known /\ ~b.hole /\ b.time - time < Expiration

\* In its epoch each sequence comes once and in order.
InOrder(b) == IsData(b) => (sequenced /\ Counts(b) /\ b.epoch = epoch => b.first = next)

\* A new epoch begins with sequence 0.
FromZero(b) == IsData(b) => (sequenced /\ Counts(b) /\ b.epoch > epoch => b.first = 0)

\* While a transaction is open, all that the producer writes belongs to it.
OfOpenTransaction(b) == IsData(b) => (open /\ ~b.hole => b.transactional)

\* The marker of a transaction comes before the first batch of the producer's next epoch.
EndedBefore(b) == IsData(b) => (open /\ ~b.hole => b.epoch = epoch)

\* The marker says which coordinator wrote it.
Says(b) == ~IsData(b) /\ b.coordinator # -1

\* An older coordinator's marker is a zombie's.
OfLaterCoordinator(b) == Says(b) => b.coordinator >= coordinator

-----------------------------------------------------------------------------
Init ==
    /\ sequenced \in BOOLEAN
    /\ batch = [type |-> "marker", epoch |-> -1, coordinator |-> -1, time |-> -1]
    /\ known = FALSE
    /\ epoch = -1
    /\ next = 0
    /\ open = FALSE
    /\ coordinator = -1
    /\ time = -1
    /\ odd = FALSE

After(sequence) == IF sequence = MaxSequence THEN 0 ELSE sequence + 1

\* A marker of a newer epoch (KIP-890) ends the epoch of its transaction: the next one begins with 0.
NextSequence(b) ==
    IF IsData(b) THEN After(b.last)
    ELSE IF b.epoch > epoch THEN 0
    ELSE next

\* Next   who: the leaders of the partition
\* The producer's next batch is read.
Next ==
    /\ UNCHANGED sequenced
    /\ batch' \in Batch
    /\ InLaterEpoch(batch')
    /\ InOrder(batch')
    /\ FromZero(batch')
    /\ OfOpenTransaction(batch')
    /\ EndedBefore(batch')
    /\ OfLaterCoordinator(batch')
    /\ known' = (known \/ IsData(batch'))
    /\ epoch' = batch'.epoch
    /\ next' = NextSequence(batch')
    /\ open' = (IsData(batch') /\ batch'.transactional)
    /\ coordinator' = IF Says(batch') THEN batch'.coordinator ELSE coordinator
    /\ time' = batch'.time
    /\ odd' = ~odd

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties. By construction each is a conjunct of Next: a step that is refused so has a name. *)

ProducerEpochsNeverFall        == [][InLaterEpoch(batch')]_vars
SequencesInOrderAndOnce        == [][InOrder(batch')]_vars
NewEpochsBeginWithZero         == [][FromZero(batch')]_vars
OpenTransactionsHaveAllBatches == [][OfOpenTransaction(batch')]_vars
MarkersEndTransactions         == [][EndedBefore(batch')]_vars
CoordinatorEpochsNeverFall     == [][OfLaterCoordinator(batch')]_vars
=============================================================================
