------------------------------ MODULE MCStory ------------------------------
(***************************************************************************)
(* Deep counterexamples of the zoo: who is elected when, in which epoch     *)
(* each record is written, and what the ISR may be, follow a plan; all else *)
(* is free. A CONSTRAINT                                                    *)
(* that prunes hides counterexamples but invents none: what TLC finds under *)
(* it is a behaviour of Replication without the row's rule.                 *)
(***************************************************************************)
EXTENDS MCReplication

CONSTANTS
    b1, b2, b3,   \* the brokers, by name
    LeaderPlan,   \* the leader of each leader epoch, from epoch 0
    RecordPlan,   \* the leader epoch in which each record is written
    IsrPlan       \* the ISRs that are decided or proposed

\* Elections as planned, each after all the records of the epochs before.
Story ==
    /\ \A n \in 1..Len(metadata) : metadata[n].leader = LeaderPlan[metadata[n].leaderEpoch + 1]
    /\ \A b \in Brokers : \A i \in 1..Leo(b) : log[b][i].epoch = RecordPlan[log[b][i].value]
    /\ \A v \in 1..Records : RecordPlan[v] < Partition.leaderEpoch => produced >= v
    /\ \A n \in 1..Len(metadata) : metadata[n].isr \in IsrPlan
    /\ \A b \in Brokers : pendingIsr[b].active => pendingIsr[b].isr \in IsrPlan

-----------------------------------------------------------------------------
(* The plans *)

AllInSync == {Brokers}

\* Row 2: two fail-overs at once; the second leader writes twice.
Row02Leaders == <<b1, b2, b3>>
Row02Records == <<0, 2, 2>>

\* Row 9: the record is written without b3, which comes back too early.
Row09Leaders == <<b1, b2>>
Row09Records == <<0>>
Row09Isrs    == {{b1, b2, b3}, {b1, b2}}

\* Row 12: the other leader writes over what the first one validated.
Row12Leaders == <<b1, b2>>
Row12Records == <<0, 1>>

\* The same, and the logs diverge: what the first leader wrote is at the follower up to where the second one's record is put.
Row12LogsRecords == <<0, 0, 1, 1>>

\* Row 103: another broker leads in between.
Row103Leaders == <<b1, b3, b1>>
Row103Records == <<0, 0>>

\* The same, and a committed record is lost: the follower has led first, and is told, late, to cut what nobody else has.
Row103LossLeaders == <<b3, b1, b2, b1>>
Row103LossRecords == <<0, 2>>

\* Row 142: the first leader is elected again.
Row142Leaders == <<b1, b2, b1>>
Row142Records == <<0>>

\* Row 139: the first leader and another one take turns, and a third broker copies from the first one late. What is sent late was
\* written over by an epoch between that of the follower's tail and that of its fetch.
Row139Leaders == <<b1, b3, b1, b3>>
Row139Records == <<0, 1, 1, 2>>

\* The same, and the first leader leads once more, writes, and is read late again.
LateSearchLeaders == <<b1, b3, b1, b3, b1>>
LateSearchRecords == <<0, 1, 1, 2, 4>>

\* Nobody else fetches.
Row139Fetches ==
    \A f, l \in Brokers : fetch[f][l].type # "idle" => <<f, l>> \in {<<b2, b1>>, <<b1, b3>>}
=============================================================================
