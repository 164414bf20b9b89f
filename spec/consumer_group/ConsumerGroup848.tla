-------------------------- MODULE ConsumerGroup848 --------------------------
(***************************************************************************)
(* One consumer group of KIP-848 (Kafka 4.x): its coordinator, its         *)
(* consumers, and the partition of __consumer_offsets that remembers it.   *)
(*                                                                         *)
(* Modelled: ConsumerGroupHeartbeat as join (epoch 0), report and leave    *)
(* (-1, and -2 of a static member); group epoch, target assignment and     *)
(* assignment epoch, member epochs; reconciliation by the coordinator      *)
(* (UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS, STABLE) and by the        *)
(* consumer (revoke, acknowledge, take over); partition epochs; fencing by *)
(* member id, epoch and instance; session and rebalance time-outs;         *)
(* subscription changes and added partitions; offset commit and fetch with *)
(* KIP-1251's assignment epochs; a coordinator that is deposed without     *)
(* hearing of it, its uncommitted records lost or kept, and replay by the  *)
(* next one; requests and replies that are late, lost or doubled.          *)
(* KIPs: 345, 848, 1082, 1251, 1263.                                       *)
(*                                                                         *)
(* Left out: clocks (a time-out may happen whenever its timer runs; a      *)
(* variable has its length), classic members and their migration, regular  *)
(* expressions, more than one group.instance.id, offset expiry and         *)
(* transactions (Offsets), loading as a phase of its own.                  *)
(* docs/protocols/consumer_group.md says why, and what it could hide.      *)
(*                                                                         *)
(* Read in this order: VARIABLES, the rules, the coordinator's vocabulary  *)
(* (Reconciled is Kafka's CurrentAssignmentBuilder, Replayed its replay),  *)
(* the actions from StartConsumer to BecomeCoordinator, then               *)
(* ConsumerGroup848Properties. What is meant as in ClassicGroup has the    *)
(* same name and the same words there.                                     *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds

CONSTANTS
    Dynamic,        \* the consumers without a group.instance.id
    Static,         \* the consumers that share the one group.instance.id
    Hasty,          \* the consumers with the shorter rebalance time-out
    Patient,        \* those with the longer one; without any of either kind time-outs have no length
    Brokers,        \* the brokers that may lead the group's partition of __consumer_offsets
    Partitions,     \* the partitions that may exist; each is a topic of its own
    AssignmentInterval, \* TRUE: group.consumer.assignment.interval.ms is above 0, and the next target assignment may have to wait
    MaxMember,      \* capacity: member ids, one for each process
    MaxGroupEpoch,  \* capacity: group epochs
    MaxEpoch,       \* capacity: coordinator epochs
    MaxOffset,      \* capacity: offsets
    MaxAppended,    \* capacity: batches of a coordinator that are not committed yet
    Without         \* the safety rules that are not in force

VARIABLES
    \* the log
    leaderAndEpoch, \* who leads the partition of __consumer_offsets, and in which epoch
    storedGroup,    \* the group that the records of the committed log amount to
    storedOffsets,  \* per partition: the last offset record of the committed log, -1 none
    appended,       \* per broker: its batches of records that are not committed yet, oldest first
    \* the coordinator's memory
    epoch,          \* per broker: the epoch in which it serves the group, 0: it does not
    group,          \* per broker: the group as it holds it
    partitionEpoch, \* per broker and partition: the epoch of the member that holds it, -1: it is released
    timers,         \* per broker and member id: how long the timers of its session and of its revocation were set to
    offsets,        \* per broker and partition: the committed offset that it serves, -1 none
    issued,         \* how many processes were started; their member ids are 1, 2, ...
    \* the consumers
    consumer,       \* per consumer: its process
    position,       \* per consumer and partition: the next offset to read, -1 unknown or not owned
    partitions,     \* the partitions that exist
    \* the network
    heartbeatRpc,   \* per consumer: its one outstanding heartbeat, as request, as reply that waits for the log, or as reply
    offsetRpc,      \* per consumer: its outstanding OffsetCommit or OffsetFetch
    stray           \* per consumer: a request for whose reply nobody waits: late, doubled, or one to leave

logVars      == <<leaderAndEpoch, storedGroup, storedOffsets, appended>>
serverVars   == <<epoch, group, partitionEpoch, timers, offsets>>
consumerVars == <<issued, consumer, position, partitions>>
networkVars  == <<heartbeatRpc, offsetRpc, stray>>
vars == <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued, consumer,
          position, partitions, heartbeatRpc, offsetRpc, stray>>

-----------------------------------------------------------------------------
(* Types. The bounds are a trace's capacities. *)

Clients      == Dynamic \cup Static
MemberIds    == 1..MaxMember
MemberOrNone == 0..MaxMember
GroupEpochs  == 0..MaxGroupEpoch
EpochOrNone  == -1..MaxGroupEpoch
MemberEpochs == -2..MaxGroupEpoch            \* 0: it joins; -1: it leaves; -2: it is a static member and leaves for a while
Epochs       == 0..MaxEpoch
OffsetOrNone == -1..MaxOffset
OffsetMap    == [Partitions -> OffsetOrNone]

\* How long a time-out is, by rank: 1 and 2 are rebalance time-outs of consumers, 3 is the group's session time-out, 0 none.
Timeouts            == 0..3
RebalanceTimeout(c) == IF c \in Hasty THEN 1 ELSE IF c \in Patient THEN 2 ELSE 0
SessionTimeout      == IF Hasty \cup Patient = {} THEN 0 ELSE 3

MemberStates   == {"STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS"}
ConsumerStates == {"JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE"}

Member == [present : BOOLEAN, static : BOOLEAN, subscription : SUBSET Partitions, rebalance : Timeouts,
           memberEpoch : MemberEpochs, previousMemberEpoch : EpochOrNone, state : MemberStates,
           assigned : [Partitions -> EpochOrNone],     \* what it may read: the epoch that gave it each partition (KIP-1251), -1: not assigned
           revoking : [Partitions -> EpochOrNone]]     \* what it was told to revoke and may still hold

\* The records of a group, by key.
Group == [groupEpoch : GroupEpochs, assignmentEpoch : GroupEpochs,
          metadata : SUBSET Partitions,                \* the partitions that somebody subscribed to, when it last looked
          target : [MemberIds -> SUBSET Partitions],   \* the target assignment, of assignmentEpoch
          members : [MemberIds -> Member]]

\* One handler's batch. A group batch has epochs, target assignment, a removed member, and a member whose state is written (0: none).
Entry ==      [type : {"group"}, groupEpoch : GroupEpochs, assignmentEpoch : GroupEpochs, metadata : SUBSET Partitions,
               target : [MemberIds -> SUBSET Partitions], removed : MemberOrNone, member : MemberOrNone, value : Member]
         \cup [type : {"offsets"}, offsets : OffsetMap]

Consumer == [running : BOOLEAN, state : ConsumerStates, member : MemberOrNone, memberEpoch : GroupEpochs,
             subscription : SUBSET Partitions,
             told : SUBSET Partitions,                 \* the subscription that it has sent
             full : BOOLEAN,                           \* the next heartbeat says all: something went wrong with the last one
             unreported : BOOLEAN,                     \* what it owns, or may take, has changed since it said so
             owned : SUBSET Partitions,                \* what it reads and may commit
             target : SUBSET Partitions,               \* what the coordinator last assigned to it
             reconciling : BOOLEAN,                    \* the rebalance listener is at work
             resolved : SUBSET Partitions]             \* what it will own once the listener is done

Errors == {"NONE", "UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "UNRELEASED_INSTANCE_ID", "FENCED_INSTANCE_ID", "STALE_MEMBER_EPOCH",
           "NOT_COORDINATOR"}

\* A consumer says what it owns only when that has changed, and what it subscribes to likewise; full: it says both.
HeartbeatRequest == [type : {"heartbeat"}, broker : Brokers, member : MemberIds, memberEpoch : GroupEpochs, full : BOOLEAN,
                     tells : BOOLEAN, subscription : SUBSET Partitions, reports : BOOLEAN, owned : SUBSET Partitions]
CommitRequest == [type : {"commit"}, broker : Brokers, member : MemberIds, memberEpoch : GroupEpochs, offsets : OffsetMap]

\* "waiting": so many batches have to commit until the answer. gives: the reply carries an assignment.
HeartbeatSlot ==
         [type : {"idle"}] \cup HeartbeatRequest
    \cup [type : {"waiting"}, broker : Brokers, remaining : 1..MaxAppended, memberEpoch : GroupEpochs, gives : BOOLEAN,
          assignment : SUBSET Partitions]
    \cup [type : {"answered"}, error : Errors, memberEpoch : GroupEpochs, gives : BOOLEAN, assignment : SUBSET Partitions]

\* asked: the partitions whose offset the consumer wants, and has owned since.
OffsetSlot ==
         [type : {"idle"}] \cup CommitRequest
    \cup [type : {"committing"}, broker : Brokers, remaining : 1..MaxAppended, error : Errors]
    \cup [type : {"committed"}, error : Errors]
    \cup [type : {"fetch"}, broker : Brokers, member : MemberIds, memberEpoch : GroupEpochs, asked : SUBSET Partitions]
    \cup [type : {"fetching"}, broker : Brokers, remaining : 1..MaxAppended, offsets : OffsetMap, asked : SUBSET Partitions]
    \cup [type : {"fetched"}, error : Errors, offsets : OffsetMap, asked : SUBSET Partitions]

Stray == [type : {"idle"}] \cup HeartbeatRequest \cup CommitRequest
    \cup [type : {"leave"}, broker : Brokers, member : MemberIds]

TypeOK ==
    /\ leaderAndEpoch \in [broker : Brokers, epoch : Epochs]
    /\ storedGroup \in Group
    /\ storedOffsets \in OffsetMap
    /\ appended \in [Brokers -> BoundedSeq(Entry, MaxAppended)]
    /\ epoch \in [Brokers -> Epochs]
    /\ group \in [Brokers -> Group]
    /\ partitionEpoch \in [Brokers -> [Partitions -> MemberEpochs]]
    /\ timers \in [Brokers -> [MemberIds -> [session : Timeouts, rebalance : Timeouts]]]
    /\ offsets \in [Brokers -> OffsetMap]
    /\ issued \in 0..MaxMember
    /\ consumer \in [Clients -> Consumer]
    /\ position \in [Clients -> OffsetMap]
    /\ partitions \in SUBSET Partitions
    /\ heartbeatRpc \in [Clients -> HeartbeatSlot]
    /\ offsetRpc \in [Clients -> OffsetSlot]
    /\ stray \in [Clients -> Stray]

-----------------------------------------------------------------------------
(* Vocabulary *)

Max(a, b) == IF a > b THEN a ELSE b
Highest(S) == CHOOSE m \in S : \A x \in S : m >= x

Idle      == [type |-> "idle"]
NoOffsets == [p \in Partitions |-> -1]
Nothing   == [p \in Partitions |-> -1]
NoMember  == [present |-> FALSE, static |-> FALSE, subscription |-> {}, rebalance |-> 0, memberEpoch |-> 0, previousMemberEpoch |-> -1,
              state |-> "STABLE", assigned |-> Nothing, revoking |-> Nothing]
NoGroup   == [groupEpoch |-> 0, assignmentEpoch |-> 0, metadata |-> {}, target |-> [m \in MemberIds |-> {}],
              members |-> [m \in MemberIds |-> NoMember]]

NoTimer   == [session |-> 0, rebalance |-> 0]
NoTimers  == [m \in MemberIds |-> NoTimer]

Serving(b) == epoch[b] > 0
\* b leads the partition, and what it appends may commit.
Acting(b)  == leaderAndEpoch.broker = b /\ epoch[b] = leaderAndEpoch.epoch
Present(g) == {m \in MemberIds : g.members[m].present}
\* The member id to which the instance is mapped, 0 none.
InstanceMember(g) == Highest({0} \cup {m \in Present(g) : g.members[m].static})

PartitionsOf(epochs) == {p \in Partitions : epochs[p] >= 0}
\* The partitions that a member holds: no other member may get them.
Holds(member) == PartitionsOf(member.assigned) \cup PartitionsOf(member.revoking)
\* The epoch that gave p to the member, -1: it does not hold p.
AssignmentEpoch(member, p) == IF member.assigned[p] >= 0 THEN member.assigned[p] ELSE member.revoking[p]

-----------------------------------------------------------------------------
(* The safety rules. Each says what goes wrong without it; zoo.toml holds the schedule. *)

\* The constants that only bound a trace; every other limit of TypeOK means something.
Capacities == {"MaxMember", "MaxGroupEpoch", "MaxEpoch", "MaxOffset", "MaxAppended"}

Has(rule) == rule \notin Without

\* A guard answers "may this go ahead", and without its rule everything may. A case answers "does this case arise", and without
\* its rule it never does.
Guard(rule, may)   == Has(rule) => may
Case(rule, arises) == Has(rule) /\ arises

\* KIP-848. Without it a partition counts as revoked once its member was told, and the next member gets it while the first
\* reads it.
RevocationReported(request, revoked) == Guard("RevocationReported", request.reports /\ request.owned \cap revoked = {})

\* KIP-848; that what the member itself is revoking is no other's: KAFKA-19449. Without it a member gets what another one holds.
AssignReleased(b, member, p) == Guard("AssignReleased", partitionEpoch[b][p] = -1 \/ p \in PartitionsOf(member.revoking))

\* KAFKA-19431 (4.2). Without it a member keeps what it no longer subscribes to, or is given it, until the next target assignment
\* (row 143).
AssignSubscribed(member, p) == Guard("AssignSubscribed", p \in member.subscription)

\* This project's; Kafka 4.x lacks it. A subscription that takes a partition from a member does not wait for the next target
\* assignment. Without it the member revokes in the epoch that gave it the partition, and a late report from before it had
\* the partition acknowledges that. The consumer still reads, and nothing fences it (row 144).
BumpRevokesNothing(member) == Guard("BumpRevokesNothing", PartitionsOf(member.assigned) \subseteq member.subscription)

\* This project's; Kafka 4.x lacks it. A member that joins while the next target assignment waits is in a new epoch: the last target
\* assignment counts again, as that epoch's. Without it a late copy of a join brings a member that was removed back into its old
\* epoch. Its consumer, which has not heard of that, counts as current while another gets its partitions (row 152).
JoinInNewEpoch(member) == Case("JoinInNewEpoch", member.memberEpoch = 0)

\* KAFKA-16147. Without it the epochs of the partitions that a member was revoking are removed after its new assignment's are
\* added. A partition that came back to it counts as released (row 45).
RemoveEpochsFirst(old, p) == Case("RemoveEpochsFirst", p \in PartitionsOf(old.revoking))

\* KAFKA-19233. Without it a member that was fenced, or whose join was answered in vain, cannot join again (row 47).
AcceptRejoin(request) == Case("AcceptRejoin", request.memberEpoch = 0)

\* KAFKA-20442. Without it a group that everybody has left stays at a group epoch that was never assigned (row 48).
EmptyGroupIsAssigned(g, m) == Case("EmptyGroupIsAssigned", Present(g) = {m})

\* KIP-848. Without it a consumer that was fenced, or has missed an assignment, goes on as a member.
HeartbeatOfMemberEpoch(member, request) == Guard("HeartbeatOfMemberEpoch", request.memberEpoch = member.memberEpoch)

\* KIP-848. A reply may be lost, so the previous epoch is good enough for a member that owns no more than it is assigned.
\* Without this a consumer that still owns what was given away is taken for current.
PreviousEpochOfOwner(member, request) == Guard("PreviousEpochOfOwner",
    request.reports /\ request.owned \subseteq PartitionsOf(member.assigned))

\* KIP-848, as it was until KAFKA-19974 (4.2). A member that acknowledges a revocation and has to revoke more goes on in
\* another epoch. Without it a late request of the time before the revocation still counts: it acknowledges, or commits, for
\* another owner.
AcknowledgedRevocationEndsEpoch(member) == Case("AcknowledgedRevocationEndsEpoch", member.state = "UNREVOKED_PARTITIONS")

\* KAFKA-20641 (pull request 22473, open). A static member that leaves for a while has nothing left to revoke. Without it the group
\* remembers it as one that has, and a coordinator that takes over gives it a rebalance time-out, for nothing (row 140).
LeaveEndsRevocation(member) == Case("LeaveEndsRevocation", member.state = "UNREVOKED_PARTITIONS")

\* KIP-345, KIP-848. Without it a second process of an instance takes the first one's place while that goes on.
ReplaceReleasedInstance(g) == Guard("ReplaceReleasedInstance", g.members[InstanceMember(g)].memberEpoch = -2)

\* Proposed in Kafka (pull request 23542). Without it a static consumer that joins again under its own member id is told
\* UNRELEASED_INSTANCE_ID, and ends. A reply was lost, or its epoch was fenced.
RejoinOfOwnInstance(g, m) == Case("RejoinOfOwnInstance", InstanceMember(g) = m)

\* KIP-345. Without it a process that was replaced acts as its successor.
MemberOfInstance(g, m) == Guard("MemberOfInstance", m = InstanceMember(g))

\* Without it a consumer that was removed commits for partitions that are no longer its own.
CommitOfMember(g, m) == Guard("CommitOfMember", m \in Present(g))

\* KIP-1251. A commit in an older epoch is for a partition that the member has held since. Without it the late commit of a partition
\* that has been another's meanwhile overwrites that one's.
CommitFromAssignmentEpoch(member, p, at) == Guard("CommitFromAssignmentEpoch",
    AssignmentEpoch(member, p) >= 0 /\ AssignmentEpoch(member, p) <= at)

\* This project's; Kafka 4.x lacks it. Without it a member commits, in its own epoch, for a partition that it does not hold.
CommitOfHeldPartition(member, p) == Guard("CommitOfHeldPartition", p \in Holds(member))

\* KIP-447 (require_stable). The batches that a fetch has read are committed before it is answered. Without it a consumer is
\* told an offset that the next coordinator does not have.
FetchWaitsForCommit(b) == Case("FetchWaitsForCommit", appended[b] # <<>>)

\* This project's; Kafka 4.x lacks it. A fetch is answered with offsets by the elected coordinator. (A broker makes sure of that
\* with a record of its coordinator epoch that has committed since the request came.) Without it one that was deposed tells
\* what it has, and the consumer reads again what another one has committed since (row 150).
FetchOfElected(b) == Guard("FetchOfElected", Acting(b))

\* The records of a heartbeat are committed before its reply is sent. Without it a consumer goes on with an assignment that the
\* next coordinator has never heard of.
ReplyAfterCommit(batches) == Case("ReplyAfterCommit", batches > 0)

\* This project's; Kafka 4.x gives an assignment only in the reply to the heartbeat that changes it (or that asks for all). Without
\* it a late heartbeat takes the news: its reply is nobody's, and the consumer is never told.
GiveUntilReported(request, after) == Case("GiveUntilReported",
    ~(request.reports /\ request.owned = PartitionsOf(after.assigned)))

\* KAFKA-19862. A load may have read a record of a member from before the log cleaner came by, and then miss the next one. Without
\* it the load fails where it does not find the epoch of a partition that it expects (row 46).
TolerantReplay(found, expected) == Case("TolerantReplay", found # expected)

\* This project's; Kafka 4.3 lacks it. Such a load may have read an older record of a member than of the next holder. Without
\* it the load fails where the member says something of itself, or joins again after it was removed (row 117).
KeepNewerEpoch(found, said) == Case("KeepNewerEpoch", found >= said)

\* The consumer's: it reports as owned what it owns until the rebalance listener is done. Without it a revocation is acknowledged
\* while the consumer still reads.
ReportUntilRevoked(c) == Case("ReportUntilRevoked", consumer[c].reconciling)

\* The consumer's, and this project's; Kafka 4.x lacks it. It reports also what it was assigned and is about to take. Without
\* it a heartbeat sent while it takes a partition reads as a revocation: the next member gets it, and both read it.
ReportWhatIsTaken(c) == Case("ReportWhatIsTaken",
    ~(consumer[c].resolved \cup consumer[c].target \subseteq consumer[c].owned))

\* The consumer's: one that is fenced gives up the reconciliation under way. Without it a consumer that has joined again takes
\* what it was assigned before.
AbandonReconciliation(c) == Case("AbandonReconciliation", consumer[c].reconciling)

Rules == {"RevocationReported", "AssignReleased", "AssignSubscribed", "BumpRevokesNothing", "JoinInNewEpoch", "RemoveEpochsFirst",
          "AcceptRejoin", "EmptyGroupIsAssigned", "HeartbeatOfMemberEpoch", "PreviousEpochOfOwner",
          "AcknowledgedRevocationEndsEpoch", "LeaveEndsRevocation", "ReplaceReleasedInstance", "RejoinOfOwnInstance",
          "MemberOfInstance", "CommitOfMember", "CommitFromAssignmentEpoch", "CommitOfHeldPartition", "FetchWaitsForCommit",
          "FetchOfElected", "ReplyAfterCommit", "GiveUntilReported", "TolerantReplay", "KeepNewerEpoch", "ReportUntilRevoked",
          "ReportWhatIsTaken", "AbandonReconciliation"}

\* The baseline of Kafka 4.x: the rules that it lacks.
KafkaAsShipped == {"BumpRevokesNothing", "JoinInNewEpoch", "AcknowledgedRevocationEndsEpoch", "RejoinOfOwnInstance",
                   "CommitOfHeldPartition", "FetchOfElected", "GiveUntilReported", "KeepNewerEpoch", "LeaveEndsRevocation",
                   "ReportWhatIsTaken"}

-----------------------------------------------------------------------------
(* The coordinator's vocabulary (GroupMetadataManager, ConsumerGroup, CurrentAssignmentBuilder): groups to groups *)

\* Is the revocation of these partitions acknowledged by this heartbeat?
Acknowledged(request, revoked) == RevocationReported(request, revoked)

\* A heartbeat's effect on the member (CurrentAssignmentBuilder). A member at its target, or with an unacknowledged
\* revocation, stays, or shrinks: it loses what it no longer subscribes to. Any other comes one step closer to its target: it first
\* gives up partitions, then gets released ones.
Reconciled(b, member, target, targetEpoch, request) ==
    LET rests   == \/ member.state = "STABLE" /\ member.memberEpoch = targetEpoch
                   \/ member.state = "UNREVOKED_PARTITIONS" /\ ~Acknowledged(request, PartitionsOf(member.revoking))
        held    == PartitionsOf(member.assigned)
        wanted  == {p \in IF rests THEN held ELSE target : AssignSubscribed(member, p)}
        kept    == held \cap wanted
        revoked == held \ wanted
        stays   == rests /\ revoked = {}
        gone    == IF rests THEN revoked \cup PartitionsOf(member.revoking) ELSE revoked
        revokes == revoked # {} /\ ~Acknowledged(request, gone)
        ready   == {p \in wanted \ kept : AssignReleased(b, member, p)}
        waits   == ~(wanted \subseteq kept \cup ready)
        ends    == IF rests THEN FALSE ELSE AcknowledgedRevocationEndsEpoch(member)
    IN  [present |-> member.present, static |-> member.static, subscription |-> member.subscription, rebalance |-> member.rebalance,
         memberEpoch |-> IF stays THEN member.memberEpoch
                         ELSE IF ~revokes THEN targetEpoch
                         ELSE IF ends THEN member.memberEpoch + 1 ELSE member.memberEpoch,
         previousMemberEpoch |-> IF stays THEN member.previousMemberEpoch ELSE member.memberEpoch,
         state |-> IF stays THEN member.state
                   ELSE IF revokes THEN "UNREVOKED_PARTITIONS"
                   ELSE IF waits THEN "UNRELEASED_PARTITIONS" ELSE "STABLE",
         assigned |-> [p \in Partitions |-> IF stays \/ p \in kept THEN member.assigned[p]
                                            ELSE IF ~revokes /\ p \in ready THEN targetEpoch ELSE -1],
         revoking |-> [p \in Partitions |-> IF stays \/ (rests /\ p \notin revoked) THEN member.revoking[p]
                                            ELSE IF revokes /\ p \in revoked THEN member.assigned[p] ELSE -1]]

\* The partitions that exist and that one of these members subscribes to.
Subscribed(members) == {p \in partitions : \E m \in MemberIds : members[m].present /\ p \in members[m].subscription}

\* The group after a batch: the coordinator applies its own batch at once.
Replayed(g, entry) ==
    IF entry.type # "group" THEN g
    ELSE [groupEpoch |-> entry.groupEpoch, assignmentEpoch |-> entry.assignmentEpoch, metadata |-> entry.metadata,
          target |-> entry.target,
          members |-> [m \in MemberIds |-> IF m = entry.member THEN entry.value
                                           ELSE IF m = entry.removed THEN NoMember ELSE g.members[m]]]

\* The stored group after these batches, as a broker that loads the log reads them: the last record
\* of each key counts. LiveIsReplay says that the result is the same.
ReplayGroup(entries, stored) ==
    LET groups == {i \in 1..Len(entries) : entries[i].type = "group"}
        last   == entries[Highest(groups)]
    IN  IF groups = {} THEN stored
        ELSE [groupEpoch |-> last.groupEpoch, assignmentEpoch |-> last.assignmentEpoch, metadata |-> last.metadata,
              target |-> last.target,
              members |-> [m \in MemberIds |->
                LET touched == {i \in groups : entries[i].member = m \/ entries[i].removed = m}
                    entry   == entries[Highest(touched)]
                IN  IF touched = {} THEN stored.members[m] ELSE IF entry.member = m THEN entry.value ELSE NoMember]]

MemberOrAbsent(g, m) == IF m = 0 THEN NoMember ELSE g.members[m]

\* The epochs of partitions after a batch on the group g, if a record of the member is in it. The epochs of the partitions that
\* its members held are removed, then those of the present ones are added. (A member that says something new of itself has two
\* records, of which the first says again what it holds.)
EpochsAfter(epochs, g, entry) ==
    LET old == MemberOrAbsent(g, entry.member)
        out == MemberOrAbsent(g, entry.removed)
        new == entry.value
        wrote == new # old
        says  == new.subscription # old.subscription \/ new.rebalance # old.rebalance
        lost(p) == IF RemoveEpochsFirst(old, p) THEN FALSE
                   ELSE p \in PartitionsOf(old.revoking) \cap PartitionsOf(new.assigned)
        removed(p) == \/ wrote /\ p \in Holds(old) /\ (epochs[p] = old.memberEpoch \/ says)
                      \/ p \in Holds(out) /\ epochs[p] = out.memberEpoch
    IN  [p \in Partitions |-> IF wrote /\ p \in Holds(new) THEN (IF lost(p) THEN -1 ELSE new.memberEpoch)
                              ELSE IF removed(p) THEN -1 ELSE epochs[p]]

\* The epochs of partitions that a group's members hold.
EpochsOf(g) ==
    [p \in Partitions |->
        LET holders == {m \in Present(g) : p \in Holds(g.members[m])}
        IN  IF holders = {} THEN -1 ELSE g.members[Highest(holders)].memberEpoch]

\* A load that the log cleaner overtakes: the part that was read before it came by, then the batches after `from` up to `to`,
\* then the rest. The middle part lacks the records that later ones in it supersede. A member has two records: its metadata,
\* and its current assignment. The cleaner is at work only on what the new leader has beyond storedGroup.

\* Which of these records each batch has for its member. (For one that it removes it has the tombstones of both.)
Records(stored, kept) ==
    FoldSeq(LAMBDA i, run :
                IF kept[i].type # "group" THEN run
                ELSE LET m == kept[i].member IN
                     [members |-> IF m = 0 THEN [run.members EXCEPT ![kept[i].removed] = NoMember]
                                  ELSE IF kept[i].removed = 0 THEN [run.members EXCEPT ![m] = kept[i].value]
                                  ELSE [run.members EXCEPT ![kept[i].removed] = NoMember, ![m] = kept[i].value],
                      says |-> [run.says EXCEPT ![i] = IF m = 0 THEN FALSE
                          ELSE \/ kept[i].value.subscription # run.members[m].subscription
                               \/ kept[i].value.rebalance # run.members[m].rebalance],
                      assigns |-> [run.assigns EXCEPT ![i] = IF m = 0 THEN FALSE
                          ELSE [kept[i].value EXCEPT !.subscription = run.members[m].subscription,
                                                     !.rebalance = run.members[m].rebalance] # run.members[m]]],
            [members |-> stored.members, says |-> [i \in 1..MaxAppended |-> FALSE], assigns |-> [i \in 1..MaxAppended |-> FALSE]],
            [i \in 1..Len(kept) |-> i])

\* One record, by which m holds `holds` in the epoch `at`, on top of what was loaded.
Load(loaded, m, holds, at) ==
    LET left == [p \in Partitions |-> IF p \in loaded.holds[m] /\ loaded.epochs[p] = loaded.at[m] THEN -1 ELSE loaded.epochs[p]]
        unlike(found, expected) == IF TolerantReplay(found, expected) THEN FALSE ELSE found # expected
        unset(found) == IF KeepNewerEpoch(found, at) THEN FALSE
                        ELSE IF found >= at THEN found # -1 ELSE unlike(found, -1)
    IN  [holds |-> [loaded.holds EXCEPT ![m] = holds],
         at |-> [loaded.at EXCEPT ![m] = at],
         epochs |-> [p \in Partitions |-> IF p \in holds /\ (left[p] = -1 \/ left[p] < at) THEN at ELSE left[p]],
         failed |-> \/ loaded.failed
                    \/ \E p \in loaded.holds[m] : unlike(loaded.epochs[p], loaded.at[m])
                    \/ \E p \in holds : unset(left[p])]

\* The group in the committed log, of which the cleaner has left one record for each member. The records
\* may be read in any order. Flawed runs are the exception, because two members hold a partition there.
LoadedGroup(stored) ==
    FoldSeq(LAMBDA m, loaded : Load(loaded, m, Holds(stored.members[m]), stored.members[m].memberEpoch),
            [holds |-> [m \in MemberIds |-> {}], at |-> [m \in MemberIds |-> 0], epochs |-> Nothing, failed |-> FALSE],
            [m \in 1..MaxMember |-> m])

\* Then step by step: of each batch the tombstones, its member's metadata, its current assignment.
LoadedWhileCleaning(stored, kept, from, to) ==
    LET records == Records(stored, kept)
        has(i, m, part) ==
            IF kept[i].type # "group" THEN FALSE
            ELSE kept[i].removed = m \/ (kept[i].member = m /\ IF part = 1 THEN records.says[i] ELSE records.assigns[i])
        later(i) == IF i > from THEN (i + 1)..to ELSE {}     \* the batches that supersede records of this one
        Step(step, loaded) ==
            LET i    == (step + 2) \div 3
                part == (step + 2) % 3
                m    == IF kept[i].type # "group" THEN 0 ELSE IF part = 0 THEN kept[i].removed ELSE kept[i].member IN
            IF m = 0 THEN loaded
            ELSE IF ~has(i, m, part) \/ \E j \in later(i) : has(j, m, part) THEN loaded
            ELSE Load(loaded, m, IF part = 0 THEN {} ELSE IF part = 1 THEN loaded.holds[m] ELSE Holds(kept[i].value),
                      IF part = 0 THEN 0 ELSE IF part = 1 THEN loaded.at[m] ELSE kept[i].value.memberEpoch)
    IN  FoldSeq(Step, LoadedGroup(stored), [step \in 1..(3 * Len(kept)) |-> step])

ReplayOffsets(entries, stored) ==
    [p \in Partitions |->
        LET commits == {i \in 1..Len(entries) : IF entries[i].type = "offsets" THEN entries[i].offsets[p] >= 0 ELSE FALSE}
        IN  IF commits = {} THEN stored[p] ELSE entries[Highest(commits)].offsets[p]]

\* b appends the batch, unless it changes nothing, and applies it at once.
Write(b, entry) ==
    LET next == Replayed(group[b], entry) IN
    IF next = group[b] THEN UNCHANGED <<appended, group, partitionEpoch>>
    ELSE /\ appended' = [appended EXCEPT ![b] = Append(@, entry)]
         /\ group' = [group EXCEPT ![b] = next]
         /\ partitionEpoch' = [partitionEpoch EXCEPT ![b] = EpochsAfter(partitionEpoch[b], group[b], entry)]

\* The member m is removed: the group epoch goes up, and the next heartbeat computes a target assignment.
Fencing(g, m) ==
    [type |-> "group", groupEpoch |-> g.groupEpoch + 1,
     assignmentEpoch |-> IF EmptyGroupIsAssigned(g, m) THEN g.groupEpoch + 1 ELSE g.assignmentEpoch,
     metadata |-> Subscribed([g.members EXCEPT ![m] = NoMember]),
     target |-> [g.target EXCEPT ![m] = {}], removed |-> m, member |-> 0, value |-> NoMember]

-----------------------------------------------------------------------------
(* Init: nobody has joined; any broker is the first coordinator. *)

NewConsumer(m) ==
    [running |-> TRUE, state |-> "JOINING", member |-> m, memberEpoch |-> 0, subscription |-> Partitions, told |-> {},
     full |-> TRUE, unreported |-> FALSE, owned |-> {}, target |-> {}, reconciling |-> FALSE, resolved |-> {}]
Stopped == [NewConsumer(0) EXCEPT !.running = FALSE, !.subscription = {}, !.full = FALSE]

Init ==
    /\ \E b \in Brokers :
        /\ leaderAndEpoch = [broker |-> b, epoch |-> 1]
        /\ epoch = [x \in Brokers |-> IF x = b THEN 1 ELSE 0]
    /\ storedGroup = NoGroup
    /\ storedOffsets = NoOffsets
    /\ appended = [b \in Brokers |-> <<>>]
    /\ group = [b \in Brokers |-> NoGroup]
    /\ partitionEpoch = [b \in Brokers |-> Nothing]
    /\ timers = [b \in Brokers |-> NoTimers]
    /\ offsets = [b \in Brokers |-> NoOffsets]
    /\ issued = 0
    /\ consumer = [c \in Clients |-> Stopped]
    /\ position = [c \in Clients |-> NoOffsets]
    /\ partitions \in (SUBSET Partitions) \ {{}}
    /\ heartbeatRpc = [c \in Clients |-> Idle]
    /\ offsetRpc = [c \in Clients |-> Idle]
    /\ stray = [c \in Clients |-> Idle]

-----------------------------------------------------------------------------
(* The consumer (ConsumerMembershipManager, ConsumerHeartbeatRequestManager, CommitRequestManager) *)

\* StartConsumer   who: the application   code: consumer_group/consumer.py
\* A new process: it makes up its member id (KIP-1082) and keeps it for life; it owns nothing.
StartConsumer(c) ==
    \* enabled when
    /\ ~consumer[c].running
    \* effect
    /\ issued' = issued + 1
    /\ consumer' = [consumer EXCEPT ![c] = NewConsumer(issued + 1)]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets,
                   position, partitions, heartbeatRpc, offsetRpc, stray>>

\* The process ends, and with it all that waited for a reply.
Stop(c) ==
    /\ consumer' = [consumer EXCEPT ![c] = Stopped]
    /\ position' = [position EXCEPT ![c] = NoOffsets]
    /\ heartbeatRpc' = [heartbeatRpc EXCEPT ![c] = Idle]
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] = Idle]

\* CrashConsumer   who: the nemesis   code: sim/
CrashConsumer(c) ==
    \* enabled when
    /\ consumer[c].running
    \* effect
    /\ Stop(c)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   partitions, stray>>

\* LeaveGroup   who: consumer   code: consumer_group/consumer.py
\* It closes, and says so if it is in the group: a dynamic member with epoch -1, a static one with -2. The latter will be back.
\* It does not wait for the reply.
LeaveGroup(c, b) ==
    \* enabled when
    /\ consumer[c].running
    /\ consumer[c].memberEpoch > 0 => stray[c].type = "idle"
    \* effect
    /\ Stop(c)
    /\ stray' = IF consumer[c].memberEpoch > 0
                THEN [stray EXCEPT ![c] = [type |-> "leave", broker |-> b, member |-> consumer[c].member]]
                ELSE stray
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   partitions>>

\* ChangeSubscription   who: the application   code: consumer_group/consumer.py
\* The next heartbeat says so.
ChangeSubscription(c, subscription) ==
    \* enabled when
    /\ consumer[c].running /\ subscription # {} /\ subscription # consumer[c].subscription
    \* effect
    /\ consumer' = [consumer EXCEPT ![c].subscription = subscription]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   position, partitions, heartbeatRpc, offsetRpc, stray>>

\* AddPartition   who: an operator
AddPartition(p) ==
    \* enabled when
    /\ p \notin partitions
    \* effect
    /\ partitions' = partitions \cup {p}
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, position, heartbeatRpc, offsetRpc, stray>>

\* Positions of what is owned no more are forgotten.
Keep(c, owned) == [p \in Partitions |-> IF p \in owned THEN position[c][p] ELSE -1]

\* c's slot when it owns `owned`: it does not want the offset any more that it asked for of a partition that it loses. (A partition
\* comes back by a heartbeat; on the one connection to the coordinator that reply follows the offsets. So Kafka need not look.)
StillAsked(c, owned) ==
    IF offsetRpc[c].type \notin {"fetch", "fetching", "fetched"} THEN offsetRpc[c]
    ELSE [offsetRpc[c] EXCEPT !.asked = {p \in @ : p \in owned}]

\* SendHeartbeat   who: consumer   code: consumer_group/consumer.py
\* The heartbeat omits fields that have not changed since the last one. Once the member has
\* acknowledged its owned partitions it is stable, unless there is something new to reconcile.
SendHeartbeat(c, b) ==
    LET me    == consumer[c]
        full  == me.full \/ me.state = "JOINING"
        early == IF ReportUntilRevoked(c) THEN FALSE ELSE me.reconciling
        tells == full \/ me.subscription # me.told
        reports == full \/ me.unreported \/ early
        owned == IF early THEN me.resolved
                 ELSE IF ReportWhatIsTaken(c) THEN me.owned \cup me.resolved \cup me.target
                 ELSE me.owned IN
    \* enabled when
    /\ me.running /\ heartbeatRpc[c].type = "idle"
    \* effect
    /\ consumer' = [consumer EXCEPT ![c].full = FALSE, ![c].told = me.subscription, ![c].unreported = FALSE,
                                    ![c].state = IF me.state # "ACKNOWLEDGING" THEN me.state
                                                 ELSE IF me.owned = me.target THEN "STABLE" ELSE "RECONCILING"]
    /\ heartbeatRpc' = [heartbeatRpc EXCEPT ![c] =
                            [type |-> "heartbeat", broker |-> b, member |-> me.member, memberEpoch |-> me.memberEpoch, full |-> full,
                             tells |-> tells, subscription |-> IF tells THEN me.subscription ELSE {},
                             reports |-> reports,
                             owned |-> IF reports THEN owned ELSE {}]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   position, partitions, offsetRpc, stray>>

\* The consumer without its epoch: it has lost what it owned, and joins again under its member id.
Fenced(c) ==
    [consumer[c] EXCEPT !.state = "JOINING", !.memberEpoch = 0, !.full = TRUE, !.unreported = FALSE, !.owned = {}, !.target = {},
                        !.reconciling = IF AbandonReconciliation(c) THEN FALSE ELSE @,
                        !.resolved = IF AbandonReconciliation(c) THEN {} ELSE @]

Fatal == {"FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"}

\* ReceiveHeartbeat   who: consumer   code: consumer_group/consumer.py
\* It takes the epoch, and the assignment if there is one. Some errors make it join again, some end the process.
ReceiveHeartbeat(c) ==
    LET reply  == heartbeatRpc[c]
        me     == consumer[c]
        target == IF reply.gives THEN reply.assignment ELSE me.target IN
    \* enabled when
    /\ reply.type = "answered"
    \* effect
    /\ IF reply.error \in Fatal
       THEN Stop(c)
       ELSE /\ consumer' = [consumer EXCEPT ![c] =
                    IF reply.error \in {"UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"} THEN Fenced(c)
                    ELSE IF reply.error # "NONE" THEN [me EXCEPT !.full = TRUE]
                    ELSE [me EXCEPT !.memberEpoch = reply.memberEpoch, !.target = target,
                                    !.unreported = @ \/ (ReportWhatIsTaken(c) /\ me.target \ target # {}),
                                    !.state = IF ~reply.gives THEN me.state
                                              ELSE IF me.owned # target THEN "RECONCILING"
                                              ELSE IF me.state \in {"RECONCILING", "JOINING"} THEN "STABLE" ELSE me.state]]
            /\ position' = [position EXCEPT ![c] = Keep(c, consumer'[c].owned)]
            /\ heartbeatRpc' = [heartbeatRpc EXCEPT ![c] = Idle]
            /\ offsetRpc' = [offsetRpc EXCEPT ![c] = StillAsked(c, consumer'[c].owned)]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   partitions, stray>>

\* Reconcile   who: consumer   code: consumer_group/consumer.py
\* The rebalance listener is told what will be revoked; until it returns the consumer may commit.
Reconcile(c) ==
    \* enabled when
    /\ consumer[c].running /\ consumer[c].state = "RECONCILING" /\ ~consumer[c].reconciling
    \* effect
    /\ consumer' = [consumer EXCEPT ![c].reconciling = TRUE, ![c].resolved = consumer[c].target]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   position, partitions, heartbeatRpc, offsetRpc, stray>>

\* FinishReconciliation   who: consumer   code: consumer_group/consumer.py
\* The listener has returned: the rest is given up, new partitions are taken, and the next heartbeat says so. If the assignment
\* has changed back meanwhile, or the consumer is no more at it, nothing comes of it.
FinishReconciliation(c) ==
    LET me    == consumer[c]
        stale == me.state # "RECONCILING"
        owned == IF stale THEN me.owned ELSE me.resolved IN
    \* enabled when
    /\ me.running /\ me.reconciling
    \* effect
    /\ consumer' = [consumer EXCEPT ![c].reconciling = FALSE, ![c].resolved = {}, ![c].owned = owned,
                                    ![c].unreported = \/ me.unreported \/ ~stale
                                                      \/ ReportWhatIsTaken(c),
                                    ![c].state = IF stale THEN me.state ELSE "ACKNOWLEDGING"]
    /\ position' = [position EXCEPT ![c] = Keep(c, owned)]
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] = StillAsked(c, owned)]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   partitions, heartbeatRpc, stray>>

