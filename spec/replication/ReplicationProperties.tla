----------------------- MODULE ReplicationProperties -----------------------
(***************************************************************************)
(* What replication must never do: state properties (INVARIANT), step      *)
(* properties (PROPERTY [][...]_vars), and what holds once faults have     *)
(* stopped and everything has settled (Quiescent...), which stands in for   *)
(* liveness on traces. ReplicationProperties.cfg is the audit's.           *)
(***************************************************************************)
EXTENDS Replication

-----------------------------------------------------------------------------
(* States *)

IsPrefix(s, t) == Len(s) <= Len(t) /\ \A i \in 1..Len(s) : s[i] = t[i]

\* Every running member of the controller's ISR or ELR has the committed records.
StrongIsr ==
    \A b \in Partition.isr \cup Partition.elr : Running(b) => IsPrefix(committed, log[b])

\* There is one history of commits: what is below a leader's high watermark is what was committed there, whoever committed it.
CommittedIsOne ==
    \A b \in Brokers : Leads(b) => \A i \in 1..highWatermark[b] : i <= Len(committed) /\ log[b][i] = committed[i]

\* Two running replicas agree below the lower of their high watermarks.
HwAgreement ==
    \A a, b \in Brokers :
        Running(a) /\ Running(b) =>
            \A i \in 1..Min(highWatermark[a], highWatermark[b]) : log[a][i] = log[b][i]

\* A follower that the leader of its epoch has counted (so the divergence checks are over) is a prefix of the leader.
FollowerPrefix ==
    \A l, f \in Brokers :
        Leads(l) /\ Follows(f, l) /\ view[f].leaderEpoch = view[l].leaderEpoch /\ remoteLeo[l][f] >= 0
        /\ remoteEpoch[l][f] = brokerEpoch[f]
            => IsPrefix(log[f], log[l])

\* An offset and an epoch name one record. By construction, whatever rule is removed: the one leader of an epoch only appends, and
\* every copy of a record has its offset. It is for traces.
RecordIdentity ==
    \A a, b \in Brokers :
        \A i \in 1..Min(Leo(a), Leo(b)) : log[a][i].epoch = log[b][i].epoch => log[a][i] = log[b][i]

\* Two logs with the same epoch at an offset have the same epochs, hence by RecordIdentity the same records, up to it: what makes
\* it enough that a fetch carries the last epoch only.
LogMatching ==
    \A a, b \in Brokers :
        \A i \in 2..Min(Leo(a), Leo(b)) :
            log[a][i].epoch = log[b][i].epoch => log[a][i - 1].epoch = log[b][i - 1].epoch

\* At most one broker leads an epoch. By construction, whatever rule is removed: a change of the leader takes the next epoch. It
\* is for traces.
OneLeaderPerEpoch ==
    \A a, b \in Brokers : Leads(a) /\ Leads(b) /\ view[a].leaderEpoch = view[b].leaderEpoch => a = b

\* The leader-epoch cache is strictly increasing, and names the epoch of every record of the log.
EpochCacheConsistent ==
    \A b \in Brokers :
        LET cache == epochCache[b] IN
        /\ \A i \in 1..(Len(cache) - 1) : cache[i].epoch < cache[i + 1].epoch /\ cache[i].start < cache[i + 1].start
        /\ \A i \in 1..Len(cache) : cache[i].start <= Leo(b)
        /\ \A o \in 1..Leo(b) :
            LET i == Cardinality({j \in 1..Len(cache) : cache[j].start < o})
            IN  i > 0 /\ (i > 0 => cache[i].epoch = log[b][o].epoch)

\* Records acknowledged with acks=all are on the running elected leader, at their offsets.
AckedOnLeader ==
    LET l == Partition.leader IN
    l # None => (Running(l) =>
        \A v \in Values : acked[v] > 0 => Leo(l) >= acked[v] /\ log[l][acked[v]].value = v)

\* A follower's fetch, the next one and the one under way, shows its tail.
FetchStateIsTail ==
    \A f \in Brokers :
        /\ Running(f) /\ view[f].partitionEpoch > 0 /\ view[f].leader # f => lastFetchedEpoch[f] = LatestEpoch(epochCache[f])
        /\ \A l \in Brokers :
            fetch[f][l].type = "request" /\ Follows(f, l) /\ fetch[f][l].epoch = view[f].leaderEpoch =>
                fetch[f][l].offset = Leo(f) /\ fetch[f][l].lastEpoch = lastFetchedEpoch[f]

