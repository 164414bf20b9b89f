--------------------------- MODULE CounterHighest ---------------------------
(* A theorem that rests on Counter, whose lemmas it does not show again. *)
EXTENDS CounterHistory

RestsOn == "Counter"

Inductive == CounterLemmas /\ HighestIsHighest
=============================================================================
