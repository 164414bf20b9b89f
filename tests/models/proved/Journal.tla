------------------------------ MODULE Journal -------------------------------
(* A log of epochs that grows and is cut: sequences and functions whose size is a capacity. *)
EXTENDS Integers, Sequences, FiniteSets, Bounded

CONSTANTS MaxLog, MaxEpoch

VARIABLES log, epoch, written, last

vars == <<log, epoch, written, last>>

Capacities == {"MaxLog", "MaxEpoch"}

Record == [epoch : 0..MaxEpoch, value : 0..1]

TypeOK ==
    /\ log \in BoundedSeq(Record, MaxLog)
    /\ epoch \in 0..MaxEpoch
    /\ written \in [0..MaxEpoch -> BOOLEAN]
    /\ last \in -1..MaxEpoch

Init == log = <<>> /\ epoch = 0 /\ written = [e \in 0..MaxEpoch |-> FALSE] /\ last = -1

NewEpoch(e) == e > epoch /\ epoch' = e /\ UNCHANGED <<log, written, last>>

Write(v) ==
    /\ Len(log) < MaxLog
    /\ log' = Append(log, [epoch |-> epoch, value |-> v])
    /\ written' = [written EXCEPT ![epoch] = TRUE]
    /\ last' = epoch
    /\ UNCHANGED epoch

Cut(n) ==
    /\ n < Len(log)
    /\ log' = SubSeq(log, 1, n)
    /\ last' = IF n = 0 THEN -1 ELSE log[n].epoch
    /\ UNCHANGED <<epoch, written>>

Next == (\E e \in 0..MaxEpoch : NewEpoch(e)) \/ (\E v \in 0..1 : Write(v)) \/ (\E n \in 0..MaxLog : Cut(n))

Spec == Init /\ [][Next]_vars

\* Write uses the current epoch, which only rises.
Sorted == \A i \in 1..Len(log) : \A j \in i..Len(log) : log[i].epoch <= log[j].epoch

\* For the same reason.
Reached == \A i \in 1..Len(log) : log[i].epoch <= epoch

\* Write marks its epoch, and no step takes the mark away.
Marked == \A i \in 1..Len(log) : written[log[i].epoch]

\* Write and Cut keep it beside the log.
LastIsLast == last = IF log = <<>> THEN -1 ELSE log[Len(log)].epoch

\* It follows from the last record being one of the log.
LastWritten == last >= 0 => written[last]

Inductive == TypeOK /\ Sorted /\ Reached /\ Marked /\ LastIsLast
=============================================================================
