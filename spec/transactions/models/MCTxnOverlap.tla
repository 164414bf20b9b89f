---------------------------- MODULE MCTxnOverlap ----------------------------
(***************************************************************************)
(* Transactions of two producer ids that overlap in a partition, as those  *)
(* of two transactional ids do. Their coordinators are left out: a         *)
(* producer's batch arrives verified, and the marker of what it has open   *)
(* arrives with the next epoch, with one outcome or the other. The         *)
(* partition and the consumers take the steps of Transactions.             *)
(***************************************************************************)
EXTENDS MCTransactions

P == CHOOSE p \in Partitions : TRUE
C == CHOOSE c \in Clients : TRUE
L == CHOOSE b \in Brokers : TRUE

Mine(pid)    == {i \in 1..Len(log[P]) : log[P][i].pid = pid}
Last1(pid)   == log[P][MaxOf(Mine(pid))]
IsOpenOf(pid) == entry[P][pid].first >= 0

\* The next batch of the producer: of its open transaction, or of a new one.
NextBatch(pid) ==
    [type |-> "verified", pid |-> pid, guard |-> TRUE,
     epoch |-> IF Mine(pid) = {} THEN 0 ELSE Last1(pid).epoch,
     sequence |-> IF IsOpenOf(pid) THEN Last1(pid).sequence + 1 ELSE 0,
     transaction |-> IF IsOpenOf(pid) THEN Last1(pid).transaction ELSE begun + 1]
SentOf(pid) == Cardinality({i \in Mine(pid) : i > entry[P][pid].first})

Arrives == lateProduce[C][P].type # "idle" \/ lateMarker[L][P].type # "idle"

\* A verified batch arrives.
ArriveBatch(pid) ==
    /\ IF IsOpenOf(pid) THEN SentOf(pid) < Batches ELSE begun < Begins
    /\ lateProduce' = [lateProduce EXCEPT ![C][P] = NextBatch(pid)]
    /\ begun' = IF IsOpenOf(pid) THEN begun ELSE begun + 1
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, client, rpc, lateRpc, produce, marker, lateMarker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* The marker of the open transaction arrives.
ArriveMarker(pid, result) ==
    /\ IsOpenOf(pid)
    /\ lateMarker' = [lateMarker EXCEPT ![L][P] = [type |-> "marker", pid |-> pid, epoch |-> entry[P][pid].epoch + 1,
                                                   result |-> result, coordinatorEpoch |-> 1]]
    /\ UNCHANGED <<leaderAndEpoch, stored, unreplicated, epoch, metadata, pending, sending, hasFailedEpochFence,
                   pendingCompleteTxn, earlierTimestamp, issued, begun, client, rpc, lateRpc, produce, lateProduce, marker, log,
                   highWatermark, lastStableOffset, entry, abortedIndex>>
    /\ UNCHANGED <<offsets, fetch, position, returned>>
    /\ UNCHANGED told

\* Never: aborted transactions whose records interleave. (A model reaches it.)
AbortsDoNotInterleave ==
    \A i, j \in 1..Len(abortedIndex[P]) :
        ~(abortedIndex[P][i].first < abortedIndex[P][j].first /\ abortedIndex[P][j].first < abortedIndex[P][i].last)

OverlapInit == MCInit /\ leaderAndEpoch.broker = L

OverlapNext ==
    IF Arrives THEN Steady /\ (AppendBatch(C, P, TRUE) \/ AppendMarker(L, P, TRUE))
    ELSE IF Committing # {} THEN Steady /\ AdvanceHighWatermark(P, Len(log[P]))
    ELSE IF Fetched # {} THEN Steady /\ \E x \in Fetched : Answer(x[1], x[2])
    ELSE \/ Steady /\ \E pid \in Pids : ArriveBatch(pid) \/ \E result \in Results : ArriveMarker(pid, result)
         \/ Steady /\ Fetches
         \/ Steady /\ "slow commit" \in Families /\ \E offset \in 1..Len(log[P]) : AdvanceHighWatermark(P, offset)
         \/ Fault
=============================================================================
