------------------------------- MODULE Mutex --------------------------------
(* A lock among processes: functions over model values, and a value that may be none. *)
EXTENDS Naturals

CONSTANTS Processes, None

VARIABLES at, owner

vars == <<at, owner>>

TypeOK == at \in [Processes -> {"idle", "waiting", "inside"}] /\ owner \in Processes \cup {None}

Init == at = [p \in Processes |-> "idle"] /\ owner = None

Ask(p) == at[p] = "idle" /\ at' = [at EXCEPT ![p] = "waiting"] /\ UNCHANGED owner

\* Whoever waits may be next; the lock says which.
Enter == owner = None /\ \E p \in {q \in Processes : at[q] = "waiting"} : owner' = p /\ at' = [at EXCEPT ![p] = "inside"]

Leave(p) ==
    /\ owner = p
    /\ owner' = None
    /\ at' = [at EXCEPT ![p] = "idle"] \/ at' = [at EXCEPT ![p] = "waiting"]

Next == (\E p \in Processes : Ask(p)) \/ Enter \/ (\E p \in Processes : Leave(p))

Spec == Init /\ [][Next]_vars

\* Enter sets both, and Leave both back.
OwnerInside == \A p \in Processes : at[p] = "inside" <=> owner = p

Exclusive == \A p, q \in Processes : at[p] = "inside" /\ at[q] = "inside" => p = q

Inductive == TypeOK /\ OwnerInside
=============================================================================
