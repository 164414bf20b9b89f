---------------------------- MODULE Replication ----------------------------
(***************************************************************************)
(* ISR replication of one Kafka partition in KRaft form, with leader-epoch *)
(* truncation, eligible leader replicas and broker epochs (Kafka 4.x).     *)
(*                                                                         *)
(* Modelled: the controller as a log of partition changes that each broker *)
(* applies prefix by prefix, several changes as one delta if it likes;     *)
(* registration, fencing and controlled shutdown; AlterPartition and fetch *)
(* as request and reply in slots that may be late or lost; appends with    *)
(* acks 0, 1 and all; high watermark; truncation on fetch with the         *)
(* leader-epoch cache; crashes that lose an arbitrary unflushed suffix.    *)
(* KIPs: 101, 279, 320, 497, 595, 631, 841, 903, 966.                      *)
(*                                                                         *)
(* Left out: controller fail-over, reassignment, log start offsets,        *)
(* last-known leader, retention, fetches that re-read, transactions.       *)
(* docs/protocols/replication.md: why, and what it could hide.             *)
(*                                                                         *)
(* Read in this order: VARIABLES, the rules, Init, the actions from        *)
(* ElectLeader to CrashBroker, then ReplicationProperties.                 *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds

CONSTANTS
    Brokers,         \* the replicas of the partition
    None,            \* no leader
    MinIsr,          \* min.insync.replicas
    MaxLog,          \* capacity: records in a log
    MaxEpoch,        \* capacity: leader epochs
    MaxMetadata,     \* capacity: partition changes
    MaxBrokerEpoch,  \* capacity: incarnations of a broker
    MaxValue,        \* capacity: produce attempts; each attempt has its own value
    MaxFetch,        \* capacity: records in a fetch response
    Consumers,       \* the partition's consumers
    Reading,         \* those of them that read
    Stoppable,       \* the brokers whose operator is seen to ask them to stop; others ask on their own
    Stallable,       \* the brokers whose fetcher may die
    LateTruncating,  \* the followers that may truncate later than they have checked the answer
    LateCounting,    \* the leaders that may count a fetch later than they have validated it
    LateWaiting,     \* the leaders whose acks=all produces may wait later than appended, and be completed when they lead no more
    Without          \* the safety rules that are not in force

VARIABLES
    \* the controller
    metadata,         \* the partition's changes; a change's index is its partition epoch
    registered,       \* per broker: its registration (broker epoch, state, metadata index when it registered)
    \* the broker process
    status,           \* per broker: running, or how it went down
    brokerEpoch,      \* per broker: the epoch of its incarnation
    view,             \* per broker: the partition as it knows it; partitionEpoch 0: nothing applied yet; applied: the metadata
                      \* of that change was applied, too (an AlterPartition reply may tell of it first)
    asked,            \* per broker: its operator has asked it to stop, and it still runs
    stalled,          \* per broker: its fetcher has died while the process lives on
    \* its disk
    log,              \* per broker: the records
    flushed,          \* per broker: how many of them are safely on disk
    epochCache,       \* per broker: leader epochs with their start offsets
    highWatermark,    \* per broker
    checkpoint,       \* per broker: the high watermark in its checkpoint file
    \* the leader's memory
    epochStart,       \* per broker: the log end offset when it became leader of its epoch
    remoteLeo,        \* per leader and follower: log end offset by its last counted fetch, -1 unknown
    remoteEpoch,      \* per leader and follower: broker epoch of that fetch, -1 unknown
    pendingIsr,       \* per leader: the ISR that it has proposed and that is not decided
    produced,         \* how many produce attempts have been appended; the n-th carries value n
    waiting,          \* per leader and value: the high watermark that an acks=all produce waits for, 0 none; below 0: it is
                      \* appended up to there, and begins to wait later
    \* the follower's memory
    lastFetchedEpoch, \* per follower: the epoch that its next fetch carries, -1 none
    \* the network
    fetch,            \* per follower and source broker: the one outstanding fetch, as request or as response
    alter,            \* per leader: the one outstanding AlterPartition, as request or as reply
    \* its clients
    consumer,         \* per consumer: the offset that it reads next, and its one outstanding fetch, as request or as response
    \* history, never part of a trace
    committed,        \* the records below the highest high watermark that any leader ever had
    acked,            \* per value: the offset + 1 that an acks=all client was told, 0 none
    reconciled        \* per follower: the last truncation point in its current leader epoch, MaxLog none

controllerVars == <<metadata, registered>>
processVars    == <<status, brokerEpoch, view, asked, stalled>>
diskVars       == <<log, flushed, epochCache, highWatermark, checkpoint>>
leaderVars     == <<epochStart, remoteLeo, remoteEpoch, pendingIsr, produced, waiting>>
followerVars   == <<lastFetchedEpoch>>
networkVars    == <<fetch, alter>>
clientVars     == <<consumer>>
vars == <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint,
          epochStart, remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter,
          asked, stalled, consumer, committed, acked, reconciled>>

Ghosts == <<committed, acked, reconciled>>

-----------------------------------------------------------------------------
(* Types. The bounds are a trace's capacities. *)

Values       == 1..MaxValue
Offsets      == 0..MaxLog
Epochs       == 0..MaxEpoch
EpochOrNone  == -1..MaxEpoch
Leaders      == Brokers \cup {None}
Acks         == {"0", "1", "all"}
Record       == [epoch : Epochs, value : Values]
Log          == BoundedSeq(Record, MaxLog)
EpochCache   == BoundedSeq([epoch : Epochs, start : Offsets], MaxEpoch + 1)
Change       == [leader : Leaders, leaderEpoch : Epochs, isr : SUBSET Brokers, elr : SUBSET Brokers]
FetchErrors  == {"NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "OFFSET_OUT_OF_RANGE"}
AlterErrors  == {"NONE", "NOT_CONTROLLER", "STALE_BROKER_EPOCH", "FENCED_LEADER_EPOCH", "INVALID_REQUEST",
                 "INVALID_UPDATE_VERSION", "INELIGIBLE_REPLICA"}
ProduceErrors == {"NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "REQUEST_TIMED_OUT"}

\* epoch and offset of a response are those of its request: the follower keeps them while it waits. Of a fetch that is read late
\* the slot has the slice that was validated; its type is "truncated" once a truncation has reached that slice. A diverging answer
\* is "checked" while the follower's thread has found it to be its fetch's and has not truncated yet. A fetch is "uncounted" while
\* its leader has validated and read, and has not counted yet.
FetchSlot ==
         [type : {"idle"}]
    \cup [type : {"request"}, epoch : Epochs, offset : Offsets, lastEpoch : EpochOrNone, brokerEpoch : 0..MaxBrokerEpoch]
    \cup [type : {"reading", "truncated"}, epoch : Epochs, offset : Offsets, count : 0..MaxFetch, hw : Offsets]
    \cup [type : {"uncounted"}, epoch : Epochs, offset : Offsets, brokerEpoch : 0..MaxBrokerEpoch,
          batch : BoundedSeq(Record, MaxFetch), hw : Offsets]
    \cup [type : {"records"}, epoch : Epochs, offset : Offsets, batch : BoundedSeq(Record, MaxFetch), hw : Offsets]
    \cup [type : {"diverging", "checked"}, epoch : Epochs, offset : Offsets, divergingEpoch : Epochs, endOffset : Offsets,
          hw : Offsets]
    \cup [type : {"error"}, epoch : Epochs, offset : Offsets, error : FetchErrors, endOffset : Offsets]

AlterSlot ==
         [type : {"idle"}]
    \cup [type : {"request"}, brokerEpoch : 0..MaxBrokerEpoch, leaderEpoch : Epochs, partitionEpoch : 0..MaxMetadata,
          isr : SUBSET Brokers, memberEpochs : [Brokers -> -1..MaxBrokerEpoch]]
    \cup [type : {"reply"}, leaderEpoch : Epochs, partitionEpoch : 0..MaxMetadata, error : AlterErrors]

\* A consumer's fetch: its offset is that of the next record that the consumer has not got.
ConsumerSlot ==
         [type : {"idle"}, offset : Offsets]
    \cup [type : {"request"}, offset : Offsets, broker : Brokers, epoch : Epochs]
    \cup [type : {"records"}, offset : Offsets, batch : BoundedSeq(Record, MaxFetch)]
    \cup [type : {"error"}, offset : Offsets, error : FetchErrors]

TypeOK ==
    /\ metadata \in BoundedSeq(Change, MaxMetadata)
    /\ registered \in [Brokers -> [epoch : 0..MaxBrokerEpoch, state : {"active", "fenced", "stopping"}, since : 0..MaxMetadata]]
    /\ status \in [Brokers -> {"running", "stopped", "crashed", "lossy"}]
    /\ brokerEpoch \in [Brokers -> 0..MaxBrokerEpoch]
    /\ view \in [Brokers -> [leader : Leaders, leaderEpoch : EpochOrNone, partitionEpoch : 0..MaxMetadata, isr : SUBSET Brokers,
                           applied : BOOLEAN]]
    /\ asked \in [Brokers -> BOOLEAN]
    /\ stalled \in [Brokers -> BOOLEAN]
    /\ log \in [Brokers -> Log]
    /\ flushed \in [Brokers -> Offsets]
    /\ epochCache \in [Brokers -> EpochCache]
    /\ highWatermark \in [Brokers -> Offsets]
    /\ checkpoint \in [Brokers -> Offsets]
    /\ epochStart \in [Brokers -> Offsets]
    /\ remoteLeo \in [Brokers -> [Brokers -> -1..MaxLog]]
    /\ remoteEpoch \in [Brokers -> [Brokers -> -1..MaxBrokerEpoch]]
    /\ pendingIsr \in [Brokers -> [active : BOOLEAN, isr : SUBSET Brokers, memberEpochs : [Brokers -> -1..MaxBrokerEpoch]]]
    /\ produced \in 0..MaxValue
    /\ waiting \in [Brokers -> [Values -> -MaxLog..MaxLog]]
    /\ lastFetchedEpoch \in [Brokers -> EpochOrNone]
    /\ fetch \in [Brokers -> [Brokers -> FetchSlot]]
    /\ alter \in [Brokers -> AlterSlot]
    /\ consumer \in [Consumers -> ConsumerSlot]
    /\ committed \in Log
    /\ acked \in [Values -> Offsets]
    /\ reconciled \in [Brokers -> Offsets]

-----------------------------------------------------------------------------
(* Vocabulary *)

Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b

Idle       == [type |-> "idle"]
NoView     == [leader |-> None, leaderEpoch |-> -1, partitionEpoch |-> 0, isr |-> {}, applied |-> TRUE]
Unknown    == [r \in Brokers |-> -1]
NoPending  == [active |-> FALSE, isr |-> {}, memberEpochs |-> Unknown]
NotWaiting == [v \in Values |-> 0]
Reads(offset) == [type |-> "idle", offset |-> offset]   \* a consumer that has asked for nothing

EffectiveMinIsr == Min(MinIsr, Cardinality(Brokers))
Partition       == metadata[Len(metadata)]            \* the controller's current state of the partition
Running(b)      == status[b] = "running"
Leads(b)        == Running(b) /\ view[b].leader = b
Follows(f, l)   == Running(f) /\ f # l /\ view[f].leader = l
Leo(b)          == Len(log[b])

\* Leader-epoch cache (LeaderEpochFileCache): the last epoch, the entries that a truncation to n leaves, the entry that
\* an append at offset o in epoch e makes.
LatestEpoch(cache) == IF cache = <<>> THEN -1 ELSE cache[Len(cache)].epoch
TrimCache(cache, n) ==
    SubSeq(cache, 1, Cardinality({i \in 1..Len(cache) : cache[i].start < n}))
ExtendCache(cache, e, o) ==
    IF e = LatestEpoch(cache) THEN cache
    ELSE LET kept == Cardinality({i \in 1..Len(cache) : cache[i].epoch < e /\ cache[i].start < o})
         IN  Append(SubSeq(cache, 1, kept), [epoch |-> e, start |-> o])

\* The end offset of epoch e in a log with this cache and end (-1, -1: undefined). LeaderEpochFileCache.endOffsetFor, KIP-279.
EndOffsetFor(cache, end, e) ==
    LET below == Cardinality({i \in 1..Len(cache) : cache[i].epoch <= e})
    IN  CASE e = -1 \/ cache = <<>>            -> [epoch |-> -1, endOffset |-> -1]
          [] e = LatestEpoch(cache)            -> [epoch |-> e, endOffset |-> end]
          [] e > LatestEpoch(cache)            -> [epoch |-> -1, endOffset |-> -1]
          [] e < LatestEpoch(cache) /\ below = 0 -> [epoch |-> e, endOffset |-> cache[1].start]
          [] OTHER -> [epoch |-> cache[below].epoch, endOffset |-> cache[below + 1].start]

-----------------------------------------------------------------------------
(* The safety rules. Each says what goes wrong without it; traces/golden holds the schedules. *)

\* The constants that only bound a trace; every other limit of TypeOK means something.
Capacities == {"MaxLog", "MaxEpoch", "MaxMetadata", "MaxBrokerEpoch", "MaxValue", "MaxFetch"}

Has(rule) == rule \notin Without

\* A guard answers "may this go ahead", and without its rule everything may. A case answers "does this case arise", and without
\* its rule it never does.
Guard(rule, may)   == Has(rule) => may
Case(rule, arises) == Has(rule) /\ arises

\* KIP-101 (KAFKA-1211). Without it a follower truncates to its own high watermark, which may lag: committed records
\* vanish (row 1) and logs diverge (row 2).
TruncateByEpoch(b) == Case("TruncateByEpoch", epochCache[b] # <<>>)

\* KIP-279 (KAFKA-6361). Without it leader and follower look at offsets alone although the epochs differ: logs diverge (row 3).
EndOfAnotherEpoch(own, e) == Case("EndOfAnotherEpoch", own.epoch # e)

\* KAFKA-7415. Without it a new leader does not know where its epoch began: a follower of a later epoch gets an undefined
\* answer and truncates to its high watermark (row 4).
CacheEpochAtElection(b, e) == Case("CacheEpochAtElection", e > LatestEpoch(epochCache[b]))

\* KIP-320. Without it a follower of an older epoch is counted in the high watermark, then truncates (row 5; with the next, row 7).
FetchEpochNotOlder(l, e) == Guard("FetchEpochNotOlder", e >= view[l].leaderEpoch)

\* KIP-320. Without it a leader that has not heard of the newer epoch answers: a truncation point of a stale leader (row 6).
FetchEpochNotNewer(l, e) == Guard("FetchEpochNotNewer", e <= view[l].leaderEpoch)

\* KAFKA-7164. Without it a follower that missed epochs of an unchanged leader skips the divergence check (row 8).
TruncateOnEveryEpochChange(b, n) == Case("TruncateOnEveryEpochChange", metadata[n].leaderEpoch # view[b].leaderEpoch)

\* KAFKA-7128. Without it a follower at the new leader's stale high watermark joins the ISR without the records up to the
\* start of the epoch, is elected, and acknowledged records vanish (row 9).
ReachedEpochStart(b, f) == Guard("ReachedEpochStart", remoteLeo[b][f] >= epochStart[b])

\* KAFKA-13141. Without it a fetch that the leader answers with a divergence still counts as having reached its offset (row 10).
FetchDoesNotDiverge(diverges) == Guard("FetchDoesNotDiverge", ~diverges)

\* KAFKA-14704. Without it a follower adopts the leader's high watermark over records that it is about to truncate (row 11).
NothingToTruncate(f, l) == Guard("NothingToTruncate", fetch[f][l].type \notin {"diverging", "checked"})

\* CAND-3, this project's find; Kafka 4.x lacks it. What is sent late is what was validated: an early read whose answer was slow.
\* Without it a slow response carries what was written since; NoBatchAboveFetchEpoch and TailEpochMonotone are no repair then (rows
\* 12, 104 and 139).
SliceNotTruncated(l, f) == Guard("SliceNotTruncated", fetch[f][l].type # "truncated")

\* KAFKA-18723. Without it and SliceNotTruncated a slow response carries batches of an epoch above the fetch's: logs diverge
\* (row 12).
NoBatchAboveFetchEpoch(e, fetchEpoch) == Guard("NoBatchAboveFetchEpoch", e <= fetchEpoch)

\* Consumers read what is committed. Without it one is given a record that the ISR does not have, and that may vanish (row 138).
ReadBelowHw(b, end) == Guard("ReadBelowHw", end <= highWatermark[b])

\* acks=all means committed. Without it a produce is acknowledged before the ISR has it (row 17).
AckAllOnlyBelowHw(b, v) == Guard("AckAllOnlyBelowHw", highWatermark[b] >= waiting[b][v])

\* CAND-17 and CAND-18, found by hand-made schedules of this specification; Kafka 4.x lacks it. The lock is let go between append and
\* wait. Without it a leader that followed meanwhile, has truncated the record and leads again waits for whatever is at its offset now,
\* and acknowledges a record that is gone (row 148). The purgatory looks without the lock, too: first whether the broker leads, then at
\* the high watermark. Between the two the broker may follow, truncate the record, and copy another one (row 149).
CompleteOwnRecord(b, v) == Guard("CompleteOwnRecord",
    waiting[b][v] > 0 => waiting[b][v] <= Len(log[b]) /\ log[b][waiting[b][v]].value = v)

\* An ISR member, or a member of the ELR when the ISR is empty.
IsEligible(l, isr, elr) == l \in isr \/ (isr = {} /\ l \in elr)

\* Unclean leader election is off. Without it a laggard is elected (row 18).
ElectFromIsr(l, isr, elr) == Guard("ElectFromIsr", IsEligible(l, isr, elr))

\* CAND-1, this project's find; Kafka 4.x lacks it. Without it a leader that is elected again within one delta keeps what its
\* followers had in the older epoch, and counts records that they have truncated (row 19).
ResetRemoteLeoOnNewLeaderEpoch(b, n) == Case("ResetRemoteLeoOnNewLeaderEpoch", metadata[n].leaderEpoch # view[b].leaderEpoch)

\* KIP-966. Without it a broker that may have lost records stays electable (row 20).
UncleanLeavesIsr(b) == Case("UncleanLeavesIsr", status[b] # "stopped")

\* KIP-966 (KAFKA-15583). Without it the high watermark passes records that members of the ELR lack (row 21).
HwOnlyAtMinIsr(isr) == Guard("HwOnlyAtMinIsr", Cardinality(isr) >= EffectiveMinIsr)

\* KIP-903 (KAFKA-14139). Without it a proposal made before a member's restart re-adds the member without its records (row 22).
BrokerEpochPerIsrMember(request) == Guard("BrokerEpochPerIsrMember",
    \A r \in request.isr : request.memberEpochs[r] \in {-1, registered[r].epoch})

\* KIP-497. Without it the high watermark stops counting a member before the controller has removed it (row 25).
CountMembersBeingRemoved(isr, pending) == Case("CountMembersBeingRemoved", pending.active /\ pending.isr \subseteq isr)

\* KIP-497. Without it the high watermark does not count a member that the controller may have added already (row 26).
CountMembersBeingAdded(isr, pending) == Case("CountMembersBeingAdded", pending.active /\ isr \subseteq pending.isr)

\* KAFKA-18991. Without it a response to a fetch of an older epoch truncates committed records (row 103).
MatchFetchEpoch(f, l) == Guard("MatchFetchEpoch", fetch[f][l].epoch = view[f].leaderEpoch)

\* CAND-14, found by reading Kafka beside this specification; Kafka 4.x lacks it. The lock is let go between check and truncation.
\* Without it a follower that has led or followed others meanwhile, and is back with this leader, truncates by an answer of an
\* older epoch, as without MatchFetchEpoch (row 141).
MatchEpochAtTruncation(f, l) == Guard("MatchEpochAtTruncation", fetch[f][l].epoch = view[f].leaderEpoch)

\* CAND-15, found with this model; Kafka 4.x lacks it. The lock is let go between validation and count. Without it a leader that was
\* elected again meanwhile, within one delta, counts what a follower had in the older epoch and has truncated since: the loss of
\* CAND-1 in spite of its repair (row 142).
CountInFetchEpoch(l, f) == Guard("CountInFetchEpoch", fetch[f][l].epoch = view[l].leaderEpoch)

\* The first repair of CAND-3; Kafka 4.x lacks it. Without it and SliceNotTruncated bytes that the leader read late put a lower
\* epoch behind a higher one, where no later fetch can see the divergence (row 104). Alone it is no repair (row 139).
TailEpochMonotone(e, tail) == Guard("TailEpochMonotone", e >= tail)

\* CAND-4, found by reading Kafka beside this specification; Kafka 4.x lacks it. Without it a leader that was told of a change by
\* an AlterPartition reply applies its metadata once more and forgets the proposal that it has made since: the high watermark
\* does not count a member that the controller may have added (row 105). The rule skips all of MakeLeader, which fits a replica set
\* that never changes. Kafka must keep the pending proposal, and still install assignment, directories and topic id. An
\* AlterPartition that completes an add-only reassignment keeps the leader epoch (PartitionChangeBuilder), so they come with this
\* metadata only.
KeepProposalAtKnownEpoch(b, n) == Case("KeepProposalAtKnownEpoch", n = view[b].partitionEpoch)

\* KIP-497. Without it a leader that was elected again takes a decision of its new epoch for one of its old epoch. It does so
\* without AlterOfPartitionEpoch only, which refuses the same proposals with another error.
AlterOfLeaderEpoch(request) == Guard("AlterOfLeaderEpoch", request.leaderEpoch >= Partition.leaderEpoch)

\* KIP-497. Without it a proposal that was made on an older ISR is taken.
AlterOfPartitionEpoch(request) == Guard("AlterOfPartitionEpoch", request.partitionEpoch >= Len(metadata))

\* KIP-497. Without it the proposal of a leader's earlier incarnation is still refused: the broker has registered anew, and leads in
\* another leader epoch or not at all.
AlterOfBrokerEpoch(b, request) == Guard("AlterOfBrokerEpoch", request.brokerEpoch = registered[b].epoch)

\* KIP-841. Without it a fenced or stopping broker joins the ISR.
IsrMembersActive(request) == Guard("IsrMembersActive", \A r \in request.isr : registered[r].state = "active")

\* acks=all needs min.insync.replicas. Without it a leader appends a record though its ISR is too small: no property falls, for the
\* record is acknowledged only when the ISR is large enough.
MinIsrOnAppend(b) == Guard("MinIsrOnAppend", Cardinality(view[b].isr) >= EffectiveMinIsr)

Rules == {"TruncateByEpoch", "EndOfAnotherEpoch", "CacheEpochAtElection", "FetchEpochNotOlder", "FetchEpochNotNewer",
          "TruncateOnEveryEpochChange", "ReachedEpochStart", "FetchDoesNotDiverge", "NothingToTruncate",
          "SliceNotTruncated", "NoBatchAboveFetchEpoch", "AckAllOnlyBelowHw", "CompleteOwnRecord", "ElectFromIsr",
          "ResetRemoteLeoOnNewLeaderEpoch", "UncleanLeavesIsr", "HwOnlyAtMinIsr", "BrokerEpochPerIsrMember",
          "CountMembersBeingRemoved", "CountMembersBeingAdded", "MatchFetchEpoch", "MatchEpochAtTruncation", "CountInFetchEpoch",
          "TailEpochMonotone", "KeepProposalAtKnownEpoch", "AlterOfLeaderEpoch", "AlterOfPartitionEpoch", "AlterOfBrokerEpoch",
          "IsrMembersActive", "MinIsrOnAppend", "ReadBelowHw"}

\* The baseline of Kafka 4.x: what it ships without.
KafkaAsShipped ==
    {"ResetRemoteLeoOnNewLeaderEpoch", "SliceNotTruncated", "MatchEpochAtTruncation", "CountInFetchEpoch", "TailEpochMonotone",
     "KeepProposalAtKnownEpoch", "CompleteOwnRecord"}

-----------------------------------------------------------------------------
(* The high watermark *)

\* The replicas that the high watermark counts: the maximal ISR while a proposal is pending.
HwIsr(isr, pending) ==
         (IF pending.active /\ pending.isr \subseteq isr THEN pending.isr ELSE isr)
    \cup (IF CountMembersBeingRemoved(isr, pending) THEN isr ELSE {})
    \cup (IF CountMembersBeingAdded(isr, pending) THEN pending.isr ELSE {})

\* The leader b's high watermark, given its committed and pending ISR, its log end, and what it knows of the others.
HwOf(b, isr, pending, end, remote) ==
    IF HwOnlyAtMinIsr(isr)
    THEN Max(highWatermark[b], FoldSet(LAMBDA r, least : Min(least, remote[r]), end, HwIsr(isr, pending) \ {b}))
    ELSE highWatermark[b]

-----------------------------------------------------------------------------
(* History *)

\* The committed records: as far as the high watermark of any running leader ever went.
ExtendCommitted(b, sofar) ==
    LET end == Min(highWatermark'[b], Len(log'[b]))
    IN  IF status'[b] = "running" /\ view'[b].leader = b /\ end > Len(sofar)
        THEN sofar \o SubSeq(log'[b], Len(sofar) + 1, end)
        ELSE sofar
NextCommitted == FoldSet(ExtendCommitted, committed, Brokers)

\* The acknowledgements that acks=all clients received.
NextAcked(v, offset) == [acked EXCEPT ![v] = offset + 1]

\* The last truncation point of follower f in its leader epoch.
NextReconciled(f) ==
    [reconciled EXCEPT ![f] = IF view'[f].leaderEpoch # view[f].leaderEpoch THEN MaxLog
                              ELSE IF Len(log'[f]) < Len(log[f]) THEN Len(log'[f]) ELSE @]

-----------------------------------------------------------------------------
(* Init: all replicas are in sync and empty; any broker is the first leader, and all know it. *)

FirstChange(l) == [leader |-> l, leaderEpoch |-> 0, isr |-> Brokers, elr |-> {}]

Init ==
    /\ \E l \in Brokers :
        /\ metadata = <<FirstChange(l)>>
        /\ view = [b \in Brokers |-> [leader |-> l, leaderEpoch |-> 0, partitionEpoch |-> 1, isr |-> Brokers, applied |-> TRUE]]
        /\ epochCache = [b \in Brokers |-> IF b = l THEN <<[epoch |-> 0, start |-> 0]>> ELSE <<>>]
    /\ registered = [b \in Brokers |-> [epoch |-> 1, state |-> "active", since |-> 1]]
    /\ status = [b \in Brokers |-> "running"]
    /\ brokerEpoch = [b \in Brokers |-> 1]
    /\ log = [b \in Brokers |-> <<>>]
    /\ flushed = [b \in Brokers |-> 0]
    /\ highWatermark = [b \in Brokers |-> 0]
    /\ checkpoint = [b \in Brokers |-> 0]
    /\ epochStart = [b \in Brokers |-> 0]
    /\ remoteLeo = [b \in Brokers |-> Unknown]
    /\ remoteEpoch = [b \in Brokers |-> Unknown]
    /\ pendingIsr = [b \in Brokers |-> NoPending]
    /\ produced = 0
    /\ waiting = [b \in Brokers |-> NotWaiting]
    /\ lastFetchedEpoch = [b \in Brokers |-> -1]
    /\ fetch = [f \in Brokers |-> [l \in Brokers |-> Idle]]
    /\ alter = [b \in Brokers |-> Idle]
    /\ asked = [b \in Brokers |-> FALSE]
    /\ stalled = [b \in Brokers |-> FALSE]
    /\ consumer = [c \in Consumers |-> Reads(0)]
    /\ committed = <<>>
    /\ acked = [v \in Values |-> 0]
    /\ reconciled = [b \in Brokers |-> MaxLog]

-----------------------------------------------------------------------------
(* The controller (ReplicationControlManager, PartitionChangeBuilder, ClusterControlManager) *)

\* The ELR that follows from a new ISR; `unclean` brokers leave it.
NextElr(isr, unclean) ==
    IF Cardinality(isr) >= EffectiveMinIsr THEN {}
    ELSE ((Partition.elr \cup Partition.isr) \ isr) \ unclean

\* May l lead a partition with this ISR and ELR, given the brokers that are active?
Electable(l, isr, elr, active) ==
    /\ l \in active
    /\ ElectFromIsr(l, isr, elr)

\* One partition change: the target ISR, the brokers that shut down uncleanly, the leader chosen. A leader outside the ISR
\* (from the ELR, or unclean) becomes its only member. No record is written when nothing changes.
WriteChange(isr, unclean, l) ==
    LET elr    == NextElr(isr, unclean)
        newIsr == IF l = None \/ l \in isr THEN isr ELSE {l}
        change == [leader      |-> l,
                   leaderEpoch |-> IF l = Partition.leader THEN Partition.leaderEpoch ELSE Partition.leaderEpoch + 1,
                   isr         |-> newIsr,
                   elr         |-> elr \ newIsr]
    IN  metadata' = IF change = Partition THEN metadata ELSE Append(metadata, change)

\* The leader after an event: a valid leader is kept; else any electable broker (Kafka: the first in replica order), or
\* none if there is none.
ChosenLeader(l, isr, unclean, active) ==
    LET elr   == NextElr(isr, unclean)
        valid == {b \in active : IsEligible(b, isr, elr)}
    IN  IF Partition.leader \in valid THEN l = Partition.leader
        ELSE IF l = None THEN valid = {}
        ELSE Electable(l, isr, elr, active)

Active == {b \in Brokers : registered[b].state = "active"}

\* ElectLeader   who: controller   code: replication/controller/replication_control.py
\* A preferred (or operator's) election: the leadership moves to another valid broker. Simplified: any, not replicas[0].
ElectLeader(l) ==
    \* enabled when
    /\ l # Partition.leader
    /\ Electable(l, Partition.isr, Partition.elr, Active)
    \* effect
    /\ WriteChange(Partition.isr, {}, l)
    /\ UNCHANGED <<registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* FenceBroker   who: controller   code: replication/controller/replication_control.py
\* The broker's session expires, whether it is down, paused or cut off. It leaves the ISR; l leads next.
FenceBroker(b, l) ==
    LET isr == Partition.isr \ {b} IN
    \* enabled when
    /\ registered[b].state # "fenced"
    /\ ChosenLeader(l, isr, {}, Active \ {b})
    \* effect
    /\ registered' = [registered EXCEPT ![b].state = "fenced"]
    /\ WriteChange(isr, {}, l)
    /\ UNCHANGED <<status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* UnfenceBroker   who: controller   code: replication/controller/replication_control.py
\* A heartbeat shows that the broker has applied the metadata up to its registration; a leaderless partition gets l.
UnfenceBroker(b, l) ==
    \* enabled when
    /\ registered[b].state = "fenced" /\ Running(b) /\ brokerEpoch[b] = registered[b].epoch
    /\ view[b].partitionEpoch >= registered[b].since
    /\ ChosenLeader(l, Partition.isr, {}, Active \cup {b})
    \* effect
    /\ registered' = [registered EXCEPT ![b].state = "active"]
    /\ WriteChange(Partition.isr, {}, l)
    /\ UNCHANGED <<status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* RegisterBroker   who: controller and a starting broker   code: replication/controller/replication_control.py
\* A new incarnation registers once the old session is fenced (a live one is rejected: DUPLICATE_BROKER_REGISTRATION).
\* After an unclean shutdown it leaves ISR and ELR before it fetches. It starts fenced and knows nothing of the partition.
RegisterBroker(b, l) ==
    LET leaves == IF UncleanLeavesIsr(b) THEN {b} ELSE {}
        isr    == Partition.isr \ leaves IN
    \* enabled when
    /\ ~Running(b) /\ registered[b].state = "fenced"
    /\ ChosenLeader(l, isr, leaves, Active)
    \* effect
    /\ WriteChange(isr, leaves, l)
    /\ registered' = [registered EXCEPT ![b] =
                        [epoch |-> registered[b].epoch + 1, state |-> "fenced", since |-> Len(metadata')]]
    /\ brokerEpoch' = [brokerEpoch EXCEPT ![b] = registered[b].epoch + 1]
    /\ status' = [status EXCEPT ![b] = "running"]
    /\ UNCHANGED <<view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* AskToStop   who: an operator   code: replication/broker.py
\* The broker's heartbeats ask for a controlled shutdown from now on.
AskToStop(b) ==
    \* enabled when
    /\ b \in Stoppable /\ Running(b) /\ ~asked[b]
    \* effect
    /\ asked' = [asked EXCEPT ![b] = TRUE]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* ControlledShutdown   who: controller   code: replication/controller/replication_control.py
\* A broker asks to stop: it leaves the ISR and the leadership moves away. It may lead until it hears of it.
ControlledShutdown(b, l) ==
    LET isr == Partition.isr \ {b} IN
    \* enabled when
    /\ registered[b].state = "active" /\ Running(b) /\ brokerEpoch[b] = registered[b].epoch
    /\ b \in Stoppable => asked[b]
    /\ ChosenLeader(l, isr, {}, Active \ {b})
    \* effect
    /\ registered' = [registered EXCEPT ![b].state = "stopping"]
    /\ WriteChange(isr, {}, l)
    /\ UNCHANGED <<status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* The controller's reply to an AlterPartition, in Kafka's order of checks.
AlterVerdict(b, request) ==
    IF ~AlterOfBrokerEpoch(b, request) THEN "STALE_BROKER_EPOCH"
    ELSE IF request.leaderEpoch > Partition.leaderEpoch \/ request.partitionEpoch > Len(metadata) THEN "NOT_CONTROLLER"
    ELSE IF ~AlterOfLeaderEpoch(request) THEN "FENCED_LEADER_EPOCH"
    ELSE IF Partition.leader # b THEN "INVALID_REQUEST"
    ELSE IF ~AlterOfPartitionEpoch(request) THEN "INVALID_UPDATE_VERSION"
    ELSE IF ~BrokerEpochPerIsrMember(request) THEN "INELIGIBLE_REPLICA"
    ELSE IF ~IsrMembersActive(request) THEN "INELIGIBLE_REPLICA"
    ELSE "NONE"

\* HandleAlterPartition   who: controller   code: replication/controller/replication_control.py
\* Decides a leader's proposal. The reply names the partition epoch that holds now.
HandleAlterPartition(b) ==
    LET request == alter[b]
        verdict == AlterVerdict(b, request) IN
    \* enabled when
    /\ request.type = "request"
    \* effect
    /\ IF verdict = "NONE" THEN WriteChange(request.isr, {}, b) ELSE UNCHANGED metadata
    /\ alter' = [alter EXCEPT ![b] = [type |-> "reply", leaderEpoch |-> request.leaderEpoch,
                                      partitionEpoch |-> Len(metadata'), error |-> verdict]]
    /\ UNCHANGED <<registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

-----------------------------------------------------------------------------
(* A broker applies metadata (ReplicaManager.applyDelta, Partition.makeLeader, Partition.makeFollower) *)

\* A truncation of broker b's log to `end` reaches the slice that b is still to send to f, or to anybody.
ReachesSlice(f, b, end) == fetch[f][b].type = "reading" /\ fetch[f][b].offset + fetch[f][b].count > end
ReachesSlices(b, end)   == \E f \in Brokers : ReachesSlice(f, b, end)

\* The fetches after it: those that it reaches are truncated.
SlicesAfter(b, end) ==
    [f \in Brokers |-> [l \in Brokers |->
        IF l = b /\ ReachesSlice(f, b, end)
        THEN [type |-> "truncated", epoch |-> fetch[f][b].epoch, offset |-> fetch[f][b].offset, count |-> fetch[f][b].count,
              hw |-> fetch[f][b].hw]
        ELSE fetch[f][l]]]

\* b forgets its followers. What it has validated for them and not counted goes out as it is: the count is of replicas that b no
\* longer has (Partition.remoteReplicasMap is cleared).
OwesCount(b) == \E f \in Brokers : fetch[f][b].type = "uncounted"
Uncounted(b, slots) ==
    [f \in Brokers |-> [l \in Brokers |->
        IF l = b /\ slots[f][l].type = "uncounted"
        THEN [type |-> "records", epoch |-> slots[f][l].epoch, offset |-> slots[f][l].offset, batch |-> slots[f][l].batch,
              hw |-> slots[f][l].hw]
        ELSE slots[f][l]]]

ViewOf(n) == [leader |-> metadata[n].leader, leaderEpoch |-> metadata[n].leaderEpoch, partitionEpoch |-> n,
              isr |-> metadata[n].isr, applied |-> TRUE]

\* The leader-epoch cache of a broker that leads after change n.
CacheAtElection(b, n) ==
    IF CacheEpochAtElection(b, metadata[n].leaderEpoch)
    THEN ExtendCache(epochCache[b], metadata[n].leaderEpoch, Leo(b))
    ELSE epochCache[b]

\* Does a broker that leads after change n forget what it knew of its followers? Kafka: only if it did not lead before.
ForgetsFollowers(b, n) ==
    \/ view[b].leader # b
    \/ ResetRemoteLeoOnNewLeaderEpoch(b, n)

\* b leads after change n, in a new epoch or (only the ISR changed) in the same. A pending proposal is settled.
MakeLeader(b, n) ==
    LET forgets == ForgetsFollowers(b, n)
        remote  == IF forgets THEN Unknown ELSE remoteLeo[b]
    IN  /\ epochCache' = [epochCache EXCEPT ![b] = CacheAtElection(b, n)]
        /\ epochStart' = [epochStart EXCEPT ![b] = IF metadata[n].leaderEpoch # view[b].leaderEpoch THEN Leo(b) ELSE @]
        /\ remoteLeo' = [remoteLeo EXCEPT ![b] = remote]
        /\ remoteEpoch' = [remoteEpoch EXCEPT ![b] = IF forgets THEN Unknown ELSE @]
        /\ pendingIsr' = [pendingIsr EXCEPT ![b] = NoPending]
        /\ highWatermark' = [highWatermark EXCEPT ![b] = HwOf(b, metadata[n].isr, NoPending, Leo(b), remote)]
        /\ lastFetchedEpoch' = [lastFetchedEpoch EXCEPT ![b] = -1]
        /\ UNCHANGED <<log, flushed, fetch>>

\* The last fetched epoch with which follower b goes on after change n: that of its tail, so that the leader finds a divergence.
FetchesFrom(b, n, cache) ==
    IF \/ view[b].leader # metadata[n].leader
       \/ TruncateOnEveryEpochChange(b, n)
    THEN LatestEpoch(cache)
    ELSE IF metadata[n].leaderEpoch = view[b].leaderEpoch THEN lastFetchedEpoch[b] ELSE -1

\* b follows (or waits for a leader) after change n.
MakeFollower(b, n) ==
    LET newEpoch == metadata[n].leaderEpoch # view[b].leaderEpoch
        byEpoch  == TruncateByEpoch(b)
        end      == IF byEpoch \/ ~newEpoch THEN Leo(b) ELSE Min(highWatermark[b], Leo(b))
        cache    == IF byEpoch \/ ~newEpoch THEN epochCache[b] ELSE TrimCache(epochCache[b], end)
    IN  /\ log' = [log EXCEPT ![b] = SubSeq(@, 1, end)]
        /\ flushed' = [flushed EXCEPT ![b] = Min(@, end)]
        /\ epochCache' = [epochCache EXCEPT ![b] = cache]
        /\ lastFetchedEpoch' = [lastFetchedEpoch EXCEPT ![b] = IF byEpoch THEN FetchesFrom(b, n, cache) ELSE -1]
        /\ remoteLeo' = [remoteLeo EXCEPT ![b] = Unknown]
        /\ remoteEpoch' = [remoteEpoch EXCEPT ![b] = Unknown]
        /\ pendingIsr' = [pendingIsr EXCEPT ![b] = NoPending]
        /\ epochStart' = [epochStart EXCEPT ![b] = 0]
        /\ IF end < Leo(b) /\ ReachesSlices(b, end) THEN fetch' = Uncounted(b, SlicesAfter(b, end))
           ELSE IF OwesCount(b) THEN fetch' = Uncounted(b, fetch)
           ELSE UNCHANGED fetch
        /\ UNCHANGED highWatermark

\* ApplyMetadata   who: broker   code: replication/partition.py
\* Applies the changes up to the n-th as one delta. A new incarnation starts at its registration. Older changes than the
\* broker knows of (from an AlterPartition reply) are ignored; that very change it knows already, so with all rules nothing
\* moves. A broker that was deposed first answers the produces that wait.
ApplyMetadata(b, n) ==
    \* enabled when
    /\ Running(b)
    /\ n <= Len(metadata) /\ n >= registered[b].since
    /\ n > view[b].partitionEpoch \/ (n = view[b].partitionEpoch /\ ~view[b].applied)
    /\ Leads(b) \/ \A v \in Values : waiting[b][v] <= 0
    \* effect
    /\ view' = [view EXCEPT ![b] = ViewOf(n)]
    /\ IF KeepProposalAtKnownEpoch(b, n)
       THEN UNCHANGED <<log, flushed, epochCache, highWatermark, epochStart, remoteLeo, remoteEpoch, pendingIsr, lastFetchedEpoch,
                        fetch>>
       ELSE IF metadata[n].leader = b THEN MakeLeader(b, n) ELSE MakeFollower(b, n)
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, checkpoint, produced, waiting, alter, asked, stalled, consumer>>
    /\ committed' = NextCommitted
    /\ reconciled' = NextReconciled(b)
    /\ UNCHANGED acked

-----------------------------------------------------------------------------
(* Produce (ReplicaManager.appendRecords, DelayedProduce) *)

MaximalIsr(b) == view[b].isr \cup pendingIsr[b].isr

\* A produce attempt with its own value is appended under the partition's lock.
AppendsRecord(b, v) ==
    /\ produced' = v
    /\ log' = [log EXCEPT ![b] = Append(@, [epoch |-> view[b].leaderEpoch, value |-> v])]
    /\ epochCache' = [epochCache EXCEPT ![b] = ExtendCache(@, view[b].leaderEpoch, Leo(b))]
    /\ highWatermark' = [highWatermark EXCEPT ![b] = HwOf(b, view[b].isr, pendingIsr[b], Leo(b) + 1, remoteLeo[b])]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, flushed, checkpoint, epochStart, remoteLeo, remoteEpoch,
                   pendingIsr, lastFetchedEpoch, fetch, alter, asked, stalled, consumer>>

\* AppendRecord   who: leader   code: replication/partition.py
\* acks=all waits in the purgatory for the high watermark.
AppendRecord(b, v, acks) ==
    \* enabled when
    /\ Leads(b) /\ v = produced + 1
    /\ acks = "all" => MinIsrOnAppend(b)
    \* effect
    /\ AppendsRecord(b, v)
    /\ waiting' = IF acks = "all" THEN [waiting EXCEPT ![b][v] = Leo(b) + 1] ELSE waiting
    /\ committed' = NextCommitted
    /\ UNCHANGED <<acked, reconciled>>

\* AppendRecordsToLeader   who: leader   code: replication/partition.py (append_record)
\* The first half of a produce with acks=all. The lock is let go, and nothing waits yet.
AppendRecordsToLeader(b, v) ==
    \* enabled when
    /\ b \in LateWaiting
    /\ Leads(b) /\ v = produced + 1
    /\ MinIsrOnAppend(b)
    \* effect
    /\ AppendsRecord(b, v)
    /\ waiting' = [waiting EXCEPT ![b][v] = -(Leo(b) + 1)]
    /\ committed' = NextCommitted
    /\ UNCHANGED <<acked, reconciled>>

\* AddDelayedProduce   who: leader   code: replication/purgatory.py (add_delayed_produce)
\* The second half: the produce waits in the purgatory. A broker that leads no more fails it instead.
AddDelayedProduce(b, v) ==
    \* enabled when
    /\ Leads(b) /\ waiting[b][v] < 0
    \* effect
    /\ waiting' = [waiting EXCEPT ![b][v] = -@]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, lastFetchedEpoch, fetch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* CompleteProduce   who: leader   code: replication/purgatory.py
\* Acknowledges an acks=all produce; `offset` is where the client is told that its record lies (base_offset). At once, or later than
\* the purgatory saw that the broker leads and has replicas enough.
CompleteProduce(b, v, offset) ==
    \* enabled when
    /\ waiting[b][v] = offset + 1
    /\ \/ Leads(b) /\ Cardinality(MaximalIsr(b)) >= EffectiveMinIsr
       \/ b \in LateWaiting /\ Running(b) /\ ~Leads(b)
    /\ AckAllOnlyBelowHw(b, v)
    /\ CompleteOwnRecord(b, v)
    \* effect
    /\ waiting' = [waiting EXCEPT ![b][v] = 0]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, lastFetchedEpoch, fetch, alter,
                   asked, stalled, consumer>>
    /\ acked' = NextAcked(v, offset)
    /\ UNCHANGED <<committed, reconciled>>

\* FailProduce   who: broker   code: replication/purgatory.py
\* Answers a waiting produce with an error; its record stays in the log, if it is there. One that was to wait is answered likewise, if
\* the broker leads no more.
FailProduce(b, v, error) ==
    \* enabled when
    /\ Running(b) /\ waiting[b][v] # 0
    /\ CASE error = "NOT_LEADER_OR_FOLLOWER" -> ~Leads(b) \/ ~CompleteOwnRecord(b, v)
         [] error = "NOT_ENOUGH_REPLICAS_AFTER_APPEND" ->
                /\ Leads(b) /\ waiting[b][v] > 0
                /\ highWatermark[b] >= waiting[b][v] /\ Cardinality(MaximalIsr(b)) < EffectiveMinIsr
         [] OTHER -> Leads(b) /\ waiting[b][v] > 0
    \* effect
    /\ waiting' = [waiting EXCEPT ![b][v] = 0]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, lastFetchedEpoch, fetch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

-----------------------------------------------------------------------------
(* Fetch, the leader's side (Partition.fetchRecords, Partition.updateFollowerFetchState) *)

\* SendFetch   who: follower   code: replication/fetcher.py
SendFetch(f, l) ==
    \* enabled when
    /\ Follows(f, l) /\ fetch[f][l].type = "idle" /\ ~stalled[f]
    \* effect
    /\ fetch' = [fetch EXCEPT ![f][l] = [type |-> "request", epoch |-> view[f].leaderEpoch, offset |-> Leo(f),
                                         lastEpoch |-> lastFetchedEpoch[f], brokerEpoch |-> brokerEpoch[f]]]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* The leader's end offset for the request's last fetched epoch, and whether the follower's log diverges before its offset.
LeaderEnd(l, request) == EndOffsetFor(epochCache[l], Leo(l), request.lastEpoch)
OutOfRange(l, request) ==
    IF request.lastEpoch = -1 THEN request.offset > Leo(l) ELSE LeaderEnd(l, request).epoch = -1
Diverges(l, request) ==
    /\ request.lastEpoch # -1
    /\ \/ EndOfAnotherEpoch(LeaderEnd(l, request), request.lastEpoch)
       \/ LeaderEnd(l, request).endOffset < request.offset

\* The errors in Kafka's order: epochs, leadership, range (Partition.getLocalLog).
LeaderError(l, epoch) ==
    IF ~FetchEpochNotOlder(l, epoch) THEN "FENCED_LEADER_EPOCH"
    ELSE IF ~FetchEpochNotNewer(l, epoch) THEN "UNKNOWN_LEADER_EPOCH"
    ELSE IF ~Leads(l) THEN "NOT_LEADER_OR_FOLLOWER"
    ELSE "NONE"
FetchError(l, request) ==
    IF LeaderError(l, request.epoch) # "NONE" THEN LeaderError(l, request.epoch)
    ELSE IF OutOfRange(l, request) THEN "OFFSET_OUT_OF_RANGE"
    ELSE "NONE"

\* The fetch tells the leader how far the follower is; the high watermark may advance.
Counts(l, f, request) ==
    /\ remoteLeo' = [remoteLeo EXCEPT ![l][f] = request.offset]
    /\ remoteEpoch' = [remoteEpoch EXCEPT ![l][f] = request.brokerEpoch]
    /\ highWatermark' = [highWatermark EXCEPT ![l] =
                            HwOf(l, view[l].isr, pendingIsr[l], Leo(l), [remoteLeo[l] EXCEPT ![f] = request.offset])]
CountFetch(l, f, request) ==
    IF FetchDoesNotDiverge(Diverges(l, request)) THEN Counts(l, f, request)
    ELSE UNCHANGED <<remoteLeo, remoteEpoch, highWatermark>>

\* A request that the leader serves with n records from its offset.
Serves(l, f, n) ==
    /\ fetch[f][l].type = "request" /\ Running(l)
    /\ FetchError(l, fetch[f][l]) = "NONE" /\ ~Diverges(l, fetch[f][l])
    /\ fetch[f][l].offset + n <= Leo(l)

\* HandleFetch   who: leader   code: replication/partition.py
\* Counts the fetch and answers with n records and the high watermark that it had on arrival.
HandleFetch(l, f, n) ==
    LET request == fetch[f][l] IN
    \* enabled when
    /\ Serves(l, f, n)
    \* effect
    /\ CountFetch(l, f, request)
    /\ fetch' = [fetch EXCEPT ![f][l] = [type |-> "records", epoch |-> request.epoch, offset |-> request.offset,
                                         batch |-> SubSeq(log[l], request.offset + 1, request.offset + n),
                                         hw |-> highWatermark[l]]]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, checkpoint, epochStart,
                   pendingIsr, produced, waiting, lastFetchedEpoch, alter, asked, stalled, consumer>>
    /\ committed' = NextCommitted
    /\ UNCHANGED <<acked, reconciled>>

\* FetchRecords   who: leader   code: replication/partition.py
\* The first half: the fetch is validated and its records are read, under a lock that is then let go (Partition.fetchRecords).
FetchRecords(l, f, n) ==
    LET request == fetch[f][l] IN
    \* enabled when
    /\ l \in LateCounting /\ Serves(l, f, n)
    \* effect
    /\ fetch' = [fetch EXCEPT ![f][l] = [type |-> "uncounted", epoch |-> request.epoch, offset |-> request.offset,
                                         brokerEpoch |-> request.brokerEpoch,
                                         batch |-> SubSeq(log[l], request.offset + 1, request.offset + n),
                                         hw |-> highWatermark[l]]]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* UpdateFollowerFetchState   who: leader   code: replication/partition.py
\* The second half: the fetch is counted, and the records go out. The leader has led all the time, if perhaps in several epochs.
UpdateFollowerFetchState(l, f) ==
    LET read == fetch[f][l] IN
    \* enabled when
    /\ read.type = "uncounted" /\ Running(l)
    \* effect
    /\ IF CountInFetchEpoch(l, f) THEN Counts(l, f, read) ELSE UNCHANGED <<remoteLeo, remoteEpoch, highWatermark>>
    /\ fetch' = [fetch EXCEPT ![f][l] = [type |-> "records", epoch |-> read.epoch, offset |-> read.offset, batch |-> read.batch,
                                         hw |-> read.hw]]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, checkpoint, epochStart,
                   pendingIsr, produced, waiting, lastFetchedEpoch, alter, asked, stalled, consumer>>
    /\ committed' = NextCommitted
    /\ UNCHANGED <<acked, reconciled>>

\* ValidateFetch   who: leader   code: replication/partition.py
\* The same, but only the range is decided: the bytes are read when the socket takes them (file records are sent lazily).
ValidateFetch(l, f, n) ==
    LET request == fetch[f][l] IN
    \* enabled when
    /\ n > 0 /\ Serves(l, f, n)
    \* effect
    /\ CountFetch(l, f, request)
    /\ fetch' = [fetch EXCEPT ![f][l] = [type |-> "reading", epoch |-> request.epoch, offset |-> request.offset,
                                         count |-> n, hw |-> highWatermark[l]]]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, checkpoint, epochStart,
                   pendingIsr, produced, waiting, lastFetchedEpoch, alter, asked, stalled, consumer>>
    /\ committed' = NextCommitted
    /\ UNCHANGED <<acked, reconciled>>

\* ReadFetch   who: the broker that validated the fetch   code: replication/partition.py
\* Sends the range as the log is now. Where a truncation has reached it, the connection is closed instead (LoseFetch); without
\* the rule goes what was written there since.
ReadFetch(l, f) ==
    LET read == fetch[f][l] IN
    \* enabled when
    /\ read.type \in {"reading", "truncated"} /\ Running(l)
    /\ SliceNotTruncated(l, f)
    \* effect
    /\ fetch' = [fetch EXCEPT ![f][l] = [type |-> "records", epoch |-> read.epoch, offset |-> read.offset,
                                         batch |-> SubSeq(log[l], read.offset + 1, Min(read.offset + read.count, Leo(l))),
                                         hw |-> read.hw]]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* AnswerDiverging   who: leader   code: replication/partition.py
\* The follower's log diverges: the answer is the leader's end offset for the follower's last epoch.
AnswerDiverging(l, f) ==
    LET request == fetch[f][l] IN
    \* enabled when
    /\ request.type = "request" /\ Running(l)
    /\ FetchError(l, request) = "NONE" /\ Diverges(l, request)
    \* effect
    /\ CountFetch(l, f, request)
    /\ fetch' = [fetch EXCEPT ![f][l] = [type |-> "diverging", epoch |-> request.epoch, offset |-> request.offset,
                                         divergingEpoch |-> LeaderEnd(l, request).epoch,
                                         endOffset |-> LeaderEnd(l, request).endOffset, hw |-> highWatermark[l]]]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, checkpoint, epochStart,
                   pendingIsr, produced, waiting, lastFetchedEpoch, alter, asked, stalled, consumer>>
    /\ committed' = NextCommitted
    /\ UNCHANGED <<acked, reconciled>>

