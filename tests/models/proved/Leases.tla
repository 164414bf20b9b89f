------------------------------- MODULE Leases -------------------------------
(* Clients take leases on resources from a pool: sets, and Cardinality. *)
EXTENDS Naturals, FiniteSets

CONSTANTS Clients, Most

VARIABLES holders, waiting

vars == <<holders, waiting>>

TypeOK == holders \in SUBSET Clients /\ waiting \in SUBSET Clients

Init == holders = {} /\ waiting \in SUBSET Clients

Ask(c) == c \notin holders /\ waiting' = waiting \cup {c} /\ UNCHANGED holders

Take(c) ==
    /\ c \in waiting /\ Cardinality(holders) < Most
    /\ holders' = holders \cup {c}
    /\ waiting' = waiting \ {c}

\* Some of them end at once.
End == holders' \in SUBSET holders /\ UNCHANGED waiting

Next == (\E c \in Clients : Ask(c)) \/ (\E c \in Clients : Take(c)) \/ End

Spec == Init /\ [][Next]_vars

\* A client is taken off the list when it gets its lease, and asks for no second one.
Apart == holders \cap waiting = {}

\* Take asks for room.
AtMost == Cardinality(holders) <= Most

\* No step adds more than one holder.
OneAtATime == [][Cardinality(holders' \ holders) <= 1]_vars

Inductive == TypeOK /\ Apart /\ AtMost
=============================================================================
