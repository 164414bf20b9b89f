------------------------------ MODULE Delivery ------------------------------
(***************************************************************************)
(* What exactly once promises, and nothing of how: workers write results   *)
(* of the records of their topics; what a worker has written counts all at *)
(* once or not at all, and counts only if it goes on where the last that   *)
(* counted ended; a reader gets each result once, in the order of the      *)
(* records.                                                                *)
(*                                                                         *)
(* ExactlyOnce refines it (models: DeliveryRefined). Its state is counters, *)
(* not logs, so that a run of any length can be audited against it.        *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
    Workers,
    Topics,       \* the input partitions
    MaxOffset,    \* capacity: records of a topic
    Without       \* no rule is in it that could be left out

VARIABLES
    input,        \* per topic: its records
    open,         \* per worker and topic: the records from..to - 1 whose results it has written, undecided; 0, 0: none
    committed,    \* per topic: the records below it are done with
    delivered,    \* per topic: the results below it were returned to the reader
    stray         \* per topic: results that were returned again, or before an earlier one

vars == <<input, open, committed, delivered, stray>>

Offsets == 0..MaxOffset

TypeOK ==
    /\ input \in [Topics -> Offsets]
    /\ open \in [Workers -> [Topics -> [from : Offsets, to : Offsets]]]
    /\ committed \in [Topics -> Offsets]
    /\ delivered \in [Topics -> Offsets]
    /\ stray \in [Topics -> Offsets]

\* The constants that only bound a trace; every other limit of TypeOK means something.
Capacities == {"MaxOffset"}

Has(rule) == rule \notin Without
Rules == {}
FlawActions == {}

Nothing == [from |-> 0, to |-> 0]
NothingOpen == [p \in Topics |-> Nothing]

Init ==
    /\ input \in [Topics -> Offsets]
    /\ open = [w \in Workers |-> NothingOpen]
    /\ committed = [p \in Topics |-> 0]
    /\ delivered = [p \in Topics |-> 0]
    /\ stray = [p \in Topics |-> 0]

\* Process   who: worker
\* The result of record n is written, behind those of the records before it. (Who is out of date may begin anywhere.)
Process(w, p, n) ==
    \* enabled when
    /\ n < input[p]
    /\ open[w][p] = Nothing \/ open[w][p].to = n
    \* effect
    /\ open' = [open EXCEPT ![w][p] = [from |-> IF @ = Nothing THEN n ELSE @.from, to |-> n + 1]]
    /\ UNCHANGED <<input, committed, delivered, stray>>

\* Commit   who: worker
\* The worker's records count: in every topic it continues where the last counted batch ended.
Commit(w) ==
    \* enabled when
    /\ open[w] # NothingOpen
    /\ \A p \in Topics : open[w][p] # Nothing => open[w][p].from = committed[p]
    \* effect
    /\ committed' = [p \in Topics |-> IF open[w][p] # Nothing THEN open[w][p].to ELSE committed[p]]
    /\ open' = [open EXCEPT ![w] = NothingOpen]
    /\ UNCHANGED <<input, delivered, stray>>

\* Abort   who: worker, or whoever gives up waiting for it
\* The worker's records do not count.
Abort(w) ==
    \* enabled when
    /\ open[w] # NothingOpen
    \* effect
    /\ open' = [open EXCEPT ![w] = NothingOpen]
    /\ UNCHANGED <<input, committed, delivered, stray>>

\* Deliver   who: reader
\* It is given the next results of a topic, up to the record n.
Deliver(p, n) ==
    \* enabled when
    /\ delivered[p] < n /\ n <= committed[p]
    \* effect
    /\ delivered' = [delivered EXCEPT ![p] = n]
    /\ UNCHANGED <<input, open, committed, stray>>

Next ==
    \/ \E w \in Workers, p \in Topics, n \in Offsets : Process(w, p, n)
    \/ \E w \in Workers : Commit(w)
    \/ \E w \in Workers : Abort(w)
    \/ \E p \in Topics, n \in Offsets : Deliver(p, n)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* States *)

\* No result is given twice, and none before an earlier one of its topic.
DeliveredOnce == \A p \in Topics : stray[p] = 0

\* Nothing is returned that does not count, and nothing counts that there is no record for.
DeliveredIsCommitted == \A p \in Topics : delivered[p] <= committed[p] /\ committed[p] <= input[p]

\* Open ranges cover records that exist.
OpenIsOfRecords == \A w \in Workers, p \in Topics : open[w][p].from <= open[w][p].to /\ open[w][p].to <= input[p]

-----------------------------------------------------------------------------
(* Steps *)

\* Committed and delivered positions never go back.
DeliveryAdvancesStep ==
    \A p \in Topics : committed'[p] >= committed[p] /\ delivered'[p] >= delivered[p] /\ input'[p] = input[p]
DeliveryAdvances == [][DeliveryAdvancesStep]_vars

-----------------------------------------------------------------------------
(* At the end of a run whose faults have stopped and that had time to settle *)

\* Every record's result was returned.
QuiescentAllDelivered == \A p \in Topics : delivered[p] = input[p]
=============================================================================
