------------------------------- MODULE Slots --------------------------------
(* A request and its reply in one slot: records that are told apart by their type. *)
EXTENDS Naturals

CONSTANT MaxNumber

VARIABLES slot, asked, told

vars == <<slot, asked, told>>

Capacities == {"MaxNumber"}

Slot == [type : {"idle"}] \cup [type : {"request"}, number : 0..MaxNumber] \cup [type : {"reply"}, number : 0..MaxNumber, ok : BOOLEAN]

TypeOK == slot \in Slot /\ asked \in 0..MaxNumber /\ told \in 0..MaxNumber

Init == slot = [type |-> "idle"] /\ asked = 0 /\ told = 0

Send ==
    /\ slot.type = "idle" /\ asked < MaxNumber
    /\ asked' = asked + 1
    /\ slot' = [type |-> "request", number |-> asked + 1]
    /\ UNCHANGED told

Answer ==
    /\ slot.type = "request"
    /\ \E ok \in BOOLEAN : slot' = [type |-> "reply", number |-> slot.number, ok |-> ok]
    /\ UNCHANGED <<asked, told>>

Receive ==
    /\ slot.type = "reply"
    /\ told' = IF slot.ok THEN slot.number ELSE told
    /\ slot' = [type |-> "idle"]
    /\ UNCHANGED asked

Next == Send \/ Answer \/ Receive

Spec == Init /\ [][Next]_vars

\* Nothing is sent while a request is under way.
SlotIsLast == slot.type # "idle" => slot.number = asked

\* An answer is of the last request.
Told == told <= asked

\* What is told only rises.
Rises == [][told' >= told]_vars

Inductive == TypeOK /\ SlotIsLast /\ Told
=============================================================================
