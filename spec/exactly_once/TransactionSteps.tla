-------------------------- MODULE TransactionSteps --------------------------
(***************************************************************************)
(* The steps of ExactlyOnce as far as they concern its transactions, its   *)
(* output, and its staged and committed offsets. Each quotes the verdict   *)
(* and the effect of the action; which requests there are is left open, so *)
(* that a step is allowed if some request allows it. The group lets a      *)
(* commit through, or refuses it, as it likes.                             *)
(*                                                                         *)
(* Transactions refines this in `txn`, `output`, `staged` and `committed`, *)
(* Offsets in `staged` and `committed` (models MCTxnOnce..., MCOffsetsOnce...). *)
(* ExactlyOnce does itself, without plain commits (MCOnceBatch,            *)
(* MCOnceStatic: QuotedSteps).                                             *)
(***************************************************************************)
EXTENDS ExactlyOnce

parts == <<txn, output, entry, staged, known, committed>>

Result(record) ==
    [type |-> "produce", epoch |-> record.epoch, sequence |-> record.sequence, partition |-> record.partition,
     offset |-> record.offset]
\* A commit that the group lets through, whoever its members are.
Commit(epoch, offsets) == [type |-> "commit", epoch |-> epoch, member |-> 0, generation |-> -1, offsets |-> offsets]

\* A marker that may come again: of a decision that was made.
Copies(i) ==
    {m \in [type : {"marker"}, target : Targets, epoch : 0..txn[i].epoch, result : Results] :
        m.epoch = txn[i].epoch =>
            /\ txn[i].state # "Empty"
            /\ txn[i].state \in Prepared \cup Completed => m.result = ResultOf(txn[i].state)}

-----------------------------------------------------------------------------
(* The steps *)

\* InitProducerId
TakeEpoch(i) ==
    /\ UNCHANGED <<output, entry, staged, known, committed>>
    /\ txn[i].state \notin Prepared /\ ~FenceOpenTransaction(txn[i])
    /\ txn' = [txn EXCEPT ![i] = Begun(txn[i])]

\* AppendResult
Produce(i) ==
    /\ Len(output') > Len(output)
    /\ LET record == output'[Len(output')] IN
       IF record.type # "data" THEN FALSE
       ELSE ProduceVerdict(i, Result(record)) = "NONE" /\ WriteResult(i, Result(record))
    /\ UNCHANGED <<staged, known, committed>>

\* HandleTxnOffsetCommit: staged and known are what a request has made of them.
Stage(i) ==
    /\ UNCHANGED <<output, entry, committed>>
    /\ staged' # staged
    /\ LET r == Commit(known'[i], staged'[i]) IN CommitVerdict(i, r) = "NONE" /\ StageOffsets(i, r)

\* RejectResult, RejectTxnOffsetCommit: the coordinator was asked before, and has taken the partition into the transaction.
TakeOnly(i) ==
    /\ UNCHANGED <<output, entry, staged, known, committed>>
    /\ LET r == Commit(txn[i].epoch, NoOffsets) IN
       \/ /\ txn' = Added(i, OpenInOutput(i, r), r, "output")
          /\ \E sequence \in Sequences, p \in Partitions, offset \in Offsets :
                ProduceVerdict(i, Result([epoch |-> r.epoch, sequence |-> sequence, partition |-> p, offset |-> offset]))
                    = "OUT_OF_ORDER_SEQUENCE_NUMBER"
       \/ Verification(i, OpenInOffsets(i, r), r) = "NONE" /\ txn' = Added(i, OpenInOffsets(i, r), r, "offsets")

\* HandleEndTxn; FenceProducer and AbortTimedOutTransaction
Decide(i) ==
    /\ UNCHANGED <<output, entry, staged, known, committed>>
    /\ txn[i].state # txn'[i].state
    /\ \/ txn[i].state = "Ongoing" /\ txn' = [txn EXCEPT ![i] = Decided(txn[i], "ABORT")]
       \/ \E epoch \in Epochs :
            LET r == [type |-> "end", epoch |-> epoch, result |-> ResultOf(txn'[i].state)] IN
            EndVerdict(i, r) = "APPEND" /\ txn' = [txn EXCEPT ![i] = Decided(txn[i], r.result)]

\* WriteMarker
WriteItsMarker(i, target) ==
    LET m == [type |-> "marker", target |-> target, epoch |-> txn[i].epoch, result |-> ResultOf(txn[i].state)] IN
    /\ txn[i].state \in Prepared /\ target \in txn[i].partitions
    /\ MarkerAccepted(i, m)
    /\ txn' = [txn EXCEPT ![i].partitions = @ \ {target}]
    /\ Mark(i, m)

\* WriteLateMarker
WriteCopy(i) ==
    /\ \E m \in Copies(i) : MarkerAccepted(i, m) /\ Mark(i, m)
    /\ UNCHANGED txn

\* CompleteTransaction
Complete(i) ==
    /\ UNCHANGED <<output, entry, staged, known, committed>>
    /\ txn[i].state \in Prepared /\ txn[i].partitions = {}
    /\ txn' = [txn EXCEPT ![i].state = CompleteOf(@)]

Transact ==
    \/ UNCHANGED parts
    \/ \E i \in Instances :
        \/ TakeEpoch(i) \/ Produce(i) \/ Stage(i) \/ TakeOnly(i) \/ Decide(i)
        \/ \E target \in Targets : WriteItsMarker(i, target)
        \/ WriteCopy(i) \/ Complete(i)
=============================================================================