\* RejectFetch   who: broker   code: replication/partition.py
RejectFetch(l, f) ==
    LET request == fetch[f][l] IN
    \* enabled when
    /\ request.type = "request" /\ Running(l)
    /\ FetchError(l, request) # "NONE"
    \* effect
    /\ fetch' = [fetch EXCEPT ![f][l] = [type |-> "error", epoch |-> request.epoch, offset |-> request.offset,
                                         error |-> FetchError(l, request), endOffset |-> Leo(l)]]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

-----------------------------------------------------------------------------
(* Fetch, the follower's side (AbstractFetcherThread, ReplicaFetcherThread) *)

Responses == {"records", "diverging", "error"}

\* A response that the follower may act on.
Processable(f, l) ==
    /\ fetch[f][l].type \in Responses
    /\ Follows(f, l) /\ fetch[f][l].offset = Leo(f)
    /\ MatchFetchEpoch(f, l)

\* The high watermark that the follower takes from a response, before it is clamped to the log.
AdoptedHw(f, l) ==
    IF NothingToTruncate(f, l) THEN fetch[f][l].hw ELSE highWatermark[f]

\* How many records of the response's batch the follower appends.
TailEpoch(f) == IF log[f] = <<>> THEN -1 ELSE log[f][Leo(f)].epoch
Acceptable(f, l, i) ==
    LET batch == fetch[f][l].batch
        tail  == IF i = 1 THEN TailEpoch(f) ELSE batch[i - 1].epoch
    IN  /\ NoBatchAboveFetchEpoch(batch[i].epoch, fetch[f][l].epoch)
        /\ TailEpochMonotone(batch[i].epoch, tail)
Accepted(f, l) ==
    Cardinality({m \in 1..Len(fetch[f][l].batch) : \A i \in 1..m : Acceptable(f, l, i)})

\* FollowerAppend   who: follower   code: replication/fetcher.py
FollowerAppend(f, l) ==
    LET response == fetch[f][l] IN
    \* enabled when
    /\ response.type = "records" /\ Processable(f, l)
    \* effect
    /\ LET n     == Accepted(f, l)
           batch == SubSeq(response.batch, 1, n)
       IN  /\ log' = [log EXCEPT ![f] = @ \o batch]
           /\ epochCache' = [epochCache EXCEPT ![f] =
                                FoldSeq(LAMBDA i, cache : ExtendCache(cache, batch[i].epoch, response.offset + i - 1), @,
                                        [i \in 1..n |-> i])]
           /\ highWatermark' = [highWatermark EXCEPT ![f] = Min(AdoptedHw(f, l), Leo(f) + n)]
           /\ lastFetchedEpoch' = [lastFetchedEpoch EXCEPT ![f] = IF n = 0 THEN @ ELSE batch[n].epoch]
    /\ fetch' = [fetch EXCEPT ![f][l] = Idle]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, flushed, checkpoint, epochStart, remoteLeo, remoteEpoch,
                   pendingIsr, produced, waiting, alter, asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* Where the follower truncates, given the diverging epoch and the leader's end offset of it.
