----------------------- MODULE MCConsumerGroupCleaner -----------------------
(***************************************************************************)
(* The group of KIP-848 while the log cleaner works: loads that read some  *)
(* records from before it came by, and some from after. Batches pile up    *)
(* ("slow log"); the second consumer comes when the first has joined.      *)
(***************************************************************************)
EXTENDS MCConsumerGroup

CONSTANTS c1, c2    \* the consumers, by name; c1 is member 1, c2 member 2

Cleaning ==
    /\ Bounds
    /\ consumer[c1].member \in {0, 1} /\ consumer[c2].member \in {0, 2}
    /\ consumer[c2].running /\ Serving(leaderAndEpoch.broker) => group[leaderAndEpoch.broker].groupEpoch > 0

\* Whatever the cleaner has been over, a load of all that the leader has comes to what the leader holds.
LoadIsReplay ==
    LET kept  == appended[leaderAndEpoch.broker]
        found == ReplayGroup(kept, storedGroup) IN
    \A from \in 0..Len(kept), to \in 0..Len(kept) : from + 2 <= to =>
        LET loaded == LoadedWhileCleaning(storedGroup, kept, from, to) IN
        /\ loaded.epochs = EpochsOf(found) /\ ~loaded.failed
        /\ \A m \in MemberIds : loaded.holds[m] = Holds(found.members[m]) /\ (m \in Present(found) => loaded.at[m] = found.members[m].memberEpoch)
=============================================================================
