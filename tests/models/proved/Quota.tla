------------------------------- MODULE Quota --------------------------------
(* Users of a quota, of any size, and a balance that falls below 0. *)
EXTENDS Integers

CONSTANTS Quota, Most
VARIABLES used, balance

Capacities == {"Most"}
AnyNumber == [Quota |-> 0]

TypeOK == used \in 0..Most /\ balance \in -Most..Most

Init == used = 0 /\ balance = 0
Take == used < Quota /\ used < Most /\ used' = used + 1 /\ balance' = balance - 1
Give == used > 0 /\ used' = used - 1 /\ balance' = balance + 1
Next == Take \/ Give
Spec == Init /\ [][Next]_<<used, balance>>

WithinQuota == used <= Quota

\* Every step changes both by one.
BalanceIsUse == balance = -used

\* Nobody takes more than there is.
UseIsWithin == used <= Quota

Inductive == TypeOK /\ BalanceIsUse /\ UseIsWithin
=============================================================================