TruncationPoint(f, e, end) ==
    LET own == EndOffsetFor(epochCache[f], Leo(f), e)
    IN  IF own.epoch = -1 THEN Min(end, Leo(f))
        ELSE IF EndOfAnotherEpoch(own, e) THEN Min(own.endOffset, Leo(f))
        ELSE IF Has("EndOfAnotherEpoch") THEN Min(Min(own.endOffset, end), Leo(f))
        ELSE Min(end, Leo(f))

\* The follower's disk and fetch state after a truncation to `point` (always trims the cache, even at the log's end: KAFKA-10706).
Truncate(f, point, hw) ==
    /\ log' = [log EXCEPT ![f] = SubSeq(@, 1, point)]
    /\ flushed' = [flushed EXCEPT ![f] = Min(@, point)]
    /\ epochCache' = [epochCache EXCEPT ![f] = TrimCache(@, point)]
    /\ highWatermark' = [highWatermark EXCEPT ![f] = Min(hw, point)]
    /\ lastFetchedEpoch' = [lastFetchedEpoch EXCEPT ![f] = LatestEpoch(TrimCache(epochCache[f], point))]

\* CheckDiverging   who: follower   code: replication/fetcher.py
\* The thread finds that a diverging answer is its fetch's, and lets the lock go before it truncates (processFetchRequest,
\* truncateOnFetchResponse). Metadata may be applied in between.
CheckDiverging(f, l) ==
    LET response == fetch[f][l] IN
    \* enabled when
    /\ f \in LateTruncating
    /\ response.type = "diverging" /\ Processable(f, l)
    \* effect
    /\ fetch' = [fetch EXCEPT ![f][l] = [type |-> "checked", epoch |-> response.epoch, offset |-> response.offset,
                                         divergingEpoch |-> response.divergingEpoch, endOffset |-> response.endOffset,
                                         hw |-> response.hw]]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* An answer that was checked still truncates: the thread fetches the partition from this leader, if perhaps anew.
