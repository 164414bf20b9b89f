-------------------------------- MODULE Debt --------------------------------
(* A balance may fall one below what the claim says. *)
EXTENDS Integers

CONSTANT Most
VARIABLE balance

Capacities == {"Most"}

TypeOK == balance \in -(Most + 1)..Most

Init == balance = 0
Borrow == balance > -(Most + 1) /\ balance' = balance - 1
Next == Borrow
Spec == Init /\ [][Next]_balance

Limited == balance \in -Most..Most

\* Nobody lends.
NeverAbove == balance <= 0

Inductive == TypeOK /\ NeverAbove
=============================================================================
