------------------------------- MODULE Summed -------------------------------
(* FoldSeq of sequences of any length: what it gives is shown by induction over the number of elements. *)
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds

CONSTANTS MaxLog

VARIABLES log, other, sum, top

vars == <<log, other, sum, top>>

Capacities == {"MaxLog"}

TypeOK ==
    /\ log \in BoundedSeq(0..1, MaxLog)
    /\ other \in BoundedSeq(0..1, MaxLog)
    /\ sum \in 0..MaxLog
    /\ top \in BoundedSeq(1..MaxLog, MaxLog)

Sum(s)  == FoldSeq(LAMBDA v, a : a + v, 0, s)
Run(s) == FoldSeq(LAMBDA i, a : IF s[i] = 1 THEN Append(a, i) ELSE <<>>, <<>>, [i \in 1..Len(s) |-> i])

Init == log = <<>> /\ other = <<>> /\ sum = 0 /\ top = <<>>

Write(v) == Len(log) < MaxLog /\ log' = Append(log, v) /\ UNCHANGED <<other, sum, top>>
Copy     == other' = log /\ UNCHANGED <<log, sum, top>>
Count    == sum' = Sum(log) /\ UNCHANGED <<log, other, top>>
Place    == top' = Run(other) /\ UNCHANGED <<log, other, sum>>

Next == (\E v \in 0..1 : Write(v)) \/ Copy \/ Count \/ Place

Spec == Init /\ [][Next]_vars

\* An element adds 1 at most.
SumIsWithin == \A n \in 0..Len(log) : 0 <= Sum(SubSeq(log, 1, n)) /\ Sum(SubSeq(log, 1, n)) <= n

\* Each place is one of those so far, and no element has more than one.
RunIsWithin ==
    \A n \in 0..Len(other) :
        LET run == Run(SubSeq(other, 1, n)) IN
        /\ 0 <= Len(run) /\ Len(run) <= n
        /\ \A k \in 1..Len(run) : 1 <= run[k] /\ run[k] <= n

\* Write only lengthens the log, so an earlier sum stays within it.
SumIsBelow == sum <= Len(log)

Inductive == TypeOK /\ SumIsBelow

Corollaries == SumIsWithin /\ RunIsWithin
=============================================================================
