----------------------- MODULE ReplicationProperties -----------------------
(***************************************************************************)
(* What replication must never do: state properties (INVARIANT), step      *)
(* properties (PROPERTY [][...]_vars), and what holds once faults have     *)
(* stopped and everything has settled (Quiescent...).                      *)
(***************************************************************************)
EXTENDS Replication

-----------------------------------------------------------------------------
(* States *)

IsPrefix(s, t) == Len(s) <= Len(t) /\ \A i \in 1..Len(s) : s[i] = t[i]

\* 1. Every running member of the controller's ISR or ELR has the committed records.
StrongIsr ==
    \A b \in Partition.isr \cup Partition.elr : Running(b) => IsPrefix(committed, log[b])

\* 2. Two running replicas agree below the lower of their high watermarks.
HwAgreement ==
    \A a, b \in Brokers :
        Running(a) /\ Running(b) =>
            \A i \in 1..Min(highWatermark[a], highWatermark[b]) : log[a][i] = log[b][i]

\* 3. A follower that the leader of its epoch has counted is a prefix of the leader.
FollowerPrefix ==
    \A l, f \in Brokers :
        Leads(l) /\ Follows(f, l) /\ view[f].leaderEpoch = view[l].leaderEpoch /\ remoteLeo[l][f] >= 0
        /\ remoteEpoch[l][f] = brokerEpoch[f]
            => IsPrefix(log[f], log[l])

\* 4. An offset and an epoch name one record.
RecordIdentity ==
    \A a, b \in Brokers :
        \A i \in 1..Min(Leo(a), Leo(b)) : log[a][i].epoch = log[b][i].epoch => log[a][i] = log[b][i]

\* 7. At most one broker leads an epoch.
OneLeaderPerEpoch ==
    \A a, b \in Brokers : Leads(a) /\ Leads(b) /\ view[a].leaderEpoch = view[b].leaderEpoch => a = b

\* 8. The leader-epoch cache is strictly increasing and says where the log's epochs begin.
EpochCacheConsistent ==
    \A b \in Brokers :
        /\ \A i \in 1..(Len(epochCache[b]) - 1) :
            /\ epochCache[b][i].epoch < epochCache[b][i + 1].epoch
            /\ epochCache[b][i].start <= epochCache[b][i + 1].start
        /\ \A o \in 1..Leo(b) :
            (o = 1 \/ log[b][o - 1].epoch # log[b][o].epoch) =>
                \E i \in 1..Len(epochCache[b]) : epochCache[b][i].epoch = log[b][o].epoch /\ epochCache[b][i].start <= o - 1

\* 9. What acks=all acknowledged is on the running elected leader.
AckedOnLeader ==
    LET l == Partition.leader IN
    l # None => (Running(l) =>
        \A v \in Values : acked[v] > 0 => Leo(l) >= acked[v] /\ log[l][acked[v]].value = v)

\* Truncation 2. A follower's next fetch shows its tail.
FetchStateIsTail ==
    \A b \in Brokers :
        Running(b) /\ view[b].partitionEpoch > 0 /\ view[b].leader # b =>
            lastFetchedEpoch[b] = LatestEpoch(epochCache[b])

\* A high watermark is never past the log.
HwWithinLog == \A b \in Brokers : highWatermark[b] <= Leo(b) /\ flushed[b] <= Leo(b)

-----------------------------------------------------------------------------
(* Steps *)

