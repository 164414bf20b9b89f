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
    helped         \* was the last step one of Helpful? It flips where none is possible

liveVars == <<vars, faults, helped>>

ASSUME Unfair \subseteq HelpfulKinds

\* A proposal that is refused is sent again, and so on until metadata comes: such steps must not pass for others that are due.
Proposing == Steps({"proposals"} \ Unfair)
Helpful   == Steps(HelpfulKinds \ ({"proposals"} \cup Unfair))

LiveInit == Init /\ Partition.leader \in FirstLeaders /\ faults = Faults /\ helped = FALSE
LiveNext ==
    \/ <<Helpful>>_vars /\ helped' = TRUE /\ UNCHANGED faults
    \/ ~ENABLED <<Helpful>>_vars /\ helped' = ~helped /\ UNCHANGED <<vars, faults>>
    \/ (Proposing \/ Steps(Unfair)) /\ helped' = FALSE /\ UNCHANGED faults
    \/ (\E b \in Brokers, v \in 1..Records : AppendRecord(b, v, "all")) /\ helped' = FALSE /\ UNCHANGED faults
    \/ faults > 0 /\ faults' = faults - 1 /\ (\E kind \in Kinds : Fault(kind)) /\ helped' = FALSE

\* The third conjunct is weak fairness of Helpful: such steps go on for ever, or there is none again and again, and then `helped`
\* flips. So TLC evaluates ENABLED once in each state; under WF_vars it does at each step, for each property. Within Helpful
\* steps of one kind may starve another.
LiveSpec == LiveInit /\ [][LiveNext]_liveVars /\ []<><<helped'>>_liveVars /\ WF_vars(Proposing)
=============================================================================
