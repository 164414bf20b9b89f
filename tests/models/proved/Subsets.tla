------------------------------ MODULE Subsets -------------------------------
(* SUBSET S and S \X T as values, S \ {{}} as a set of sets, a function as a parameter, a function written in two ways. *)
EXTENDS Integers, FiniteSets

CONSTANTS Nodes

VARIABLES up, rank, linked

vars == <<up, rank, linked>>

TypeOK ==
    /\ up \in SUBSET Nodes
    /\ rank \in [1..2 -> 0..2]
    /\ linked \in SUBSET (Nodes \X Nodes)

Init == up \in (SUBSET Nodes) \ {{}} /\ rank = [i \in 1..2 |-> 0] /\ linked = {}

\* Some of them go down, but not all.
Shrink ==
    /\ up' \in (SUBSET up) \ {{}, up}
    /\ UNCHANGED <<rank, linked>>

\* The ranks of a vote; who is alone has no say.
Vote(given) ==
    /\ \A i \in 1..2 : given[i] > 0
    /\ rank' = IF Cardinality(up) = 1 THEN rank ELSE [i \in 1..2 |-> given[i] - 1]
    /\ UNCHANGED <<up, linked>>

\* All that are up are linked, or those of a part of them.
Link(all) ==
    /\ linked' = IF all THEN up \X up ELSE UNION {S \X S : S \in {T \in SUBSET up : Cardinality(T) = 1}}
    /\ UNCHANGED <<up, rank>>

Next == Shrink \/ (\E given \in [1..2 -> 0..2] : Vote(given)) \/ \E all \in BOOLEAN : Link(all)

Spec == Init /\ [][Next]_vars

\* Init and Shrink leave one.
SomeUp == \E S \in SUBSET up : S # {}

\* Vote gives ranks below 2.
LowRanks == rank \in [1..2 -> 0..1]

\* Link links both ways.
BothWays == \A link \in linked : <<link[2], link[1]>> \in linked

\* No subset is larger than the whole.
WholeIsLargest == \A S \in SUBSET up : Cardinality(S) <= Cardinality(up)

Inductive == TypeOK /\ SomeUp /\ LowRanks /\ BothWays /\ WholeIsLargest
=============================================================================
