---------------------------- MODULE OrderedAppend ----------------------------
(***************************************************************************)
(* What an idempotent producer is promised, and nothing of how: a partition *)
(* holds each of its batches at most once, in the order in which they were *)
(* sent; what is committed stays; who is told an offset finds the batch    *)
(* there.                                                                  *)
(*                                                                         *)
(* IdempotentProducer refines it (models: OrderedAppendRefined).           *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS
    Writers,      \* who sends; each numbers its batches for a partition 1, 2, ...
    Topics,       \* the partitions
    Numbers

VARIABLES
    written,      \* per partition: the batches, as [writer, number]
    committed,    \* per partition: how many of them stay
    told          \* per writer, partition and number: the offset + 1 that it was told, 0 none

vars == <<written, committed, told>>

Init ==
    /\ written = [p \in Topics |-> <<>>]
    /\ committed = [p \in Topics |-> 0]
    /\ told = [w \in Writers |-> [p \in Topics |-> [n \in Numbers |-> 0]]]

\* A batch is written behind all earlier ones of its writer.
Write(p) ==
    \E w \in Writers, n \in Numbers :
        /\ \A i \in 1..Len(written[p]) : written[p][i].writer = w => written[p][i].number < n
        /\ written' = [written EXCEPT ![p] = Append(@, [writer |-> w, number |-> n])]
        /\ UNCHANGED <<committed, told>>

Commit(p) ==
    /\ committed'[p] \in (committed[p] + 1)..Len(written[p])
    /\ committed' = [committed EXCEPT ![p] = committed'[p]]
    /\ UNCHANGED <<written, told>>

\* A leader fails: some of what is not committed is lost.
Lose(p) ==
    /\ \E keep \in committed[p]..Len(written[p]) : written' = [written EXCEPT ![p] = SubSeq(@, 1, keep)]
    /\ UNCHANGED <<committed, told>>

\* A writer is told where its batch is.
Tell(p) ==
    \E w \in Writers, i \in 1..committed[p] :
        /\ written[p][i].writer = w
        /\ told' = [told EXCEPT ![w][p][written[p][i].number] = i]
        /\ UNCHANGED <<written, committed>>

Next == \E p \in Topics : Write(p) \/ Commit(p) \/ Lose(p) \/ Tell(p)

Spec == Init /\ [][Next]_vars
=============================================================================
