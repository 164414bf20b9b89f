---------------------------- MODULE StrayAlters ----------------------------
(***************************************************************************)
(* AlterPartitions that arrive although their connection is gone, beside   *)
(* Replication, which it does not change. A request may wait in the        *)
(* controller's socket, or at one of its request handlers, when the        *)
(* connection breaks or the request times out. The leader's                *)
(* NodeToControllerRequestThread.handleResponse puts the request back at   *)
(* its queue's head and sends it again. The controller may decide the      *)
(* second copy before the first. The answer to the first goes nowhere.     *)
(*                                                                         *)
(* No traces: replication's traces show one AlterPartition of a leader. Of *)
(* several lost copies of a leader the last one may arrive.                *)
(***************************************************************************)
EXTENDS ReplicationProperties

VARIABLES
    strayAlter,   \* per leader: an AlterPartition whose connection is gone, and that the controller may still decide
    sentAgain     \* per leader: its pending proposal has been sent more than once

strayAlterVars == <<vars, strayAlter, sentAgain>>

StrayAlterTypeOK ==
    /\ strayAlter \in [Brokers -> {slot \in AlterSlot : slot.type \in {"idle", "request"}}]
    /\ sentAgain \in [Brokers -> BOOLEAN]

-----------------------------------------------------------------------------
(* The safety rule. It says what goes wrong without it; Kafka lacks it. *)

\* b has heard that the controller refuses its proposal because of a member.
Refused(b) == alter[b].type = "reply" /\ alter[b].error = "INELIGIBLE_REPLICA"

\* CAND-16, this project's find; Kafka 4.x lacks it. A proposal that was sent again stays pending after a refusal, until metadata or
\* another reply settles it. Without it the leader takes the proposal back when the second copy is refused, and the controller takes
\* the first copy once the member is unfenced: the high watermark does not count a member of the ISR.
KeepProposalSentAgain(b) == Case("KeepProposalSentAgain", sentAgain[b] /\ Refused(b))

-----------------------------------------------------------------------------

StrayAlterInit ==
    /\ strayAlter = [b \in Brokers |-> Idle]
    /\ sentAgain = [b \in Brokers |-> FALSE]

\* What a step of replication leaves behind: the request that was lost. It outlives the leader's process.
NextStrayAlter ==
    [b \in Brokers |-> IF alter[b].type = "request" /\ alter'[b].type = "idle" THEN alter[b] ELSE strayAlter[b]]

\* A pending proposal that goes out is one that went out before.
NextSentAgain ==
    [b \in Brokers |->
        /\ pendingIsr'[b].active
        /\ sentAgain[b] \/ (pendingIsr[b].active /\ alter[b].type = "idle" /\ alter'[b].type = "request")]

\* A reply ends the proposal while its leader lives on; metadata ends it and leaves the reply where it is.
ReplyEndsProposal(b) ==
    /\ alter[b].type = "reply" /\ alter'[b].type = "idle"
    /\ pendingIsr[b].active /\ ~pendingIsr'[b].active
    /\ status'[b] = "running"

\* A step of replication, as far as the rule allows it.
BesideStrayAlter ==
    /\ \A b \in Brokers : KeepProposalSentAgain(b) => ~ReplyEndsProposal(b)
    /\ strayAlter' = NextStrayAlter
    /\ sentAgain' = NextSentAgain

\* KeepProposal   who: leader
\* The refusal of a proposal that was sent again changes nothing.
KeepProposal(b) ==
    \* enabled when
    /\ Running(b) /\ KeepProposalSentAgain(b)
    \* effect
    /\ alter' = [alter EXCEPT ![b] = Idle]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>
    /\ UNCHANGED <<strayAlter, sentAgain>>

\* HandleStrayAlter   who: controller
\* Decides as HandleAlterPartition does.
HandleStrayAlter(b) ==
    LET request == strayAlter[b] IN
    \* enabled when
    /\ request.type = "request"
    \* effect
    /\ IF AlterVerdict(b, request) = "NONE" THEN WriteChange(request.isr, {}, b) ELSE UNCHANGED metadata
    /\ strayAlter' = [strayAlter EXCEPT ![b] = Idle]
    /\ UNCHANGED <<registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>
    /\ UNCHANGED sentAgain
=============================================================================