StillTruncates(f, l) == fetch[f][l].type = "checked" /\ Follows(f, l) /\ MatchEpochAtTruncation(f, l)

\* FollowerTruncate   who: follower   code: replication/fetcher.py
\* At once, or later than the answer was checked.
FollowerTruncate(f, l) ==
    LET response == fetch[f][l] IN
    \* enabled when
    /\ (response.type = "diverging" /\ Processable(f, l)) \/ StillTruncates(f, l)
    \* effect
    /\ LET point == TruncationPoint(f, response.divergingEpoch, response.endOffset) IN
        /\ Truncate(f, point, AdoptedHw(f, l))
        /\ fetch' = IF ReachesSlices(f, point) THEN [SlicesAfter(f, point) EXCEPT ![f][l] = Idle]
                    ELSE [fetch EXCEPT ![f][l] = Idle]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, checkpoint, epochStart, remoteLeo, remoteEpoch,
                   pendingIsr, produced, waiting, alter, asked, stalled, consumer>>
    /\ reconciled' = NextReconciled(f)
    /\ UNCHANGED <<committed, acked>>

\* FollowerAdoptHw   who: follower   code: replication/fetcher.py
\* Only without NothingToTruncate: the handler's first half, which takes the high watermark of a diverging response.
FollowerAdoptHw(f, l) ==
    LET response == fetch[f][l] IN
    \* enabled when
    /\ response.type = "diverging" /\ Processable(f, l)
    /\ NothingToTruncate(f, l)
    \* effect
    /\ highWatermark' = [highWatermark EXCEPT ![f] = Min(response.hw, Leo(f))]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, checkpoint, epochStart, remoteLeo,
                   remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter, asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* FollowerOutOfRange   who: follower   code: replication/fetcher.py
