---------------------------- MODULE MCLogRefines ----------------------------
(***************************************************************************)
(* SegmentedLog refines DurableLog: what is in the files is a log.         *)
(* Without start offsets (families start, retention, fully) and moves,     *)
(* which DurableLog has not.                                               *)
(***************************************************************************)
EXTENDS MCLog

\* How many segments follow on one another without a hole.
Joined ==
    LET holes == {i \in 1..(Len(segments) - 1) : End(segments[i]) # segments[i + 1].base}
    IN  IF holes = {} THEN Len(segments) ELSE CHOOSE i \in holes : \A x \in holes : i <= x

Records == LET found == BatchesOf(SubSeq(segments, 1, Joined), 0, MaxOffset)
           IN  [i \in 1..Len(found) |-> [epoch |-> found[i].epoch, value |-> found[i].value]]

Abstract == INSTANCE DurableLog WITH
    up            <- status = "running",
    log           <- Records,
    flushed       <- safe,
    epochCache    <- IF status = "running" THEN epochCache ELSE TrimmedToEnd(epochFile, Len(Records)),
    highWatermark <- IF status = "running" THEN highWatermark ELSE Min(checkpoints.hw, Len(Records)),
    checkpoint    <- checkpoints.hw
DurableLogRefined == Abstract!Spec
\* Its steps alone, which TLC can name when they fall.
DurableLogSteps == [][Abstract!Next]_(Abstract!vars)
=============================================================================
