---------------------------- MODULE MCExactlyOnce ----------------------------
(***************************************************************************)
(* ExactlyOnce made finite. One module, many cfgs: a cfg says how many     *)
(* records, generations and faults a behaviour may have, and which         *)
(* families of actions it uses. The bounds are guards of MCNext, because   *)
(* TLC checks every property also in the states that a CONSTRAINT cuts off. *)
(*                                                                         *)
(* The first generation is that of all instances. Then MCNext lets hurry   *)
(* what a cfg does not slow down:                                          *)
(*  - replies are read at once, transactions are complete with their last  *)
(*    marker, the reader reads what it may;                                *)
(*  - a process has its producer epoch before anything else ("slow init"); *)
(*  - a request is handled before anything but a fault, and what is late   *)
(*    ("slow rpc");                                                        *)
(*  - a generation is complete when all have joined who live, and they     *)
(*    hear of it at once ("slow group").                                   *)
(* Offsets are sent once in a transaction, but for "more results".         *)
(* A violation is real; what a "holds" covers the manifest says.           *)
(***************************************************************************)
EXTENDS ExactlyOnceProperties, TLC

CONSTANTS
    Families,       \* the families of actions in use
    Records,        \* of each input partition
    Loaded,         \* the input partitions that have records
    Batch,          \* records of a transaction at most
    LastGeneration, \* the last generation
    LastEpoch,      \* the last producer epoch in which a transaction begins
    Faults          \* how many faults, of all kinds together

ASSUME Families \subseteq {"crash", "remove", "give up", "repeat", "abort", "time out", "copy", "plain", "rebalance", "slow init",
                           "slow rpc", "slow group", "replace", "more results"}

VARIABLE faults
mcVars == <<vars, faults>>

On(family, S) == IF family \in Families THEN S ELSE {}

MCInit == Init /\ input = [p \in Partitions |-> IF p \in Loaded THEN Records ELSE 0] /\ faults = 0

-----------------------------------------------------------------------------
(* Refinement *)

Data == {n \in 1..Len(output) : output[n].type = "data"}

\* The results of p that an instance has written and that are not decided.
OpenResults(i, p) ==
    {n \in Data : /\ output[n].instance = i /\ Decision(n) = "none" /\ txn[i].state \notin Prepared
                  /\ IF output[n].type = "data" THEN output[n].partition = p ELSE FALSE}
OffsetsOf(S) == {output[n].offset : n \in S}
Interval(S) ==
    IF S = {} THEN [from |-> 0, to |-> 0] ELSE [from |-> MinOf(OffsetsOf(S)), to |-> MaxOf(OffsetsOf(S)) + 1]

\* How many of the results that the reader was given are the next of their partition.
InOrder(p) ==
    FoldSeq(LAMBDA result, n : IF result.partition = p /\ result.offset = n THEN n + 1 ELSE n, 0, returned)
Given(p) == Cardinality({a \in 1..Len(returned) : returned[a].partition = p})

Abstract == INSTANCE Delivery WITH
    Workers   <- Instances, Topics <- Partitions,
    open      <- [i \in Instances |-> [p \in Partitions |-> Interval(OpenResults(i, p))]],
    committed <- [p \in Partitions |-> Done(p)],
    delivered <- [p \in Partitions |-> InOrder(p)],
    stray     <- [p \in Partitions |-> Given(p) - InOrder(p)]
DeliveryRefined == Abstract!Spec
\* Its steps alone, which TLC can name when they fall.
DeliverySteps == [][Abstract!Next]_(Abstract!vars)

\* Every step is one of those that Transactions and Offsets refine.
Quoted == INSTANCE TransactionSteps
QuotedSteps == [][Quoted!Transact]_vars

Symmetry == Permutations(Instances)

-----------------------------------------------------------------------------
(* What is due *)

Replied1   == {i \in Instances : rpc[i].type = "reply"}
Complete1  == {i \in Instances : txn[i].state \in Prepared /\ txn[i].partitions = {}}
Reading    == read < IF Has("ReadCommitted") THEN LastStableOffset ELSE Len(output)
Beginning  == {i \in Instances : instance[i].state = "UNINITIALIZED" /\ txn[i].state \notin Prepared /\ "slow init" \notin Families}

\* Requests that are not to be sent again until the coordinator may say something else.
Verdict(i, r) ==
    CASE r.type = "produce" -> ProduceVerdict(i, r)
      [] r.type = "commit"  -> CommitVerdict(i, r)
      [] r.type = "end"     -> EndVerdict(i, r)
      [] OTHER              -> "CONCURRENT_TRANSACTIONS"
