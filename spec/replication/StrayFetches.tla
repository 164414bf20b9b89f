---------------------------- MODULE StrayFetches ----------------------------
(***************************************************************************)
(* Fetches that arrive although their connection is gone, beside           *)
(* Replication, which it does not change. A request may wait in the        *)
(* leader's queue when the connection breaks, or when the follower crashes *)
(* (KAFKA-15221): the follower asks again, and the leader counts the older *)
(* fetch later. Its answer goes nowhere.                                   *)
(*                                                                         *)
(* No traces: replication's traces show one fetch of a follower at a       *)
(* leader. Kafka asks the metadata for the follower's broker epoch         *)
(* (Replica.updateFetchStateOrThrow), unless that broker is fenced. Here a *)
(* leader asks its own memory. Each may be behind the other. A leader      *)
(* whose metadata is behind the fetches counts in Kafka fetches that are   *)
(* refused here: no model has that.                                        *)
(***************************************************************************)
EXTENDS ReplicationProperties

VARIABLE stray   \* per follower and leader: a request whose connection is gone, and that the leader may still count

strayVars == <<vars, stray>>

Strays == [type : {"idle"}] \cup
          [type : {"request"}, epoch : Epochs, offset : Offsets, lastEpoch : EpochOrNone, brokerEpoch : 0..MaxBrokerEpoch]

StrayTypeOK == stray \in [Brokers -> [Brokers -> Strays]]

-----------------------------------------------------------------------------
(* The safety rule. It says what goes wrong without it. *)

\* KAFKA-15221. Without it a leader that has counted the follower's new incarnation, and proposed it, counts what the old one had:
\* the high watermark passes records that a member of the ISR has lost.
CountOfIncarnation(l, f) == Guard("CountOfIncarnation", stray[f][l].brokerEpoch >= remoteEpoch[l][f])

-----------------------------------------------------------------------------

StrayInit == stray = [f \in Brokers |-> [l \in Brokers |-> Idle]]

\* What a step of replication leaves behind: the request of a connection that is gone, unless its leader is gone, too.
NextStray ==
    [f \in Brokers |-> [l \in Brokers |->
        IF status'[l] # "running" THEN Idle
        ELSE IF fetch[f][l].type = "request" /\ fetch'[f][l].type = "idle" THEN fetch[f][l]
        ELSE stray[f][l]]]

\* CountStray   who: leader
CountStray(l, f) ==
    LET request == stray[f][l] IN
    \* enabled when
    /\ request.type = "request" /\ Running(l)
    \* effect
    /\ IF FetchError(l, request) = "NONE" /\ CountOfIncarnation(l, f) THEN CountFetch(l, f, request)
       ELSE UNCHANGED <<remoteLeo, remoteEpoch, highWatermark>>
    /\ stray' = [stray EXCEPT ![f][l] = Idle]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, checkpoint, epochStart,
                   pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter, asked, stalled, consumer>>
    /\ committed' = NextCommitted
    /\ UNCHANGED <<acked, reconciled>>
=============================================================================
