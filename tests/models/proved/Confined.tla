------------------------------ MODULE Confined ------------------------------
(* A CONSTRAINT: no step is taken from a state in which it is false, and the invariant holds of that state, too. *)
EXTENDS Integers

CONSTANTS Max

VARIABLES x

vars == <<x>>

Capacities == {"Max"}

TypeOK == x \in 0..Max

Init == x = 0
Add  == x' = x + 2
Next == Add
Spec == Init /\ [][Next]_vars

Few == x < 5

\* From 4 it goes to 6, and from there no further.
Most == x <= 6

Inductive == TypeOK /\ Most
=============================================================================
