------------------------------- MODULE Sifted -------------------------------
(* SelectSeq of a sequence of any length. *)
EXTENDS Integers, Sequences, Bounded

CONSTANTS MaxLog

VARIABLES wire, kept, dropped

vars == <<wire, kept, dropped>>

Capacities == {"MaxLog"}

Item == [to : {"a", "b"}, number : 0..MaxLog]

TypeOK ==
    /\ wire \in BoundedSeq(Item, MaxLog)
    /\ kept \in BoundedSeq(Item, MaxLog)
    /\ dropped \in BOOLEAN

Init == wire = <<>> /\ kept = <<>> /\ dropped = FALSE

Send(to, n) ==
    /\ Len(wire) < MaxLog
    /\ \A i \in 1..Len(wire) : wire[i].number < n
    /\ wire' = Append(wire, [to |-> to, number |-> n])
    /\ UNCHANGED <<kept, dropped>>

Drop ==
    /\ kept' = SelectSeq(wire, LAMBDA item : item.to = "a")
    /\ wire' = SelectSeq(SelectSeq(wire, LAMBDA item : item.to # "a"), LAMBDA item : item.number > 0)
    /\ dropped' = TRUE

Next == (\E to \in {"a", "b"}, n \in 0..MaxLog : Send(to, n)) \/ Drop

Spec == Init /\ [][Next]_vars

\* Send takes higher numbers only, and Drop keeps the order.
WireAscends == \A i, j \in 1..Len(wire) : i < j => wire[i].number < wire[j].number

\* Drop takes what goes to a, in order.
KeptAscends == \A i, j \in 1..Len(kept) : kept[i].to = "a" /\ (i < j => kept[i].number < kept[j].number)

Inductive == TypeOK /\ WireAscends /\ KeptAscends

\* All that goes to a is kept, and nothing of it stays.
AllIsKeptStep ==
    (dropped' /\ Len(wire') < Len(wire)) =>
        /\ \A i \in 1..Len(wire) : wire[i].to = "a" => \E j \in 1..Len(kept') : kept'[j] = wire[i]
        /\ \A i \in 1..Len(wire') : wire'[i].to = "b"
AllIsKept == [][AllIsKeptStep]_vars
=============================================================================
