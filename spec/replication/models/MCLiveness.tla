----------------------------- MODULE MCLiveness -----------------------------
(***************************************************************************)
(* Liveness with bounded faults. The bounds are guards in Next, never a     *)
(* CONSTRAINT: a behaviour that a constraint cuts off has no end, and every *)
(* liveness property would hold of it.                                      *)
(***************************************************************************)
EXTENDS ReplicationLiveness

CONSTANTS
    Records,       \* produce attempts, acks=all
    FirstLeaders,  \* who may lead first
    Faults,        \* how many faults
    Kinds          \* of which kinds

VARIABLE faults    \* how many may still happen

LiveInit == Init /\ Partition.leader \in FirstLeaders /\ faults = Faults

LiveNext ==
    \/ Help /\ UNCHANGED faults
    \/ \E b \in Brokers, v \in 1..Records : AppendRecord(b, v, "all") /\ UNCHANGED faults
    \/ faults > 0 /\ faults' = faults - 1 /\ \E kind \in Kinds : Fault(kind)

Steps == LiveInit /\ [][LiveNext]_<<vars, faults>>

LiveSpec == Steps /\ FairMetadata /\ FairFetching /\ FairReplies /\ FairProposals /\ FairSessions

\* Each property needs a part of what is fair: without it, it falls.
WithoutMetadata  == Steps /\ FairFetching /\ FairReplies /\ FairProposals /\ FairSessions
WithoutFetching  == Steps /\ FairMetadata /\ FairReplies /\ FairProposals /\ FairSessions
WithoutReplies   == Steps /\ FairMetadata /\ FairFetching /\ FairProposals /\ FairSessions
WithoutProposals == Steps /\ FairMetadata /\ FairFetching /\ FairReplies /\ FairSessions
WithoutSessions  == Steps /\ FairMetadata /\ FairFetching /\ FairReplies /\ FairProposals
=============================================================================
