---------------------------- MODULE MCOffsetsOnce ----------------------------
(***************************************************************************)
(* Offsets against ExactlyOnce: a producer is an instance. Every step is   *)
(* one of TransactionSteps in what is staged and committed, or none.       *)
(*                                                                         *)
(* What counts is what the elected coordinator has from its committed    *)
(* records. A transaction begins for ExactlyOnce when the group's          *)
(* partition is taken into it; one without this partition goes on and ends *)
(* elsewhere. Producers commit offsets of different partitions, as the     *)
(* members of one generation do. There is nothing beside transactions:     *)
(* no plain commits, no expiry, no deletion.                               *)
(***************************************************************************)
EXTENDS MCOffsets

\* The partition that a producer reads.
Own == CHOOSE f \in [Producers -> Partitions] : \A t, u \in Producers : f[t] = f[u] => t = u
OwnPartition == \A t \in Producers : IF txnRpc'[t].type = "request" THEN txnRpc'[t].partition = Own[t] ELSE TRUE
OnceNext == MCNext /\ OwnPartition

\* A transaction without the group's partition: the result of the last one.
Ended(t) ==
    [state |-> IF transaction[t].epoch = 0 THEN "Empty" ELSE IF transaction[t].result = "COMMIT" THEN "CompleteCommit" ELSE "CompleteAbort",
     epoch |-> transaction[t].epoch, partitions |-> {}]

TransactionOf(t) ==
    LET mine == transaction[t] IN
    IF mine.phase = "ending"
    THEN [state |-> IF mine.result = "COMMIT" THEN "PrepareCommit" ELSE "PrepareAbort", epoch |-> mine.epoch,
          partitions |-> IF producers[B][t].epoch < mine.epoch THEN {"offsets"} ELSE {}]
    ELSE IF mine.phase = "ongoing" /\ mine.added THEN [state |-> "Ongoing", epoch |-> mine.epoch, partitions |-> {"offsets"}]
    ELSE Ended(t)

\* Partitions are numbered for ExactlyOnce's assignor, which is not asked.
Numbers == 1..Cardinality(Partitions)
At == CHOOSE f \in [Numbers -> Partitions] : \A m, n \in Numbers : f[m] = f[n] => m = n

OnceTransactions == [t \in Producers |-> TransactionOf(t)]
StagedOffsets    == [t \in Producers |-> [n \in Numbers |-> staged[B][t][At[n]].offset]]
KnownEpochs      == [t \in Producers |-> producers[B][t].epoch]
CommittedOffsets == [n \in Numbers |-> offsets[B][At[n]].offset]

Once == INSTANCE TransactionSteps WITH
    Instances <- Producers, Static <- {}, Partitions <- Numbers, MaxOutput <- 0, MaxEpoch <- MaxProducerEpoch, MaxSequence <- 0,
    MaxMember <- 0, MaxGeneration <- 0, Without <- {},
    txn <- OnceTransactions, staged <- StagedOffsets, known <- KnownEpochs, committed <- CommittedOffsets,
    output <- <<>>, entry <- [t \in Producers |-> [epoch |-> -1, sequence |-> -1, first |-> -1]],
    \* not asked
    input <- 0, group <- 0, issued <- 0, read <- 0, returned <- 0, instance <- 0, rpc <- 0, late <- 0, lateMarker <- 0

\* A transaction ends without the group's partition.
Elsewhere ==
    /\ \E t \in Producers :
        /\ \A x \in {OnceTransactions[t], OnceTransactions'[t]} : x.partitions = {} /\ x.state \notin Once!Prepared
        /\ \A u \in Producers \ {t} : OnceTransactions'[u] = OnceTransactions[u]
    /\ UNCHANGED <<StagedOffsets, KnownEpochs, CommittedOffsets>>

ExactlyOnceSteps == [][Once!Transact \/ Elsewhere]_vars
=============================================================================