\* Never truncates below the leader's end. Without CacheEpochAtElection: to its own high watermark, as before KIP-101's repair.
\* With all rules a leader knows every epoch that its followers have, and without a log start offset nothing is out of range.
FollowerOutOfRange(f, l) ==
    LET response == fetch[f][l] IN
    \* enabled when
    /\ response.type = "error" /\ Processable(f, l)
    /\ response.error = "OFFSET_OUT_OF_RANGE"
    \* effect
    /\ LET point == IF Has("CacheEpochAtElection") THEN Min(response.endOffset, Leo(f)) ELSE Min(highWatermark[f], Leo(f)) IN
        /\ Truncate(f, point, highWatermark[f])
        /\ fetch' = IF ReachesSlices(f, point) THEN [SlicesAfter(f, point) EXCEPT ![f][l] = Idle]
                    ELSE [fetch EXCEPT ![f][l] = Idle]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, checkpoint, epochStart, remoteLeo, remoteEpoch,
                   pendingIsr, produced, waiting, alter, asked, stalled, consumer>>
    /\ reconciled' = NextReconciled(f)
    /\ UNCHANGED <<committed, acked>>

\* DropFetchResponse   who: follower   code: replication/fetcher.py
\* A response that is an error, or no longer the current fetch's; or an answer that was checked, and must not truncate any more.
DropFetchResponse(f, l) ==
    LET response == fetch[f][l] IN
    \* enabled when
    /\ response.type \in Responses \cup {"checked"} /\ Running(f)
    /\ CASE response.type = "checked" -> ~StillTruncates(f, l)
         [] response.type = "error"   -> ~Processable(f, l) \/ response.error # "OFFSET_OUT_OF_RANGE"
         [] OTHER                     -> ~Processable(f, l)
    \* effect
    /\ fetch' = [fetch EXCEPT ![f][l] = Idle]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* LoseFetch   who: the network
