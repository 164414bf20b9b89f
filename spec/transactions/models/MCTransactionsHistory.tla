----------------------- MODULE MCTransactionsHistory -----------------------
(***************************************************************************)
(* Transactions with a history of acknowledgements. Without it a batch     *)
(* that was lost cannot be told from one that was never written.           *)
(***************************************************************************)
EXTENDS MCTransactions

VARIABLE acknowledged   \* history: the batches that a client was told are written, each with its partition
historyVars == <<mcVars, acknowledged>>

\* The client is told now.
Heard(c, p) ==
    IF produce[c][p].type # "reply" THEN FALSE
    ELSE produce[c][p].error = "NONE" /\ produce'[c][p].type # "reply"
BatchAt(c, p) ==
    [partition |-> p, pid |-> produce[c][p].pid, epoch |-> produce[c][p].epoch, sequence |-> produce[c][p].sequence,
     transaction |-> produce[c][p].transaction]

HistoryInit == MCInit /\ acknowledged = {}
HistoryNext ==
    /\ MCNext
    /\ acknowledged' = acknowledged \cup {BatchAt(x[1], x[2]) : x \in {y \in Clients \X Partitions : Heard(y[1], y[2])}}

IsBatch(record, batch) ==
    IF record.type # "data" THEN FALSE
    ELSE record.pid = batch.pid /\ record.epoch = batch.epoch /\ record.sequence = batch.sequence
         /\ record.transaction = batch.transaction

\* The coordinator has decided so, and will send the marker.
WillCommit(batch) ==
    /\ stored.state = "PrepareCommit" /\ stored.pid = batch.pid /\ batch.partition \in stored.partitions
    /\ stored.epoch = IF V2 THEN batch.epoch + 1 ELSE batch.epoch

\* A transaction whose client was told COMMIT is complete: each of its acknowledged batches is replicated, and
\* committed or about to be.
CommittedIsComplete ==
    \A batch \in acknowledged :
        told[batch.transaction] = "COMMIT" =>
            \E i \in 1..highWatermark[batch.partition] :
                /\ IsBatch(log[batch.partition][i], batch)
                /\ Decision(batch.partition, i) = "COMMIT" \/ (Decision(batch.partition, i) = "none" /\ WillCommit(batch))
=============================================================================
