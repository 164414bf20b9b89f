---------------------------- MODULE MCAgreeStory ----------------------------
(***************************************************************************)
(* The same for late reads, truncations, counts, waits with many steps:     *)
(* who is elected when, in which epoch each record is written, and who      *)
(* fetches from whom follow a plan.                                         *)
(***************************************************************************)
EXTENDS MCAgree

CONSTANTS b1, b2, b3   \* the brokers, by name

\* Leaders by leader epoch, from epoch 0; each elected after all the records of the epochs before; `epochs`: of each record.
Planned(leaders, epochs, fetches) ==
    /\ \A n \in 1..Len(metadata) : metadata[n].leader = leaders[metadata[n].leaderEpoch + 1]
    /\ \A b \in Brokers : \A i \in 1..Leo(b) : log[b][i].epoch = epochs[log[b][i].value]
    /\ \A v \in 1..Records : epochs[v] < Partition.leaderEpoch => produced >= v
    /\ \A f, l \in Brokers : fetch[f][l].type # "idle" => <<f, l, fetch[f][l].epoch>> \in fetches

\* Row 12: b1 reads late for b3, after b2 has led and b1 has copied from it.
Row12Story ==
    /\ Planned(<<b1, b2>>, <<0, 1>>, {<<b3, b1, 0>>, <<b1, b2, 1>>})
    /\ Partition.leaderEpoch = 1 => fetch[b3][b1].type \in {"reading", "truncated", "records"}

\* Row 104: b2 reads late for b3, after b1 has led again and b2 has copied from it.
Row104Story ==
    /\ Planned(<<b1, b2, b1>>, <<0, 0, 1, 1>>, {<<b3, b2, 1>>, <<b2, b1, 2>>})
    /\ produced = 4 => Leo(b3) = 1
    /\ Partition.leaderEpoch = 2 => fetch[b3][b2].type \in {"reading", "truncated", "records"}
    /\ view[b3].leaderEpoch < 2

\* Row 139: b1 reads late for b2, after b3 has led again and b1 has copied from it.
Row139Story ==
    /\ Planned(<<b1, b3, b1, b3>>, <<0, 1, 1, 2>>, {<<b2, b1, 0>>, <<b2, b1, 2>>, <<b1, b3, 3>>})
    /\ produced > 1 => Leo(b2) = 1
    /\ Partition.leaderEpoch = 3 => fetch[b2][b1].type \in {"reading", "truncated", "records"}
    /\ view[b2].leaderEpoch \in {0, 2}

\* Row 141: b2 has a record that b1 lacks, and follows it. It checks b1's answer, and truncates when b1 has led, or leads again.
Row141Story ==
    /\ Planned(<<b2, b1, b2, b1>>, <<0>>, {<<b2, b1, 1>>})
    /\ Partition.leaderEpoch > 1 => produced = 1 /\ (view[b2].leaderEpoch = 1 => fetch[b2][b1].type = "checked")

\* Row 142: b1 has validated b2's fetch. It counts it, or is deposed; it counts it when it leads again, or has been b2's follower.
Row142Story ==
    /\ Planned(<<b1, b2, b1>>, <<0>>, {<<b2, b1, 0>>})
    /\ Partition.leaderEpoch > 0 => produced = 1 /\ (view[b1].leaderEpoch = 0 => fetch[b2][b1].type = "uncounted")

\* Row 148: b1 has appended a record that nobody else has. Its produce begins to wait, or b1 is deposed; it is answered when b1
\* follows, or begins to wait when b1 leads again, with b2's record or with its own.
Row148Story ==
    /\ Planned(<<b1, b2, b1>>, <<0, 1>>, {<<b1, b2, 1>>})
    /\ waiting[b2] = NotWaiting /\ waiting[b1][2] = 0
    /\ Partition.leaderEpoch > 0 /\ view[b1].leaderEpoch = 0 => waiting[b1][1] < 0
=============================================================================
