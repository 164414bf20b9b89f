------------------------------ MODULE Ownership ------------------------------
(***************************************************************************)
(* What a consumer group promises, and nothing of how: a partition has at  *)
(* most one owner at a time, an owner gives it up before another gets it,  *)
(* and committed offsets move only by commits that somebody asked for and  *)
(* that were accepted, in that order, each while nobody else owned its     *)
(* partitions.                                                             *)
(*                                                                         *)
(* The groups' specifications refine this one (models: OwnershipRefined).  *)
(* An owner is a consumer that the coordinator does not fence: whoever is  *)
(* fenced may believe what it likes, its commits are refused.              *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Consumers,
    Topics,       \* the partitions
    Offsets       \* what can be committed; -1 is nothing

VARIABLES
    owners,       \* per partition: who owns it
    asked,        \* the commits that are asked for: by whom, a request or its late copy, and per partition an offset, or -1
    accepted,     \* the commits that were accepted and do not count yet, oldest first: per partition an offset, or -1
    committed     \* per partition: the committed offset, or -1

vars == <<owners, asked, accepted, committed>>

Commit == [Topics -> Offsets]

TypeOK ==
    /\ owners \in [Topics -> SUBSET Consumers]
    /\ asked \in SUBSET [by : Consumers, late : BOOLEAN, offsets : Commit]
    /\ accepted \in Seq(Commit)
    /\ committed \in Commit

Init ==
    /\ owners = [p \in Topics |-> {}]
    /\ asked = {}
    /\ accepted = <<>>
    /\ committed = [p \in Topics |-> -1]

\* A partition is given up, or one that nobody owns is taken. (Several may move in one step.)
OwnersMove ==
    \A p \in Topics :
        \/ owners'[p] \subseteq owners[p]
        \/ owners[p] = {} /\ Cardinality(owners'[p]) = 1

\* Ownership moves; commits are asked for, copied, refused and lost.
Move ==
    /\ OwnersMove
    /\ UNCHANGED <<accepted, committed>>

\* One commit is accepted, all of it or for some of its partitions: nobody but who asks owns what is accepted.
Accept ==
    /\ \E request \in asked :
        /\ asked' = asked \ {request}
        /\ Len(accepted') = Len(accepted) + 1 /\ SubSeq(accepted', 1, Len(accepted)) = accepted
        /\ \A p \in Topics :
            LET offset == accepted'[Len(accepted')][p] IN
            offset # -1 => offset = request.offsets[p] /\ owners[p] \subseteq {request.by}
    /\ UNCHANGED <<owners, committed>>

\* The offsets committed after the first n accepted commits: the last one of each partition.
After(n) ==
    [p \in Topics |->
        LET those == {i \in 1..n : accepted[i][p] # -1} IN
        IF those = {} THEN committed[p] ELSE accepted[CHOOSE i \in those : \A j \in those : j <= i][p]]

\* The oldest accepted commits count; the others wait, or are lost with the coordinator (whose successor may fence others).
Count ==
    /\ \E n \in 0..Len(accepted) :
        /\ committed' = After(n)
        /\ accepted' \in {SubSeq(accepted, n + 1, Len(accepted)), <<>>}
    /\ UNCHANGED asked
    /\ OwnersMove

Next == Move \/ Accept \/ Count

Spec == Init /\ [][Next]_vars
=============================================================================
