------------------------ MODULE TransactionsLiveness ------------------------
(***************************************************************************)
(* What must happen, what is fair, and what is a fault. A step is fair only *)
(* if it helps: requests go to who coordinates, are handled and answered,  *)
(* records commit, decided transactions get their markers, an open one     *)
(* times out at last. There may be MaxFaults faults in all.                *)
(***************************************************************************)
EXTENDS TransactionsProperties

CONSTANTS
    Begins,     \* transactions
    OffsetsPartitions, \* those of __consumer_offsets
    MaxFaults,
    FaultsUsed, \* the kinds of faults
    Unfair      \* kinds of helpful steps that need not happen

ASSUME FaultsUsed \subseteq {"fail-over", "give up", "disconnect", "lose marker", "fail", "elect", "reconnect", "refuse"}
ASSUME Unfair \subseteq {"time out", "load", "marker", "commit", "verify", "ask"}

VARIABLE faults
liveVars == <<vars, faults>>

-----------------------------------------------------------------------------
(* What must happen *)

\* Every decided transaction is completed.
DecidedCompletes == stored.state \in Prepared ~> stored.state \notin Prepared

\* Every transaction that has begun ends.
OngoingEnds == stored.state = "Ongoing" ~> stored.state # "Ongoing"

\* A reader of committed records gets past every record.
ReaderPasses ==
    \A p \in Partitions, n \in 1..MaxLog : Len(log[p]) >= n ~> Len(log[p]) < n \/ lastStableOffset[p] >= n

\* A client that asks for a producer epoch, or for the end of its transaction, gets a reply.
ClientIsTold ==
    \A c \in Clients :
        client[c].state \in {"INITIALIZING", "COMMITTING_TRANSACTION", "ABORTING_TRANSACTION"} ~>
            client[c].state \notin {"INITIALIZING", "COMMITTING_TRANSACTION", "ABORTING_TRANSACTION"}

\* If a client was told of a commit, the offsets of that transaction count, or those of a later one do.
OffsetsCount ==
    \A p \in Partitions, k \in 1..Begins :
        (IsOffsets(p) /\ told[k] = "COMMIT" /\ \E i \in Data(p) : TransactionAt(p, i) = k) ~>
            (IsOffsets(p) => offsets[p].committed >= k)

\* A batch is acknowledged, or fails; so is a TxnOffsetCommit.
BatchIsAnswered == \A c \in Clients, p \in Partitions : produce[c][p].type # "idle" ~> produce[c][p].type = "idle"

-----------------------------------------------------------------------------
(* Steps that help *)

Ask(c) ==
    \/ SendInitProducerId(c, leaderAndEpoch.broker)
    \/ \E result \in Results : client[c].state # "IN_TRANSACTION" /\ SendEndTxn(c, leaderAndEpoch.broker, result)
Hear(c) ==
    \/ ReceiveInitProducerId(c) \/ ReceiveAddPartitions(c) \/ ReceiveEndTxn(c)
    \/ \E p \in Partitions : ReceiveProduce(c, p) \/ ReceiveTxnOffsetCommit(c, p)
Answer(c) ==
    \E b \in Brokers, late \in BOOLEAN :
        \/ AppendInitProducerId(b, c, late) \/ FenceProducer(b, c, late) \/ AppendEndTxn(b, c, late) \/ AnswerRpc(b, c, late)
Verify(c) ==
    \E p \in Partitions, late \in BOOLEAN :
        \/ VerifyPartition(leaderAndEpoch.broker, c, p, late) \/ AppendVerified(leaderAndEpoch.broker, c, p, late)
        \/ RefuseVerification(leaderAndEpoch.broker, c, p, late)
Take(c) ==
    \E p \in Partitions, late \in BOOLEAN :
        StartVerification(c, p, late) \/ AppendBatch(c, p, late) \/ AnswerDuplicate(c, p, late) \/ RejectBatch(c, p, late)
