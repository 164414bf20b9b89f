------------------------------- MODULE MCLog -------------------------------
(***************************************************************************)
(* The log on disk made finite. One module, many cfgs: a cfg says how many *)
(* batches, epochs and segments a behaviour may have, and which families   *)
(* of actions it uses. How often a process ends is bounded by none: states *)
(* come back. The bounds are guards of MCNext, because TLC checks every    *)
(* property also in the states that a CONSTRAINT cuts off.                 *)
(*                                                                         *)
(* A violation is real; what a "holds" covers the manifest says.           *)
(***************************************************************************)
EXTENDS SegmentedLogProperties, TLC

CONSTANTS
    Families,  \* the families of actions in use
    Batches,   \* how many batches are appended
    Length,    \* the highest log end offset
    Files      \* how many segments there are at a time

ASSUME Families \subseteq {"commit", "elect", "flush all", "read", "index", "retention", "start", "checkpoint", "move", "truncate", "fully", "shut down",
                           "kill", "stop loading", "power", "boundary", "torn",
                           "bring back"}

On(family, S) == IF family \in Families THEN S ELSE {}

-----------------------------------------------------------------------------
(* Next, by families *)

Appends ==
    \/ \E e \in Epochs, p \in Producers \cup {None} : appended < Batches /\ logEnd < Length /\ AppendBatch(e, p)
    \/ \E e \in On("elect", Epochs) : AssignEpoch(e)
    \/ \E e \in On("index", Epochs), moved \in BOOLEAN : appended < Batches /\ logEnd < Length /\ FailIndex(e, moved)
    \/ Len(segments) < Files /\ RollSegment
    \/ \E hw \in On("commit", Offsets) : UpdateHighWatermark(hw)
    \/ "read" \in Families /\ BeginRead
    \/ \E end \in On("read", Offsets) : EndRead(end)

Background ==
    \/ "flush all" \in Families /\ ScheduleFlush
    \/ \E o \in Offsets : SyncFiles(o)
    \/ \E o \in Offsets : RaiseRecoveryPoint(o)
    \/ CheckpointRecoveryPoint
    \/ "checkpoint" \in Families /\ CheckpointHighWatermark
    \/ "start" \in Families /\ CheckpointLogStart
    \/ \E synced \in BOOLEAN : WriteEpochFile(synced)

Shortens ==
    \/ \E start \in On("start", Offsets) : DeleteRecords(start)
    \/ "retention" \in Families /\ DeleteOldestSegment
    \/ \E end \in On("truncate", Offsets) : TruncateTo(end)
    \/ \E start \in On("fully", 0..Length) : TruncateFully(start)
    \/ CheckpointTruncation
    \/ "move" \in Families /\ MoveLog

Ends ==
    \/ "shut down" \in Families /\ ShutDown
    \/ "kill" \in Families /\ Kill
    \/ "stop loading" \in Families /\ StopLoading
    \/ \E unsynced \in On("power", BOOLEAN) : LosePower(unsynced)
    \/ \E kept \in Offsets, torn \in IF "torn" \in Families THEN BOOLEAN ELSE {FALSE} :
            (IF AllSettled THEN FALSE ELSE "boundary" \in Families \/ torn \/ kept = Len(segments[Open].batches)) /\ Settle(kept, torn)
    \/ \E many \in On("bring back", Offsets) : BringBack(many)

Loads ==
    \/ BeginLoad
    \/ \E i \in 1..MaxSegments : CutTornSegment(i)
    \/ LoadLog

MCNext == Appends \/ Background \/ Shortens \/ Ends \/ Loads
=============================================================================
