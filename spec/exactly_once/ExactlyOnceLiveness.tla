------------------------- MODULE ExactlyOnceLiveness -------------------------
(***************************************************************************)
(* What must happen, what is fair, and what is a fault. A step is fair only *)
(* if it helps: who is no member joins, sessions of the dead expire, a     *)
(* generation is complete when all who live have joined, requests are      *)
(* handled and answered, markers are written, and a process that has to    *)
(* stop starts anew. There may be MaxFaults faults in all.                 *)
(***************************************************************************)
EXTENDS ExactlyOnceProperties

CONSTANTS
    Records,    \* of each input partition
    MaxFaults,
    FaultsUsed, \* the kinds of faults
    Unfair      \* kinds of helpful steps that need not happen

ASSUME FaultsUsed \subseteq {"crash", "remove", "give up", "repeat", "time out"}
ASSUME Unfair \subseteq {"init", "join", "consume", "marker", "read"}

VARIABLES
    faults,     \* how many there were
    helped      \* was the last step one of Helpful? It flips where none is possible

liveVars == <<vars, faults, helped>>

-----------------------------------------------------------------------------
(* What must happen *)

IsReturned(p, offset) == \E a \in 1..Len(returned) : returned[a].partition = p /\ returned[a].offset = offset

\* The result of every record is returned.
EveryRecordReturned == \A p \in Partitions, offset \in 0..(MaxOffset - 1) : input[p] > offset ~> IsReturned(p, offset)

\* A transaction ends.
TransactionEnds ==
    \A i \in Instances : txn[i].state \in {"Ongoing"} \cup Prepared ~> txn[i].state \notin {"Ongoing"} \cup Prepared

\* Staged offsets count in the end, or are forgotten.
StagedIsDecided == \A i \in Instances : HasStaged(i) ~> ~HasStaged(i)

-----------------------------------------------------------------------------
(* Steps that help *)

Start(i) == InitProducerId(i) \/ FenceProducer(i) \/ (instance[i].state = "FATAL_ERROR" /\ Crash(i))

\* It is no member, or another generation is to come: somebody has joined it, or an owner is gone.
Due        == group.joined # {} \/ \E p \in Partitions : group.owner[p] \notin group.members
Rejoins(i) == instance[i].member \notin group.members \/ (Due /\ instance[i].member \notin group.joined)
Join(i)    == (Rejoins(i) /\ (RevokePartitions(i) \/ JoinGroup(i))) \/ SyncGroup(i)
Expire     == \E m \in MemberIds : (\A i \in Instances : instance[i].member # m) /\ RemoveMember(m)
Complete   == (\A i \in Instances : instance[i].member \in group.joined) /\ CompleteJoin

Consume(i) ==
    \/ \E p \in Partitions : FetchOffset(i, p)
    \/ ~Rejoins(i) /\ \E p \in Partitions : SendResult(i, p)
    \/ SendTxnOffsetCommit(i, TRUE)
    \/ \E result \in Results : (result = "ABORT" => instance[i].state = "ABORTABLE_ERROR") /\ SendEndTxn(i, result)
Hear(i)    == ReceiveReply(i)
Handle(i, isLate) ==
    \/ AppendResult(i, isLate) \/ AnswerDuplicate(i, isLate) \/ RejectResult(i, isLate)
    \/ HandleTxnOffsetCommit(i, isLate) \/ RejectTxnOffsetCommit(i, isLate)
    \/ HandleEndTxn(i, isLate) \/ AnswerEndTxn(i, isLate)
WriteMarkers(i) == (\E target \in Targets : WriteMarker(i, target, FALSE)) \/ CompleteTransaction(i)

\* The helpful steps of these kinds. A late request need not arrive.
Steps(kinds) ==
    \/ \E i \in Instances :
        \/ "init" \in kinds /\ Start(i)
        \/ "join" \in kinds /\ Join(i)
        \/ "consume" \in kinds /\ Consume(i)
        \/ "request" \in kinds /\ (Hear(i) \/ Handle(i, FALSE))
        \/ "late" \in kinds /\ Handle(i, TRUE)
        \/ "marker" \in kinds /\ WriteMarkers(i)
    \/ "join" \in kinds /\ (Expire \/ Complete)
    \/ "read" \in kinds /\ ReadOutput
HelpfulKinds == {"init", "join", "consume", "request", "marker", "read"}

Helpful == Steps(HelpfulKinds \ Unfair)

-----------------------------------------------------------------------------
(* Steps that do not *)

Fault ==
    \/ "crash" \in FaultsUsed /\ \E i \in Instances : instance[i].state # "FATAL_ERROR" /\ Crash(i)
    \/ "remove" \in FaultsUsed /\ \E m \in MemberIds : RemoveMember(m)
    \/ "give up" \in FaultsUsed /\ \E i \in Instances : GiveUpRequest(i)
    \/ "repeat" \in FaultsUsed /\ \E i \in Instances : RepeatRequest(i)
    \/ "time out" \in FaultsUsed /\ \E i \in Instances : AbortTimedOutTransaction(i)

LiveInit == Init /\ input = [p \in Partitions |-> Records] /\ faults = 0 /\ helped = FALSE
LiveNext ==
    \/ <<Helpful>>_vars /\ helped' = TRUE /\ UNCHANGED faults
    \/ ~ENABLED <<Helpful>>_vars /\ helped' = ~helped /\ UNCHANGED <<vars, faults>>
    \/ Steps(Unfair \cup {"late"}) /\ helped' = FALSE /\ UNCHANGED faults
    \/ faults < MaxFaults /\ Fault /\ faults' = faults + 1 /\ helped' = FALSE

\* Weak fairness of Helpful: such steps go on for ever, or there is none again and again, and then `helped` flips. So TLC evaluates
\* ENABLED once in each state; under WF_vars it does at each step, for each property. Steps of one kind may starve another.
LiveSpec == LiveInit /\ [][LiveNext]_liveVars /\ []<><<helped'>>_liveVars
=============================================================================