\* The connection breaks: the request or its response is gone. An answer that was checked has arrived.
LoseFetch(f, l) ==
    \* enabled when
    /\ fetch[f][l].type \notin {"idle", "checked"}
    \* effect
    /\ fetch' = [fetch EXCEPT ![f][l] = Idle]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* StallFetcher   who: the nemesis   code: sim/
\* The thread that fetches dies, and the process lives on: it heartbeats, applies metadata and may lead, but fetches no more.
StallFetcher(f) ==
    \* enabled when
    /\ f \in Stallable /\ Running(f) /\ ~stalled[f]
    \* effect
    /\ stalled' = [stalled EXCEPT ![f] = TRUE]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter, asked, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

-----------------------------------------------------------------------------
(* A consumer's fetches (Partition.fetchRecords with the high watermark as its isolation) *)

\* SendRead   who: consumer   code: sim/
\* A consumer asks a broker that it takes for the leader, with the leader epoch that its metadata names.
SendRead(c, b, e) ==
    \* enabled when
    /\ c \in Reading /\ consumer[c].type = "idle" /\ e <= Partition.leaderEpoch
    \* effect
    /\ consumer' = [consumer EXCEPT ![c] = [type |-> "request", offset |-> consumer[c].offset, broker |-> b, epoch |-> e]]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter, asked, stalled>>
    /\ UNCHANGED <<committed, acked, reconciled>>

ReadError(b, request) ==
    IF LeaderError(b, request.epoch) # "NONE" THEN LeaderError(b, request.epoch)
    ELSE IF request.offset > Leo(b) THEN "OFFSET_OUT_OF_RANGE"
    ELSE "NONE"

\* A follower may answer a consumer from its own log (KIP-392): it knows the partition, and the consumer's leader epoch is right.
FollowerAnswers(b, request) ==
    /\ ReadError(b, request) = "NOT_LEADER_OR_FOLLOWER"
    /\ view[b].leaderEpoch # -1 /\ request.offset <= Leo(b)

\* How many records from an offset on a consumer may be given.
Readable(b, offset) == Cardinality({i \in (offset + 1)..Leo(b) : ReadBelowHw(b, i)})

\* AnswerRead   who: broker   code: replication/partition.py
\* Gives the consumer n records. None, though there are some, is an answer too: a quota, or too few bytes in the time it waits.
AnswerRead(b, c, n) ==
    LET request == consumer[c] IN
    \* enabled when
    /\ request.type = "request" /\ request.broker = b /\ Running(b)
    /\ ReadError(b, request) = "NONE" \/ FollowerAnswers(b, request)
    /\ n <= Readable(b, request.offset)
    \* effect
    /\ consumer' = [consumer EXCEPT ![c] = [type |-> "records", offset |-> request.offset,
                                            batch |-> SubSeq(log[b], request.offset + 1, request.offset + n)]]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter, asked, stalled>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* RejectRead   who: broker   code: replication/partition.py
