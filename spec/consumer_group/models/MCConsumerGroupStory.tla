------------------------ MODULE MCConsumerGroupStory ------------------------
(***************************************************************************)
(* Deep counterexamples of KIP-848: what the assignor gives in each epoch, *)
(* who subscribes to what, and which heartbeat is doubled follow a plan;   *)
(* all else is free. A CONSTRAINT that prunes hides counterexamples but    *)
(* invents none: what TLC finds under it is a behaviour of ConsumerGroup848 *)
(* without the rule.                                                       *)
(***************************************************************************)
EXTENDS MCConsumerGroup

CONSTANTS
    c1, c2, p1, p2,    \* the consumers and partitions, by name; c1 is member 1, c2 member 2
    Targets,           \* per assignment epoch: what both are given
    Subscriptions,     \* per group epoch: what both subscribe to, or in the next one
    Doubled            \* the epoch of c2 in which a report of it is doubled

Subscribes(c, n) ==
    \A b \in Brokers :
        LET e == group[b].groupEpoch + 1 IN
        consumer[c].running => consumer[c].subscription \in {Subscriptions[e][n], Subscriptions[e + 1][n]}

Story ==
    /\ Bounds
    /\ consumer[c1].member \in {0, 1} /\ consumer[c2].member \in {0, 2}
    /\ \A b \in Brokers : group[b].assignmentEpoch > 0 =>
        <<group[b].target[1], group[b].target[2]>> = Targets[group[b].assignmentEpoch]
    /\ Subscribes(c1, 1) /\ Subscribes(c2, 2)
    /\ stray[c1].type = "idle"
    /\ stray[c2].type = "heartbeat" => stray[c2].memberEpoch = Doubled /\ stray[c2].reports

-----------------------------------------------------------------------------
(* The plans *)

All == {p1, p2}

\* A report from before c2 got p1 arrives when c2 has to revoke p1, and then p2: it acknowledges the first revocation.
LateReportTargets == <<<<All, {}>>, <<{p1}, {p2}>>, <<{}, All>>, <<{p1}, {p2}>>, <<All, {}>>>>
LateReportSubscriptions ==
    <<<<All, All>>, <<All, All>>, <<All, All>>, <<{p2}, All>>, <<All, All>>, <<All, {p2}>>, <<All, {p2}>>>>

\* c1 has p2; c2 is to have both, and gets p1 at once and p2 later, in one epoch. It subscribes to p1 alone. While the next target
\* assignment waits a report from before c2 got p2 arrives.
SameEpochTargets == <<<<All, {}>>, <<{p2}, {}>>, <<{}, All>>, <<{p2}, {p1}>>>>
SameEpochSubscriptions ==
    <<<<All, All>>, <<All, All>>, <<{p2}, All>>, <<{p2}, All>>, <<{p2}, {p1}>>, <<{p2}, {p1}>>>>
=============================================================================