Asking     == {i \in Instances : Verdict(i, rpc[i]) # "CONCURRENT_TRANSACTIONS" /\ "slow rpc" \notin Families}

\* A joined member gets its generation; an instance that has not joined, and may, joins.
Hears(i)   == instance[i].generation = -1 /\ instance[i].member \in group.members \ group.joined /\ rpc[i].type = "idle"

Handle(i, isLate) ==
    \/ AppendResult(i, isLate) \/ AnswerDuplicate(i, isLate) \/ RejectResult(i, isLate)
    \/ HandleTxnOffsetCommit(i, isLate) \/ RejectTxnOffsetCommit(i, isLate)
    \/ HandleEndTxn(i, isLate) \/ AnswerEndTxn(i, isLate)

-----------------------------------------------------------------------------
(* Next, by families *)

InTransaction(i) == Cardinality({n \in Data : output[n].instance = i /\ n > entry[i].first /\ entry[i].first >= 0})

Rebalancing == group.joined # {} \/ \E i \in Instances : instance[i].owned # {} /\ instance[i].member \notin group.members

Consume(i) ==
    \/ \E p \in Partitions :
            /\ InTransaction(i) < Batch /\ instance[i].epoch <= LastEpoch
            /\ instance[i].sent => "more results" \in Families
            /\ SendResult(i, p)
    \/ \E named \in BOOLEAN : (named \/ ~Has("SendGroupMetadata")) /\ SendTxnOffsetCommit(i, named)
    \/ \E result \in Results :
            /\ result = "ABORT" /\ instance[i].state = "IN_TRANSACTION" => "abort" \in Families
            /\ SendEndTxn(i, result)
    \/ \E p \in Partitions : FetchOffset(i, p)
    \/ "plain" \in Families /\ CommitOffset(i)

Rebalance(i) ==
    \/ /\ Rebalancing \/ ("rebalance" \in Families /\ group.generation < LastGeneration)
       /\ RevokePartitions(i)
    \/ group.generation < LastGeneration /\ JoinGroup(i)
    \/ SyncGroup(i)
    \/ "replace" \in Families /\ ReplaceMember(i)

Loss ==
    \/ \E i \in On("crash", Instances) : Crash(i)
    \/ \E m \in On("remove", MemberIds) : RemoveMember(m)
    \/ \E i \in On("give up", Instances) : GiveUpRequest(i)
    \/ \E i \in On("repeat", Instances) : RepeatRequest(i)
    \/ \E i \in On("time out", Instances) : AbortTimedOutTransaction(i)
    \/ \E i \in On("copy", Instances), target \in Targets : WriteMarker(i, target, TRUE)

Steady == UNCHANGED faults
Fault  == faults < Faults /\ Loss /\ faults' = faults + 1

Late ==
    \/ \E i \in Instances : Handle(i, TRUE)
    \/ \E i \in Instances : WriteLateMarker(i)

\* All have joined who can.
Ready == group.joined # {} /\ \A i \in Instances : instance[i].member \in group.joined

MCNext ==
    IF group.generation = 0
    THEN Steady /\ IF Ready THEN CompleteJoin ELSE \E i \in Instances : JoinGroup(i)
    ELSE IF Replied1 # {} THEN Steady /\ \E i \in Replied1 : ReceiveReply(i)
    ELSE IF Complete1 # {} THEN Steady /\ \E i \in Complete1 : CompleteTransaction(i)
    ELSE IF Reading THEN Steady /\ ReadOutput
    ELSE IF Beginning # {} THEN Steady /\ \E i \in Beginning : InitProducerId(i) \/ FenceProducer(i)
    ELSE IF Asking # {} THEN (Steady /\ \E i \in Asking : Handle(i, FALSE)) \/ (Steady /\ Late) \/ Fault
    ELSE IF "slow group" \notin Families /\ Ready THEN Steady /\ CompleteJoin
    ELSE IF "slow group" \notin Families /\ \E i \in Instances : Hears(i) THEN Steady /\ \E i \in Instances : SyncGroup(i)
    ELSE \/ Steady /\ \E i \in Instances : Consume(i) \/ Rebalance(i) \/ Handle(i, FALSE)
         \/ Steady /\ \E i \in Instances : InitProducerId(i) \/ FenceProducer(i)
         \/ Steady /\ \E i \in Instances, target \in Targets : WriteMarker(i, target, FALSE)
         \/ Steady /\ CompleteJoin
         \/ Steady /\ Late
         \/ Fault
=============================================================================