RejectRead(b, c) ==
    LET request == consumer[c] IN
    \* enabled when
    /\ request.type = "request" /\ request.broker = b /\ Running(b)
    /\ ReadError(b, request) # "NONE"
    \* effect
    /\ consumer' = [consumer EXCEPT ![c] = [type |-> "error", offset |-> request.offset, error |-> ReadError(b, request)]]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter, asked, stalled>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* TakeRead   who: consumer   code: sim/
\* The response arrives: the consumer goes on behind the last record that it brings; after an error, where it was.
TakeRead(c) ==
    LET response == consumer[c] IN
    \* enabled when
    /\ response.type \in {"records", "error"}
    \* effect
    /\ consumer' = [consumer EXCEPT ![c] = Reads(IF response.type = "records" THEN response.offset + Len(response.batch)
                                                 ELSE response.offset)]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter, asked, stalled>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* LoseRead   who: the network
LoseRead(c) ==
    \* enabled when
    /\ consumer[c].type # "idle"
    \* effect
    /\ consumer' = [consumer EXCEPT ![c] = Reads(consumer[c].offset)]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter, asked, stalled>>
    /\ UNCHANGED <<committed, acked, reconciled>>

-----------------------------------------------------------------------------
(* The ISR, the leader's side (Partition.maybeShrinkIsr, maybeExpandIsr, AlterPartitionManager) *)

\* The broker epochs in a proposal of this ISR; -1 for a member that the leader has not heard of in its epoch.
MemberEpochs(b, isr) ==
    [r \in Brokers |-> IF r \notin isr THEN -1 ELSE IF r = b THEN brokerEpoch[b] ELSE remoteEpoch[b][r]]

Proposal(b, pending) ==
    [type |-> "request", brokerEpoch |-> brokerEpoch[b], leaderEpoch |-> view[b].leaderEpoch,
     partitionEpoch |-> view[b].partitionEpoch, isr |-> pending.isr, memberEpochs |-> pending.memberEpochs]

Propose(b, isr) ==
    LET pending == [active |-> TRUE, isr |-> isr, memberEpochs |-> MemberEpochs(b, isr)]
    IN  /\ pendingIsr' = [pendingIsr EXCEPT ![b] = pending]
        /\ alter' = [alter EXCEPT ![b] = Proposal(b, pending)]

\* ShrinkIsr   who: leader   code: replication/partition.py
\* A member lags (replica.lag.time.max.ms; time is abstract). One that was last heard of at the log's end never does.
ShrinkIsr(b, f) ==
    \* enabled when
    /\ Leads(b) /\ ~pendingIsr[b].active /\ alter[b].type = "idle"
    /\ f # b /\ f \in view[b].isr /\ remoteLeo[b][f] # Len(log[b])
    \* effect
    /\ Propose(b, view[b].isr \ {f})
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, produced, waiting, lastFetchedEpoch, fetch, asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* ExpandIsr   who: leader   code: replication/partition.py
ExpandIsr(b, f) ==
    \* enabled when
    /\ Leads(b) /\ ~pendingIsr[b].active /\ alter[b].type = "idle"
    /\ f # b /\ f \notin view[b].isr /\ remoteLeo[b][f] >= highWatermark[b]
    /\ ReachedEpochStart(b, f)
    \* effect
    /\ Propose(b, view[b].isr \cup {f})
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, produced, waiting, lastFetchedEpoch, fetch, asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* ResendAlterPartition   who: leader   code: replication/partition.py
\* The proposal is sent again as it was, its members' epochs included.
ResendAlterPartition(b) ==
    \* enabled when
    /\ Leads(b) /\ pendingIsr[b].active /\ alter[b].type = "idle"
    \* effect
    /\ alter' = [alter EXCEPT ![b] = Proposal(b, pendingIsr[b])]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* HandleAlterPartitionReply   who: leader   code: replication/partition.py
\* Success commits the proposal and tries the high watermark again; an ineligible member reverts it; otherwise it stays pending
\* until metadata settles it. A reply of another leader epoch or an older partition epoch changes nothing.
HandleAlterPartitionReply(b) ==
    LET reply   == alter[b]
        current == Leads(b) /\ pendingIsr[b].active /\ reply.leaderEpoch = view[b].leaderEpoch
        commits == current /\ reply.error = "NONE" /\ reply.partitionEpoch >= view[b].partitionEpoch
        reverts == current /\ reply.error = "INELIGIBLE_REPLICA" IN
    \* enabled when
    /\ reply.type = "reply" /\ Running(b)
    \* effect
    /\ alter' = [alter EXCEPT ![b] = Idle]
    /\ view' = IF commits
               THEN [view EXCEPT ![b].partitionEpoch = reply.partitionEpoch, ![b].isr = pendingIsr[b].isr,
                                 ![b].applied = @ /\ reply.partitionEpoch = view[b].partitionEpoch]
               ELSE view
    /\ pendingIsr' = IF commits \/ reverts THEN [pendingIsr EXCEPT ![b] = NoPending] ELSE pendingIsr
    /\ highWatermark' = IF commits
                        THEN [highWatermark EXCEPT ![b] = HwOf(b, pendingIsr[b].isr, NoPending, Leo(b), remoteLeo[b])]
                        ELSE highWatermark
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, log, flushed, epochCache, checkpoint, epochStart, remoteLeo,
                   remoteEpoch, produced, waiting, lastFetchedEpoch, fetch, asked, stalled, consumer>>
    /\ committed' = NextCommitted
    /\ UNCHANGED <<acked, reconciled>>

\* LoseAlterPartition   who: the network
LoseAlterPartition(b) ==
    \* enabled when
    /\ alter[b].type # "idle"
    \* effect
    /\ alter' = [alter EXCEPT ![b] = Idle]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

-----------------------------------------------------------------------------
(* Disk and process *)

\* FlushLog   who: broker   code: log/log.py
FlushLog(b) ==
    \* enabled when
    /\ Running(b) /\ flushed[b] < Leo(b)
    \* effect
    /\ flushed' = [flushed EXCEPT ![b] = Leo(b)]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, epochCache, highWatermark, checkpoint, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* CheckpointHighWatermark   who: broker   code: log/log.py
CheckpointHighWatermark(b) ==
    \* enabled when
    /\ Running(b) /\ checkpoint[b] # highWatermark[b]
    \* effect
    /\ checkpoint' = [checkpoint EXCEPT ![b] = highWatermark[b]]
    /\ UNCHANGED <<metadata, registered, status, brokerEpoch, view, log, flushed, epochCache, highWatermark, epochStart,
                   remoteLeo, remoteEpoch, pendingIsr, produced, waiting, lastFetchedEpoch, fetch, alter,
                   asked, stalled, consumer>>
    /\ UNCHANGED <<committed, acked, reconciled>>

\* The broker's process ends with these records and this cache on disk, and `hw` in the checkpoint. Its memory and its connections
\* are gone; the answers and the AlterPartition that it had sent may still arrive, its fetches do not.
EndProcess(b, records, cache, hw, how) ==
    /\ status' = [status EXCEPT ![b] = how]
    /\ log' = [log EXCEPT ![b] = records]
    /\ flushed' = [flushed EXCEPT ![b] = Len(records)]
    /\ epochCache' = [epochCache EXCEPT ![b] = cache]
    /\ checkpoint' = [checkpoint EXCEPT ![b] = hw]
    /\ highWatermark' = [highWatermark EXCEPT ![b] = Min(hw, Len(records))]
    /\ view' = [view EXCEPT ![b] = NoView]
    /\ epochStart' = [epochStart EXCEPT ![b] = 0]
    /\ remoteLeo' = [remoteLeo EXCEPT ![b] = Unknown]
    /\ remoteEpoch' = [remoteEpoch EXCEPT ![b] = Unknown]
    /\ pendingIsr' = [pendingIsr EXCEPT ![b] = NoPending]
    /\ waiting' = [waiting EXCEPT ![b] = NotWaiting]
    /\ lastFetchedEpoch' = [lastFetchedEpoch EXCEPT ![b] = -1]
    /\ fetch' = [f \in Brokers |-> [l \in Brokers |->
                    IF f = b \/ (l = b /\ fetch[f][l].type \in {"request", "uncounted", "reading", "truncated"}) THEN Idle
                    ELSE fetch[f][l]]]
    /\ alter' = IF alter[b].type = "reply" THEN [alter EXCEPT ![b] = Idle] ELSE alter
    /\ asked' = [asked EXCEPT ![b] = FALSE]
    /\ stalled' = [stalled EXCEPT ![b] = FALSE]
    /\ consumer' = [c \in Consumers |-> IF consumer[c].type = "request" /\ consumer[c].broker = b THEN Reads(consumer[c].offset)
                                        ELSE consumer[c]]

