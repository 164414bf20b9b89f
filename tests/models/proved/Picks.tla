------------------------------- MODULE Picks --------------------------------
(* CHOOSE over numbers whose end is a capacity: the least, the greatest, and the only one; sets of them. *)
EXTENDS Integers, Sequences, FiniteSets, Bounded

CONSTANTS MaxLog

VARIABLES log, first, last, only

vars == <<log, first, last, only>>

Capacities == {"MaxLog"}

TypeOK ==
    /\ log \in BoundedSeq(0..2, MaxLog)
    /\ first \in 0..MaxLog
    /\ last \in 0..MaxLog
    /\ only \in 0..MaxLog

Least(S)    == CHOOSE i \in S : \A j \in S : i <= j
Greatest(S) == CHOOSE i \in S : \A j \in S : j <= i

Places(v) == {i \in 1..Len(log) : log[i] = v}

Init == log = <<>> /\ first = 0 /\ last = 0 /\ only = 0

Write(v) ==
    /\ Len(log) < MaxLog
    /\ v = 2 => Places(2) = {}
    /\ log' = Append(log, v)
    /\ UNCHANGED <<first, last, only>>

Look ==
    /\ first' = IF Places(1) = {} THEN 0 ELSE Least(Places(1))
    /\ last' = IF Places(1) = {} THEN 0 ELSE Greatest(Places(1))
    /\ only' = IF Places(2) = {} THEN 0 ELSE CHOOSE i \in 1..Len(log) : log[i] = 2
    /\ UNCHANGED log

Next == (\E v \in 0..2 : Write(v)) \/ Look

Spec == Init /\ [][Next]_vars

\* Write takes no second 2.
OneTwo == \A i, j \in 1..Len(log) : log[i] = 2 /\ log[j] = 2 => i = j

\* Look takes the first, and what is written behind it changes nothing.
FirstIsFirst ==
    first > 0 => /\ first <= Len(log)
                 /\ first <= Len(log) => log[first] = 1
                 /\ \A i \in {j \in Places(1) : j < first} : FALSE

\* Look takes a place that has a 1.
LastIsPlace == last > 0 => last \in Places(1) \ Places(2)

\* Look takes all there is at that time.
LastIsBehind == first > 0 => first <= last

\* Look takes the place of the 2.
OnlyIsTwo == only > 0 => only \in Places(2) \cap 1..Len(log)

Inductive == TypeOK /\ OneTwo /\ FirstIsFirst /\ LastIsPlace /\ LastIsBehind /\ OnlyIsTwo
=============================================================================
