------------------------------- MODULE Votes --------------------------------
(* The best of some votes: CHOOSE with one witness, and folds whose order does not matter. *)
EXTENDS Naturals, FiniteSets, Folds

CONSTANTS Voters, Ranks

VARIABLES vote, winner, best

vars == <<vote, winner, best>>

TypeOK == vote \in [Voters -> Ranks] /\ winner \in Ranks /\ best \in Ranks

Init == vote = [v \in Voters |-> 1] /\ winner = 1 /\ best = 1

Cast(v, r) == r > vote[v] /\ vote' = [vote EXCEPT ![v] = r] /\ UNCHANGED <<winner, best>>

Given == {vote[v] : v \in Voters}

Count ==
    /\ winner' = CHOOSE r \in Ranks : r \in Given /\ \A s \in Given : s <= r
    /\ best' = FoldSet(LAMBDA v, most : IF most < vote[v] THEN vote[v] ELSE most, 1, Voters)
    /\ UNCHANGED vote

Next == (\E v \in Voters, r \in Ranks : Cast(v, r)) \/ Count

Spec == Init /\ [][Next]_vars

\* Count takes both from the same votes.
SameResult == winner = best

\* Votes only rise after they are counted.
SomeoneReached == \E v \in Voters : vote[v] >= winner

Inductive == TypeOK /\ SameResult /\ SomeoneReached
=============================================================================