\* A high watermark is never past the log, nor is what the disk has. By construction, whatever rule is removed: each step that sets
\* one of them, or cuts the log, ends them at the log's end. It is for traces.
HwWithinLog == \A b \in Brokers : highWatermark[b] <= Leo(b) /\ flushed[b] <= Leo(b)

\* ISR and ELR are disjoint, the ELR is empty while the ISR has min.insync.replicas, the ISR's members are active, and the leader
\* is one of them.
IsrWellFormed ==
    /\ Partition.isr \cap Partition.elr = {}
    /\ Cardinality(Partition.isr) >= EffectiveMinIsr => Partition.elr = {}
    /\ \A b \in Partition.isr : registered[b].state = "active"
    /\ Partition.leader # None => Partition.leader \in Partition.isr

\* The maximal ISR of a leader that is not deposed covers all that may be elected, while it is large enough to commit anything.
MaximalIsrCovers ==
    LET l == Partition.leader IN
    l # None => (Leads(l) /\ view[l].leaderEpoch = Partition.leaderEpoch /\ Cardinality(view[l].isr) >= EffectiveMinIsr =>
        Partition.isr \cup Partition.elr \subseteq view[l].isr \cup pendingIsr[l].isr)

\* A broker's view of the partition was decided by the controller.
ViewIsDecided ==
    \A b \in Brokers :
        view[b].partitionEpoch > 0 =>
            LET change == metadata[view[b].partitionEpoch] IN
            view[b].leader = change.leader /\ view[b].leaderEpoch = change.leaderEpoch /\ view[b].isr = change.isr

\* Records on their way to a consumer are committed, at their offsets, and so are the ones that it has read.
ConsumersReadCommitted ==
    \A c \in Consumers :
        /\ consumer[c].offset <= Len(committed)
        /\ consumer[c].type = "records" =>
            \A i \in 1..Len(consumer[c].batch) :
                consumer[c].offset + i <= Len(committed) /\ consumer[c].batch[i] = committed[consumer[c].offset + i]

-----------------------------------------------------------------------------
(* Steps *)

\* Epochs never decrease; a new leader has the next leader epoch. By construction, whatever rule is removed: WriteChange appends,
\* and no step takes an older change than the broker's. It is for traces.
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

\* A leader's high watermark is monotone within its epoch. By construction, whatever rule is removed: HwOf takes the greater. It is
\* for traces.
LeaderHwMonotoneStep ==
    \A b \in Brokers :
        Leads(b) /\ status'[b] = "running" /\ view'[b].leader = b /\ view'[b].leaderEpoch = view[b].leaderEpoch =>
            highWatermark'[b] >= highWatermark[b]
LeaderHwMonotone == [][LeaderHwMonotoneStep]_vars

