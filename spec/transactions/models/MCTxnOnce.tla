------------------------------ MODULE MCTxnOnce ------------------------------
(***************************************************************************)
(* Transactions against ExactlyOnce: the transactional id is an instance,  *)
(* a data partition its output, a partition of __consumer_offsets its      *)
(* group's. Every step is one of TransactionSteps, or none.                *)
(*                                                                         *)
(* What counts is what is committed: the coordinator's last committed      *)
(* record, and the records of a partition below its high watermark. The    *)
(* offset that a transaction stages is its number, and so is the input     *)
(* offset of its results: nothing depends on them. Version 2, one producer *)
(* id.                                                                     *)
(***************************************************************************)
EXTENDS MCTransactions

Id == "id"

Output   == CHOOSE p \in Partitions : ~IsOffsets(p)
Group    == CHOOSE p \in Partitions : IsOffsets(p)
Target(p) == IF p = Output THEN "output" ELSE "offsets"

\* The partition's state of the producer as its committed records have it. (In version 2 a marker has the next epoch.)
Known(p) ==
    LET n == highWatermark[p] IN
    IF n = 0 THEN [epoch |-> -1, sequence |-> -1, first |-> -1]
    ELSE [epoch |-> log[p][n].epoch, sequence |-> IF log[p][n].type = "data" THEN log[p][n].sequence ELSE -1,
          first |-> Opened(log[p], 1, n + 1) - 1]

\* The marker of the coordinator's decision counts in p.
IsMarked(p) ==
    \E i \in 1..highWatermark[p] : log[p][i].type = "marker" /\ log[p][i].epoch = stored.epoch

Transaction ==
    [state |-> stored.state, epoch |-> stored.epoch,
     partitions |-> {Target(p) : p \in {q \in stored.partitions : stored.state \in Prepared => ~IsMarked(q)}}]

OutputRecord(record) ==
    IF record.type = "data"
    THEN [type |-> "data", instance |-> Id, epoch |-> record.epoch, sequence |-> record.sequence, partition |-> 0,
          offset |-> record.transaction]
    ELSE [type |-> "marker", instance |-> Id, epoch |-> record.epoch, result |-> record.result]

\* The offset of the open transaction, and that of the last one that was committed.
StagedOffset ==
    LET last == log[Group][highWatermark[Group]] IN
    IF highWatermark[Group] = 0 THEN -1 ELSE IF last.type = "data" THEN last.transaction ELSE -1
CommittedOffset ==
    LET ends == {i \in 2..highWatermark[Group] : /\ log[Group][i - 1].type = "data" /\ log[Group][i].type = "marker"
                                                /\ IF log[Group][i].type = "marker" THEN log[Group][i].result = "COMMIT" ELSE FALSE}
    IN  IF ends = {} THEN 0 ELSE log[Group][MaxOf(ends) - 1].transaction

Once == INSTANCE TransactionSteps WITH
    Instances <- {Id}, Static <- {}, Partitions <- {0}, MaxOffset <- MaxTransaction, MaxOutput <- MaxLog, MaxMember <- 0,
    MaxGeneration <- 0, Without <- {},
    txn       <- [i \in {Id} |-> Transaction],
    output    <- [i \in 1..highWatermark[Output] |-> OutputRecord(log[Output][i])],
    entry     <- [i \in {Id} |-> Known(Output)],
    staged    <- [i \in {Id} |-> [p \in {0} |-> StagedOffset]],
    known     <- [i \in {Id} |-> Known(Group).epoch],
    committed <- [p \in {0} |-> CommittedOffset],
    \* not asked
    input <- 0, group <- 0, issued <- 0, read <- 0, returned <- 0, instance <- 0, rpc <- 0, late <- 0, lateMarker <- 0

ExactlyOnceSteps == [][Once!Transact]_vars
=============================================================================
