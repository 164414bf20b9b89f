------------------------------ MODULE Counter -------------------------------
(* A theorem that CounterHighest rests on. *)
EXTENDS CounterHistory

Inductive == CounterLemmas
=============================================================================
