------------------------ MODULE ReplicationLiveness ------------------------
(***************************************************************************)
(* What must happen, what helps, and what is a fault. An action may be fair *)
(* only if it helps: brokers hear of metadata, fetch and answer; the        *)
(* controller decides, ends the sessions of brokers that are down and takes *)
(* them back. Nothing that could answer for them is fair or even there: no  *)
(* produce times out, no election is asked for. A fault happens or not.     *)
(***************************************************************************)
EXTENDS ReplicationProperties

-----------------------------------------------------------------------------
(* What must happen *)

\* An acks=all produce is acknowledged or rejected.
EveryProduceAnswered == \A b \in Brokers, v \in Values : waiting[b][v] > 0 ~> waiting[b][v] = 0

\* f has records that the leader of its epoch does not have.
Diverged(f) ==
    \E l \in Brokers :
        Leads(l) /\ Follows(f, l) /\ view[f].leaderEpoch = view[l].leaderEpoch /\ ~IsPrefix(log[f], log[l])

\* Truncation terminates: a follower becomes a prefix of its leader, or the epoch ends.
TruncationTerminates == \A f \in Brokers : Diverged(f) ~> ~Diverged(f)

\* A pending AlterPartition is decided, or metadata settles it.
ProposalResolves == \A b \in Brokers : pendingIsr[b].active ~> ~pendingIsr[b].active

\* A partition without a leader gets one.
LeaderReturns == Partition.leader = None ~> Partition.leader # None

\* Once faults have stopped, all brokers are in sync again, for good.
IsrBecomesFull == <>[]QuiescentIsrIsFull

\* Once faults have stopped, all logs become equal, and all of them committed.
LogsBecomeEqual == <>[]QuiescentLogsEqual

-----------------------------------------------------------------------------
(* What helps *)

\* A broker hears of metadata.
Hear(b) == \E n \in 1..MaxMetadata : ApplyMetadata(b, n)

\* A fetch is sent if the leader would learn or tell something; Kafka's fetch waits in the purgatory until then.
WorthFetching(f, l, request) ==
    /\ Running(l) /\ FetchError(l, request) \in {"NONE", "OFFSET_OUT_OF_RANGE"}
    /\ \/ FetchError(l, request) # "NONE" \/ Diverges(l, request)
       \/ request.offset < Leo(l) \/ remoteLeo[l][f] # request.offset \/ remoteEpoch[l][f] # request.brokerEpoch
       \/ highWatermark[f] # Min(highWatermark[l], request.offset)
Fetch(f, l) == SendFetch(f, l) /\ WorthFetching(f, l, fetch'[f][l])

\* The broker that was asked answers, with all that the response may carry.
Answer(l, f) ==
    \/ \E n \in 0..MaxFetch :
        /\ fetch[f][l].type = "request"
        /\ n = Min(MaxFetch, Max(0, Leo(l) - fetch[f][l].offset))
        /\ HandleFetch(l, f, n)
    \/ AnswerDiverging(l, f)
    \/ RejectFetch(l, f)

\* The follower takes the answer.
Take(f, l) ==
    \/ FollowerAppend(f, l)
    \/ FollowerTruncate(f, l)
    \/ FollowerOutOfRange(f, l)
    \/ DropFetchResponse(f, l)

\* The leader answers a produce that waits; it does not time out.
Reply(b, v) ==
    \/ waiting[b][v] > 0 /\ CompleteProduce(b, v, waiting[b][v] - 1)
    \/ FailProduce(b, v, "NOT_LEADER_OR_FOLLOWER")
    \/ FailProduce(b, v, "NOT_ENOUGH_REPLICAS_AFTER_APPEND")

\* The leader proposes to take back a replica that has caught up.
Expand(b) == \E f \in Brokers : ExpandIsr(b, f)

\* The session of a broker that is down expires.
Expire(b) == ~Running(b) /\ \E l \in Leaders : FenceBroker(b, l)

\* A broker starts again, and is unfenced.
Restart(b) == \E l \in Leaders : RegisterBroker(b, l)
Return(b)  == \E l \in Leaders : UnfenceBroker(b, l)

\* The helpful steps of these kinds.
Steps(kinds) ==
    \/ "metadata" \in kinds /\ \E b \in Brokers : Hear(b)
    \/ "fetching" \in kinds /\ \E f, l \in Brokers : Fetch(f, l) \/ Answer(l, f) \/ Take(f, l)
    \/ "replies" \in kinds /\ \E b \in Brokers, v \in Values : Reply(b, v)
    \/ "proposals" \in kinds /\ \E b \in Brokers :
            Expand(b) \/ ResendAlterPartition(b) \/ HandleAlterPartition(b) \/ HandleAlterPartitionReply(b)
    \/ "sessions" \in kinds /\ \E b \in Brokers : Expire(b) \/ Restart(b) \/ Return(b)
HelpfulKinds == {"metadata", "fetching", "replies", "proposals", "sessions"}

-----------------------------------------------------------------------------
(* Faults: the environment's, and decisions that nothing asked for *)

Fault(kind) ==
    \/ kind = "elect"      /\ \E l \in Brokers : ElectLeader(l)
    \/ kind = "fence"      /\ \E b \in Brokers, l \in Leaders : Running(b) /\ FenceBroker(b, l)
    \/ kind = "crash"      /\ \E b \in Brokers, keep \in Offsets : CrashBroker(b, keep)
    \/ kind = "shrink"     /\ \E b, f \in Brokers : ShrinkIsr(b, f)
    \/ kind = "lose fetch" /\ \E f, l \in Brokers : LoseFetch(f, l)
    \/ kind = "lose alter" /\ \E b \in Brokers : LoseAlterPartition(b)
=============================================================================