\* Poll   who: the application   code: consumer_group/consumer.py
\* It reads one record of p; `offset` is its next position.
Poll(c, p, offset) ==
    \* enabled when
    /\ consumer[c].running /\ p \in consumer[c].owned
    /\ position[c][p] >= 0 /\ offset = position[c][p] + 1
    \* effect
    /\ position' = [position EXCEPT ![c][p] = offset]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, partitions, heartbeatRpc, offsetRpc, stray>>

\* SendCommit   who: consumer   code: consumer_group/consumer.py
\* Of all that it owns, also of the partitions that it is about to revoke.
SendCommit(c, b) ==
    LET me == consumer[c] IN
    \* enabled when
    /\ me.running /\ me.memberEpoch > 0 /\ offsetRpc[c].type = "idle"
    /\ \E p \in me.owned : position[c][p] >= 0
    \* effect
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] = [type |-> "commit", broker |-> b, member |-> me.member,
                                              memberEpoch |-> me.memberEpoch, offsets |-> position[c]]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, position, partitions, heartbeatRpc, stray>>

\* ReceiveCommit   who: consumer   code: consumer_group/consumer.py
\* Whatever the answer is, it says nothing of the membership: only heartbeats do.
ReceiveCommit(c) ==
    \* enabled when
    /\ offsetRpc[c].type = "committed"
    \* effect
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] = Idle]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, position, partitions, heartbeatRpc, stray>>