\* Leaders never truncate. By construction, whatever rule is removed: only a broker that follows truncates. It is for traces.
LeaderNeverTruncatesStep ==
    \A b \in Brokers :
        Leads(b) /\ status'[b] = "running" /\ view'[b].leader = b => IsPrefix(log[b], log'[b])
LeaderNeverTruncates == [][LeaderNeverTruncatesStep]_vars

\* No running member of ISR or ELR truncates a committed record. (A replica outside may: it can follow a leader that was deposed.)
NoCommittedTruncatedStep ==
    \A b \in Partition.isr \cup Partition.elr :
        Running(b) /\ status'[b] = "running" =>
            \A i \in 1..Len(committed) :
                i <= Leo(b) /\ i > Len(log'[b]) => log[b][i] # committed[i]
NoCommittedTruncated == [][NoCommittedTruncatedStep]_vars

\* An AlterPartition changes the ISR only under the leader epoch and the partition epoch that it was made for.
IsrChangesByEpochStep ==
    \A b \in Brokers :
        alter[b].type = "request" /\ alter'[b].type = "reply" /\ metadata' # metadata =>
            /\ alter[b].leaderEpoch = Partition.leaderEpoch /\ Partition.leader = b
            /\ alter[b].partitionEpoch = Len(metadata)
            /\ alter[b].brokerEpoch = registered[b].epoch
            /\ \A r \in alter[b].isr : alter[b].memberEpochs[r] \in {-1, registered[r].epoch}
IsrChangesByEpoch == [][IsrChangesByEpochStep]_vars

\* A leader's high watermark does not advance while its ISR is under min.insync.replicas.
HwNeverUnderMinIsrStep ==
    \A b \in Brokers :
        status'[b] = "running" /\ view'[b].leader = b /\ highWatermark'[b] > highWatermark[b] =>
            Cardinality(view'[b].isr) >= EffectiveMinIsr
HwNeverUnderMinIsr == [][HwNeverUnderMinIsrStep]_vars

\* A diverging reply names the end of what the leader has up to the follower's last epoch, and of what it has up to the epoch
\* that it names.
DivergingPointIsExactStep ==
    \A f, l \in Brokers :
        fetch[f][l].type = "request" /\ fetch'[f][l].type = "diverging" =>
            LET request == fetch[f][l]
                reply   == fetch'[f][l] IN
            /\ reply.divergingEpoch <= request.lastEpoch /\ reply.endOffset <= Leo(l)
            /\ \A i \in 1..Leo(l) :
                /\ (log[l][i].epoch <= request.lastEpoch) <=> (i <= reply.endOffset)
                /\ (log[l][i].epoch <= reply.divergingEpoch) <=> (i <= reply.endOffset)
DivergingPointIsExact == [][DivergingPointIsExactStep]_vars

\* A follower truncates only what its leader does not have, while that leader is the one it follows.
TruncatesOnlyDivergenceStep ==
    \A f, l \in Brokers :
        Follows(f, l) /\ Leads(l) /\ view[f].leaderEpoch = view[l].leaderEpoch /\ status'[f] = "running" /\ Len(log'[f]) < Leo(f)
            => (Len(log'[f]) < Leo(l) => SubSeq(log[f], 1, Len(log'[f]) + 1) # SubSeq(log[l], 1, Len(log'[f]) + 1))
TruncatesOnlyDivergence == [][TruncatesOnlyDivergenceStep]_vars

\* A follower appends what a response brings, and no record of an epoch above that of the fetch which it answers.
NoFutureRecordStep ==
    \A f \in Brokers :
        status'[f] = "running" /\ view'[f].leader # f =>
            \A i \in (Leo(f) + 1)..Len(log'[f]) :
                \E l \in Brokers :
                    fetch[f][l].type = "records" /\ fetch'[f][l].type = "idle" /\ log'[f][i].epoch <= fetch[f][l].epoch
NoFutureRecord == [][NoFutureRecordStep]_vars

\* Within one leader epoch a follower's truncation point never increases.
DivergingPointNeverIncreasesStep ==
    \A b \in Brokers :
        Running(b) /\ status'[b] = "running" /\ view'[b].leaderEpoch = view[b].leaderEpoch /\ Len(log'[b]) < Leo(b) =>
            Len(log'[b]) <= reconciled[b]
DivergingPointNeverIncreases == [][DivergingPointNeverIncreasesStep]_vars

\* A consumer neither goes back nor skips a record: it goes on by what a response brings. By construction, whatever rule is removed:
\* only TakeRead moves it. It is for traces.
ConsumersSkipNothingStep ==
    \A c \in Consumers :
        consumer'[c].offset # consumer[c].offset =>
            consumer[c].type = "records" /\ consumer'[c].offset = consumer[c].offset + Len(consumer[c].batch)
ConsumersSkipNothing == [][ConsumersSkipNothingStep]_vars

-----------------------------------------------------------------------------
(* At the end of a run whose faults have stopped and that had time to settle: the finite stand-in for liveness *)

\* There is a leader, all brokers run and know of it, and all are in the ISR, except those that do not fetch any more.
QuiescentIsrIsFull ==
    /\ Partition.leader # None /\ \A b \in Brokers : stalled[b] \/ b \in Partition.isr
    /\ \A b \in Brokers : Running(b) /\ registered[b].state = "active" /\ view[b] = ViewOf(Len(metadata))

\* All logs are equal, and all is committed, except at followers that do not fetch any more. So the leader has found each of
\* these: while one is in the ISR, nothing that it lacks is committed. An ISR that is too small commits nothing.
QuiescentLogsEqual ==
    LET l == Partition.leader IN
    /\ l # None
    /\ \A b \in Brokers :
        \/ stalled[b] /\ b # l
        \/ log[b] = log[l] /\ (Cardinality(Partition.isr) >= EffectiveMinIsr => highWatermark[b] = Leo(b))

\* Every broker that was asked to stop has been allowed to.
QuiescentStopsGranted == \A b \in Brokers : ~asked[b]

\* Consumers have read all that is committed; they may have asked for more.
QuiescentConsumersAtEnd ==
    LET l == Partition.leader IN
    l # None => \A c \in Consumers : consumer[c].offset = highWatermark[l]

\* Every produce was answered, and no proposal is pending.
QuiescentAnswered ==
    \A b \in Brokers : waiting[b] = NotWaiting /\ ~pendingIsr[b].active
=============================================================================
