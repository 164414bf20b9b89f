--------------------- MODULE IdempotentProducerLiveness ---------------------
(***************************************************************************)
(* What must happen, what is fair, and what is a fault. A step is fair only *)
(* if it helps: requests are sent to who leads, handled and answered, what *)
(* is appended commits. That a batch expires is a fault, too, but where a  *)
(* bump of the epoch waits for a batch that is in doubt: nothing else ends *)
(* that wait if the leader does not have the batch (ResequenceOnlyRefused).*)
(* There may be MaxFaults faults in all.                                   *)
(***************************************************************************)
EXTENDS IdempotentProducerProperties

CONSTANTS
    Batches,    \* batches that a process sends to a partition
    MaxFaults,
    FaultsUsed, \* the kinds of faults
    Unfair      \* kinds of helpful steps that need not happen

ASSUME Unfair \subseteq {"bump", "commit", "give up", "resolve"}

VARIABLES
    faults,     \* how many there were
    helped      \* was the last step one of Helpful? It flips where none is possible

liveVars == <<vars, faults, helped>>

-----------------------------------------------------------------------------
(* What must happen *)

\* Every batch is acknowledged or expires.
EveryBatchSettles ==
    \A c \in Producers, p \in Partitions, n \in Numbers :
        PlaceOf(sender[c][p], n) # 0 ~> PlaceOf(sender[c][p], n) = 0

\* A bump that is asked for happens.
BumpHappens == \A c \in Producers : MustBump(c) ~> ~MustBump(c)

\* Sequences are resolved.
SequencesResolve == \A c \in Producers, p \in Partitions : sender[c][p].unresolved # -1 ~> sender[c][p].unresolved = -1

\* In the end everything that the application has is sent and settled, and all that was written is committed.
Settles ==
    <>[]( /\ QuiescentNothingInFlight /\ QuiescentAllCommitted
          /\ \A c \in Producers, p \in Partitions : sender[c][p].created = Batches )

-----------------------------------------------------------------------------
(* Steps that help *)

Start  == \E c \in Producers, pid \in Pids : GetProducerId(c, pid)
Send   == \E c \in Producers, p \in Partitions : sender[c][p].created < Batches /\ SendBatch(c, p, leader[p])
Resend == \E c \in Producers, p \in Partitions : ResendBatch(c, p, leader[p])
Handle ==
    \E b \in Brokers, c \in Producers, p \in Partitions :
        AppendBatch(b, c, p) \/ AnswerDuplicate(b, c, p) \/ RejectBatch(b, c, p) \/ CompleteProduce(b, c, p)
Receive == \E b \in Brokers, c \in Producers, p \in Partitions : ReceiveAck(b, c, p) \/ ReceiveError(b, c, p)
Commit  == \E p \in Partitions : AdvanceHighWatermark(p, Len(log[p]))
Bump    == \E c \in Producers : BumpEpoch(c)
Resolve == \E c \in Producers, p \in Partitions : ResolveSequences(c, p)
Arrive  == \E c \in Producers, p \in Partitions : AppendLate(c, p) \/ DropLate(c, p)

\* The oldest batch is in doubt, and a bump waits for it.
GiveUp(c, p) ==
    /\ sender[c][p].rewrite
    /\ \E i \in 1..Len(sender[c][p].batches) : sender[c][p].batches[i].doubt
    /\ ExpireBatch(c, p)

\* The helpful steps of these kinds.
Steps(kinds) ==
    \/ "request" \in kinds /\ (Start \/ Send \/ Resend \/ Handle \/ Receive \/ Arrive)
    \/ "commit" \in kinds /\ Commit
    \/ "resolve" \in kinds /\ Resolve
    \/ "bump" \in kinds /\ Bump
    \/ "give up" \in kinds /\ \E c \in Producers, p \in Partitions : GiveUp(c, p)
HelpfulKinds == {"request", "commit", "resolve", "bump", "give up"}

\* A batch is sent again until it is given up: such steps must not pass for that one.
GivingUp == Steps({"give up"} \ Unfair)
Helpful  == Steps(HelpfulKinds \ ({"give up"} \cup Unfair))

-----------------------------------------------------------------------------
(* Steps that do not *)

Fault ==
    \/ "disconnect" \in FaultsUsed /\ \E c \in Producers, p \in Partitions, b \in Brokers, keep \in 0..1 : Disconnect(c, p, b, keep)
    \/ "elect" \in FaultsUsed /\ \E p \in Partitions, b \in Brokers : \E keep \in highWatermark[p]..Len(log[p]), snapshot \in 0..1 :
            ElectLeader(p, b, keep, snapshot)
    \/ "expire" \in FaultsUsed /\ \E c \in Producers, p \in Partitions : ExpireBatch(c, p)
    \/ "expire state" \in FaultsUsed /\ \E p \in Partitions, pid \in Pids : ExpireProducer(p, pid)
    \/ "few in sync" \in FaultsUsed /\ \E b \in Brokers, c \in Producers, p \in Partitions : RejectUnderMinIsr(b, c, p)
    \/ "fail" \in FaultsUsed /\ \E b \in Brokers, c \in Producers, p \in Partitions : FailAppend(b, c, p)

LiveInit == Init /\ faults = 0 /\ helped = FALSE
LiveNext ==
    \/ <<Helpful>>_vars /\ helped' = TRUE /\ UNCHANGED faults
    \/ ~ENABLED <<Helpful>>_vars /\ helped' = ~helped /\ UNCHANGED <<vars, faults>>
    \/ (GivingUp \/ Steps(Unfair)) /\ helped' = FALSE /\ UNCHANGED faults
    \/ faults < MaxFaults /\ Fault /\ faults' = faults + 1 /\ helped' = FALSE

\* The third conjunct is weak fairness of Helpful: such steps go on for ever, or there is none again and again, and then `helped`
\* flips. So TLC evaluates ENABLED once in each state; under WF_vars it does at each step, for each property. Within Helpful
\* steps of one kind may starve another.
LiveSpec == LiveInit /\ [][LiveNext]_liveVars /\ []<><<helped'>>_liveVars /\ WF_vars(GivingUp)
=============================================================================