\* SendOffsetFetch   who: consumer   code: consumer_group/consumer.py
SendOffsetFetch(c, b) ==
    LET me    == consumer[c]
        asked == {p \in me.owned : position[c][p] = -1} IN
    \* enabled when
    /\ me.running /\ me.memberEpoch > 0 /\ offsetRpc[c].type = "idle"
    /\ asked # {}
    \* effect
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] = [type |-> "fetch", broker |-> b, member |-> me.member, memberEpoch |-> me.memberEpoch,
                                              asked |-> asked]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, position, partitions, heartbeatRpc, stray>>

\* ReceiveOffsets   who: consumer   code: consumer_group/consumer.py
\* Where it asked, and has no position, it goes on from the committed offset, or (auto.offset.reset = earliest) from the start.
\* (A partition that went and came back has been committed by others.) Another assignment or epoch meanwhile does not matter.
ReceiveOffsets(c) ==
    LET reply == offsetRpc[c] IN
    \* enabled when
    /\ reply.type = "fetched"
    \* effect
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] = Idle]
    /\ position' = IF reply.error # "NONE" THEN position
                   ELSE [position EXCEPT ![c] = [p \in Partitions |->
                            IF p \in reply.asked /\ position[c][p] = -1 THEN Max(reply.offsets[p], 0) ELSE position[c][p]]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, partitions, heartbeatRpc, stray>>

-----------------------------------------------------------------------------
(* The coordinator: ConsumerGroupHeartbeat (GroupMetadataManager.consumerGroupHeartbeat). `late`: the request is c's stray one. *)

Request(c, late) == IF late THEN stray[c] ELSE heartbeatRpc[c]
Taken(c, late)   == IF late THEN [stray EXCEPT ![c] = Idle] ELSE stray

Failed(error) == [type |-> "answered", error |-> error, memberEpoch |-> 0, gives |-> FALSE, assignment |-> {}]

\* May the member go on with what this request says of it?
EpochError(member, request) ==
    IF HeartbeatOfMemberEpoch(member, request) THEN "NONE"
    ELSE IF AcceptRejoin(request) THEN "NONE"
    ELSE IF /\ request.memberEpoch < member.memberEpoch /\ request.memberEpoch = member.previousMemberEpoch
            /\ PreviousEpochOfOwner(member, request)
         THEN "NONE"
    ELSE "FENCED_MEMBER_EPOCH"

\* A consumer joins: a static one needs that its instance is nobody's, or was released, or is its own.
JoinError(g, c, request) ==
    LET instance == InstanceMember(g) IN
    IF c \in Static /\ instance # 0
    THEN IF ReplaceReleasedInstance(g) THEN "NONE"
         ELSE IF RejoinOfOwnInstance(g, request.member) THEN EpochError(g.members[instance], request)
         ELSE "UNRELEASED_INSTANCE_ID"
    ELSE IF request.member \in Present(g) THEN EpochError(g.members[request.member], request)
    ELSE "NONE"

\* A member is heard of: a static one is looked up by its instance.
MemberError(g, c, request) ==
    IF c \in Static
    THEN IF InstanceMember(g) = 0 THEN "UNKNOWN_MEMBER_ID"
         ELSE IF ~MemberOfInstance(g, request.member) THEN "FENCED_INSTANCE_ID"
         ELSE EpochError(g.members[InstanceMember(g)], request)
    ELSE IF request.member \notin Present(g) THEN "UNKNOWN_MEMBER_ID"
    ELSE EpochError(g.members[request.member], request)

HeartbeatError(b, c, request) ==
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF request.memberEpoch = 0 THEN JoinError(group[b], c, request)
    ELSE MemberError(group[b], c, request)

Accepts(b, c, request) == request.type = "heartbeat" /\ request.broker = b /\ HeartbeatError(b, c, request) = "NONE"

\* RejectHeartbeat   who: coordinator   code: consumer_group/coordinator.py
RejectHeartbeat(b, c, late) ==
    LET request == Request(c, late) IN
    \* enabled when
    /\ request.type = "heartbeat" /\ request.broker = b
    /\ HeartbeatError(b, c, request) # "NONE"
    \* effect
    /\ heartbeatRpc' = IF late THEN heartbeatRpc ELSE [heartbeatRpc EXCEPT ![c] = Failed(HeartbeatError(b, c, request))]
    /\ stray' = Taken(c, late)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, position, partitions, offsetRpc>>

\* As which member the sender is heard; which other one it replaces, 0: none.
Sender(g, c, request)   == IF c \in Static /\ request.memberEpoch # 0 THEN InstanceMember(g) ELSE request.member
Replaced(g, c, request) ==
    LET instance == InstanceMember(g) IN
    IF c \in Static /\ request.memberEpoch = 0 /\ instance # request.member THEN instance ELSE 0

\* The member as the handler finds it: new, a successor that takes over what the instance holds, or known.
Found(g, c, request) ==
    LET replaced == Replaced(g, c, request)
        known    == g.members[IF replaced # 0 THEN replaced ELSE Sender(g, c, request)]
        back     == replaced # 0 \/ known.memberEpoch = -2
    IN  [present |-> TRUE, static |-> (c \in Static), subscription |-> known.subscription, rebalance |-> known.rebalance,
         memberEpoch |-> IF back THEN 0 ELSE known.memberEpoch,
         previousMemberEpoch |-> IF back THEN 0 ELSE known.previousMemberEpoch,
         state |-> known.state, assigned |-> known.assigned, revoking |-> known.revoking]
\* With what the request says of its subscription and its rebalance time-out.
Heard(g, c, request) ==
    [Found(g, c, request) EXCEPT !.subscription = IF request.tells THEN request.subscription ELSE @,
                                 !.rebalance = IF request.full THEN RebalanceTimeout(c) ELSE @]
Resubscribed(g, c, request) == request.tells /\ request.subscription # Found(g, c, request).subscription
MembersWith(g, c, request) ==
    LET sender   == Sender(g, c, request)
        heard    == Heard(g, c, request)
        replaced == Replaced(g, c, request)
    IN  [m \in MemberIds |-> IF m = sender THEN heard ELSE IF m = replaced THEN NoMember ELSE g.members[m]]

\* The answer, once all that b has appended is committed. The assignment is in it if it is new, or was asked for, or if the
\* consumer does not report to own it.
Answer(batches, b, request, before, after) ==
    LET gives == \/ request.full \/ request.memberEpoch = 0
                 \/ PartitionsOf(after.assigned) # PartitionsOf(before.assigned)
                 \/ GiveUntilReported(request, after)
        assignment == IF gives THEN PartitionsOf(after.assigned) ELSE {}
    IN  IF ReplyAfterCommit(batches)
        THEN [type |-> "waiting", broker |-> b, remaining |-> batches, memberEpoch |-> after.memberEpoch, gives |-> gives,
              assignment |-> assignment]
        ELSE [type |-> "answered", error |-> "NONE", memberEpoch |-> after.memberEpoch, gives |-> gives, assignment |-> assignment]

\* The timers once m was heard of and has come from `heard` to `after`: its session begins again. If it has to give something
\* up it has its rebalance time-out for that, from when it was told so. (With another member's, who takes its time to finish
\* what it polled is removed, or the others wait for who never will.)
Armed(before, m, replaced, heard, after) ==
    [x \in MemberIds |->
        IF x = m
        THEN [session |-> SessionTimeout,
              rebalance |-> IF after.state # "UNREVOKED_PARTITIONS" THEN 0
                            ELSE IF after # heard THEN after.rebalance ELSE before[m].rebalance]
        ELSE IF x = replaced THEN NoTimer ELSE before[x]]

\* The heartbeat is taken: with this target assignment the member comes closer to what it should have, and is answered.
Take(b, c, late, groupEpoch, assignmentEpoch, metadata, target) ==
    LET request == Request(c, late)
        g       == group[b]
        m       == Sender(g, c, request)
        heard   == Heard(g, c, request)
        after   == Reconciled(b, heard, target[m], assignmentEpoch, request)
        entry   == [type |-> "group", groupEpoch |-> groupEpoch, assignmentEpoch |-> assignmentEpoch, metadata |-> metadata,
                    target |-> target, removed |-> Replaced(g, c, request), member |-> m, value |-> after]
    IN  /\ Write(b, entry)
        /\ timers' = [timers EXCEPT ![b] = Armed(@, m, Replaced(g, c, request), heard, after)]
        /\ heartbeatRpc' = IF late THEN heartbeatRpc
                           ELSE [heartbeatRpc EXCEPT ![c] = Answer(Len(appended'[b]), b, request, heard, after)]
        /\ stray' = Taken(c, late)

\* The last target assignment, as the sender finds it: a successor of a static member has its predecessor's.
LastTarget(g, c, request) ==
    LET replaced == Replaced(g, c, request) IN
    IF replaced = 0 THEN g.target ELSE [g.target EXCEPT ![request.member] = g.target[replaced], ![replaced] = {}]

\* May the next target assignment have to wait (KIP-1263, canComputeNextTargetAssignment)? It does until the interval has passed
\* since the last one, which the log has the time of. A group that was new or empty has none, so its first member never waits.
MayWait(g) == AssignmentInterval /\ (Present(g) # {} \/ g.groupEpoch > g.assignmentEpoch)

\* HandleHeartbeat   who: coordinator   code: consumer_group/coordinator.py
\* The last target assignment stands: it is the group epoch's, or the next one has to wait.
HandleHeartbeat(b, c, late) ==
    LET request  == Request(c, late)
        g        == group[b] IN
    \* enabled when
    /\ Accepts(b, c, request)
    /\ ~Resubscribed(g, c, request) /\ (g.groupEpoch = g.assignmentEpoch \/ MayWait(g))
    \* effect
    /\ Take(b, c, late, g.groupEpoch, g.assignmentEpoch, g.metadata, LastTarget(g, c, request))
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, offsets, issued, consumer, position, partitions, offsetRpc>>

\* Must the group epoch go up? A member is new or subscribes to something else, or other partitions exist than when the group last
\* looked.
Changed(g, c, request) == Resubscribed(g, c, request) \/ Subscribed(MembersWith(g, c, request)) # g.metadata

\* BumpOnHeartbeat   who: coordinator   code: consumer_group/coordinator.py
\* The group epoch goes up, and the next target assignment has to wait. Until then the members have the last one, and a new member
\* has nothing. If that one is in an epoch of its own the group epoch is the one behind it.
BumpOnHeartbeat(b, c, late) ==
    LET request == Request(c, late)
        g       == group[b]
        joins   == JoinInNewEpoch(Found(g, c, request)) IN
    \* enabled when
    /\ Accepts(b, c, request)
    /\ Changed(g, c, request) /\ MayWait(g) /\ BumpRevokesNothing(Heard(g, c, request))
    \* effect
    /\ Take(b, c, late, IF joins THEN g.groupEpoch + 2 ELSE g.groupEpoch + 1, IF joins THEN g.groupEpoch + 1 ELSE g.assignmentEpoch,
            Subscribed(MembersWith(g, c, request)), LastTarget(g, c, request))
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, offsets, issued, consumer, position, partitions, offsetRpc>>

\* An assignor's valid answers (0: no member). Every subscribed partition goes to one of its subscribers.
ValidAssignment(members, metadata, given) ==
    \A p \in Partitions :
        IF given[p] = 0 THEN p \notin metadata
        ELSE p \in metadata /\ members[given[p]].present /\ p \in members[given[p]].subscription

\* AssignOnHeartbeat   who: coordinator   code: consumer_group/coordinator.py
\* The group epoch goes up, or is ahead: a member was removed, or the assignment had to wait. The assignor gives each partition to a
\* member.
AssignOnHeartbeat(b, c, late, given) ==
    LET request  == Request(c, late)
        g        == group[b]
        members  == MembersWith(g, c, request)
        metadata == Subscribed(members)
        changed  == Changed(g, c, request)
        next     == IF changed THEN g.groupEpoch + 1 ELSE g.groupEpoch IN
    \* enabled when
    /\ Accepts(b, c, request)
    /\ changed \/ g.groupEpoch > g.assignmentEpoch
    /\ ValidAssignment(members, metadata, given)
    \* effect
    /\ Take(b, c, late, next, next, metadata, [m \in MemberIds |-> {p \in Partitions : given[p] = m}])
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, offsets, issued, consumer, position, partitions, offsetRpc>>

\* HandleLeave   who: coordinator   code: consumer_group/coordinator.py
\* A dynamic member is removed. A static one keeps its assignment, for its successor; the partitions that it was revoking are
\* released.
HandleLeave(b, c) ==
    LET request == stray[c]
        m       == request.member
        g       == group[b]
        known   == Serving(b) /\ m \in Present(g)
        left    == [g.members[m] EXCEPT !.memberEpoch = -2, !.revoking = Nothing,
                                        !.state = IF LeaveEndsRevocation(g.members[m]) THEN "STABLE" ELSE @,
                                        !.assigned = [p \in Partitions |-> IF @[p] >= 0 THEN 0 ELSE -1]] IN
    \* enabled when
    /\ request.type = "leave" /\ request.broker = b
    \* effect
    /\ timers' = IF ~known THEN timers
                 ELSE IF c \in Dynamic THEN [timers EXCEPT ![b][m] = NoTimer]
                 ELSE [timers EXCEPT ![b][m].rebalance = 0]
    /\ IF ~known THEN UNCHANGED <<appended, group, partitionEpoch>>
       ELSE IF c \in Dynamic THEN Write(b, Fencing(g, m))
       ELSE Write(b, [type |-> "group", groupEpoch |-> g.groupEpoch, assignmentEpoch |-> g.assignmentEpoch, metadata |-> g.metadata,
                      target |-> g.target, removed |-> 0, member |-> m, value |-> left])
    /\ stray' = [stray EXCEPT ![c] = Idle]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, offsets, issued, consumer, position, partitions,
                   heartbeatRpc, offsetRpc>>

\* ExpireSession   who: coordinator   code: consumer_group/coordinator.py
\* Nothing was heard of the member, or a static one has not come back, within the session time-out.
ExpireSession(b, m) ==
    \* enabled when
    /\ Serving(b) /\ m \in Present(group[b])
    \* effect
    /\ Write(b, Fencing(group[b], m))
    /\ timers' = [timers EXCEPT ![b][m] = NoTimer]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, offsets, issued, consumer, position, partitions,
                   heartbeatRpc, offsetRpc, stray>>

\* ExpireRevocation   who: coordinator   code: consumer_group/coordinator.py
\* The member has not acknowledged its revocation within the rebalance time-out.
ExpireRevocation(b, m) ==
    \* enabled when
    /\ Serving(b) /\ m \in Present(group[b]) /\ group[b].members[m].state = "UNREVOKED_PARTITIONS"
    \* effect
    /\ Write(b, Fencing(group[b], m))
    /\ timers' = [timers EXCEPT ![b][m] = NoTimer]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, offsets, issued, consumer, position, partitions,
                   heartbeatRpc, offsetRpc, stray>>

-----------------------------------------------------------------------------
(* The coordinator: offsets (OffsetMetadataManager) *)

CommitRequestOf(c, late) == IF late THEN stray[c] ELSE offsetRpc[c]

\* Does the commit count for p? In the member's own epoch, or for what it has held since it was sent.
Takes(g, request, p) ==
    LET member == g.members[request.member] IN
    IF ~member.present THEN TRUE
    ELSE IF request.memberEpoch = member.memberEpoch THEN CommitOfHeldPartition(member, p)
    ELSE CommitFromAssignmentEpoch(member, p, request.memberEpoch)

Committable(b, request) == {p \in Partitions : request.offsets[p] >= 0 /\ Takes(group[b], request, p)}

CommitError(b, request) ==
    LET g == group[b] IN
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF ~CommitOfMember(g, request.member) THEN "UNKNOWN_MEMBER_ID"
    ELSE IF g.members[request.member].present /\ request.memberEpoch > g.members[request.member].memberEpoch THEN "STALE_MEMBER_EPOCH"
    ELSE IF Committable(b, request) = {} THEN "STALE_MEMBER_EPOCH"
    ELSE "NONE"

\* HandleCommit   who: coordinator   code: consumer_group/coordinator.py
\* Accepted, maybe for some of its partitions only: appended, and answered when it has committed.
HandleCommit(b, c, late) ==
    LET request == CommitRequestOf(c, late)
        taken   == Committable(b, request)
        asked   == {p \in Partitions : request.offsets[p] >= 0} IN
    \* enabled when
    /\ request.type = "commit" /\ request.broker = b
    /\ CommitError(b, request) = "NONE"
    \* effect
    /\ appended' = [appended EXCEPT ![b] = Append(@, [type |-> "offsets",
                        offsets |-> [p \in Partitions |-> IF p \in taken THEN request.offsets[p] ELSE -1]])]
    /\ offsetRpc' = IF late THEN offsetRpc
                    ELSE [offsetRpc EXCEPT ![c] = [type |-> "committing", broker |-> b, remaining |-> Len(appended[b]) + 1,
                                                   error |-> IF taken = asked THEN "NONE" ELSE "STALE_MEMBER_EPOCH"]]
    /\ stray' = Taken(c, late)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, group, partitionEpoch, timers, offsets, issued, consumer,
                   position, partitions, heartbeatRpc>>

\* RejectCommit   who: coordinator   code: consumer_group/coordinator.py
RejectCommit(b, c, late) ==
    LET request == CommitRequestOf(c, late) IN
    \* enabled when
    /\ request.type = "commit" /\ request.broker = b
    /\ CommitError(b, request) # "NONE"
    \* effect
    /\ offsetRpc' = IF late THEN offsetRpc
                    ELSE [offsetRpc EXCEPT ![c] = [type |-> "committed", error |-> CommitError(b, request)]]
    /\ stray' = Taken(c, late)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, position, partitions, heartbeatRpc>>

FetchError(b, request) ==
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF request.member \notin Present(group[b]) THEN "UNKNOWN_MEMBER_ID"
    ELSE IF request.memberEpoch # group[b].members[request.member].memberEpoch THEN "STALE_MEMBER_EPOCH"
    ELSE IF ~FetchOfElected(b) THEN "NOT_COORDINATOR"
    ELSE "NONE"

\* HandleOffsetFetch   who: coordinator   code: consumer_group/coordinator.py
\* For a member in its epoch, by who leads the log: the appended offsets, once they have committed (require_stable).
HandleOffsetFetch(b, c) ==
    LET request == offsetRpc[c]
        error   == FetchError(b, request)
        found   == ReplayOffsets(appended[b], offsets[b]) IN
    \* enabled when
    /\ request.type = "fetch" /\ request.broker = b
    \* effect
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] =
            IF error = "NONE" /\ FetchWaitsForCommit(b)
            THEN [type |-> "fetching", broker |-> b, remaining |-> Len(appended[b]), offsets |-> found, asked |-> request.asked]
            ELSE [type |-> "fetched", error |-> error, offsets |-> IF error = "NONE" THEN found ELSE NoOffsets,
                  asked |-> request.asked]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, position, partitions, heartbeatRpc, stray>>

-----------------------------------------------------------------------------
(* The log *)

\* One batch less until the answer.
HeartbeatAnswers(b) ==
    [c \in Clients |->
        LET slot == heartbeatRpc[c] IN
        IF slot.type # "waiting" THEN slot
        ELSE IF slot.broker # b THEN slot
        ELSE IF slot.remaining > 1 THEN [slot EXCEPT !.remaining = @ - 1]
        ELSE [type |-> "answered", error |-> "NONE", memberEpoch |-> slot.memberEpoch, gives |-> slot.gives,
              assignment |-> slot.assignment]]
OffsetAnswers(b) ==
    [c \in Clients |->
        LET slot == offsetRpc[c] IN
        IF slot.type \notin {"committing", "fetching"} THEN slot
        ELSE IF slot.broker # b THEN slot
        ELSE IF slot.remaining > 1 THEN [slot EXCEPT !.remaining = @ - 1]
        ELSE IF slot.type = "fetching" THEN [type |-> "fetched", error |-> "NONE", offsets |-> slot.offsets, asked |-> slot.asked]
        ELSE [type |-> "committed", error |-> slot.error]]

\* CommitEntry   who: the log   code: consumer_group/coordinator.py
\* The oldest batch of the coordinator is replicated: it counts, and its request is answered. A deposed coordinator's never is.
CommitEntry(b) ==
    LET oldest == <<Head(appended[b])>> IN
    \* enabled when
    /\ Acting(b) /\ appended[b] # <<>>
    \* effect
    /\ appended' = [appended EXCEPT ![b] = Tail(@)]
    /\ storedGroup' = ReplayGroup(oldest, storedGroup)
    /\ storedOffsets' = ReplayOffsets(oldest, storedOffsets)
    /\ offsets' = [offsets EXCEPT ![b] = ReplayOffsets(oldest, offsets[b])]
    /\ heartbeatRpc' = HeartbeatAnswers(b)
    /\ offsetRpc' = OffsetAnswers(b)
    /\ UNCHANGED <<leaderAndEpoch, epoch, group, partitionEpoch, timers, issued, consumer, position, partitions, stray>>

\* The timers of a group that was loaded: all begin again.
Begun(g) ==
    [m \in MemberIds |->
        IF ~g.members[m].present THEN NoTimer
        ELSE [session |-> SessionTimeout,
              rebalance |-> IF g.members[m].state = "UNREVOKED_PARTITIONS" THEN g.members[m].rebalance ELSE 0]]

\* BecomeCoordinator   who: broker   code: consumer_group/coordinator.py
\* b is elected for the partition; of the old leader's uncommitted batches it has the first `keep`, the others are lost. It
\* replays the log record by record, while the cleaner may be at work on all but the last `rest`. If the load fails it serves
\* nothing. The old leader, if it lives, goes on until it hears of it.
BecomeCoordinator(b, keep) ==
    LET kept  == SubSeq(appended[leaderAndEpoch.broker], 1, keep)
        found == ReplayGroup(kept, storedGroup)
        last  == ReplayOffsets(kept, storedOffsets) IN
    \* enabled when
    /\ ~Serving(b) /\ keep <= Len(appended[leaderAndEpoch.broker])
    \* effect
    /\ leaderAndEpoch' = [broker |-> b, epoch |-> leaderAndEpoch.epoch + 1]
    /\ storedGroup' = found
    /\ storedOffsets' = last
    /\ \E from \in 0..keep, rest \in 0..keep :
        LET loaded == LoadedWhileCleaning(storedGroup, kept, from, keep - rest) IN
        /\ from + 2 <= keep - rest \/ (from = keep /\ rest = 0)     \* the cleaner is at work, or it is not
        /\ IF loaded.failed
           THEN UNCHANGED <<epoch, group, partitionEpoch, timers, offsets>>
           ELSE /\ epoch' = [epoch EXCEPT ![b] = leaderAndEpoch.epoch + 1]
                /\ group' = [group EXCEPT ![b] = found]
                /\ partitionEpoch' = [partitionEpoch EXCEPT ![b] = loaded.epochs]
                /\ timers' = [timers EXCEPT ![b] = Begun(found)]
                /\ offsets' = [offsets EXCEPT ![b] = last]
    /\ UNCHANGED <<appended, issued, consumer, position, partitions, heartbeatRpc, offsetRpc, stray>>

\* Resign   who: broker   code: consumer_group/coordinator.py
\* A deposed coordinator hears of it: waiting requests are told, its batches are nobody's.
Resign(b) ==
    \* enabled when
    /\ Serving(b) /\ ~Acting(b)
    \* effect
    /\ epoch' = [epoch EXCEPT ![b] = 0]
    /\ group' = [group EXCEPT ![b] = NoGroup]
    /\ partitionEpoch' = [partitionEpoch EXCEPT ![b] = Nothing]
    /\ timers' = [timers EXCEPT ![b] = NoTimers]
    /\ offsets' = [offsets EXCEPT ![b] = NoOffsets]
    /\ appended' = [appended EXCEPT ![b] = <<>>]
    /\ heartbeatRpc' = [c \in Clients |->
                            IF heartbeatRpc[c].type = "waiting" /\ heartbeatRpc[c].broker = b THEN Failed("NOT_COORDINATOR")
                            ELSE heartbeatRpc[c]]
    /\ offsetRpc' = [c \in Clients |->
                        IF offsetRpc[c].type = "committing" /\ offsetRpc[c].broker = b
                        THEN [type |-> "committed", error |-> "NOT_COORDINATOR"]
                        ELSE IF offsetRpc[c].type = "fetching" /\ offsetRpc[c].broker = b
                        THEN [type |-> "fetched", error |-> "NOT_COORDINATOR", offsets |-> NoOffsets, asked |-> offsetRpc[c].asked]
                        ELSE offsetRpc[c]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, issued, consumer, position, partitions, stray>>

-----------------------------------------------------------------------------
(* The network *)

\* RepeatHeartbeat   who: the network
\* The request will arrive twice, or (with LoseHeartbeat) after the consumer has given it up.
RepeatHeartbeat(c) ==
    \* enabled when
    /\ heartbeatRpc[c].type = "heartbeat" /\ stray[c].type = "idle"
    \* effect
    /\ stray' = [stray EXCEPT ![c] = heartbeatRpc[c]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, position, partitions, heartbeatRpc, offsetRpc>>

\* RepeatCommitRequest   who: the network
RepeatCommitRequest(c) ==
    \* enabled when
    /\ offsetRpc[c].type = "commit" /\ stray[c].type = "idle"
    \* effect
    /\ stray' = [stray EXCEPT ![c] = offsetRpc[c]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, position, partitions, heartbeatRpc, offsetRpc>>

\* LoseHeartbeat   who: the network
\* The request or its reply is lost, or the consumer gives it up; its next heartbeat says all.
LoseHeartbeat(c) ==
    \* enabled when
    /\ heartbeatRpc[c].type # "idle"
    \* effect
    /\ heartbeatRpc' = [heartbeatRpc EXCEPT ![c] = Idle]
    /\ consumer' = [consumer EXCEPT ![c].full = TRUE]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   position, partitions, offsetRpc, stray>>

\* LoseOffsetRpc   who: the network
LoseOffsetRpc(c) ==
    \* enabled when
    /\ offsetRpc[c].type # "idle"
    \* effect
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] = Idle]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, position, partitions, heartbeatRpc, stray>>

\* LoseStray   who: the network
LoseStray(c) ==
    \* enabled when
    /\ stray[c].type # "idle"
    \* effect
    /\ stray' = [stray EXCEPT ![c] = Idle]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, partitionEpoch, timers, offsets, issued,
                   consumer, position, partitions, heartbeatRpc, offsetRpc>>

-----------------------------------------------------------------------------
Next ==
    \/ \E c \in Clients : StartConsumer(c)
    \/ \E c \in Clients : CrashConsumer(c)
    \/ \E c \in Clients, b \in Brokers : LeaveGroup(c, b)
    \/ \E c \in Clients, subscription \in SUBSET Partitions : ChangeSubscription(c, subscription)
    \/ \E p \in Partitions : AddPartition(p)
    \/ \E c \in Clients, b \in Brokers : SendHeartbeat(c, b)
    \/ \E c \in Clients : ReceiveHeartbeat(c)
    \/ \E c \in Clients : Reconcile(c)
    \/ \E c \in Clients : FinishReconciliation(c)
    \/ \E c \in Clients, p \in Partitions, offset \in 1..MaxOffset : Poll(c, p, offset)
    \/ \E c \in Clients, b \in Brokers : SendCommit(c, b)
    \/ \E c \in Clients : ReceiveCommit(c)
    \/ \E c \in Clients, b \in Brokers : SendOffsetFetch(c, b)
    \/ \E c \in Clients : ReceiveOffsets(c)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : RejectHeartbeat(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : HandleHeartbeat(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : BumpOnHeartbeat(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN, given \in [Partitions -> MemberOrNone] : AssignOnHeartbeat(b, c, late, given)
    \/ \E b \in Brokers, c \in Clients : HandleLeave(b, c)
    \/ \E b \in Brokers, m \in MemberIds : ExpireSession(b, m)
    \/ \E b \in Brokers, m \in MemberIds : ExpireRevocation(b, m)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : HandleCommit(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : RejectCommit(b, c, late)
    \/ \E b \in Brokers, c \in Clients : HandleOffsetFetch(b, c)
    \/ \E b \in Brokers : CommitEntry(b)
    \/ \E b \in Brokers, keep \in 0..MaxAppended : BecomeCoordinator(b, keep)
    \/ \E b \in Brokers : Resign(b)
    \/ \E c \in Clients : RepeatHeartbeat(c)
    \/ \E c \in Clients : RepeatCommitRequest(c)
    \/ \E c \in Clients : LoseHeartbeat(c)
    \/ \E c \in Clients : LoseOffsetRpc(c)
    \/ \E c \in Clients : LoseStray(c)

\* Enabled only while a rule is not in force.
FlawActions == {}

Spec == Init /\ [][Next]_vars
=============================================================================
