---------------------------- MODULE ClassicGroup ----------------------------
(***************************************************************************)
(* One classic consumer group (Kafka 4.x): its coordinator, its consumers, *)
(* and the partition of __consumer_offsets that remembers it.              *)
(*                                                                         *)
(* Modelled: JoinGroup with MEMBER_ID_REQUIRED, the join phase and its     *)
(* time-out, protocol vote and leader choice, SyncGroup with the           *)
(* assignment persisted before it is handed out, Heartbeat, LeaveGroup,    *)
(* session time-outs; static members that are replaced and fenced; eager   *)
(* and cooperative consumers; offset commit and fetch; subscription        *)
(* changes and added partitions; a coordinator that is deposed without     *)
(* hearing of it, its uncommitted records lost or kept, and replay by the  *)
(* next one; requests and replies that are late, lost or doubled.          *)
(* KIPs: 134, 345, 394, 429, 792.                                          *)
(*                                                                         *)
(* Left out: clocks (a time-out may happen whenever its timer runs; the    *)
(* length that a timer was set to is in the group), group.max.size, more   *)
(* than one group.instance.id, offset expiry and transactions (Offsets),   *)
(* loading as a phase of its own. docs/protocols/classic_group.md says     *)
(* why, and what it could hide.                                            *)
(*                                                                         *)
(* Read in this order: VARIABLES, the rules, the coordinator's vocabulary  *)
(* (it is Kafka's: Rebalance, PrepareRebalance, CompleteJoin), the actions *)
(* from StartConsumer to BecomeCoordinator, then ClassicGroupProperties.   *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, Bounded

CONSTANTS
    Dynamic,        \* the consumers without a group.instance.id
    Static,         \* the consumers that share the one group.instance.id
    Hasty,          \* the consumers with the shorter time-outs
    Patient,        \* those with the longer ones; without any of either kind time-outs have no length
    Brokers,        \* the brokers that may lead the group's partition of __consumer_offsets
    Partitions,     \* the partitions that may exist; each is a topic of its own
    MaxMember,      \* capacity: member ids that are issued
    MaxGeneration,  \* capacity: generations
    EpochGenerations, \* how many generations one coordinator epoch has to itself
    MaxEpoch,       \* capacity: coordinator epochs
    MaxOffset,      \* capacity: offsets
    MaxAppended,    \* capacity: records of a coordinator that are not committed yet
    Without         \* the safety rules that are not in force

VARIABLES
    \* the log
    leaderAndEpoch, \* who leads the partition of __consumer_offsets, and in which epoch
    storedGroup,    \* the last group record of the committed log (the topic is compacted: the last record of a key is the log)
    storedOffsets,  \* per partition: the last offset record of the committed log, -1 none
    appended,       \* per broker: its records that are not committed yet, oldest first
    \* the coordinator's memory
    epoch,          \* per broker: the epoch in which it serves the group, 0: it does not
    group,          \* per broker: the group as it holds it
    offsets,        \* per broker and partition: the committed offset that it serves, -1 none
    issued,         \* how many member ids were issued; they are 1, 2, ...
    \* the consumers
    consumer,       \* per consumer: its process
    position,       \* per consumer and partition: the next offset to read, -1 unknown or not owned
    partitions,     \* the partitions that exist
    \* the network
    memberRpc,      \* per consumer: its one outstanding JoinGroup or SyncGroup, as request, as parked, or as reply
    heartbeatRpc,   \* per consumer: its outstanding heartbeat
    offsetRpc,      \* per consumer: its outstanding OffsetCommit or OffsetFetch
    stray,          \* per consumer: a request for whose reply nobody waits: late, doubled, or a LeaveGroup
    \* history, never part of a trace
    rosters,        \* per generation: the members that the first join phase to end in it had
    reissued,       \* the generations that were given to different memberships
    known,          \* the member ids that a consumer ever held
    settled         \* the member ids with which a static consumer ever got an assignment

logVars      == <<leaderAndEpoch, storedGroup, storedOffsets, appended>>
serverVars   == <<epoch, group, offsets, issued>>
consumerVars == <<consumer, position, partitions>>
networkVars  == <<memberRpc, heartbeatRpc, offsetRpc, stray>>
vars == <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position, partitions,
          memberRpc, heartbeatRpc, offsetRpc, stray, rosters, reissued, known, settled>>

Ghosts == <<rosters, reissued, known, settled>>

-----------------------------------------------------------------------------
(* Types. The bounds are a trace's capacities. *)

Clients     == Dynamic \cup Static
MemberIds   == 1..MaxMember
MemberOrNew == 0..MaxMember                  \* 0: UNKNOWN_MEMBER_ID, or no member
Generations == 0..MaxGeneration
GenerationOrNone == -1..MaxGeneration
Epochs      == 0..MaxEpoch
OffsetOrNone == -1..MaxOffset
OffsetMap   == [Partitions -> OffsetOrNone]

States       == {"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}
MemberStates == {"UNJOINED", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE"}
Protocols    == {"none", "range", "cooperative-sticky"}

\* How long a time-out is, by rank: 1 and 2 are session time-outs of consumers, 3 and 4 rebalance time-outs, 5 is the coordinator's
\* own (the initial delay; the time that a new member has to get through its first join phase), 0 none.
Timeouts            == 0..5
SessionTimeout(c)   == IF c \in Hasty THEN 1 ELSE IF c \in Patient THEN 2 ELSE 0
RebalanceTimeout(c) == IF c \in Hasty THEN 3 ELSE IF c \in Patient THEN 4 ELSE 0
OwnTimeout          == IF Hasty \cup Patient = {} THEN 0 ELSE 5
\* A consumer's partition.assignment.strategy: range; cooperative-sticky; or both, as in the first bounce of an upgrade.
Modes        == {"eager", "cooperative", "upgrading"}

\* A JoinGroup's metadata: subscription, the partitions that the member says it owns, and the generation that gave them.
\* static: with the group.instance.id, by which sticky assignors know who has come back.
Metadata == [present : BOOLEAN, static : BOOLEAN, subscription : SUBSET Partitions, owned : SUBSET Partitions,
             ownedGeneration : GenerationOrNone]
Member   == [present : BOOLEAN, static : BOOLEAN, isNew : BOOLEAN, awaiting : {"nothing", "join", "sync"}, mode : Modes,
             subscription : SUBSET Partitions, owned : SUBSET Partitions, ownedGeneration : GenerationOrNone,
             assignment : SUBSET Partitions,
             session : Timeouts, rebalance : Timeouts]  \* its own time-outs
Group    == [state : States, generation : Generations, protocol : Protocols, leader : MemberOrNew,
             initial : BOOLEAN,                        \* PreparingRebalance that was entered from Empty
             members : [MemberIds -> Member],
             pending : SUBSET MemberIds,               \* ids that were issued and have not joined
             pendingSync : SUBSET MemberIds,           \* members whose SyncGroup is expected
             timers : [MemberIds -> Timeouts],         \* how long the timer of a member's session, or of a pending id, was set to
             joinTimer : Timeouts,                     \* that of the join phase
             syncTimer : Timeouts]                     \* that of the members whose SyncGroup is expected

\* The value of a GroupMetadata record.
StoredMember == [present : BOOLEAN, static : BOOLEAN, subscription : SUBSET Partitions, owned : SUBSET Partitions,
                 ownedGeneration : GenerationOrNone, assignment : SUBSET Partitions, session : Timeouts, rebalance : Timeouts]
StoredGroup  == [generation : Generations, protocol : Protocols, leader : MemberOrNew, members : [MemberIds -> StoredMember]]

\* A record that is appended and not committed, with what its commit sets off.
Entry ==      [type : {"group"}, cause : {"sync", "static", "empty"}, member : MemberOrNew, group : StoredGroup]
         \cup [type : {"offsets"}, offsets : OffsetMap]

Consumer == [running : BOOLEAN, state : MemberStates, member : MemberOrNew, generation : GenerationOrNone, protocol : Protocols,
             mode : Modes, subscription : SUBSET Partitions,
             joined : SUBSET Partitions,               \* the subscription of its last JoinGroup
             rejoin : BOOLEAN,                         \* the next poll joins again
             owned : SUBSET Partitions,                \* what it reads and may commit
             assigned : SUBSET Partitions,             \* what its last assignment gave; differs from owned while it revokes
             ownedGeneration : GenerationOrNone,       \* the generation of that assignment
             missed : BOOLEAN,                         \* since then the group had a generation without it
             leads : BOOLEAN,                          \* it watches the partitions for the group
             snapshot : SUBSET Partitions]             \* the partitions that it saw when it assigned

Errors == {"NONE", "MEMBER_ID_REQUIRED", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS",
           "INCONSISTENT_GROUP_PROTOCOL", "NOT_COORDINATOR"}

JoinRequest == [type : {"join"}, broker : Brokers, member : MemberOrNew, mode : Modes, subscription : SUBSET Partitions,
                owned : SUBSET Partitions, ownedGeneration : GenerationOrNone]
SyncRequest == [type : {"sync"}, broker : Brokers, member : MemberOrNew, generation : Generations,
                assignments : [MemberIds -> SUBSET Partitions]]
CommitRequest == [type : {"commit"}, broker : Brokers, member : MemberOrNew, generation : Generations, offsets : OffsetMap]

\* "superseded": it waited when a later copy of it came, and nobody answers it (row 145).
MemberSlot ==
         [type : {"idle"}] \cup JoinRequest \cup SyncRequest
    \cup [type : {"joining", "syncing", "superseded"}, broker : Brokers, member : MemberIds]
    \cup [type : {"joined"}, broker : Brokers, member : MemberOrNew, generation : Generations, protocol : Protocols,
          role : {"follower", "leader", "leader skipping"}, roster : [MemberIds -> Metadata]]
    \cup [type : {"synced"}, assignment : SUBSET Partitions]
    \cup [type : {"failed"}, member : MemberOrNew, error : Errors]

HeartbeatSlot ==
         [type : {"idle"}]
    \cup [type : {"heartbeat"}, broker : Brokers, member : MemberOrNew, generation : Generations]
    \cup [type : {"answered"}, member : MemberOrNew, generation : Generations, error : Errors]

\* "committing", "fetching": so many records have to commit until the answer. current: the consumer has the assignment under which
\* it asked.
OffsetSlot ==
         [type : {"idle"}] \cup CommitRequest
    \cup [type : {"committing"}, broker : Brokers, member : MemberOrNew, generation : Generations, remaining : 1..MaxAppended]
    \cup [type : {"committed"}, member : MemberOrNew, generation : Generations, error : Errors]
    \cup [type : {"fetch"}, broker : Brokers, current : BOOLEAN]
    \cup [type : {"fetching"}, broker : Brokers, remaining : 1..MaxAppended, offsets : OffsetMap, current : BOOLEAN]
    \cup [type : {"fetched"}, error : Errors, offsets : OffsetMap, current : BOOLEAN]

Stray == [type : {"idle"}] \cup JoinRequest \cup SyncRequest \cup CommitRequest
    \cup [type : {"leave"}, broker : Brokers, member : MemberOrNew]

TypeOK ==
    /\ leaderAndEpoch \in [broker : Brokers, epoch : Epochs]
    /\ storedGroup \in StoredGroup
    /\ storedOffsets \in OffsetMap
    /\ appended \in [Brokers -> BoundedSeq(Entry, MaxAppended)]
    /\ epoch \in [Brokers -> Epochs]
    /\ group \in [Brokers -> Group]
    /\ offsets \in [Brokers -> OffsetMap]
    /\ issued \in 0..MaxMember
    /\ consumer \in [Clients -> Consumer]
    /\ position \in [Clients -> OffsetMap]
    /\ partitions \in SUBSET Partitions
    /\ memberRpc \in [Clients -> MemberSlot]
    /\ heartbeatRpc \in [Clients -> HeartbeatSlot]
    /\ offsetRpc \in [Clients -> OffsetSlot]
    /\ stray \in [Clients -> Stray]
    /\ rosters \in [Generations -> SUBSET MemberIds]
    /\ reissued \in SUBSET Generations
    /\ known \in SUBSET MemberIds
    /\ settled \in SUBSET MemberIds

-----------------------------------------------------------------------------
(* Vocabulary *)

Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b
Lowest(S)  == CHOOSE m \in S : \A x \in S : m <= x
Highest(S) == CHOOSE m \in S : \A x \in S : m >= x

Idle      == [type |-> "idle"]
NoOffsets == [p \in Partitions |-> -1]
NoMember  == [present |-> FALSE, static |-> FALSE, isNew |-> FALSE, awaiting |-> "nothing", mode |-> "eager", subscription |-> {},
              owned |-> {}, ownedGeneration |-> -1, assignment |-> {}, session |-> 0, rebalance |-> 0]
NoGroup   == [state |-> "Dead", generation |-> 0, protocol |-> "none", leader |-> 0, initial |-> FALSE,
              members |-> [m \in MemberIds |-> NoMember], pending |-> {}, pendingSync |-> {},
              timers |-> [m \in MemberIds |-> 0], joinTimer |-> 0, syncTimer |-> 0]
NoStored  == [present |-> FALSE, static |-> FALSE, subscription |-> {}, owned |-> {}, ownedGeneration |-> -1, assignment |-> {},
              session |-> 0, rebalance |-> 0]
NoStoredGroup == [generation |-> 0, protocol |-> "none", leader |-> 0, members |-> [m \in MemberIds |-> NoStored]]
NoMetadata == [present |-> FALSE, static |-> FALSE, subscription |-> {}, owned |-> {}, ownedGeneration |-> -1]
NoRoster   == [m \in MemberIds |-> NoMetadata]

Serving(b) == epoch[b] > 0
\* b leads the partition, and what it appends may commit.
Acting(b)  == leaderAndEpoch.broker = b /\ epoch[b] = leaderAndEpoch.epoch
Present(g) == {m \in MemberIds : g.members[m].present}
\* The member id to which the instance is mapped, 0 none.
InstanceMember(g) ==
    LET ids == {m \in Present(g) : g.members[m].static} IN IF ids = {} THEN 0 ELSE Lowest(ids)

Supports(mode) == CASE mode = "eager" -> {"range"}
                    [] mode = "cooperative" -> {"cooperative-sticky"}
                    [] OTHER -> {"range", "cooperative-sticky"}
\* A consumer revokes only what it must if all its assignors allow that.
IsCooperative(c) == consumer[c].mode = "cooperative"

-----------------------------------------------------------------------------
(* The safety rules. Each says what goes wrong without it; zoo.toml holds the schedule. *)

\* The constants that only bound a trace; every other limit of TypeOK means something.
Capacities == {"MaxMember", "MaxGeneration", "MaxEpoch", "MaxOffset", "MaxAppended"}

Has(rule) == rule \notin Without

\* A guard answers "may this go ahead", and without its rule everything may. A case answers "does this case arise", and without
\* its rule it never does.
Guard(rule, may)   == Has(rule) => may
Case(rule, arises) == Has(rule) /\ arises

\* KIP-394 (KAFKA-7610). Without it a JoinGroup without a member id adds a member at once. A reply that is lost leaves a member
\* that nobody knows to be itself (row 35).
JoinNamesMemberId(m) == Guard("JoinNamesMemberId", m # 0)

\* KAFKA-9232. Without it a member stays new after the join phase, so that it expires while it waits in a later one (row 36).
CompletedJoinEndsNewness(member) == Case("CompletedJoinEndsNewness", member.isNew)

\* KAFKA-8500 (KIP-345). Without it two processes of one instance get the same member id, and both own its partitions (row 38).
ReplaceStaticMemberId(g) == Case("ReplaceStaticMemberId", InstanceMember(g) # 0)

\* KAFKA-9801. Without it a static member replaced while the leader assigns is not in the assignment (row 39).
RebalanceOnReplacementInCompleting(g) == Case("RebalanceOnReplacementInCompleting", g.state = "CompletingRebalance")

\* KAFKA-10284. Without it the replacement is told but not persisted; the next coordinator takes the old process back (row 40).
PersistStaticReplacement(g) == Case("PersistStaticReplacement", g.state = "Stable")

\* KIP-429. Without it a cooperative assignor gives away a partition in the round that revokes it (row 42).
OwnedByNoOther(owners, m) == Guard("OwnedByNoOther", owners \subseteq {m})

\* KIP-792 (KAFKA-12984, KAFKA-13406). Without it a claim of an older generation may win over the owner's (row 43).
HighestClaimWins(roster, p, m) == Guard("HighestClaimWins",
    \A x \in MemberIds : roster[x].present /\ p \in roster[x].owned => roster[x].ownedGeneration <= roster[m].ownedGeneration)

NewestClaim(roster, m) ==
    \A x \in MemberIds : roster[x].present => roster[x].ownedGeneration <= roster[m].ownedGeneration

\* KAFKA-14639. Without it only claims of the newest generation of all count, and what an owner of an older generation still
\* reads is given away in the round that revokes it (row 44).
CountOlderClaim(roster, m) == Case("CountOlderClaim", ~NewestClaim(roster, m))

\* This project's repair of the ghost generation; Kafka 4.x lacks it. A coordinator counts on from its own epoch's first
\* generation. Without it a generation that was handed out and not persisted is handed out again to other members (row 49).
GenerationOfOlderEpoch(b) == Case("GenerationOfOlderEpoch",
    group[b].generation < (epoch[b] - 1) * EpochGenerations)

\* KAFKA-1740. Without it a commit of an older generation overwrites the new owner's offset (row 50).
CommitOfCurrentGeneration(g, generation) == Guard("CommitOfCurrentGeneration", generation = g.generation)

\* Without it a consumer that was removed commits for partitions that are no longer its own.
CommitOfMember(g, m) == Guard("CommitOfMember", m \in Present(g))

\* Without it a leader of an older generation assigns for members that it has not seen.
SyncOfCurrentGeneration(g, generation) == Guard("SyncOfCurrentGeneration", generation = g.generation)

\* Without it a consumer of an older generation is not told that it missed a rebalance.
HeartbeatOfCurrentGeneration(g, generation) == Guard("HeartbeatOfCurrentGeneration", generation = g.generation)

\* KIP-447 (require_stable). The batches that a fetch has read are committed before it is answered. Without it a consumer is
\* told an offset that the next coordinator does not have.
FetchWaitsForCommit(b) == Case("FetchWaitsForCommit", appended[b] # <<>>)

\* This project's; Kafka 4.x lacks it. A fetch is answered with offsets by the elected coordinator. (A broker makes sure of that
\* with a record of its coordinator epoch that has committed since the request came.) Without it one that was deposed tells
\* what it has, and the consumer reads again what another one has committed since (row 151).
FetchOfElected(b) == Guard("FetchOfElected", Acting(b))

\* The request of c waits at b for member m.
Waits(c, type, b, m) ==
    IF memberRpc[c].type # type THEN FALSE ELSE memberRpc[c].broker = b /\ memberRpc[c].member = m

\* KAFKA-20938, on Kafka's trunk since August 2026; 4.4.0 lacks it. A later JoinGroup or SyncGroup of the member takes the place of the
\* one that waits, which is answered now. Without it that one is never answered: its consumer waits while the group goes on (row 145).
AnswerSuperseded(c, type, b, m) == Case("AnswerSuperseded", Waits(c, type, b, m))

\* KIP-345. Without it the replaced process goes on under its old member id.
MemberOfInstance(g, m) == Guard("MemberOfInstance", m = InstanceMember(g))

\* The assignment is committed before a member hears of it. Without it the next coordinator gives the same generation another one.
PersistAssignmentFirst(g) == Case("PersistAssignmentFirst", g.state = "CompletingRebalance")

\* Without it an assignment that commits late is handed out in a later generation.
PropagateOnlyToItsGeneration(g, stored) == Guard("PropagateOnlyToItsGeneration", g.generation = stored.generation)

\* This project's; Kafka 4.x lacks it. A generation's leader that joins again and assigns anew makes all join again,
\* for the first assignment waits to commit, or counts. Without it the first is handed out, and the log ends with the second
\* (row 106). Or the second is nobody's, and the leader takes it for the group's.
OneAssignmentPerGeneration(b, assignments) == Guard("OneAssignmentPerGeneration",
    /\ \A i \in 1..Len(appended[b]) :
        appended[b][i].type = "group" => appended[b][i].cause # "sync" \/ appended[b][i].group.generation # group[b].generation
    /\ group[b].state = "Stable" => \A m \in MemberIds : assignments[m] \subseteq group[b].members[m].assignment)

\* This project's; Kafka 4.x lacks it. A consumer that was left out of a generation has lost what the new assignment
\* takes from it. Without it a static member revokes partitions that another member has owned since, and commits for them (row
\* 107).
LoseWhatWasMissed(c) == Case("LoseWhatWasMissed", consumer[c].missed)

\* This project's; Kafka 4.x lacks it: a remainder of KAFKA-13435 (KIP-814). A leader that comes back and need not assign does not know by what partitions
\* and subscriptions the group was assigned: it joins again once. Without it nobody notices what has changed since (row 108).
NoticeWhatWasMissed(reply) == Case("NoticeWhatWasMissed", reply.role = "leader skipping")

\* KAFKA-12759 (pull request 22593, open in June 2026); Kafka 4.x compares the vote only. A static member that is replaced by one with
\* another subscription makes the group rebalance. Without it nobody is given what the new process subscribes to (row 109).
ReplacementKeepsSubscription(member, request) == Guard("ReplacementKeepsSubscription",
    member.subscription = request.subscription)

\* This project's; Kafka 4.x lacks it. A static member may be replaced before it has given up the partitions that its
\* assignment takes from it. Then the group rebalances: its successor has nothing to give up, and does not join again. Without
\* it nobody is given what was withheld for it (row 135).
ReplacementOwesNothing(member) == Guard("ReplacementOwesNothing", member.owned \subseteq member.assignment)

Rules == {"JoinNamesMemberId", "CompletedJoinEndsNewness", "ReplaceStaticMemberId",
          "RebalanceOnReplacementInCompleting", "PersistStaticReplacement", "OwnedByNoOther", "HighestClaimWins",
          "CountOlderClaim", "GenerationOfOlderEpoch", "CommitOfCurrentGeneration", "CommitOfMember",
          "SyncOfCurrentGeneration", "HeartbeatOfCurrentGeneration", "FetchWaitsForCommit", "FetchOfElected", "AnswerSuperseded",
          "MemberOfInstance", "PersistAssignmentFirst", "PropagateOnlyToItsGeneration", "OneAssignmentPerGeneration", "LoseWhatWasMissed",
          "NoticeWhatWasMissed", "ReplacementKeepsSubscription", "ReplacementOwesNothing"}

\* The baseline of Kafka 4.x: the rules that it lacks.
KafkaAsShipped == {"GenerationOfOlderEpoch", "OneAssignmentPerGeneration", "LoseWhatWasMissed", "NoticeWhatWasMissed",
                   "ReplacementKeepsSubscription", "ReplacementOwesNothing", "AnswerSuperseded", "FetchOfElected"}

-----------------------------------------------------------------------------
(* The coordinator's vocabulary (GroupMetadataManager, ClassicGroup): groups to groups *)

\* The member with other answers to: what does it wait for, is it new, what is it assigned?
With(member, awaiting, isNew, assignment) ==
    [present |-> member.present, static |-> member.static, isNew |-> isNew, awaiting |-> awaiting, mode |-> member.mode,
     subscription |-> member.subscription, owned |-> member.owned, ownedGeneration |-> member.ownedGeneration,
     assignment |-> assignment, session |-> member.session, rebalance |-> member.rebalance]

AllJoined(g) == g.pending = {} /\ \A m \in Present(g) : g.members[m].awaiting = "join"

\* The vote: each member's first choice among what all support; with these modes all agree.
Vote(members) ==
    IF \A m \in MemberIds : members[m].present => "cooperative-sticky" \in Supports(members[m].mode)
    THEN "cooperative-sticky" ELSE "range"

\* May a member of this mode join? (The member `m` itself is counted as it was, as Kafka does.)
ProtocolFits(g, mode) ==
    \E protocol \in Supports(mode) : \A m \in Present(g) : protocol \in Supports(g.members[m].mode)

\* The group waits for its members as long as the slowest of them asks for. (With the shortest, who takes its time to finish what
\* it polled is dropped at every rebalance.)
LongestRebalance(g) == Highest({0} \cup {g.members[m].rebalance : m \in Present(g)})

NextGeneration(b) ==
    IF GenerationOfOlderEpoch(b)
    THEN (epoch[b] - 1) * EpochGenerations + 1
    ELSE group[b].generation + 1

\* m was heard of: its session begins again, by its own time-out.
HeardFrom(g, m) ==
    [g EXCEPT !.timers = [x \in MemberIds |-> IF x = m /\ g.members[x].present THEN g.members[x].session ELSE g.timers[x]]]

\* The timers when SyncGroups are answered: the sessions of their members begin again.
TimersOfSynced(g) == [m \in MemberIds |-> IF g.members[m].awaiting = "sync" THEN g.members[m].session ELSE g.timers[m]]

\* Without these members and pending ids; a leader that goes is followed by the member with the lowest id.
Remove(g, gone) ==
    LET others == Present(g) \ gone
    IN  [g EXCEPT !.members = [m \in MemberIds |-> IF m \in gone THEN NoMember ELSE g.members[m]],
                  !.leader = IF @ \notin gone THEN @ ELSE IF others = {} THEN 0 ELSE Lowest(others),
                  !.timers = [m \in MemberIds |-> IF m \in gone THEN 0 ELSE g.timers[m]],
                  !.pending = @ \ gone,
                  !.pendingSync = @ \ gone]

\* The join phase ends: dynamic members that have not joined are dropped, static ones stay. If the leader has not joined,
\* another leads. If nobody has, the phase goes on. Without members the group is empty.
CompleteJoin(b, g) ==
    LET kept    == {m \in Present(g) : g.members[m].awaiting = "join" \/ g.members[m].static}
        joined  == {m \in kept : g.members[m].awaiting = "join"}
        leader  == IF g.leader \in joined \/ (joined = {} /\ g.leader \in kept) THEN g.leader
                   ELSE IF kept = {} THEN 0 ELSE Lowest(IF joined = {} THEN kept ELSE joined)
        staying == [m \in MemberIds |-> IF m \in kept THEN g.members[m] ELSE NoMember]
        isNew(member) == IF CompletedJoinEndsNewness(member) THEN FALSE ELSE member.isNew
        ended(member) == With(member, "nothing", isNew(member), member.assignment)
        timers  == [m \in MemberIds |-> IF m \in kept /\ joined # {} THEN g.members[m].session
                                        ELSE IF m \in Present(g) \ kept THEN 0 ELSE g.timers[m]]
        longest == LongestRebalance([g EXCEPT !.members = staying])
    IN  IF kept = {}
        THEN [g EXCEPT !.state = "Empty", !.generation = NextGeneration(b), !.protocol = "none", !.leader = 0,
                       !.initial = FALSE, !.members = staying, !.pendingSync = {}, !.timers = timers, !.joinTimer = 0]
        ELSE IF joined = {} THEN [g EXCEPT !.members = staying, !.leader = leader, !.timers = timers, !.joinTimer = longest]
        ELSE [g EXCEPT !.state = "CompletingRebalance", !.generation = NextGeneration(b), !.protocol = Vote(staying),
                       !.leader = leader, !.initial = FALSE,
                       !.members = [m \in MemberIds |-> IF m \in kept THEN ended(g.members[m]) ELSE NoMember],
                       !.pendingSync = kept, !.timers = timers, !.joinTimer = 0, !.syncTimer = longest]

\* The join phase begins. Members that wait for an assignment are told to join again. From Empty it lasts until its time-out.
PrepareRebalance(b, g) ==
    LET preparing ==
            [g EXCEPT !.state = "PreparingRebalance", !.initial = (g.state = "Empty"), !.pendingSync = {}, !.syncTimer = 0,
                      !.joinTimer = IF g.state = "Empty" THEN OwnTimeout ELSE LongestRebalance(g),
                      !.timers = TimersOfSynced(g),
                      !.members = [m \in MemberIds |->
                          With(g.members[m], IF g.members[m].awaiting = "sync" THEN "nothing" ELSE g.members[m].awaiting,
                               g.members[m].isNew, {})]]
    IN  IF ~preparing.initial /\ AllJoined(preparing) THEN CompleteJoin(b, preparing) ELSE preparing

Rebalance(b, g) ==
    IF g.state # "PreparingRebalance" THEN PrepareRebalance(b, g)
    ELSE IF ~g.initial /\ AllJoined(g) THEN CompleteJoin(b, g)
    ELSE g

\* After a member or a pending id was removed.
AfterRemoval(b, g) ==
    CASE g.state \in {"Stable", "CompletingRebalance"} -> PrepareRebalance(b, g)
      [] g.state = "PreparingRebalance" /\ AllJoined(g) -> CompleteJoin(b, g)
      [] OTHER -> g

\* The member that a JoinGroup describes.
JoinedMember(c, request) ==
    [present |-> TRUE, static |-> c \in Static, isNew |-> TRUE, awaiting |-> "join", mode |-> request.mode,
     subscription |-> request.subscription, owned |-> request.owned, ownedGeneration |-> request.ownedGeneration,
     assignment |-> {}, session |-> SessionTimeout(c), rebalance |-> RebalanceTimeout(c)]
SameMetadata(member, request) ==
    /\ member.mode = request.mode /\ member.subscription = request.subscription
    /\ member.owned = request.owned /\ member.ownedGeneration = request.ownedGeneration
UpdatedMember(c, member, isNew, awaiting, request) ==
    [present |-> TRUE, static |-> member.static, isNew |-> isNew, awaiting |-> awaiting, mode |-> request.mode,
     subscription |-> request.subscription, owned |-> request.owned, ownedGeneration |-> request.ownedGeneration,
     assignment |-> member.assignment, session |-> SessionTimeout(c), rebalance |-> RebalanceTimeout(c)]

\* The record of a group whose members get these assignments.
Record(g, assignment) ==
    [generation |-> g.generation, protocol |-> g.protocol, leader |-> g.leader,
     members |-> [m \in MemberIds |->
        IF ~g.members[m].present THEN NoStored
        ELSE [present |-> TRUE, static |-> g.members[m].static, subscription |-> g.members[m].subscription,
              owned |-> g.members[m].owned, ownedGeneration |-> g.members[m].ownedGeneration, assignment |-> assignment[m],
              session |-> g.members[m].session, rebalance |-> g.members[m].rebalance]]]
Assignments(g) == [m \in MemberIds |-> g.members[m].assignment]

\* The group that a record amounts to: Stable with its members, or Empty. Of a member's protocols only the chosen one is stored.
\* The members' sessions begin again.
Loaded(stored) ==
    LET mode == IF stored.protocol = "cooperative-sticky" THEN "cooperative" ELSE "eager"
        load(s) == [present |-> TRUE, static |-> s.static, isNew |-> FALSE, awaiting |-> "nothing", mode |-> mode,
                    subscription |-> s.subscription, owned |-> s.owned, ownedGeneration |-> s.ownedGeneration,
                    assignment |-> s.assignment, session |-> s.session, rebalance |-> s.rebalance]
    IN  [state |-> IF \E m \in MemberIds : stored.members[m].present THEN "Stable" ELSE "Empty",
         generation |-> stored.generation, protocol |-> stored.protocol, leader |-> stored.leader, initial |-> FALSE,
         members |-> [m \in MemberIds |-> IF stored.members[m].present THEN load(stored.members[m]) ELSE NoMember],
         pending |-> {}, pendingSync |-> {},
         timers |-> [m \in MemberIds |-> stored.members[m].session], joinTimer |-> 0, syncTimer |-> 0]

\* Replay of records on top of a committed log: the last one of each key.
ReplayGroup(entries, stored) ==
    LET groups == {i \in 1..Len(entries) : entries[i].type = "group"}
    IN  IF groups = {} THEN stored ELSE entries[Highest(groups)].group
ReplayOffsets(entries, stored) ==
    [p \in Partitions |->
        LET commits == {i \in 1..Len(entries) : IF entries[i].type = "offsets" THEN entries[i].offsets[p] >= 0 ELSE FALSE}
        IN  IF commits = {} THEN stored[p] ELSE entries[Highest(commits)].offsets[p]]

-----------------------------------------------------------------------------
(* What a change of the group answers *)

Failed(m, error) == [type |-> "failed", member |-> m, error |-> error]

RosterOf(g) ==
    [m \in MemberIds |->
        IF ~g.members[m].present THEN NoMetadata
        ELSE [present |-> TRUE, static |-> g.members[m].static, subscription |-> g.members[m].subscription,
              owned |-> g.members[m].owned, ownedGeneration |-> g.members[m].ownedGeneration]]

\* A JoinGroup that succeeds: the leader hears of all members.
Joined(b, g, m) ==
    [type |-> "joined", broker |-> b, member |-> m, generation |-> g.generation, protocol |-> g.protocol,
     role |-> IF m = g.leader THEN "leader" ELSE "follower", roster |-> IF m = g.leader THEN RosterOf(g) ELSE NoRoster]

\* The parked request `slot` at b, now that b's group is g. Requests that wait for the member `fenced` are told that it was
\* replaced; 0: none. Those that join for another one that is no more are told that it is unknown.
Answer(slot, b, g, fenced) ==
    LET member == g.members[slot.member]
    IN  CASE slot.type = "joining" /\ ~member.present ->
                IF slot.member = fenced THEN Failed(fenced, "FENCED_INSTANCE_ID") ELSE Failed(0, "UNKNOWN_MEMBER_ID")
          [] slot.type = "joining" /\ member.present /\ member.awaiting # "join" -> Joined(b, g, slot.member)
          [] slot.type = "syncing" /\ ~member.present /\ slot.member = fenced -> Failed(fenced, "FENCED_INSTANCE_ID")
          [] slot.type = "syncing" /\ member.present /\ member.awaiting # "sync" ->
                IF g.state = "Stable" THEN [type |-> "synced", assignment |-> member.assignment]
                ELSE Failed(slot.member, "REBALANCE_IN_PROGRESS")
          [] OTHER -> slot
Answers(slots, b, g, fenced) ==
    [c \in Clients |-> IF slots[c].type \notin {"joining", "syncing"} THEN slots[c]
                       ELSE IF slots[c].broker # b THEN slots[c]
                       ELSE Answer(slots[c], b, g, fenced)]

\* b's group becomes `after`: requests are answered, and a group that has become empty is written down.
Settle(b, after, slots, fenced, entries) ==
    /\ group' = [group EXCEPT ![b] = after]
    /\ memberRpc' = Answers(slots, b, group'[b], fenced)
    /\ appended' = [appended EXCEPT ![b] =
                        @ \o entries \o (IF group[b].state # "Empty" /\ group'[b].state = "Empty"
                                         THEN <<[type |-> "group", cause |-> "empty", member |-> 0,
                                                 group |-> Record(group'[b], Assignments(group'[b]))]>>
                                         ELSE <<>>)]

-----------------------------------------------------------------------------
(* History *)

CompletedAt(g) == {b \in Brokers : /\ group'[b].state = "CompletingRebalance"
                                   /\ group'[b].generation # group[b].generation
                                   /\ group'[b].generation = g}
NextRosters  == [g \in Generations |->
                    IF rosters[g] # {} THEN rosters[g] ELSE UNION {Present(group'[b]) : b \in CompletedAt(g)}]
NextReissued == reissued \cup {g \in Generations :
                    \E b \in CompletedAt(g) : rosters[g] \notin {{}, Present(group'[b])}}
NextKnown    == known \cup ({consumer'[c].member : c \in Clients} \ {0})
NextSettled  == settled \cup ({consumer'[c].member : c \in {s \in Static : consumer'[s].state = "STABLE"}} \ {0})

-----------------------------------------------------------------------------
(* Init: nobody has joined; any broker is the first coordinator. *)

NewConsumer(mode) ==
    [running |-> TRUE, state |-> "UNJOINED", member |-> 0, generation |-> -1, protocol |-> "none", mode |-> mode,
     subscription |-> Partitions, joined |-> {}, rejoin |-> TRUE, owned |-> {}, assigned |-> {}, ownedGeneration |-> -1,
     missed |-> FALSE, leads |-> FALSE, snapshot |-> {}]
Stopped == [NewConsumer("eager") EXCEPT !.running = FALSE, !.rejoin = FALSE, !.subscription = {}, !.joined = {}]

Init ==
    /\ \E b \in Brokers :
        /\ leaderAndEpoch = [broker |-> b, epoch |-> 1]
        /\ epoch = [x \in Brokers |-> IF x = b THEN 1 ELSE 0]
        /\ group = [x \in Brokers |-> IF x = b THEN [NoGroup EXCEPT !.state = "Empty"] ELSE NoGroup]
    /\ storedGroup = NoStoredGroup
    /\ storedOffsets = NoOffsets
    /\ appended = [b \in Brokers |-> <<>>]
    /\ offsets = [b \in Brokers |-> NoOffsets]
    /\ issued = 0
    /\ consumer = [c \in Clients |-> Stopped]
    /\ position = [c \in Clients |-> NoOffsets]
    /\ partitions \in (SUBSET Partitions) \ {{}}
    /\ memberRpc = [c \in Clients |-> Idle]
    /\ heartbeatRpc = [c \in Clients |-> Idle]
    /\ offsetRpc = [c \in Clients |-> Idle]
    /\ stray = [c \in Clients |-> Idle]
    /\ rosters = [g \in Generations |-> {}]
    /\ reissued = {}
    /\ known = {}
    /\ settled = {}

-----------------------------------------------------------------------------
(* The consumer (AbstractCoordinator, ConsumerCoordinator) *)

\* StartConsumer   who: the application   code: classic_group/consumer.py
\* A new process: it has no member id and owns nothing.
StartConsumer(c, mode) ==
    \* enabled when
    /\ ~consumer[c].running
    \* effect
    /\ consumer' = [consumer EXCEPT ![c] = NewConsumer(mode)]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, position, partitions,
                   memberRpc, heartbeatRpc, offsetRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* The process ends, and with it all that waited for a reply.
Stop(c) ==
    /\ consumer' = [consumer EXCEPT ![c] = Stopped]
    /\ position' = [position EXCEPT ![c] = NoOffsets]
    /\ memberRpc' = [memberRpc EXCEPT ![c] = Idle]
    /\ heartbeatRpc' = [heartbeatRpc EXCEPT ![c] = Idle]
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] = Idle]

\* CrashConsumer   who: the nemesis   code: sim/
CrashConsumer(c) ==
    \* enabled when
    /\ consumer[c].running
    \* effect
    /\ Stop(c)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, partitions, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* LeaveGroup   who: consumer   code: classic_group/consumer.py
\* It closes. A dynamic member says so and does not wait for the reply; a static one will be back.
LeaveGroup(c, b) ==
    \* enabled when
    /\ consumer[c].running
    /\ c \in Dynamic /\ consumer[c].member # 0 => stray[c].type = "idle"
    \* effect
    /\ Stop(c)
    /\ stray' = IF c \in Dynamic /\ consumer[c].member # 0
                THEN [stray EXCEPT ![c] = [type |-> "leave", broker |-> b, member |-> consumer[c].member]]
                ELSE stray
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, partitions>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* ChangeSubscription   who: the application   code: classic_group/consumer.py
\* The next poll joins again.
ChangeSubscription(c, subscription) ==
    \* enabled when
    /\ consumer[c].running /\ subscription # consumer[c].subscription
    \* effect
    /\ consumer' = [consumer EXCEPT ![c].subscription = subscription]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, position, partitions,
                   memberRpc, heartbeatRpc, offsetRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* AddPartition   who: an operator
AddPartition(p) ==
    \* enabled when
    /\ p \notin partitions
    \* effect
    /\ partitions' = partitions \cup {p}
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   memberRpc, heartbeatRpc, offsetRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* NoticePartitions   who: consumer   code: classic_group/consumer.py
\* The group's leader sees other partitions than when it assigned, and joins again.
NoticePartitions(c) ==
    \* enabled when
    /\ consumer[c].running /\ consumer[c].leads /\ consumer[c].state = "STABLE" /\ ~consumer[c].rejoin
    /\ consumer[c].snapshot # partitions
    \* effect
    /\ consumer' = [consumer EXCEPT ![c].rejoin = TRUE]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, position, partitions,
                   memberRpc, heartbeatRpc, offsetRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* Positions of what is owned no more are forgotten.
Keep(c, owned) == [p \in Partitions |-> IF p \in owned THEN position[c][p] ELSE -1]

\* c's slot when its assignment is another one: offsets that it asked for before are not the present assignment's.
Outdated(c) ==
    IF offsetRpc[c].type \notin {"fetch", "fetching", "fetched"} THEN offsetRpc[c] ELSE [offsetRpc[c] EXCEPT !.current = FALSE]

\* SendJoin   who: consumer   code: classic_group/consumer.py
\* Before it joins, a consumer without member id or generation has lost all partitions. An eager one revokes all, a cooperative
\* one those that it is not subscribed to any more.
SendJoin(c, b) ==
    LET me     == consumer[c]
        lost   == me.member = 0 \/ me.generation = -1
        owned  == IF lost \/ ~IsCooperative(c) THEN {} ELSE me.owned \cap me.subscription IN
    \* enabled when
    /\ me.running /\ memberRpc[c].type = "idle"
    /\ me.state = "STABLE" => (me.rejoin \/ me.subscription # me.joined) /\ me.owned = me.assigned
    \* effect
    /\ consumer' = [consumer EXCEPT ![c].state = "PREPARING_REBALANCE", ![c].rejoin = FALSE, ![c].joined = me.subscription,
                                    ![c].owned = owned, ![c].assigned = owned,
                                    ![c].leads = FALSE, ![c].snapshot = {}]
    /\ position' = [position EXCEPT ![c] = Keep(c, owned)]
    /\ memberRpc' = [memberRpc EXCEPT ![c] =
                        [type |-> "join", broker |-> b, member |-> me.member, mode |-> me.mode, subscription |-> me.subscription,
                         owned |-> owned, ownedGeneration |-> me.ownedGeneration]]
    /\ offsetRpc' = IF owned = me.owned THEN offsetRpc ELSE [offsetRpc EXCEPT ![c] = Outdated(c)]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, partitions,
                   heartbeatRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* The consumer takes over what a JoinGroup reply says.
TakeGeneration(c, leads, seen) ==
    LET me == consumer[c] IN
    consumer' = [consumer EXCEPT ![c].state = "COMPLETING_REBALANCE", ![c].member = memberRpc[c].member,
                                 ![c].generation = memberRpc[c].generation, ![c].protocol = memberRpc[c].protocol,
                                 ![c].missed = me.missed \/ (me.generation >= 0 /\ memberRpc[c].generation > me.generation + 1),
                                 ![c].leads = leads, ![c].snapshot = seen]
SendSync(c, assignments) ==
    memberRpc' = [memberRpc EXCEPT ![c] = [type |-> "sync", broker |-> @.broker, member |-> @.member,
                                           generation |-> @.generation, assignments |-> assignments]]

\* JoinAsFollower   who: consumer   code: classic_group/consumer.py
JoinAsFollower(c) ==
    LET reply == memberRpc[c]
        leads == reply.role = "leader skipping"
        seen  == IF NoticeWhatWasMissed(reply) \/ ~leads THEN {} ELSE partitions IN
    \* enabled when
    /\ reply.type = "joined" /\ consumer[c].state = "PREPARING_REBALANCE"
    /\ reply.role # "leader"
    \* effect
    /\ TakeGeneration(c, leads, seen)
    /\ SendSync(c, [m \in MemberIds |-> {}])
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, position, partitions,
                   heartbeatRpc, offsetRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, settled>>
    /\ known' = NextKnown

\* The members that count as owners of p, by the members' claims.
Owners(roster, p) ==
    {m \in MemberIds : /\ roster[m].present /\ p \in roster[m].owned
                       /\ HighestClaimWins(roster, p, m)
                       /\ CountOlderClaim(roster, m) \/ NewestClaim(roster, m)}

\* May m get p? An eager assignor may give all to anyone. A cooperative one gives a partition that is owned to its owner only.
MayGet(roster, protocol, p, m) ==
    /\ roster[m].present /\ p \in roster[m].subscription
    /\ \/ protocol = "range"
       \/ OwnedByNoOther(Owners(roster, p), m)
       \/ ~Has("HighestClaimWins") /\ p \in roster[m].owned

\* An assignor's valid answers (0: no member). Every subscribed partition goes to a subscriber; a
\* cooperative assignor may withhold owned partitions.
ValidAssignment(roster, protocol, given) ==
    \A p \in Partitions :
        IF given[p] # 0 THEN p \in partitions /\ MayGet(roster, protocol, p, given[p])
        ELSE \/ p \notin partitions
             \/ \A m \in MemberIds : roster[m].present => p \notin roster[m].subscription
             \/ protocol # "range" /\ Owners(roster, p) # {}

\* JoinAsLeader   who: consumer   code: classic_group/consumer.py
\* It leads: its assignor gives each partition to a member, or withholds it.
JoinAsLeader(c, given) ==
    LET reply == memberRpc[c] IN
    \* enabled when
    /\ reply.type = "joined" /\ consumer[c].state = "PREPARING_REBALANCE"
    /\ reply.role = "leader"
    /\ ValidAssignment(reply.roster, reply.protocol, given)
    \* effect
    /\ TakeGeneration(c, TRUE, partitions)
    /\ SendSync(c, [m \in MemberIds |-> {p \in Partitions : given[p] = m}])
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, position, partitions,
                   heartbeatRpc, offsetRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, settled>>
    /\ known' = NextKnown

\* The consumer without its generation, and (UNKNOWN_MEMBER_ID) without its member id: its partitions are lost when it joins.
Reset(me, error) ==
    [me EXCEPT !.state = "UNJOINED", !.generation = -1, !.rejoin = TRUE, !.protocol = "none", !.missed = FALSE,
               !.member = IF error = "ILLEGAL_GENERATION" THEN @ ELSE 0]

Fatal == {"FENCED_INSTANCE_ID", "INCONSISTENT_GROUP_PROTOCOL"}

\* ReceiveMemberError   who: consumer   code: classic_group/consumer.py
\* JoinGroup or SyncGroup failed, or its reply comes after the consumer was reset. Some errors end the process.
ReceiveMemberError(c) ==
    LET reply == memberRpc[c]
        me    == consumer[c]
        waits == me.state \in {"PREPARING_REBALANCE", "COMPLETING_REBALANCE"} IN
    \* enabled when
    /\ \/ reply.type = "failed"
       \/ reply.type = "joined" /\ me.state # "PREPARING_REBALANCE"
       \/ reply.type = "synced" /\ me.state # "COMPLETING_REBALANCE"
    \* effect
    /\ IF reply.type = "failed" /\ waits /\ reply.error \in Fatal
       THEN Stop(c)
       ELSE /\ consumer' =
                    IF reply.type # "failed" \/ ~waits THEN [consumer EXCEPT ![c].rejoin = TRUE]
                    ELSE IF reply.error = "MEMBER_ID_REQUIRED"
                         THEN [consumer EXCEPT ![c].member = reply.member, ![c].generation = -1, ![c].rejoin = TRUE]
                    ELSE IF reply.error \in {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"}
                         THEN [consumer EXCEPT ![c] = Reset(me, reply.error)]
                    ELSE [consumer EXCEPT ![c].rejoin = TRUE]
            /\ memberRpc' = [memberRpc EXCEPT ![c] = Idle]
            /\ UNCHANGED <<position, heartbeatRpc, offsetRpc>>
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, partitions, stray>>
    /\ UNCHANGED <<rosters, reissued, settled>>
    /\ known' = NextKnown

\* ReceiveAssignment   who: consumer   code: classic_group/consumer.py
\* An eager consumer owns what it is given. A cooperative one first revokes the partitions that it is not given any more, and
\* joins again then. It does not revoke those that it lost in generations that it missed: it is too late for them. Of an
\* assignment outside the subscription, which has changed meanwhile, nothing new is taken.
ReceiveAssignment(c) ==
    LET me      == consumer[c]
        given   == memberRpc[c].assignment
        outside == ~(given \subseteq me.subscription)
        taken   == me.owned \ given
        missed  == LoseWhatWasMissed(c)
        revokes == IsCooperative(c) /\ taken # {} /\ ~missed
        owned   == IF outside THEN IF missed THEN me.owned \cap given ELSE me.owned
                   ELSE IF revokes THEN me.owned
                   ELSE given
        same    == IF outside THEN owned = me.owned ELSE revokes IN
    \* enabled when
    /\ memberRpc[c].type = "synced" /\ me.state = "COMPLETING_REBALANCE"
    \* effect
    /\ consumer' = [consumer EXCEPT ![c].state = "STABLE", ![c].ownedGeneration = me.generation, ![c].missed = FALSE,
                                    ![c].owned = owned,
                                    ![c].assigned = IF outside THEN owned ELSE given,
                                    ![c].rejoin = outside \/ (IsCooperative(c) /\ taken # {})]
    /\ position' = [position EXCEPT ![c] = Keep(c, owned)]
    /\ memberRpc' = [memberRpc EXCEPT ![c] = Idle]
    /\ offsetRpc' = IF same THEN offsetRpc ELSE [offsetRpc EXCEPT ![c] = Outdated(c)]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, partitions,
                   heartbeatRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known>>
    /\ settled' = NextSettled

\* FinishRevocation   who: consumer   code: classic_group/consumer.py
\* The rebalance listener has returned (it may have committed): the rest is given up, the new partitions are taken.
FinishRevocation(c) ==
    LET me == consumer[c] IN
    \* enabled when
    /\ me.running /\ me.state = "STABLE" /\ me.owned # me.assigned
    \* effect
    /\ consumer' = [consumer EXCEPT ![c].owned = me.assigned]
    /\ position' = [position EXCEPT ![c] = Keep(c, me.assigned)]
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] = Outdated(c)]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, partitions,
                   memberRpc, heartbeatRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* SendHeartbeat   who: consumer   code: classic_group/consumer.py
SendHeartbeat(c, b) ==
    LET me == consumer[c] IN
    \* enabled when
    /\ me.running /\ me.state \in {"COMPLETING_REBALANCE", "STABLE"} /\ heartbeatRpc[c].type = "idle"
    \* effect
    /\ heartbeatRpc' = [heartbeatRpc EXCEPT ![c] = [type |-> "heartbeat", broker |-> b, member |-> me.member,
                                                    generation |-> me.generation]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   partitions, memberRpc, offsetRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* ReceiveHeartbeat   who: consumer   code: classic_group/consumer.py
\* An answer to another member id or generation than the consumer's is ignored.
ReceiveHeartbeat(c) ==
    LET reply   == heartbeatRpc[c]
        me      == consumer[c]
        current == reply.member = me.member /\ reply.generation = me.generation IN
    \* enabled when
    /\ reply.type = "answered"
    \* effect
    /\ IF current /\ reply.error = "FENCED_INSTANCE_ID"
       THEN Stop(c)
       ELSE /\ consumer' =
                    IF reply.error = "REBALANCE_IN_PROGRESS" /\ me.state = "STABLE" THEN [consumer EXCEPT ![c].rejoin = TRUE]
                    ELSE IF current /\ reply.error \in {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"}
                         THEN [consumer EXCEPT ![c] = Reset(me, reply.error)]
                    ELSE consumer
            /\ heartbeatRpc' = [heartbeatRpc EXCEPT ![c] = Idle]
            /\ UNCHANGED <<position, memberRpc, offsetRpc>>
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, partitions, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* Poll   who: the application   code: classic_group/consumer.py
\* It reads one record of p; `offset` is its next position.
Poll(c, p, offset) ==
    \* enabled when
    /\ consumer[c].running /\ p \in consumer[c].owned
    /\ position[c][p] >= 0 /\ offset = position[c][p] + 1
    \* effect
    /\ position' = [position EXCEPT ![c][p] = offset]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, partitions,
                   memberRpc, heartbeatRpc, offsetRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* SendCommit   who: consumer   code: classic_group/consumer.py
\* Of all that it owns, also of the partitions that it is about to revoke. A consumer that rebalances does not commit.
SendCommit(c, b) ==
    LET me == consumer[c] IN
    \* enabled when
    /\ me.running /\ me.state = "STABLE" /\ offsetRpc[c].type = "idle"
    /\ \E p \in me.owned : position[c][p] >= 0
    \* effect
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] = [type |-> "commit", broker |-> b, member |-> me.member, generation |-> me.generation,
                                              offsets |-> position[c]]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   partitions, memberRpc, heartbeatRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* ReceiveCommit   who: consumer   code: classic_group/consumer.py
ReceiveCommit(c) ==
    LET reply   == offsetRpc[c]
        me      == consumer[c]
        current == reply.member = me.member /\ reply.generation = me.generation IN
    \* enabled when
    /\ reply.type = "committed"
    \* effect
    /\ IF current /\ reply.error = "FENCED_INSTANCE_ID"
       THEN Stop(c)
       ELSE /\ consumer' =
                    IF reply.error = "REBALANCE_IN_PROGRESS" THEN [consumer EXCEPT ![c].rejoin = TRUE]
                    ELSE IF /\ reply.error \in {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"}
                            /\ current \/ me.state # "PREPARING_REBALANCE"
                         THEN [consumer EXCEPT ![c] = Reset(me, reply.error)]
                    ELSE consumer
            /\ offsetRpc' = [offsetRpc EXCEPT ![c] = Idle]
            /\ UNCHANGED <<position, memberRpc, heartbeatRpc>>
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, partitions, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* SendOffsetFetch   who: consumer   code: classic_group/consumer.py
SendOffsetFetch(c, b) ==
    \* enabled when
    /\ consumer[c].running /\ offsetRpc[c].type = "idle"
    /\ \E p \in consumer[c].owned : position[c][p] = -1
    \* effect
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] = [type |-> "fetch", broker |-> b, current |-> TRUE]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   partitions, memberRpc, heartbeatRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* ReceiveOffsets   who: consumer   code: classic_group/consumer.py
\* Where it has no position it goes on from the committed offset, or (auto.offset.reset = earliest) from the start. It takes no
\* offsets that it asked for under an earlier assignment; they are lost. A partition that went and came back has been committed
\* by others.
ReceiveOffsets(c) ==
    LET reply == offsetRpc[c] IN
    \* enabled when
    /\ reply.type = "fetched" /\ reply.current
    \* effect
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] = Idle]
    /\ position' = IF reply.error # "NONE" THEN position
                   ELSE [position EXCEPT ![c] = [p \in Partitions |->
                            IF p \in consumer[c].owned /\ position[c][p] = -1 THEN Max(reply.offsets[p], 0) ELSE position[c][p]]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, partitions,
                   memberRpc, heartbeatRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

-----------------------------------------------------------------------------
(* The coordinator: JoinGroup (GroupMetadataManager.classicGroupJoinToClassicGroup). `late`: the request is c's stray one. *)

Request(c, late)         == IF late THEN stray[c] ELSE memberRpc[c]
\* The slots once the request is answered with `reply`, or parked; nobody waits for the reply to a late request.
Replied(c, late, reply)  == IF late THEN memberRpc ELSE [memberRpc EXCEPT ![c] = reply]
Taken(c, late)           == IF late THEN [stray EXCEPT ![c] = Idle] ELSE stray
Parked(type, b, m)       == [type |-> type, broker |-> b, member |-> m]

\* The slots once c's request waits for m, in the place of one that waits. (Nobody waits for the answer to a late one.)
Parking(c, late, type, b, m) ==
    [x \in Clients |-> IF x = c /\ ~late THEN Parked(type, b, m)
                       ELSE IF AnswerSuperseded(x, type, b, m) THEN Failed(m, "NOT_COORDINATOR")
                       ELSE IF Waits(x, type, b, m) THEN Parked("superseded", b, m)
                       ELSE memberRpc[x]]

\* The error for c if it acts as member m: the instance's mapping is looked at first.
MemberError(g, c, m) ==
    IF c \in Static /\ InstanceMember(g) = 0 THEN "UNKNOWN_MEMBER_ID"
    ELSE IF c \in Static /\ ~MemberOfInstance(g, m) THEN "FENCED_INSTANCE_ID"
    ELSE IF m \notin Present(g) THEN "UNKNOWN_MEMBER_ID"
    ELSE "NONE"

JoinError(b, c, request) ==
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF ~ProtocolFits(group[b], request.mode) THEN "INCONSISTENT_GROUP_PROTOCOL"
    ELSE IF request.member = 0 \/ request.member \in group[b].pending THEN "NONE"
    ELSE MemberError(group[b], c, request.member)

Accepts(b, c, request) == request.type = "join" /\ request.broker = b /\ JoinError(b, c, request) = "NONE"

\* RejectJoin   who: coordinator   code: classic_group/coordinator.py
RejectJoin(b, c, late) ==
    LET request == Request(c, late) IN
    \* enabled when
    /\ request.type = "join" /\ request.broker = b
    /\ JoinError(b, c, request) # "NONE"
    \* effect
    /\ memberRpc' = Replied(c, late, Failed(request.member, JoinError(b, c, request)))
    /\ stray' = Taken(c, late)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   partitions, heartbeatRpc, offsetRpc>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* IssueMemberId   who: coordinator   code: classic_group/coordinator.py
\* A dynamic consumer without a member id gets the id m, and has to join with it. Until then, or its session time-out, m is
\* pending.
IssueMemberId(b, c, late, m) ==
    LET request == Request(c, late) IN
    \* enabled when
    /\ Accepts(b, c, request) /\ c \in Dynamic /\ m = issued + 1
    /\ ~JoinNamesMemberId(request.member)
    \* effect
    /\ issued' = m
    /\ group' = [group EXCEPT ![b].pending = @ \cup {m}, ![b].timers[m] = SessionTimeout(c)]
    /\ memberRpc' = Replied(c, late, Failed(m, "MEMBER_ID_REQUIRED"))
    /\ stray' = Taken(c, late)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, offsets, consumer, position, partitions,
                   heartbeatRpc, offsetRpc>>
    /\ rosters' = NextRosters
    /\ reissued' = NextReissued
    /\ UNCHANGED <<known, settled>>

\* The group with a new member m. The first member leads.
Added(g, c, m, request) ==
    [g EXCEPT !.members[m] = JoinedMember(c, request), !.leader = IF @ = 0 THEN m ELSE @, !.pending = @ \ {m},
              !.timers[m] = OwnTimeout]

\* AddMember   who: coordinator   code: classic_group/coordinator.py
\* A dynamic consumer joins with the pending id m.
AddMember(b, c, late, m) ==
    LET request == Request(c, late)
        before  == Added(group[b], c, m, request) IN
    \* enabled when
    /\ Accepts(b, c, request) /\ c \in Dynamic
    /\ IF request.member # 0 THEN m = request.member /\ m \in group[b].pending ELSE m = issued + 1
    /\ JoinNamesMemberId(request.member)
    \* effect
    /\ issued' = Max(issued, m)
    /\ Settle(b, Rebalance(b, before), Replied(c, late, Parked("joining", b, m)), 0, <<>>)
    /\ stray' = Taken(c, late)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, offsets, consumer, position, partitions, heartbeatRpc,
                   offsetRpc>>
    /\ rosters' = NextRosters
    /\ reissued' = NextReissued
    /\ UNCHANGED <<known, settled>>

\* The static member `old` goes on as m, the process c. Requests that wait under the old id are fenced. The session is the old
\* process's until m is heard of, or told its generation.
Replaced(g, c, old, m, awaiting, request) ==
    LET member == UpdatedMember(c, g.members[old], FALSE, awaiting, request)
    IN  [g EXCEPT !.members = [x \in MemberIds |-> IF x = m THEN member ELSE IF x = old THEN NoMember ELSE g.members[x]],
                  !.timers = [x \in MemberIds |-> IF x = m THEN g.members[old].session ELSE IF x = old THEN 0 ELSE g.timers[x]],
                  !.leader = IF @ = old THEN m ELSE @]

\* JoinStaticMember   who: coordinator   code: classic_group/coordinator.py
\* A new process of the instance gets the id m; the process that had the instance is replaced. While the group is stable the
\* replacement is written first and nobody rebalances: if its protocol stays, and the subscription, and the old process had
\* nothing to give up. While the leader assigns, all join again.
JoinStaticMember(b, c, late, m) ==
    LET request  == Request(c, late)
        g        == group[b]
        old      == InstanceMember(g)
        fresh    == ReplaceStaticMemberId(g) \/ old = 0
        replaced == Replaced(g, c, old, m, "join", request)
        stays    == /\ Vote(replaced.members) = g.protocol
                    /\ ReplacementKeepsSubscription(g.members[old], request)
                    /\ ReplacementOwesNothing(g.members[old])
        persists == /\ old # 0
                    /\ PersistStaticReplacement(g)
                    /\ stays
        forces   == RebalanceOnReplacementInCompleting(g)
        \* an error of old versions: the new process is told at once what the generation is
        tells    == /\ old # 0 /\ ~persists /\ ~forces
                    /\ g.state = "CompletingRebalance" \/ (g.state = "Stable" /\ stays) IN
    \* enabled when
    /\ Accepts(b, c, request) /\ c \in Static /\ request.member = 0
    /\ m = IF fresh THEN issued + 1 ELSE old
    \* effect
    /\ issued' = Max(issued, m)
    /\ Settle(b, IF old = 0 THEN Rebalance(b, Added(g, c, m, request))
                 ELSE IF persists THEN replaced
                 ELSE IF tells THEN Replaced(g, c, old, m, "nothing", request)
                 ELSE Rebalance(b, replaced),
              Replied(c, late, Parked("joining", b, m)), old,
              IF persists
              THEN <<[type |-> "group", cause |-> "static", member |-> m, group |-> Record(replaced, Assignments(replaced))]>>
              ELSE <<>>)
    /\ stray' = Taken(c, late)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, offsets, consumer, position, partitions, heartbeatRpc,
                   offsetRpc>>
    /\ rosters' = NextRosters
    /\ reissued' = NextReissued
    /\ UNCHANGED <<known, settled>>

\* RejoinMember   who: coordinator   code: classic_group/coordinator.py
\* A member joins again. A follower whose metadata is unchanged is told the current generation at once, and so is the leader while
\* it assigns; else the group rebalances. Its session goes on as it was, but if its SyncGroup waited: that is answered now.
RejoinMember(b, c, late) ==
    LET request == Request(c, late)
        g       == group[b]
        m       == request.member
        same    == SameMetadata(g.members[m], request)
        current == same /\ (g.state = "CompletingRebalance" \/ (g.state = "Stable" /\ g.leader # m))
        before  == [g EXCEPT !.members[m] = UpdatedMember(c, g.members[m], g.members[m].isNew, "join", request),
                             !.timers[m] = IF g.members[m].awaiting = "sync" THEN SessionTimeout(c) ELSE @] IN
    \* enabled when
    /\ Accepts(b, c, request) /\ m \in Present(g)
    \* effect
    /\ IF current
       THEN /\ memberRpc' = Replied(c, late, Joined(b, g, m))
            /\ UNCHANGED <<group, appended>>
       ELSE Settle(b, Rebalance(b, before), Parking(c, late, "joining", b, m), 0, <<>>)
    /\ stray' = Taken(c, late)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, offsets, issued, consumer, position, partitions,
                   heartbeatRpc, offsetRpc>>
    /\ rosters' = NextRosters
    /\ reissued' = NextReissued
    /\ UNCHANGED <<known, settled>>

-----------------------------------------------------------------------------
(* The coordinator: SyncGroup, Heartbeat, LeaveGroup *)

SyncError(b, c, request) ==
    LET g == group[b] IN
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF MemberError(g, c, request.member) # "NONE" THEN MemberError(g, c, request.member)
    ELSE IF ~SyncOfCurrentGeneration(g, request.generation) THEN "ILLEGAL_GENERATION"
    ELSE IF g.state = "PreparingRebalance" THEN "REBALANCE_IN_PROGRESS"
    ELSE "NONE"

\* RejectSync   who: coordinator   code: classic_group/coordinator.py
RejectSync(b, c, late) ==
    LET request == Request(c, late) IN
    \* enabled when
    /\ request.type = "sync" /\ request.broker = b
    /\ SyncError(b, c, request) # "NONE"
    \* effect
    /\ memberRpc' = Replied(c, late, Failed(request.member, SyncError(b, c, request)))
    /\ stray' = Taken(c, late)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   partitions, heartbeatRpc, offsetRpc>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* All members get what the record says; requests that wait for it are answered.
Distribute(g, stored) ==
    [g EXCEPT !.state = "Stable", !.timers = TimersOfSynced(g),
              !.members = [m \in MemberIds |->
                  IF ~g.members[m].present THEN NoMember
                  ELSE With(g.members[m], IF g.members[m].awaiting = "sync" THEN "nothing" ELSE g.members[m].awaiting,
                            g.members[m].isNew, stored.members[m].assignment)]]

\* HandleSync   who: coordinator   code: classic_group/coordinator.py
\* While the leader assigns, members wait; the leader's assignment is appended (and handed out when it has committed). Later
\* they are told what they got, unless the leader has assigned by something new: all join again then.
HandleSync(b, c, late) ==
    LET request == Request(c, late)
        g       == group[b]
        m       == request.member
        before  == [g EXCEPT !.pendingSync = @ \ {m},
                             !.syncTimer = IF g.pendingSync \subseteq {m} THEN 0 ELSE @,
                             !.members[m].awaiting = IF g.state = "CompletingRebalance" THEN "sync" ELSE @]
        record  == Record(before, request.assignments)
        leads   == g.state \in {"CompletingRebalance", "Stable"} /\ m = g.leader
        once    == OneAssignmentPerGeneration(b, request.assignments)
        assigns == leads /\ once /\ g.state = "CompletingRebalance"
        again   == leads /\ ~once
        waits   == PersistAssignmentFirst(g) IN
    \* enabled when
    /\ request.type = "sync" /\ request.broker = b
    /\ SyncError(b, c, request) = "NONE"
    \* effect
    /\ Settle(b, IF again THEN PrepareRebalance(b, before)
                 ELSE IF ~waits /\ assigns THEN Distribute(before, record) ELSE before,
              IF g.state = "Stable" /\ ~again
              THEN Replied(c, late, [type |-> "synced", assignment |-> g.members[m].assignment])
              ELSE Parking(c, late, "syncing", b, m),
              0,
              IF assigns THEN <<[type |-> "group", cause |-> "sync", member |-> 0, group |-> record]>> ELSE <<>>)
    /\ stray' = Taken(c, late)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, offsets, issued, consumer, position, partitions,
                   heartbeatRpc, offsetRpc>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

HeartbeatError(b, c, request) ==
    LET g == group[b] IN
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF MemberError(g, c, request.member) # "NONE" THEN MemberError(g, c, request.member)
    ELSE IF ~HeartbeatOfCurrentGeneration(g, request.generation) THEN "ILLEGAL_GENERATION"
    ELSE IF g.state = "PreparingRebalance" THEN "REBALANCE_IN_PROGRESS"
    ELSE "NONE"

\* HandleHeartbeat   who: coordinator   code: classic_group/coordinator.py
\* A member's session begins again, also if it has to join again.
HandleHeartbeat(b, c) ==
    LET request == heartbeatRpc[c]
        error   == HeartbeatError(b, c, request) IN
    \* enabled when
    /\ request.type = "heartbeat" /\ request.broker = b
    \* effect
    /\ heartbeatRpc' = [heartbeatRpc EXCEPT ![c] = [type |-> "answered", member |-> request.member,
                                                    generation |-> request.generation, error |-> error]]
    /\ group' = IF error \in {"NONE", "REBALANCE_IN_PROGRESS"} THEN [group EXCEPT ![b] = HeardFrom(@, request.member)] ELSE group
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, offsets, issued, consumer, position, partitions,
                   memberRpc, offsetRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* HandleLeave   who: coordinator   code: classic_group/coordinator.py
\* A member or a pending id goes; an unknown one changes nothing. Kafka counts a pending id as a member that has left, so the group
\* rebalances, or its join phase may end (classicGroupLeaveToClassicGroup).
HandleLeave(b, c) ==
    LET m       == stray[c].member
        g       == group[b]
        leaves  == Serving(b) /\ (m \in Present(g) \/ m \in g.pending)
        without == Remove(g, {m}) IN
    \* enabled when
    /\ stray[c].type = "leave" /\ stray[c].broker = b
    \* effect
    /\ stray' = [stray EXCEPT ![c] = Idle]
    /\ IF leaves
       THEN Settle(b, IF g.state = "Empty" THEN without ELSE Rebalance(b, without), memberRpc, 0, <<>>)
       ELSE UNCHANGED <<group, appended, memberRpc>>
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, offsets, issued, consumer, position, partitions,
                   heartbeatRpc, offsetRpc>>
    /\ rosters' = NextRosters
    /\ reissued' = NextReissued
    /\ UNCHANGED <<known, settled>>

-----------------------------------------------------------------------------
(* The coordinator: time-outs. Time is abstract: each may happen whenever it is armed; how long it was set to is in the group. *)

\* A member that waits for a reply is alive by that, unless it is new: its JoinGroup may be nobody's any more.
HeartbeatSatisfied(member) == ~member.isNew /\ member.awaiting # "nothing"

\* The group of b changes by a time-out.
TimeOut(b, after) ==
    /\ Settle(b, after, memberRpc, 0, <<>>)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, offsets, issued, consumer, position, partitions,
                   heartbeatRpc, offsetRpc, stray>>

\* ExpireSession   who: coordinator   code: classic_group/coordinator.py
ExpireSession(b, m) ==
    \* enabled when
    /\ Serving(b) /\ m \in Present(group[b]) /\ ~HeartbeatSatisfied(group[b].members[m])
    \* effect
    /\ TimeOut(b, AfterRemoval(b, Remove(group[b], {m})))
    /\ rosters' = NextRosters
    /\ reissued' = NextReissued
    /\ UNCHANGED <<known, settled>>

\* ExpirePendingMember   who: coordinator   code: classic_group/coordinator.py
\* An id was issued and nobody joined with it.
ExpirePendingMember(b, m) ==
    LET without == Remove(group[b], {m}) IN
    \* enabled when
    /\ Serving(b) /\ m \in group[b].pending
    \* effect
    /\ TimeOut(b, IF without.state = "PreparingRebalance" THEN AfterRemoval(b, without) ELSE without)
    /\ rosters' = NextRosters
    /\ reissued' = NextReissued
    /\ UNCHANGED <<known, settled>>

\* ExpireJoin   who: coordinator   code: classic_group/coordinator.py
\* The rebalance time-out, or the end of the initial delay. If nobody has joined and static members are left, it is armed again.
ExpireJoin(b) ==
    \* enabled when
    /\ group[b].state = "PreparingRebalance" /\ CompleteJoin(b, group[b]) # group[b]
    \* effect
    /\ TimeOut(b, CompleteJoin(b, group[b]))
    /\ rosters' = NextRosters
    /\ reissued' = NextReissued
    /\ UNCHANGED <<known, settled>>

\* ExpireSync   who: coordinator   code: classic_group/coordinator.py
\* Members that have not sent their SyncGroup within the rebalance time-out are removed.
ExpireSync(b) ==
    LET g == group[b] IN
    \* enabled when
    /\ g.state \in {"CompletingRebalance", "Stable"} /\ g.pendingSync # {}
    \* effect
    /\ TimeOut(b, PrepareRebalance(b, Remove(g, g.pendingSync)))
    /\ rosters' = NextRosters
    /\ reissued' = NextReissued
    /\ UNCHANGED <<known, settled>>

-----------------------------------------------------------------------------
(* The coordinator: offsets (OffsetMetadataManager) *)

CommitRequestOf(c, late) == IF late THEN stray[c] ELSE offsetRpc[c]

CommitError(b, c, request) ==
    LET g == group[b] IN
    IF ~Serving(b) THEN "NOT_COORDINATOR"
    ELSE IF c \in Static /\ InstanceMember(g) = 0 THEN "UNKNOWN_MEMBER_ID"
    ELSE IF c \in Static /\ ~MemberOfInstance(g, request.member) THEN "FENCED_INSTANCE_ID"
    ELSE IF ~CommitOfMember(g, request.member) THEN "UNKNOWN_MEMBER_ID"
    ELSE IF ~CommitOfCurrentGeneration(g, request.generation) THEN "ILLEGAL_GENERATION"
    ELSE IF g.state = "CompletingRebalance" THEN "REBALANCE_IN_PROGRESS"
    ELSE "NONE"

\* HandleCommit   who: coordinator   code: classic_group/coordinator.py
\* Accepted: appended, and answered when it has committed. The member is alive.
HandleCommit(b, c, late) ==
    LET request == CommitRequestOf(c, late) IN
    \* enabled when
    /\ request.type = "commit" /\ request.broker = b
    /\ CommitError(b, c, request) = "NONE"
    \* effect
    /\ appended' = [appended EXCEPT ![b] = Append(@, [type |-> "offsets", offsets |-> request.offsets])]
    /\ offsetRpc' = IF late THEN offsetRpc
                    ELSE [offsetRpc EXCEPT ![c] = [type |-> "committing", broker |-> b, member |-> request.member,
                                                   generation |-> request.generation, remaining |-> Len(appended[b]) + 1]]
    /\ stray' = Taken(c, late)
    /\ group' = [group EXCEPT ![b] = HeardFrom(@, request.member)]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, epoch, offsets, issued, consumer, position, partitions,
                   memberRpc, heartbeatRpc>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* RejectCommit   who: coordinator   code: classic_group/coordinator.py
RejectCommit(b, c, late) ==
    LET request == CommitRequestOf(c, late) IN
    \* enabled when
    /\ request.type = "commit" /\ request.broker = b
    /\ CommitError(b, c, request) # "NONE"
    \* effect
    /\ offsetRpc' = IF late THEN offsetRpc
                    ELSE [offsetRpc EXCEPT ![c] = [type |-> "committed", member |-> request.member,
                                                   generation |-> request.generation, error |-> CommitError(b, c, request)]]
    /\ stray' = Taken(c, late)
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   partitions, memberRpc, heartbeatRpc>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

FetchError(b) == IF Serving(b) /\ FetchOfElected(b) THEN "NONE" ELSE "NOT_COORDINATOR"

\* HandleOffsetFetch   who: coordinator   code: classic_group/coordinator.py
\* By who leads the log: the appended offsets, once they have committed (require_stable). Nobody is fenced: a fetch changes nothing.
HandleOffsetFetch(b, c) ==
    LET request == offsetRpc[c]
        error   == FetchError(b)
        found   == ReplayOffsets(appended[b], offsets[b]) IN
    \* enabled when
    /\ request.type = "fetch" /\ request.broker = b
    \* effect
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] =
            IF error = "NONE" /\ FetchWaitsForCommit(b)
            THEN [type |-> "fetching", broker |-> b, remaining |-> Len(appended[b]), offsets |-> found, current |-> request.current]
            ELSE [type |-> "fetched", error |-> error, offsets |-> IF error = "NONE" THEN found ELSE NoOffsets,
                  current |-> request.current]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   partitions, memberRpc, heartbeatRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

-----------------------------------------------------------------------------
(* The log *)

\* The group of b after one of its group records has committed.
Applied(b, entry) ==
    LET g == group[b] IN
    CASE entry.cause = "sync" /\ g.state = "CompletingRebalance"
         /\ PropagateOnlyToItsGeneration(g, entry.group) -> Distribute(g, entry.group)
      [] entry.cause = "static" /\ g.members[entry.member].awaiting = "join" ->
            [g EXCEPT !.members[entry.member].awaiting = "nothing"]
      [] OTHER -> g

\* Once its replacement has committed, a static member goes on in the generation that is; if it leads, it need not assign.
ReplacementAnswers(b, m) ==
    [c \in Clients |->
        IF memberRpc[c].type # "joining" THEN memberRpc[c]
        ELSE IF memberRpc[c].broker # b \/ memberRpc[c].member # m THEN memberRpc[c]
        ELSE [type |-> "joined", broker |-> b, member |-> m, generation |-> group'[b].generation,
              protocol |-> group'[b].protocol, role |-> IF group'[b].leader = m THEN "leader skipping" ELSE "follower",
              roster |-> NoRoster]]

\* One record less until the answer.
OffsetAnswers(b) ==
    [c \in Clients |->
        LET slot == offsetRpc[c] IN
        IF slot.type \notin {"committing", "fetching"} THEN slot
        ELSE IF slot.broker # b THEN slot
        ELSE IF slot.remaining > 1 THEN [slot EXCEPT !.remaining = @ - 1]
        ELSE IF slot.type = "fetching"
        THEN [type |-> "fetched", error |-> "NONE", offsets |-> slot.offsets, current |-> slot.current]
        ELSE [type |-> "committed", member |-> slot.member, generation |-> slot.generation, error |-> "NONE"]]

\* CommitEntry   who: the log   code: classic_group/coordinator.py
\* The oldest record of the coordinator is replicated: it counts, and its request is answered. A deposed coordinator's never is.
CommitEntry(b) ==
    LET entry == Head(appended[b]) IN
    \* enabled when
    /\ Acting(b) /\ appended[b] # <<>>
    \* effect
    /\ appended' = [appended EXCEPT ![b] = Tail(@)]
    /\ offsetRpc' = OffsetAnswers(b)
    /\ IF entry.type = "group"
       THEN /\ storedGroup' = entry.group
            /\ group' = [group EXCEPT ![b] = Applied(b, entry)]
            /\ memberRpc' = IF entry.cause = "static" THEN ReplacementAnswers(b, entry.member)
                            ELSE Answers(memberRpc, b, group'[b], 0)
            /\ UNCHANGED <<storedOffsets, offsets>>
       ELSE /\ storedOffsets' = ReplayOffsets(<<entry>>, storedOffsets)
            /\ offsets' = [offsets EXCEPT ![b] = ReplayOffsets(<<entry>>, offsets[b])]
            /\ UNCHANGED <<storedGroup, group, memberRpc>>
    /\ UNCHANGED <<leaderAndEpoch, epoch, issued, consumer, position, partitions, heartbeatRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* BecomeCoordinator   who: broker   code: classic_group/coordinator.py
\* b is elected for the partition; of the old leader's uncommitted records it has the first `keep`, the others are lost. It
\* replays the log. The old leader, if it lives, goes on until it hears of it.
BecomeCoordinator(b, keep) ==
    LET kept   == SubSeq(appended[leaderAndEpoch.broker], 1, keep)
        record == ReplayGroup(kept, storedGroup)
        last   == ReplayOffsets(kept, storedOffsets) IN
    \* enabled when
    /\ ~Serving(b) /\ keep <= Len(appended[leaderAndEpoch.broker])
    \* effect
    /\ leaderAndEpoch' = [broker |-> b, epoch |-> leaderAndEpoch.epoch + 1]
    /\ storedGroup' = record
    /\ storedOffsets' = last
    /\ epoch' = [epoch EXCEPT ![b] = leaderAndEpoch.epoch + 1]
    /\ group' = [group EXCEPT ![b] = Loaded(record)]
    /\ offsets' = [offsets EXCEPT ![b] = last]
    /\ UNCHANGED <<appended, issued, consumer, position, partitions, memberRpc, heartbeatRpc, offsetRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* Resign   who: broker   code: classic_group/coordinator.py
\* A deposed coordinator hears of it: waiting requests are told, its records are nobody's.
Resign(b) ==
    \* enabled when
    /\ Serving(b) /\ ~Acting(b)
    \* effect
    /\ epoch' = [epoch EXCEPT ![b] = 0]
    /\ group' = [group EXCEPT ![b] = NoGroup]
    /\ offsets' = [offsets EXCEPT ![b] = NoOffsets]
    /\ appended' = [appended EXCEPT ![b] = <<>>]
    /\ memberRpc' = [c \in Clients |->
                        IF memberRpc[c].type \in {"joining", "syncing"} /\ memberRpc[c].broker = b
                        THEN Failed(memberRpc[c].member, "NOT_COORDINATOR") ELSE memberRpc[c]]
    /\ offsetRpc' = [c \in Clients |->
                        IF offsetRpc[c].type = "committing" /\ offsetRpc[c].broker = b
                        THEN [type |-> "committed", member |-> offsetRpc[c].member, generation |-> offsetRpc[c].generation,
                              error |-> "NOT_COORDINATOR"]
                        ELSE IF offsetRpc[c].type = "fetching" /\ offsetRpc[c].broker = b
                        THEN [type |-> "fetched", error |-> "NOT_COORDINATOR", offsets |-> NoOffsets,
                              current |-> offsetRpc[c].current]
                        ELSE offsetRpc[c]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, issued, consumer, position, partitions, heartbeatRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

-----------------------------------------------------------------------------
(* The network *)

\* RepeatMemberRequest   who: the network
\* The request will arrive twice, or (with LoseMemberRpc) after the consumer has given it up.
RepeatMemberRequest(c) ==
    \* enabled when
    /\ memberRpc[c].type \in {"join", "sync"} /\ stray[c].type = "idle"
    \* effect
    /\ stray' = [stray EXCEPT ![c] = memberRpc[c]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   partitions, memberRpc, heartbeatRpc, offsetRpc>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* RepeatCommitRequest   who: the network
RepeatCommitRequest(c) ==
    \* enabled when
    /\ offsetRpc[c].type = "commit" /\ stray[c].type = "idle"
    \* effect
    /\ stray' = [stray EXCEPT ![c] = offsetRpc[c]]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   partitions, memberRpc, heartbeatRpc, offsetRpc>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* LoseMemberRpc   who: the network
\* The request or its reply is lost, or the consumer gives it up; it joins again.
LoseMemberRpc(c) ==
    \* enabled when
    /\ memberRpc[c].type # "idle"
    \* effect
    /\ memberRpc' = [memberRpc EXCEPT ![c] = Idle]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   partitions, heartbeatRpc, offsetRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* LoseHeartbeat   who: the network
LoseHeartbeat(c) ==
    \* enabled when
    /\ heartbeatRpc[c].type # "idle"
    \* effect
    /\ heartbeatRpc' = [heartbeatRpc EXCEPT ![c] = Idle]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   partitions, memberRpc, offsetRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* LoseOffsetRpc   who: the network
LoseOffsetRpc(c) ==
    \* enabled when
    /\ offsetRpc[c].type # "idle"
    \* effect
    /\ offsetRpc' = [offsetRpc EXCEPT ![c] = Idle]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   partitions, memberRpc, heartbeatRpc, stray>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

\* LoseStray   who: the network
LoseStray(c) ==
    \* enabled when
    /\ stray[c].type # "idle"
    \* effect
    /\ stray' = [stray EXCEPT ![c] = Idle]
    /\ UNCHANGED <<leaderAndEpoch, storedGroup, storedOffsets, appended, epoch, group, offsets, issued, consumer, position,
                   partitions, memberRpc, heartbeatRpc, offsetRpc>>
    /\ UNCHANGED <<rosters, reissued, known, settled>>

-----------------------------------------------------------------------------
Next ==
    \/ \E c \in Clients, mode \in Modes : StartConsumer(c, mode)
    \/ \E c \in Clients : CrashConsumer(c)
    \/ \E c \in Clients, b \in Brokers : LeaveGroup(c, b)
    \/ \E c \in Clients, subscription \in SUBSET Partitions : ChangeSubscription(c, subscription)
    \/ \E p \in Partitions : AddPartition(p)
    \/ \E c \in Clients : NoticePartitions(c)
    \/ \E c \in Clients, b \in Brokers : SendJoin(c, b)
    \/ \E c \in Clients : JoinAsFollower(c)
    \/ \E c \in Clients, given \in [Partitions -> MemberOrNew] : JoinAsLeader(c, given)
    \/ \E c \in Clients : ReceiveMemberError(c)
    \/ \E c \in Clients : ReceiveAssignment(c)
    \/ \E c \in Clients : FinishRevocation(c)
    \/ \E c \in Clients, b \in Brokers : SendHeartbeat(c, b)
    \/ \E c \in Clients : ReceiveHeartbeat(c)
    \/ \E c \in Clients, p \in Partitions, offset \in 1..MaxOffset : Poll(c, p, offset)
    \/ \E c \in Clients, b \in Brokers : SendCommit(c, b)
    \/ \E c \in Clients : ReceiveCommit(c)
    \/ \E c \in Clients, b \in Brokers : SendOffsetFetch(c, b)
    \/ \E c \in Clients : ReceiveOffsets(c)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : RejectJoin(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN, m \in MemberIds : IssueMemberId(b, c, late, m)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN, m \in MemberIds : AddMember(b, c, late, m)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN, m \in MemberIds : JoinStaticMember(b, c, late, m)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : RejoinMember(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : RejectSync(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : HandleSync(b, c, late)
    \/ \E b \in Brokers, c \in Clients : HandleHeartbeat(b, c)
    \/ \E b \in Brokers, c \in Clients : HandleLeave(b, c)
    \/ \E b \in Brokers, m \in MemberIds : ExpireSession(b, m)
    \/ \E b \in Brokers, m \in MemberIds : ExpirePendingMember(b, m)
    \/ \E b \in Brokers : ExpireJoin(b)
    \/ \E b \in Brokers : ExpireSync(b)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : HandleCommit(b, c, late)
    \/ \E b \in Brokers, c \in Clients, late \in BOOLEAN : RejectCommit(b, c, late)
    \/ \E b \in Brokers, c \in Clients : HandleOffsetFetch(b, c)
    \/ \E b \in Brokers : CommitEntry(b)
    \/ \E b \in Brokers, keep \in 0..MaxAppended : BecomeCoordinator(b, keep)
    \/ \E b \in Brokers : Resign(b)
    \/ \E c \in Clients : RepeatMemberRequest(c)
    \/ \E c \in Clients : RepeatCommitRequest(c)
    \/ \E c \in Clients : LoseMemberRpc(c)
    \/ \E c \in Clients : LoseHeartbeat(c)
    \/ \E c \in Clients : LoseOffsetRpc(c)
    \/ \E c \in Clients : LoseStray(c)

\* Enabled only while a rule is not in force.
FlawActions == {}

Spec == Init /\ [][Next]_vars
=============================================================================
