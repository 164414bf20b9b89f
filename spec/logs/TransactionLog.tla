--------------------------- MODULE TransactionLog ---------------------------
(***************************************************************************)
(* The visible part of __transaction_state, of one transactional id: its   *)
(* records, and behind each decision the markers that the partitions of    *)
(* the transaction have of it.                                             *)
(*                                                                         *)
(* Modelled: the states that follow one another, producer ids and epochs,  *)
(* partitions that join a transaction, its one outcome in each of them.    *)
(* What compaction has removed is adopted.                                 *)
(* Left out: time-outs, the version of the client, producer ids that two   *)
(* transactional ids have, markers whose decision is not in the log.       *)
(*                                                                         *)
(* `tidemark logs audit` makes a trace of each transactional id.           *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
    MaxPid,    \* the largest producer id
    MaxEpoch   \* the largest producer epoch

VARIABLES
    entry,   \* the record or marker that was read last; before the first one, a record that means nothing
    status,  \* the state by the last record, "Unknown" before the first one
    pid,     \* its producer id
    epoch,   \* its producer epoch
    odd      \* whether the number of entries is odd: an entry like the one before it is a change, too

vars == <<entry, status, pid, epoch, odd>>

Hidden == <<status, pid, epoch, odd>>

-----------------------------------------------------------------------------
(* Types *)

Pid    == -1..MaxPid
Epoch  == -1..MaxEpoch
Status == {"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}

\* `hole`: offsets are missing between this record and the id's record before it, or it is the first. `lost`: a partition of the
\* record before it is not in this one.
Record == [type : {"record"}, status : Status, pid : Pid, epoch : Epoch, hole : BOOLEAN, lost : BOOLEAN]
\* A marker of the decision that was read last, in one of its partitions. "none": the partition has records of the transaction, and
\* goes on behind them without a marker. `completed`: a later record says that all markers are written.
Marker == [type : {"marker"}, result : {"COMMIT", "ABORT", "none"}, completed : BOOLEAN]
Entry  == Record \cup Marker

TypeOK ==
    /\ entry \in Entry
    /\ status \in Status \cup {"Unknown"}
    /\ pid \in Pid
    /\ epoch \in Epoch
    /\ odd \in BOOLEAN

-----------------------------------------------------------------------------
(* What a coordinator allows of the next entry e *)

IsRecord(e) == e.type = "record"

\* The state before it is in the log: a hole hides it, and a deletion ends it.
Follows(e) == IsRecord(e) /\ ~e.hole /\ status \notin {"Unknown", "Dead"}

Finished == {"Empty", "CompleteCommit", "CompleteAbort"}

\* States that may stand before a state. Each may be written twice, since an append that failed may be there all the same. A client
\* of KIP-890 may abort a transaction that has not begun.
Before(s) ==
    CASE s \in {"Empty", "Dead"}      -> Finished
      [] s = "Ongoing"                -> Finished \cup {"Ongoing"}
      [] s = "PrepareCommit"          -> {"Ongoing"}
      [] s = "PrepareEpochFence"      -> {"Ongoing"}
      [] s = "PrepareAbort"           -> Finished \cup {"Ongoing", "PrepareEpochFence"}
      [] s = "CompleteCommit"         -> {"PrepareCommit"}
      [] s = "CompleteAbort"          -> {"PrepareAbort"}

\* The state follows the one before it: a transaction is decided once, and completed as it was decided.
InTurn(e) == Follows(e) => status \in Before(e.status) \cup {e.status}

\* A producer id's epoch only rises: older epochs are zombies'.
InLaterEpoch(e) == (Follows(e) /\ e.status # "Dead" /\ e.pid = pid) => e.epoch >= epoch

\* A transaction keeps its producer id until it is completed. A new id comes with epoch 0, whatever the epoch of the old one.
OfSameProducer(e) == (Follows(e) /\ e.pid # pid) => (e.status = "Dead" \/ (e.status \in Finished /\ e.epoch = 0))

\* Partitions join a transaction, and none leaves it before the markers are written.
KeepsPartitions(e) ==
    (Follows(e) /\ status = "Ongoing" /\ e.status \in {"Ongoing", "PrepareCommit", "PrepareAbort"}) => ~e.lost

Decided == CASE status = "PrepareCommit" -> "COMMIT" [] status = "PrepareAbort" -> "ABORT" [] OTHER -> "none"

\* The marker has the outcome that the transaction log has decided, and once the transaction is complete, each partition has one.
HasOutcome(e) == ~IsRecord(e) => IF e.result = "none" THEN ~e.completed ELSE e.result = Decided

-----------------------------------------------------------------------------
Init ==
    /\ entry = [type |-> "record", status |-> "Dead", pid |-> -1, epoch |-> -1, hole |-> TRUE, lost |-> FALSE]
    /\ status = "Unknown"
    /\ pid = -1
    /\ epoch = -1
    /\ odd = FALSE

\* Next   who: the coordinators of the transactional id, and the leaders of the partitions
\* The next record of the id, or marker of its decision, is read.
Next ==
    /\ entry' \in Entry
    /\ InTurn(entry')
    /\ InLaterEpoch(entry')
    /\ OfSameProducer(entry')
    /\ KeepsPartitions(entry')
    /\ HasOutcome(entry')
    /\ status' = IF IsRecord(entry') THEN entry'.status ELSE status
    /\ pid' = IF IsRecord(entry') THEN entry'.pid ELSE pid
    /\ epoch' = IF IsRecord(entry') THEN entry'.epoch ELSE epoch
    /\ odd' = ~odd

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties. By construction each is a conjunct of Next: a step that is refused so has a name. *)

StatesFollowInTurn            == [][InTurn(entry')]_vars
ProducerEpochsNeverFall       == [][InLaterEpoch(entry')]_vars
TransactionsKeepTheirProducer == [][OfSameProducer(entry')]_vars
TransactionsKeepPartitions    == [][KeepsPartitions(entry')]_vars
OneOutcomeInEachPartition     == [][HasOutcome(entry')]_vars
=============================================================================