Commit == CommitRecord(leaderAndEpoch.broker) \/ \E p \in Partitions : AdvanceHighWatermark(p, Len(log[p]))
Load   == LoadTransactions(leaderAndEpoch.broker) \/ \E b \in Brokers : Resign(b)
Mark   ==
    \/ \E b \in Brokers, p \in Partitions : SendMarker(b, p) \/ ReceiveMarkerReply(b, p)
    \/ \E b \in Brokers, p \in Partitions, late \in BOOLEAN : AppendMarker(b, p, late) \/ RejectMarker(b, p, late)
    \/ \E b \in Brokers : CompleteTransaction(b)
TimeOut == \E b \in Brokers : AbortTimedOutTransaction(b)

\* Optional steps of clients.
Begin ==
    \/ \E c \in Clients : begun < Begins /\ BeginTransaction(c, begun + 1)
    \/ \E c \in Clients, p \in Partitions : client[c].next[p] = 0 /\ SendProduce(c, p)
    \/ \E c \in Clients, p \in Partitions : p \notin client[c].partitions /\ SendTxnOffsetCommit(c, p)
    \/ \E c \in Clients, result \in Results : client[c].state = "IN_TRANSACTION" /\ SendEndTxn(c, leaderAndEpoch.broker, result)

-----------------------------------------------------------------------------
(* Steps that do not *)

Fault ==
    \/ "fail-over" \in FaultsUsed /\ \E b \in Brokers, keep \in 0..Len(unreplicated[leaderAndEpoch.broker]) :
           BecomeCoordinator(b, keep)
    \/ "give up" \in FaultsUsed /\ \E c \in Clients, p \in Partitions, keep \in BOOLEAN : GiveUpProduce(c, p, keep)
    \/ "disconnect" \in FaultsUsed /\ \E c \in Clients, keep \in BOOLEAN : DisconnectRpc(c, keep)
    \/ "lose marker" \in FaultsUsed /\ \E b \in Brokers, p \in Partitions, keep \in BOOLEAN : LoseMarker(b, p, keep)
    \/ "fail" \in FaultsUsed /\ \E b \in Brokers : FailAppend(b)
    \/ "elect" \in FaultsUsed /\ \E p \in Partitions : \E keep \in highWatermark[p]..Len(log[p]) : ElectPartitionLeader(p, keep)
    \/ "reconnect" \in FaultsUsed /\ \E c \in Clients, p \in Partitions, keep \in BOOLEAN : DisconnectOffsets(c, p, keep)
    \/ "refuse" \in FaultsUsed /\ \E c \in Clients, p \in Partitions, late \in BOOLEAN : RefuseOffsets(c, p, late, "ILLEGAL_GENERATION")

Helpful ==
    \/ \E c \in Clients : Ask(c) \/ Hear(c) \/ Answer(c) \/ Verify(c) \/ Take(c)
    \/ Commit \/ Load \/ Mark \/ TimeOut

LiveInit == Init /\ Partitions \ DataPartitions = OffsetsPartitions /\ faults = 0
LiveNext ==
    \/ (Helpful \/ Begin) /\ UNCHANGED faults
    \/ faults < MaxFaults /\ Fault /\ faults' = faults + 1

\* Each kind is fair by itself: under weak fairness of their union DecidedCompletes falls.
LiveSpec ==
    /\ LiveInit /\ [][LiveNext]_liveVars
    /\ \A c \in Clients :
        /\ WF_liveVars("ask" \notin Unfair /\ Ask(c) /\ UNCHANGED faults)
        /\ WF_liveVars(Hear(c) /\ UNCHANGED faults)
        /\ WF_liveVars(Answer(c) /\ UNCHANGED faults)
        /\ WF_liveVars("verify" \notin Unfair /\ Verify(c) /\ UNCHANGED faults)
        /\ WF_liveVars(Take(c) /\ UNCHANGED faults)
    /\ WF_liveVars("commit" \notin Unfair /\ Commit /\ UNCHANGED faults)
    /\ WF_liveVars("load" \notin Unfair /\ Load /\ UNCHANGED faults)
    /\ WF_liveVars("marker" \notin Unfair /\ Mark /\ UNCHANGED faults)
    /\ WF_liveVars("time out" \notin Unfair /\ TimeOut /\ UNCHANGED faults)
=============================================================================
