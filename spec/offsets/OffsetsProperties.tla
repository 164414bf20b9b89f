-------------------------- MODULE OffsetsProperties --------------------------
(***************************************************************************)
(* What must hold of a group's committed offsets. State invariants first,  *)
(* then properties of steps, then what holds at a run's quiet end.         *)
(***************************************************************************)
EXTENDS Offsets

B == leaderAndEpoch.broker                          \* the elected coordinator; it serves

\* A group without record and without offsets is none.
Known(memory) ==
    [group   |-> IF memory.group.state = "Simple" /\ \A p \in Partitions : ~HasOffset(memory, p) THEN NoGroup
                 ELSE memory.group,
     offsets |-> memory.offsets, staged |-> memory.staged]

\* The coordinator's memory is what a replay of the log gives, whatever compaction has done to it.
LiveIsReplay == Known(Memory(B)) = Known(Replay(log))

\* Positions go up in the log, and in what follows it. (By construction: a record takes the next position, and compaction keeps
\* it. It is for traces.)
LogWellFormed ==
    /\ \A i \in 1..Len(log) : log[i].position < end[B] /\ (i > 1 => log[i - 1].position < log[i].position)
    /\ \A b \in Brokers : \A i \in 1..Len(appended[b]) : appended[b][i].position = end[b] + i - 1

\* A transaction that is open at the partition is not complete, and has the partition's epoch.
OpenIsUndecided ==
    \A t \in Producers : producers[B][t].first >= 0 =>
        /\ transaction[t].phase # "idle"
        /\ producers[B][t].epoch = IF transaction[t].phase = "ongoing" THEN transaction[t].epoch ELSE transaction[t].epoch - 1

\* A staged offset is of an open transaction.
StagedIsOpen == \A t \in Producers : (\E p \in Partitions : staged[B][t][p].offset >= 0) => producers[B][t].first >= 0

\* A committed offset can be fetched.
OffsetsHaveGroup == (\E p \in Partitions : offsets[B][p].offset >= 0) => group[B].state # "None"

-----------------------------------------------------------------------------
(* Steps *)

\* The record that b writes in this step, if it writes one.
Writes(b) == Len(appended'[b]) > Len(appended[b])
Newest(b) == appended'[b][Len(appended'[b])]

\* The records that this step makes count.
Fresh(entry) == entry.position >= end[B]

\* A staged offset stays until the transaction's marker, or until somebody deletes it on purpose.
StagedUntilDecidedStep ==
    \A t \in Producers, p \in Partitions :
        staged[B][t][p].offset >= 0 /\ staged'[leaderAndEpoch'.broker][t][p].offset < 0 =>
            \E i \in 1..Len(log') :
                /\ Fresh(log'[i])
                /\ CASE log'[i].type = "marker"    -> log'[i].producer = t
                     [] log'[i].type = "tombstone" -> log'[i].cause # "expiry" /\ p \in log'[i].partitions
                     [] OTHER                      -> FALSE
StagedUntilDecided == [][StagedUntilDecidedStep]_vars

\* The partition's transaction ends by the marker of the transaction that is ending, with its result.
DecidedByItsMarkerStep ==
    \A t \in Producers :
        producers[B][t].first >= 0 /\ producers'[leaderAndEpoch'.broker][t].first = -1 =>
            /\ transaction[t].phase = "ending"
            /\ \A i \in 1..Len(log') :
                Fresh(log'[i]) => (IF log'[i].type = "marker" THEN log'[i].producer = t => log'[i].result = transaction[t].result
                                   ELSE TRUE)
DecidedByItsMarker == [][DecidedByItsMarkerStep]_vars

\* A committed offset changes only by a record that counts from this step on: a commit, a marker that lets a staged one count,
\* a tombstone. What a marker lets count is what its producer has staged. (A new coordinator may load both at once.)
ChangedByAcceptedStep ==
    \A p \in Partitions :
        LET before == offsets[B][p]
            after  == offsets'[leaderAndEpoch'.broker][p] IN
        after # before =>
            \E i \in 1..Len(log') :
                /\ Fresh(log'[i])
                /\ CASE log'[i].type = "commit"    -> log'[i].partition = p /\ log'[i].position = after.position
                     [] log'[i].type = "marker"    ->
                            /\ log'[i].result = "COMMIT" /\ after.offset >= 0
                            /\ leaderAndEpoch' = leaderAndEpoch => after = staged[B][log'[i].producer][p]
                     [] log'[i].type = "tombstone" -> p \in log'[i].partitions /\ after.offset < 0
                     [] OTHER                      -> FALSE
ChangedByAccepted == [][ChangedByAcceptedStep]_vars

\* When a transaction commits, what it has staged counts, unless something later does. That nothing of it counts when it aborts
\* is ChangedByAccepted.
MaterialisedOnCommitStep ==
    leaderAndEpoch' = leaderAndEpoch =>
        \A i \in 1..Len(log') :
            Fresh(log'[i]) =>
                (IF log'[i].type = "marker"
                 THEN log'[i].result = "COMMIT" =>
                        \A p \in Partitions :
                            LET mine == staged[B][log'[i].producer][p] IN
                            mine.offset >= 0 => offsets'[B][p].position >= mine.position
                 ELSE TRUE)
MaterialisedOnCommit == [][MaterialisedOnCommitStep]_vars

\* A later committed record counts.
LaterCountsStep ==
    \A p \in Partitions :
        offsets[B][p].offset >= 0 /\ offsets'[leaderAndEpoch'.broker][p].offset >= 0 =>
            offsets[B][p].position <= offsets'[leaderAndEpoch'.broker][p].position
LaterCounts == [][LaterCountsStep]_vars

\* A partition that the group's members read keeps its offset, unless the topic goes.
MembersKeepOffsetsStep ==
    \A p \in Partitions :
        /\ leaderAndEpoch' = leaderAndEpoch /\ group[B].state = "Stable" /\ p \in group[B].subscribed
        /\ offsets[B][p].offset >= 0 /\ offsets'[B][p].offset < 0
        => \E i \in 1..Len(log') :
            Fresh(log'[i]) /\ (IF log'[i].type = "tombstone" THEN log'[i].cause = "topic" /\ p \in log'[i].partitions ELSE FALSE)
MembersKeepOffsets == [][MembersKeepOffsetsStep]_vars

IsExpiry(b) == Writes(b) /\ (IF Newest(b).type = "tombstone" THEN Newest(b).cause = "expiry" ELSE FALSE)

\* An expired offset was committed at least the retention time ago.
RetainedAfterCommitStep ==
    IsExpiry(B) => \A p \in Newest(B).partitions : now - Written(B).offsets[p].time >= Retention
RetainedAfterCommit == [][RetainedAfterCommitStep]_vars

\* In a group without members, an offset expires no earlier than the retention time after the last member left.
RetainedAfterEmptyStep ==
    IsExpiry(B) /\ Written(B).group.state = "Empty" /\ Newest(B).partitions # {} => now - Written(B).group.since >= Retention
RetainedAfterEmpty == [][RetainedAfterEmptyStep]_vars

\* A transactional commit is taken only from the group's current generation, if it names one.
IsCurrent(slot) == slot.generation < 0 \/ slot.generation = Written(B).group.generation
AcceptedIsCurrentStep ==
    Writes(B) /\ Newest(B).type = "staged" =>
        \A t \in Producers :
            /\ txnRpc[t].type = "verified" /\ txnRpc'[t].type = "committing" => IsCurrent(txnRpc[t])
            /\ late[t].type = "verified" /\ late'[t].type = "idle" => IsCurrent(late[t])
AcceptedIsCurrent == [][AcceptedIsCurrentStep]_vars

\* A producer's epoch at the partition never goes back.
ProducerEpochMonotoneStep ==
    \A t \in Producers : producers[B][t].epoch <= producers'[leaderAndEpoch'.broker][t].epoch
ProducerEpochMonotone == [][ProducerEpochMonotoneStep]_vars

\* A stable fetch is answered by the elected coordinator.
AnswersStable == IF fetch' # fetch /\ fetch'.type = "fetched"
                 THEN fetch'.stable /\ fetch'.error = "NONE" /\ fetch'.broker = B ELSE FALSE
ReadsStable   == IF fetch.type = "waiting" THEN FALSE
                 ELSE IF fetch'.type = "waiting" THEN fetch'.broker = B ELSE AnswersStable

\* A fetch of stable offsets does not return an offset that a transaction is about to replace.
FetchedIsDecidedStep ==
    ReadsStable => \A p \in Partitions : IsStaged(Written(B), p) => p \in fetch'.unstable
FetchedIsDecided == [][FetchedIsDecidedStep]_vars

\* A fetch of stable offsets returns the offsets that are committed at the time of the reply.
FetchedIsCommittedStep ==
    AnswersStable => \A p \in Partitions \ fetch'.unstable : fetch'.offsets[p] = offsets'[B][p].offset
FetchedIsCommitted == [][FetchedIsCommittedStep]_vars

-----------------------------------------------------------------------------
(* At the end of a run whose faults have stopped and that had time to settle: the finite stand-in for liveness *)

\* Everything that was appended has committed.
QuiescentAllCommitted == appended[B] = <<>>

\* The leader of the partition of __consumer_offsets serves. No other broker serves, or holds uncommitted records.
QuiescentCoordinatorServes ==
    \A b \in Brokers : IF b = leaderAndEpoch.broker THEN epoch[b] = leaderAndEpoch.epoch ELSE epoch[b] = 0 /\ appended[b] = <<>>

\* Nobody waits, and nothing is on its way. (A fetch that was answered stands there until the next.)
QuiescentNothingInFlight ==
    /\ \A t \in Producers :
        txnRpc[t].type = "idle" /\ late[t].type = "idle" /\ marker[t].type = "idle" /\ lateMarker[t].type = "idle"
    /\ fetch.type # "waiting"

\* Every transaction is complete, and nothing of it is staged.
QuiescentAllDecided ==
    \A t \in Producers :
        /\ transaction[t].phase = "idle"
        /\ producers[B][t].first = -1
        /\ \A p \in Partitions : staged[B][t][p].offset < 0

\* The sweep has come, and nothing is due: no offset has outlived its retention, and no group that nobody needs is kept.
QuiescentNothingDue ==
    LET memory == Written(B) IN (\A p \in Partitions : ~Expired(memory, p)) /\ ~GroupExpires(B, memory)
=============================================================================
