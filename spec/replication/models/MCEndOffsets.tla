---------------------------- MODULE MCEndOffsets ----------------------------
(***************************************************************************)
(* EndOffsets beside MCSafety's bounds: replication as in HurriedSafetyNext *)
(* and a client that asks at any time.                                     *)
(***************************************************************************)
EXTENDS EndOffsets, MCSafety

EndInit == MCInit /\ EndOffsetsInit

Client == (\E n \in 1..MaxMetadata : UpdateClientMetadata(n)) \/ (\E b \in Brokers : ListOffsets(b))

EndNext == (HurriedSafetyNext /\ UNCHANGED <<known, told>>) \/ Client

EndView == <<NoHistory, known, told>>
=============================================================================
