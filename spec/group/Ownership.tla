------------------------------ MODULE Ownership ------------------------------
(***************************************************************************)
(* What a consumer group promises, and nothing of how: a partition has at  *)
(* most one owner at a time, an owner gives it up before another gets it,  *)
(* and committed offsets move only by commits that were accepted, which    *)
(* are commits of somebody whose partitions nobody else owns.              *)
(*                                                                         *)
(* The groups' specifications refine this one (models: OwnershipRefined).  *)
(* An owner is a consumer that the coordinator does not fence: whoever is  *)
(* fenced may believe what it likes, its commits are refused.              *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
    Consumers,
    Topics,       \* the partitions
    Offsets       \* what can be committed; -1 is nothing

VARIABLES
    owners,       \* per partition: who owns it
    accepted,     \* the commits that were accepted and do not count yet: per partition an offset, or -1
    committed     \* per partition: the committed offset, or -1

vars == <<owners, accepted, committed>>

TypeOK ==
    /\ owners \in [Topics -> SUBSET Consumers]
    /\ accepted \in SUBSET [Topics -> Offsets]
    /\ committed \in [Topics -> Offsets]

Init ==
    /\ owners = [p \in Topics |-> {}]
    /\ accepted = {}
    /\ committed = [p \in Topics |-> -1]

\* A partition is given up, or one that nobody owns is taken. (Several may move in one step.)
Move ==
    /\ \A p \in Topics :
        \/ owners'[p] \subseteq owners[p]
        \/ owners[p] = {} /\ Cardinality(owners'[p]) = 1
    /\ UNCHANGED <<accepted, committed>>

\* c's commit is accepted: nobody else owns what it commits.
Accept ==
    /\ \E c \in Consumers :
        \A commit \in accepted' \ accepted : \A p \in Topics : commit[p] # -1 => owners[p] \subseteq {c}
    /\ accepted \subseteq accepted'
    /\ UNCHANGED <<owners, committed>>

\* Accepted commits count, or are lost with the coordinator (whose successor may fence others).
Count ==
    /\ \A p \in Topics : committed'[p] # committed[p] => committed'[p] \in {commit[p] : commit \in accepted}
    /\ accepted' \subseteq accepted
    /\ \A p \in Topics :
        \/ owners'[p] \subseteq owners[p]
        \/ owners[p] = {} /\ Cardinality(owners'[p]) = 1

Next == Move \/ Accept \/ Count

Spec == Init /\ [][Next]_vars
=============================================================================
