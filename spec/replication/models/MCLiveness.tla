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
    Kinds,         \* of which kinds
    Unfair         \* kinds of helpful steps that are not fair; what then goes wrong shows that they are needed

VARIABLES
    faults,        \* how many may still happen
    helped         \* did the last step help? It flips where none can

liveVars == <<vars, faults, helped>>

\* A proposal that is refused is sent again, and so on until metadata comes: such steps must not pass for others that are due.
Proposing == Steps({"proposals"} \ Unfair)
Helpful   == Steps(HelpfulKinds \ ({"proposals"} \cup Unfair))

LiveInit == Init /\ Partition.leader \in FirstLeaders /\ faults = Faults /\ helped = FALSE
LiveNext ==
    \/ Helpful /\ helped' = TRUE /\ UNCHANGED faults
    \/ ~ENABLED <<Helpful>>_vars /\ helped' = ~helped /\ UNCHANGED <<vars, faults>>
    \/ (Proposing \/ Steps(Unfair)) /\ helped' = FALSE /\ UNCHANGED faults
    \/ (\E b \in Brokers, v \in 1..Records : AppendRecord(b, v, "all")) /\ helped' = FALSE /\ UNCHANGED faults
    \/ faults > 0 /\ faults' = faults - 1 /\ (\E kind \in Kinds : Fault(kind)) /\ helped' = FALSE

\* The first is WF_vars(Helpful): steps that help go on, or there is none again and again. TLC asks for ENABLED once in each state
\* so. Under WF it asks at each step, for each property.
LiveSpec == LiveInit /\ [][LiveNext]_liveVars /\ []<><<helped'>>_liveVars /\ WF_vars(Proposing)
=============================================================================