\* It keeps so many records.
GoDown(b, keep, hw, how) == EndProcess(b, SubSeq(log[b], 1, keep), TrimCache(epochCache[b], keep), hw, how)

\* StopBroker   who: broker   code: replication/broker.py
\* A clean stop: everything is flushed, the high watermark is checkpointed. A broker that was asked to stop and is not
\* granted its shutdown in time goes all the same.
StopBroker(b) ==
    \* enabled when
    /\ Running(b) /\ (registered[b].state # "active" \/ asked[b])
    /\ b \in Stoppable => asked[b]
    \* effect
    /\ GoDown(b, Leo(b), highWatermark[b], "stopped")
    /\ UNCHANGED <<metadata, registered, brokerEpoch, produced>>
    /\ UNCHANGED <<committed, acked>>
    /\ reconciled' = NextReconciled(b)

\* The protocol's assumption about its environment: a crash that loses records leaves another member of ISR or ELR that has lost
\* nothing since it registered. It reads the controller's ISR and ELR.
EnvironmentLeavesOneIntact(b) ==
    b \in Partition.isr \cup Partition.elr =>
        \E c \in (Partition.isr \cup Partition.elr) \ {b} : status[c] # "lossy"

\* CrashBroker   who: the nemesis   code: sim/
\* The machine fails; `keep` records survive, the flushed ones at least.
CrashBroker(b, keep) ==
    \* enabled when
    /\ Running(b) /\ flushed[b] <= keep /\ keep <= Leo(b)
    /\ keep < Leo(b) => EnvironmentLeavesOneIntact(b)
    \* effect
    /\ GoDown(b, keep, checkpoint[b], IF keep < Leo(b) THEN "lossy" ELSE "crashed")
    /\ UNCHANGED <<metadata, registered, brokerEpoch, produced>>
    /\ UNCHANGED <<committed, acked>>
    /\ reconciled' = NextReconciled(b)

-----------------------------------------------------------------------------
Next ==
    \/ \E l \in Brokers : ElectLeader(l)
    \/ \E b \in Brokers, l \in Leaders : FenceBroker(b, l)
    \/ \E b \in Brokers, l \in Leaders : UnfenceBroker(b, l)
    \/ \E b \in Brokers, l \in Leaders : RegisterBroker(b, l)
    \/ \E b \in Brokers : AskToStop(b)
    \/ \E b \in Brokers, l \in Leaders : ControlledShutdown(b, l)
    \/ \E b \in Brokers : HandleAlterPartition(b)
    \/ \E b \in Brokers, n \in 1..MaxMetadata : ApplyMetadata(b, n)
    \/ \E b \in Brokers, v \in Values, acks \in Acks : AppendRecord(b, v, acks)
    \/ \E b \in Brokers, v \in Values : AppendRecordsToLeader(b, v)
    \/ \E b \in Brokers, v \in Values : AddDelayedProduce(b, v)
    \/ \E b \in Brokers, v \in Values, offset \in Offsets : CompleteProduce(b, v, offset)
    \/ \E b \in Brokers, v \in Values, error \in ProduceErrors : FailProduce(b, v, error)
    \/ \E f \in Brokers, l \in Brokers : SendFetch(f, l)
    \/ \E l \in Brokers, f \in Brokers, n \in 0..MaxFetch : HandleFetch(l, f, n)
    \/ \E l \in Brokers, f \in Brokers, n \in 0..MaxFetch : FetchRecords(l, f, n)
    \/ \E l \in Brokers, f \in Brokers : UpdateFollowerFetchState(l, f)
    \/ \E l \in Brokers, f \in Brokers, n \in 1..MaxFetch : ValidateFetch(l, f, n)
    \/ \E l \in Brokers, f \in Brokers : ReadFetch(l, f)
    \/ \E l \in Brokers, f \in Brokers : AnswerDiverging(l, f)
    \/ \E l \in Brokers, f \in Brokers : RejectFetch(l, f)
    \/ \E f \in Brokers, l \in Brokers : FollowerAppend(f, l)
    \/ \E f \in Brokers, l \in Brokers : CheckDiverging(f, l)
    \/ \E f \in Brokers, l \in Brokers : FollowerTruncate(f, l)
    \/ \E f \in Brokers, l \in Brokers : FollowerAdoptHw(f, l)
    \/ \E f \in Brokers, l \in Brokers : FollowerOutOfRange(f, l)
    \/ \E f \in Brokers, l \in Brokers : DropFetchResponse(f, l)
    \/ \E f \in Brokers, l \in Brokers : LoseFetch(f, l)
    \/ \E f \in Brokers : StallFetcher(f)
    \/ \E c \in Consumers, b \in Brokers, e \in Epochs : SendRead(c, b, e)
    \/ \E b \in Brokers, c \in Consumers, n \in 0..MaxFetch : AnswerRead(b, c, n)
    \/ \E b \in Brokers, c \in Consumers : RejectRead(b, c)
    \/ \E c \in Consumers : TakeRead(c)
    \/ \E c \in Consumers : LoseRead(c)
    \/ \E b \in Brokers, f \in Brokers : ShrinkIsr(b, f)
    \/ \E b \in Brokers, f \in Brokers : ExpandIsr(b, f)
    \/ \E b \in Brokers : ResendAlterPartition(b)
    \/ \E b \in Brokers : HandleAlterPartitionReply(b)
    \/ \E b \in Brokers : LoseAlterPartition(b)
    \/ \E b \in Brokers : FlushLog(b)
    \/ \E b \in Brokers : CheckpointHighWatermark(b)
    \/ \E b \in Brokers : StopBroker(b)
    \/ \E b \in Brokers, keep \in Offsets : CrashBroker(b, keep)

\* Enabled only while a rule is not in force.
FlawActions == {"FollowerAdoptHw", "FollowerOutOfRange"}

Spec == Init /\ [][Next]_vars
=============================================================================
