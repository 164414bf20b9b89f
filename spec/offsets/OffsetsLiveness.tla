-------------------------- MODULE OffsetsLiveness --------------------------
(***************************************************************************)
(* That a group's committed offsets come to rest. What the application     *)
(* does is counted and ends, and so are faults; then transactions are      *)
(* decided, what is written is served, and what has expired goes. What is  *)
(* fair stands in Helpful, and nothing else is: time need not go on, and   *)
(* what is late need not arrive.                                           *)
(*                                                                         *)
(* Everything goes to the elected coordinator; offsets are not deleted,  *)
(* and the log is not compacted.                                           *)
(***************************************************************************)
EXTENDS OffsetsProperties

CONSTANTS
    MaxWork,       \* steps of the application, all together
    Work,          \* which kinds of them
    MaxFaults,     \* fail-overs, and what is given up, lost or doubled, all together
    Faults,        \* which kinds of them
    Hurried,       \* does the network hurry? (Then nothing happens while a message is under way, but its delivery or loss.)
    Unfair         \* kinds of helpful steps that are not fair, or "end": faults do not end; what then goes wrong shows that it
                   \* is needed

ASSUME Work \subseteq {"commit", "rebalance", "transaction", "fetch", "tick"}
ASSUME Faults \subseteq {"give up", "lose", "lose request", "repeat", "fail-over"}

VARIABLES
    work,          \* how many steps of the application there were
    faults,        \* how many faults
    helped         \* was the last step one of Helpful? It flips where none is possible

liveVars == <<vars, work, faults, helped>>

-----------------------------------------------------------------------------
(* Steps that help *)

\* A broker handles what has arrived.
Requests ==
    \E b \in Brokers, t \in Producers :
        VerifyTxnOffsetCommit(b, t, FALSE) \/ HandleTxnOffsetCommit(b, t, FALSE) \/ RejectTxnOffsetCommit(b, t, FALSE)

Replies == \E t \in Producers : ReceiveTxnReply(t) \/ ReceiveMarkerReply(t)

\* The producer ends its transaction, or the transaction's time-out does.
Ends == \E t \in Producers, result \in Results : EndTransaction(t, result)

Markers ==
    \/ \E t \in Producers : SendMarker(t, B)
    \/ \E b \in Brokers, t \in Producers : HandleMarker(b, t, FALSE) \/ RejectMarker(b, t, FALSE)

Quiet ==
    Hurried => \A t \in Producers :
        txnRpc[t].type \in {"idle", "committing"} /\ marker[t].type \in {"idle", "writing"}

\* The helpful steps of these kinds.
Steps(kinds) ==
    \/ "requests" \in kinds /\ Requests
    \/ "replies" \in kinds /\ Replies
    \/ "markers" \in kinds /\ Markers
    \/ "ends" \in kinds /\ Quiet /\ Ends
    \/ "commits" \in kinds /\ Quiet /\ CommitEntry(B)
    \/ "sweeps" \in kinds /\ Quiet /\ ExpireOffsets(B)
    \/ "resign" \in kinds /\ Quiet /\ \E b \in Brokers : Resign(b)
HelpfulKinds == {"requests", "replies", "markers", "ends", "commits", "sweeps", "resign"}

ASSUME Unfair \subseteq HelpfulKinds \cup {"end"}

Helpful == Steps(HelpfulKinds \ Unfair)

-----------------------------------------------------------------------------
(* Steps that do not *)

Working ==
    \/ "commit" \in Work /\ \E p \in Partitions : CommitOffset(B, p, 0)
    \/ "rebalance" \in Work /\ Written(B).group.generation < MaxGeneration
                            /\ \E subscription \in SUBSET Partitions : Rebalance(B, subscription)
    \/ "transaction" \in Work /\ \E t \in Producers : BeginTransaction(t)
    \/ "transaction" \in Work /\ \E t \in Producers, p \in Partitions :
            SendTxnOffsetCommit(t, B, Written(B).group.generation, p, 1)
    \/ "fetch" \in Work /\ FetchOffsets(B, TRUE)
    \/ "tick" \in Work /\ now < MaxTime /\ Tick

\* Late requests arrive, or are lost.
Late ==
    \/ \E b \in Brokers, t \in Producers :
        \/ VerifyTxnOffsetCommit(b, t, TRUE) \/ HandleTxnOffsetCommit(b, t, TRUE) \/ RejectTxnOffsetCommit(b, t, TRUE)
        \/ HandleMarker(b, t, TRUE) \/ RejectMarker(b, t, TRUE)
    \/ \E t \in Producers : LoseLate(t) \/ LoseLateMarker(t)

Fault ==
    \/ "give up" \in Faults /\ \E t \in Producers : GiveUpTxnOffsetCommit(t)
    \/ "lose" \in Faults /\ \E t \in Producers : LoseMarker(t)
    \/ "lose request" \in Faults /\ \E t \in Producers : marker[t].type = "marker" /\ LoseMarker(t)
    \/ "repeat" \in Faults /\ \E t \in Producers : RepeatMarker(t)
    \/ "fail-over" \in Faults /\ \E b \in Brokers, keep \in 0..Len(appended[B]) : BecomeCoordinator(b, keep)

LiveInit ==
    /\ Init /\ work = 0 /\ faults = 0 /\ helped = FALSE
    /\ leaderAndEpoch.broker = CHOOSE b \in Brokers : TRUE  \* brokers are interchangeable
LiveNext ==
    \/ <<Helpful>>_vars /\ helped' = TRUE /\ UNCHANGED <<work, faults>>
    \/ ~ENABLED <<Helpful>>_vars /\ helped' = ~helped /\ UNCHANGED <<vars, work, faults>>
    \/ Steps(Unfair) /\ helped' = FALSE /\ UNCHANGED <<work, faults>>
    \/ Quiet /\ Late /\ helped' = FALSE /\ UNCHANGED <<work, faults>>
    \/ Quiet /\ work < MaxWork /\ Working /\ work' = work + 1 /\ helped' = FALSE /\ UNCHANGED faults
    \/ faults < MaxFaults /\ Fault /\ faults' = faults + (IF "end" \in Unfair THEN 0 ELSE 1) /\ helped' = FALSE /\ UNCHANGED work

\* Weak fairness of Helpful: such steps go on for ever, or there is none again and again, and then `helped` flips. So TLC evaluates
\* ENABLED once in each state; under WF_vars it does at each step, for each property. Steps of one kind may starve another.
LiveSpec == LiveInit /\ [][LiveNext]_liveVars /\ []<><<helped'>>_liveVars

-----------------------------------------------------------------------------
(* What happens in the end *)

\* Every transaction is complete.
TransactionsEnd == \A t \in Producers : transaction[t].phase # "idle" ~> transaction[t].phase = "idle"

\* A staged offset counts or is dropped.
StagedIsDecided == \A t \in Producers, p \in Partitions : staged[B][t][p].offset >= 0 ~> staged[B][t][p].offset < 0

\* That of a transaction that commits counts, unless a later one does.
CommittedCounts ==
    \A t \in Producers, p \in Partitions, n \in Positions :
        (transaction[t].phase = "ending" /\ transaction[t].result = "COMMIT" /\ staged[B][t][p].position = n)
            ~> offsets[B][p].position >= n

\* A written offset is served in the end, unless a fail-over loses it.
WrittenIsServed == \A p \in Partitions : offsets[B][p] # Written(B).offsets[p] ~> offsets[B][p] = Written(B).offsets[p]

\* An expired offset is removed, or does not count as expired any more.
ExpiredGoes == \A p \in Partitions : Expired(Memory(B), p) ~> ~Expired(Memory(B), p)

\* A fetch that waits for commits is answered.
FetchIsAnswered == fetch.type = "waiting" ~> fetch.type # "waiting"

\* In the end all of this stays so.
Converges ==
    <>[]( /\ QuiescentAllCommitted /\ QuiescentAllDecided
          /\ fetch.type # "waiting" /\ \A p \in Partitions : ~Expired(Memory(B), p) )
=============================================================================
