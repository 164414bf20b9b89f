----------------------- MODULE MCUnsyncedTruncations -----------------------
(***************************************************************************)
(* UnsyncedTruncations beside MCSafety's bounds: replication as in          *)
(* HurriedSafetyNext, and a power loss that brings truncated records back.  *)
(***************************************************************************)
EXTENDS UnsyncedTruncations, MCSafety

UncutMCInit == MCInit /\ UncutInit

\* Nothing hurries on for a power loss to come: it comes when nothing is under way.
PowerLoss ==
    /\ OneMore /\ "crash" \in Families
    /\ \A f, l \in Brokers : fetch[f][l].type = "idle"
    /\ \E b \in Brokers, keep \in Offsets : CrashUncut(b, keep)

UncutNext == (HurriedSafetyNext /\ uncut' = NextUncut) \/ PowerLoss

UncutView == <<NoHistory, uncut>>
=============================================================================