\* 1. Epochs never decrease; a new leader has the next leader epoch.
EpochsMonotoneStep ==
    /\ IsPrefix(metadata, metadata')
    /\ metadata' # metadata =>
        /\ Partition'.leaderEpoch \in {Partition.leaderEpoch, Partition.leaderEpoch + 1}
        /\ Partition'.leader # Partition.leader => Partition'.leaderEpoch = Partition.leaderEpoch + 1
    /\ \A b \in Brokers :
        /\ brokerEpoch'[b] >= brokerEpoch[b] /\ registered'[b].epoch >= registered[b].epoch
        /\ status'[b] = "running" /\ brokerEpoch'[b] = brokerEpoch[b] =>
            view'[b].leaderEpoch >= view[b].leaderEpoch /\ view'[b].partitionEpoch >= view[b].partitionEpoch
EpochsMonotone == [][EpochsMonotoneStep]_vars

\* 2. A leader's high watermark is monotone within its epoch.
LeaderHwMonotoneStep ==
    \A b \in Brokers :
        Leads(b) /\ status'[b] = "running" /\ view'[b].leader = b /\ view'[b].leaderEpoch = view[b].leaderEpoch =>
            highWatermark'[b] >= highWatermark[b]
LeaderHwMonotone == [][LeaderHwMonotoneStep]_vars

\* 3. Leaders never truncate.
LeaderNeverTruncatesStep ==
    \A b \in Brokers :
        Leads(b) /\ status'[b] = "running" /\ view'[b].leader = b => IsPrefix(log[b], log'[b])
LeaderNeverTruncates == [][LeaderNeverTruncatesStep]_vars

\* 3. A running follower never truncates a committed record.
NoCommittedTruncatedStep ==
    \A b \in Brokers :
        Running(b) /\ status'[b] = "running" =>
            \A i \in 1..Len(committed) :
                i <= Leo(b) /\ i > Len(log'[b]) => log[b][i] # committed[i]
NoCommittedTruncated == [][NoCommittedTruncatedStep]_vars

\* 4. An AlterPartition changes the ISR only under the leader epoch and the partition epoch that it was made for.
IsrChangesByEpochStep ==
    \A b \in Brokers :
        alter[b].type = "request" /\ alter'[b].type = "reply" /\ metadata' # metadata =>
            /\ alter[b].leaderEpoch = Partition.leaderEpoch /\ Partition.leader = b
            /\ alter[b].partitionEpoch = Len(metadata)
            /\ alter[b].brokerEpoch = registered[b].epoch
IsrChangesByEpoch == [][IsrChangesByEpochStep]_vars

\* 5. A leader's high watermark does not advance while its ISR is under min.insync.replicas.
HwNeverUnderMinIsrStep ==
    \A b \in Brokers :
        status'[b] = "running" /\ view'[b].leader = b /\ highWatermark'[b] > highWatermark[b] =>
            Cardinality(view'[b].isr) >= EffectiveMinIsr
HwNeverUnderMinIsr == [][HwNeverUnderMinIsrStep]_vars

\* Truncation 1. A diverging reply names the end of what the leader has up to that epoch.
DivergingPointIsExactStep ==
    \A f, l \in Brokers :
        fetch[f][l].type = "request" /\ fetch'[f][l].type = "diverging" =>
            LET reply == fetch'[f][l] IN
            /\ reply.divergingEpoch <= fetch[f][l].lastEpoch
            /\ reply.endOffset <= Leo(l)
            /\ \A i \in 1..Leo(l) : (log[l][i].epoch <= reply.divergingEpoch) <=> (i <= reply.endOffset)
DivergingPointIsExact == [][DivergingPointIsExactStep]_vars

\* Truncation 3. No record of an epoch above the follower's is appended.
NoFutureRecordStep ==
    \A b \in Brokers :
        status'[b] = "running" /\ view'[b].leader # b =>
            \A i \in (Leo(b) + 1)..Len(log'[b]) : log'[b][i].epoch <= view'[b].leaderEpoch
NoFutureRecord == [][NoFutureRecordStep]_vars

\* Truncation 4. Within one leader epoch a follower's truncation point never increases.
DivergingPointNeverIncreasesStep ==
    \A b \in Brokers :
        Running(b) /\ status'[b] = "running" /\ view'[b].leaderEpoch = view[b].leaderEpoch /\ Len(log'[b]) < Leo(b) =>
            Len(log'[b]) <= reconciled[b]
DivergingPointNeverIncreases == [][DivergingPointNeverIncreasesStep]_vars

-----------------------------------------------------------------------------
(* At the end of a run whose faults have stopped *)

\* There is a leader, all brokers run and know of it, and all are in the ISR.
QuiescentIsrIsFull ==
    /\ Partition.leader # None /\ Partition.isr = Brokers
    /\ \A b \in Brokers : Running(b) /\ registered[b].state = "active" /\ view[b] = ViewOf(Len(metadata))

\* All logs are equal, and all is committed.
QuiescentLogsEqual ==
    \A b \in Brokers : log[b] = log[Partition.leader] /\ highWatermark[b] = Leo(b)

\* Every produce was answered, and no proposal is pending.
QuiescentAnswered ==
    \A b \in Brokers : waiting[b] = NotWaiting /\ ~pendingIsr[b].active
=============================================================================
