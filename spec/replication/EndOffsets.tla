----------------------------- MODULE EndOffsets -----------------------------
(***************************************************************************)
(* A client that asks the leader of a replicated partition where its       *)
(* records end (ListOffsets for the latest offset), beside Replication,    *)
(* which it does not change: no broker knows that it was asked. It is the  *)
(* end of isolation level read_uncommitted; to a read_committed client     *)
(* Kafka tells the last stable offset, behind the same checks.             *)
(*                                                                         *)
(* The high watermark of a new leader may lag behind that of the last one. *)
(* Until it has passed the start of the leader's epoch, below which all    *)
(* that any leader has committed is, the leader has no answer (KIP-207,    *)
(* KAFKA-2334): OFFSET_NOT_AVAILABLE. The client names the leader epoch    *)
(* that it knows, and a leader of another has no answer either (KIP-320).  *)
(*                                                                         *)
(* No traces: replication's traces do not show requests without effect.    *)
(* A client asks the implementation (docs/protocols/replication.md).       *)
(***************************************************************************)
EXTENDS ReplicationProperties

VARIABLES
    known,   \* the leader epoch that the client knows of
    told     \* the end offset that it was told last

endVars == <<vars, known, told>>

EndOffsetsTypeOK == known \in Epochs /\ told \in Offsets

-----------------------------------------------------------------------------
(* The safety rules. Each says what goes wrong without it. *)

\* KIP-207 (KAFKA-2334). Without it the end of a partition goes back when a leader is elected whose high watermark lags. It is number
\* 100 of the wider zoo, and no row of zoo.toml (docs/protocols/replication.md).
ReachedOwnEpoch(b) == Guard("ReachedOwnEpoch", highWatermark[b] >= epochStart[b])

\* KIP-320. Without it a leader that was deposed and does not know it tells an end that its successor's answers have passed.
MatchClientEpoch(b) == Guard("MatchClientEpoch", view[b].leaderEpoch = known)

-----------------------------------------------------------------------------

EndOffsetsInit == known = 0 /\ told = 0

\* UpdateClientMetadata   who: client
\* The client hears of a later leader epoch.
UpdateClientMetadata(n) ==
    \* enabled when
    /\ n \in 1..Len(metadata)
    /\ n \in 1..Len(metadata) => metadata[n].leaderEpoch > known
    \* effect
    /\ known' = metadata[n].leaderEpoch
    /\ UNCHANGED <<vars, told>>

\* ListOffsets   who: leader   code: replication/end_offset.py (list_offsets)
ListOffsets(b) ==
    \* enabled when
    /\ Leads(b)
    /\ MatchClientEpoch(b)
    /\ ReachedOwnEpoch(b)
    \* effect
    /\ told' = highWatermark[b]
    /\ UNCHANGED <<vars, known>>

-----------------------------------------------------------------------------

\* The end of a partition does not go back, as far as the client can see.
EndOffsetAdvancesStep == told' >= told
EndOffsetAdvances == [][EndOffsetAdvancesStep]_endVars

\* The client's end offset stays valid: every leader of a later epoch has the records below it. (By construction, whatever rule is
\* removed: a leader's high watermark is committed. StrongIsr and ElectFromIsr say that it stays so.)
ToldIsCommitted == told <= Len(committed)
=============================================================================
