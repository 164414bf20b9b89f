------------------------------ MODULE MCSafety ------------------------------
(***************************************************************************)
(* MCReplication made quick for the models that hold, whose whole graph    *)
(* TLC has to see. The actions are Replication's own. What differs:        *)
(*                                                                         *)
(* A bound is a guard of Next, because TLC checks every property also in   *)
(* the states that a CONSTRAINT cuts off. A parameter that a variable      *)
(* determines is taken from it. One broker leads first and the others are  *)
(* interchangeable: the same reduction as by all permutations, with one    *)
(* permutation to try in place of five. A follower hears of a change of    *)
(* the ISR alone at once, since nothing that it does depends on when.      *)
(*                                                                         *)
(* FreeNext keeps every interleaving of its families. In HurriedSafetyNext *)
(* nothing happens while a fetch is under way, and only fetches that tell  *)
(* somebody something are sent; Simplified names what else is left out:    *)
(*   "alter"           a proposal is decided and its reply heard at once   *)
(*   "answer"          a produce is answered as soon as it can be          *)
(*   "restart"         a broker that went down is fenced, back and (once   *)
(*                     it has caught up with the metadata) unfenced at once*)
(*   "depose"          no leader hears of its deposition and re-election   *)
(*                     as one delta                                        *)
(*   "high watermark"  no follower fetches for the high watermark alone    *)
(*   "late"            only a broker that leads completes a produce        *)
(* A "holds" does not cover what is left out.                              *)
(*                                                                         *)
(* Nothing is lost without the family "flush": a crash may keep any number *)
(* of unflushed records, all of them too, and flushing only forbids losses.*)
(***************************************************************************)
EXTENDS MCReplication

CONSTANT Simplified

ASSUME Simplified \subseteq {"alter", "answer", "depose", "restart", "high watermark", "late"}

\* For what AckedOnLeader and DivergingPointNeverIncreases read.
WithHistory == <<NoHistory, acked, reconciled>>

SymmetryOfOthers == Permutations(Brokers \ FirstLeaders)

\* The controller stays within the bounds; so does the number of outages.
Within   == Len(metadata') <= Changes + 1 /\ metadata'[Len(metadata')].leaderEpoch <= LeaderEpochs
OneMore  == Downs < Outages
Fencible == {b \in Either("fence", "fence live", Brokers) : "fence live" \in Families \/ ~Running(b)}

-----------------------------------------------------------------------------
(* What hurries *)

TakeResponse(f, l) ==
    \/ FollowerAppend(f, l)
    \/ CheckDiverging(f, l)
    \/ FollowerTruncate(f, l)
    \/ FollowerAdoptHw(f, l)
    \/ FollowerOutOfRange(f, l)
    \/ DropFetchResponse(f, l)

\* The leader sends as much as the fetch may carry.
DeliverTo(f, l) ==
    IF fetch[f][l].type = "request"
    THEN \/ /\ fetch[f][l].offset <= Leo(l)
            /\ HandleFetch(l, f, Min(MaxFetch, Leo(l) - fetch[f][l].offset))
         \/ AnswerDiverging(l, f)
         \/ RejectFetch(l, f)
    ELSE TakeResponse(f, l)

Decide(b) == IF alter[b].type = "request" THEN HandleAlterPartition(b) /\ Within ELSE HandleAlterPartitionReply(b)

Answer(b, v) ==
    \/ waiting[b][v] > 0 /\ ("late" \in Simplified => Leads(b)) /\ CompleteProduce(b, v, waiting[b][v] - 1)
    \/ FailProduce(b, v, "NOT_LEADER_OR_FOLLOWER")
    \/ FailProduce(b, v, "NOT_ENOUGH_REPLICAS_AFTER_APPEND")

Answerable ==
    {p \in Brokers \X (1..produced) :
        /\ waiting[p[1]][p[2]] > 0
        /\ Leads(p[1]) => highWatermark[p[1]] >= waiting[p[1]][p[2]]}

\* A follower's next change, if it changes the ISR alone: nothing that the follower does depends on when it hears of it.
HearsOfIsr ==
    {b \in Brokers :
        /\ Running(b) /\ view[b].partitionEpoch \in 1..(Len(metadata) - 1)
        /\ view[b].leader # b /\ \A v \in Values : waiting[b][v] <= 0
        /\ metadata[view[b].partitionEpoch + 1].leaderEpoch = view[b].leaderEpoch}

\* A broker that went down and is not back.
Returning ==
    {b \in Brokers : ~Running(b) \/ (registered[b].state = "fenced" /\ view[b].partitionEpoch >= registered[b].since)}
Return(b) ==
    /\ \/ \E l \in Leaders : FenceBroker(b, l)
       \/ \E l \in Leaders : RegisterBroker(b, l)
       \/ \E l \in Leaders : UnfenceBroker(b, l)
    /\ Within

-----------------------------------------------------------------------------
(* What takes its time *)

ControllerActs ==
    /\ \/ \E l \in On("elect", Brokers) : ElectLeader(l)
       \/ \E b \in Fencible, l \in Leaders : FenceBroker(b, l)
       \/ \E b \in Either("fence", "fence live", Brokers), l \in Leaders : UnfenceBroker(b, l)
       \/ \E b \in On("restart", Brokers), l \in Leaders : RegisterBroker(b, l)
       \/ \E b \in On("stop", Brokers), l \in Leaders : ControlledShutdown(b, l)
    /\ Within

\* A broker applies any number of changes as one delta; with "depose" a leader does not learn of its re-election alone.
ReElected(b, n) ==
    view[b].leader = b /\ metadata[n].leader = b /\ metadata[n].leaderEpoch # view[b].leaderEpoch
Applies ==
    \E b \in Brokers, n \in 2..Len(metadata) :
        /\ n >= view[b].partitionEpoch
        /\ "depose" \in Simplified => ~ReElected(b, n)
        /\ ApplyMetadata(b, n)

Appends ==
    \/ produced < Records /\ \E b \in Brokers, acks \in AcksUsed : AppendRecord(b, produced + 1, acks)
    \/ produced < Records /\ \E b \in LateWaiting : AppendRecordsToLeader(b, produced + 1)
    \/ \E b \in LateWaiting, v \in 1..produced : waiting[b][v] < 0 /\ AddDelayedProduce(b, v)

Answers ==
    \/ \E b \in Brokers, v \in 1..produced : waiting[b][v] # 0 /\ Answer(b, v)
    \/ \E b \in On("time out", Brokers), v \in 1..produced : waiting[b][v] > 0 /\ FailProduce(b, v, "REQUEST_TIMED_OUT")

Proposes ==
    \/ \E b \in On("shrink", Brokers), f \in Brokers : ShrinkIsr(b, f)
    \/ \E b \in On("expand", Brokers), f \in Brokers : ExpandIsr(b, f)

Alters ==
    \/ \E b \in Brokers : alter[b].type # "idle" /\ Decide(b)
    \/ \E b \in On("lose alter", Brokers) : ResendAlterPartition(b)
    \/ \E b \in On("lose alter", Brokers) : LoseAlterPartition(b)

GoesDown ==
    /\ OneMore
    /\ \/ \E b \in On("stop", Brokers) : StopBroker(b)
       \/ \E b \in On("crash", Brokers), keep \in Offsets : CrashBroker(b, keep)

Disk ==
    \/ \E b \in On("flush", Brokers) : FlushLog(b)
    \/ \E b \in On("checkpoint", Brokers) : CheckpointHighWatermark(b)

\* With "high watermark" no follower fetches to learn of the high watermark alone.
Tells(f, l, request) ==
    /\ Telling(f, l, request)
    /\ "high watermark" \in Simplified =>
        \/ request.offset < Leo(l) \/ Diverges(l, request)
        \/ remoteLeo[l][f] # request.offset \/ remoteEpoch[l][f] # request.brokerEpoch
Fetches ==
    \E f \in Brokers :
        LET l == view[f].leader IN l \in Brokers \ {f} /\ SendFetch(f, l) /\ Tells(f, l, fetch'[f][l])

\* Every fetch may be late, be answered with less than there is, be read late or be lost.
FreeFetches ==
    \/ \E f \in Brokers : view[f].leader \in Brokers /\ SendFetch(f, view[f].leader)
    \/ \E f, l \in Brokers :
        CASE fetch[f][l].type = "idle"    -> FALSE
          [] fetch[f][l].type = "reading" -> ReadFetch(l, f)
          [] fetch[f][l].type = "uncounted" -> UpdateFollowerFetchState(l, f)
          [] fetch[f][l].type = "truncated" -> ReadFetch(l, f) \/ LoseFetch(f, l)
          [] fetch[f][l].type = "request" -> \/ \E n \in 0..MaxFetch : HandleFetch(l, f, n)
                                             \/ l \in LateCounting /\ \E n \in 0..MaxFetch : FetchRecords(l, f, n)
                                             \/ \E n \in On("late read", 1..MaxFetch) : ValidateFetch(l, f, n)
                                             \/ AnswerDiverging(l, f)
                                             \/ RejectFetch(l, f)
          [] OTHER                        -> TakeResponse(f, l)
    \/ \E f \in On("lose fetch", Brokers), l \in Brokers : LoseFetch(f, l)

FreeNext ==
    ControllerActs \/ Applies \/ Appends \/ Answers \/ Proposes \/ Alters \/ GoesDown \/ Disk \/ FreeFetches

HurriedSafetyNext ==
    LET underWay == {p \in Brokers \X Brokers : fetch[p[1]][p[2]].type # "idle"}
        deciding == IF "alter" \in Simplified THEN {b \in Brokers : alter[b].type # "idle"} ELSE {}
        answers  == IF "answer" \in Simplified THEN Answerable ELSE {}
        returns  == IF "restart" \in Simplified THEN Returning ELSE {}
    IN  IF underWay # {} THEN \E p \in underWay : DeliverTo(p[1], p[2])
        ELSE IF deciding # {} THEN \E b \in deciding : Decide(b)
        ELSE IF answers # {} THEN \E p \in answers : Answer(p[1], p[2])
        ELSE IF HearsOfIsr # {} THEN \E b \in HearsOfIsr : ApplyMetadata(b, view[b].partitionEpoch + 1)
        ELSE IF returns # {} THEN \E b \in returns : Return(b)
        ELSE \/ ControllerActs \/ Applies \/ Appends \/ Answers \/ Proposes \/ Alters \/ GoesDown \/ Disk \/ Fetches

\* The same, but until the first record is acknowledged nothing goes wrong: no partition change, and nobody goes down.
AckedFirstNext == HurriedSafetyNext /\ (acked[1] = 0 => UNCHANGED <<metadata, registered, status>>)

-----------------------------------------------------------------------------
(* What a model must reach; each of these falls *)

\* Records are committed, the ISR is empty, and a broker of the ELR runs: it is to lead next.
NeverWaitsForElr == Partition.isr = {} /\ (\E b \in Partition.elr : Running(b)) => committed = <<>>

\* A broker outside the ISR is elected, of the ELR, with a committed record: in the change that fences the last of the ISR, or later.
NeverElectsFromElr == [][Partition'.leader \in Brokers \ Partition.isr => committed = <<>>]_vars

\* The last of the ISR has gone, and a broker of the ELR that comes back leads, with a committed record.
NeverLeadsFromElr == [][Partition.isr = {} /\ Partition'.isr # {} => committed = <<>>]_vars

\* Two brokers of the ELR stand beside an ISR of one, and a record is committed.
NeverElrOfTwo == Cardinality(Partition.isr) = 1 /\ Cardinality(Partition.elr) = 2 => committed = <<>>

\* A leader has truncated records of a fetch that it still reads, and is in a later leader epoch than the fetch.
NeverReadsLate == \A f, l \in Brokers : fetch[f][l].type = "truncated" => fetch[f][l].epoch >= view[l].leaderEpoch

\* A leader has validated a fetch, has not counted it, and is in a later leader epoch than the fetch.
NeverCountsLate == \A f, l \in Brokers : fetch[f][l].type = "uncounted" => fetch[f][l].epoch >= view[l].leaderEpoch

\* A follower has checked a diverging answer, has not truncated, and is in a later leader epoch than the answer.
NeverTruncatesLate == \A f, l \in Brokers : fetch[f][l].type = "checked" => fetch[f][l].epoch >= view[f].leaderEpoch

\* A broker must not lose records, because another one of ISR and ELR has lost some and nobody else is there.
NeverKeepsTheLastIntact ==
    \A b, c \in Partition.isr \cup Partition.elr :
        Running(b) /\ flushed[b] < Leo(b) /\ status[c] = "lossy" => EnvironmentLeavesOneIntact(b)

\* A broker has crashed, and another record, or none, is where the record of a produce was that has still to begin to wait.
NeverWaitsLateAfterCrash ==
    \A b \in Brokers, v \in Values :
        waiting[b][v] < 0 /\ Downs > 0 => -waiting[b][v] <= Leo(b) /\ log[b][-waiting[b][v]].value = v
=============================================================================
