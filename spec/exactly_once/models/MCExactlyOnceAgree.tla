------------------------- MODULE MCExactlyOnceAgree -------------------------
(***************************************************************************)
(* ExactlyOnce on full graphs of some hundred or thousand states, for      *)
(* `tidemark agree`. Next is the specification's own, every action in it.  *)
(* The constraint says which states are expanded; what lies just outside   *)
(* is in the graph, too.                                                   *)
(***************************************************************************)
EXTENDS ExactlyOnceProperties

CONSTANTS
    Records,        \* of the first input partition; the others have none
    FirstGeneration,\* of the group, where the instance is in generation 1
    LastGeneration, \* the highest generation
    LastMember,     \* the highest member id
    LastEpoch,      \* the highest producer epoch
    LastOutput,     \* records of the output
    Follow          \* what goes on; other actions are taken, and what would follow them is left out

ASSUME Follow \subseteq {"late", "copy", "crash", "group", "removed", "error", "commit", "more results", "decided", "idle"}

\* The one instance is a member of the group, owns all partitions and knows where to go on.
StartedInit ==
    /\ input = [p \in Partitions |-> IF p = 0 THEN Records ELSE 0]
    /\ txn = [i \in Instances |-> [state |-> "Empty", epoch |-> 0, partitions |-> {}]]
    /\ group = [generation |-> FirstGeneration, members |-> {1}, joined |-> {},
                instance |-> [i \in Instances |-> IF i \in Static THEN 1 ELSE 0], owner |-> [p \in Partitions |-> 1]]
    /\ issued = 1
    /\ committed = [p \in Partitions |-> 0]
    /\ staged = [i \in Instances |-> NoOffsets]
    /\ known = [i \in Instances |-> -1]
    /\ output = <<>>
    /\ entry = [i \in Instances |-> [epoch |-> -1, sequence |-> -1, first |-> -1]]
    /\ read = 0
    /\ returned = <<>>
    /\ instance = [i \in Instances |-> [state |-> "READY", epoch |-> 0, next |-> 0, member |-> 1, generation |-> 1,
                                        owned |-> Partitions, position |-> [p \in Partitions |-> 0], processed |-> {},
                                        resent |-> FALSE, sent |-> FALSE]]
    /\ rpc = [i \in Instances |-> Idle]
    /\ late = [i \in Instances |-> Idle]
    /\ lateMarker = [i \in Instances |-> Idle]

Bounds ==
    /\ group.generation <= LastGeneration /\ issued <= LastMember /\ Len(output) <= LastOutput
    /\ \A p \in Partitions : p = 0 \/ input[p] = 0
    /\ input[0] = Records
    /\ "group" \in Follow \/ group.joined = {}
    /\ \A i \in Instances :
        /\ txn[i].epoch <= LastEpoch
        /\ "late" \in Follow \/ late[i].type = "idle"
        /\ "copy" \in Follow \/ lateMarker[i].type = "idle"
        /\ "crash" \in Follow \/ instance[i].state # "UNINITIALIZED"
        /\ "group" \in Follow \/ "removed" \in Follow \/ instance[i].member \in group.members
        /\ "group" \in Follow \/ instance[i].owned # {} \/ instance[i].state = "UNINITIALIZED"
        /\ "error" \in Follow \/ instance[i].state \notin {"ABORTABLE_ERROR", "FATAL_ERROR"}
        /\ "commit" \in Follow \/ rpc[i].type # "commit"
        /\ "more results" \in Follow \/ rpc[i].type # "produce" \/ ~OpenInOffsets(i, rpc[i])
        /\ "decided" \in Follow \/ txn[i].state \in Undecided
        /\ "idle" \in Follow \/ instance[i].state # "READY" \/ instance[i].owned # Partitions \/ read = Len(output)
=============================================================================
