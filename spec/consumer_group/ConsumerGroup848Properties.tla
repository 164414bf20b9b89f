--------------------- MODULE ConsumerGroup848Properties ---------------------
(***************************************************************************)
(* What a group of KIP-848 must never do: state properties (INVARIANT),    *)
(* step properties (PROPERTY [][...]_vars), and what holds once faults     *)
(* have stopped and everything has settled (Quiescent...), which stands in *)
(* for liveness on traces. ConsumerGroup848Properties.cfg is the audit's.  *)
(***************************************************************************)
EXTENDS ConsumerGroup848

-----------------------------------------------------------------------------
(* States *)

\* The group as the elected broker holds it. (Who leads the partition always serves: loading is one step.)
Coordinator == group[leaderAndEpoch.broker]
MemberOf(c) == Coordinator.members[consumer[c].member]

\* The coordinator takes such a consumer for a member that may go on. Its epoch is the member's, or the one before and it owns
\* no more than the member is assigned.
MayGoOn(me) ==
    /\ me.running /\ me.memberEpoch > 0
    /\ me.member \in Present(Coordinator)
    /\ LET member == Coordinator.members[me.member] IN
        \/ me.memberEpoch = member.memberEpoch
        \/ me.memberEpoch = member.previousMemberEpoch /\ me.owned \subseteq PartitionsOf(member.assigned)
Unfenced(c) == MayGoOn(consumer[c])

\* c reads p, and nobody has fenced it.
ActivelyOwns(c, p) == p \in consumer[c].owned /\ Unfenced(c)

\* No partition is actively owned by two consumers.
OneActiveOwner ==
    \A p \in Partitions : \A c, d \in Clients : ActivelyOwns(c, p) /\ ActivelyOwns(d, p) => c = d

\* A partition's active owner also holds it for the coordinator, so no other member will get it.
OwnedIsHeld ==
    \A c \in Clients : \A p \in Partitions : ActivelyOwns(c, p) => p \in Holds(MemberOf(c))

HeldOnce(g) ==
    \A p \in Partitions : \A m, n \in MemberIds : p \in Holds(g.members[m]) /\ p \in Holds(g.members[n]) => m = n

\* No partition is assigned to two members, or to one while another still has to revoke it: in a coordinator's memory and on the log.
PartitionHeldOnce == HeldOnce(storedGroup) /\ \A b \in Brokers : HeldOnce(group[b])

\* A partition has an epoch if and only if a member holds it, and it is that member's.
PartitionEpochsMatch ==
    \A b \in Brokers : \A p \in Partitions :
        LET holders == {m \in MemberIds : p \in Holds(group[b].members[m])} IN
        /\ partitionEpoch[b][p] = -1 <=> holders = {}
        /\ \A m \in holders : partitionEpoch[b][p] = group[b].members[m].memberEpoch

\* Members follow the target assignment, which follows the group.
EpochsInOrder ==
    \A b \in Brokers :
        LET g == group[b] IN
        /\ g.assignmentEpoch <= g.groupEpoch
        /\ \A m \in Present(g) : g.members[m].memberEpoch <= g.assignmentEpoch

\* Nobody waits for an assignment in a group without members.
EmptyGroupIsSettled ==
    \A b \in Brokers : Present(group[b]) = {} => group[b].assignmentEpoch = group[b].groupEpoch

\* A target assignment gives each partition to one member, and all that is known and subscribed to is given.
TargetIsValid ==
    \A b \in Brokers :
        LET g == group[b] IN
        /\ \A m, n \in MemberIds : g.target[m] \cap g.target[n] # {} => m = n
        /\ \A m \in MemberIds : g.target[m] # {} => m \in Present(g)
        /\ g.groupEpoch = g.assignmentEpoch => UNION {g.target[m] : m \in MemberIds} = g.metadata

\* A member may read only what it subscribes to.
AssignedIsSubscribed ==
    \A b \in Brokers : \A m \in Present(group[b]) :
        PartitionsOf(group[b].members[m].assigned) \subseteq group[b].members[m].subscription

\* An instance is one member.
OneMemberPerInstance ==
    \A b \in Brokers : Cardinality({m \in Present(group[b]) : group[b].members[m].static}) <= 1

\* The leader of the partition coordinates: its load has not failed.
LeaderServes == Serving(leaderAndEpoch.broker)

\* The coordinator's state equals its successor's after a replay of the log.
LiveIsReplay ==
    LET b == leaderAndEpoch.broker IN
    /\ offsets[b] = storedOffsets
    /\ Coordinator = ReplayGroup(appended[b], storedGroup)
    /\ partitionEpoch[b] = EpochsOf(Coordinator)

\* A member epoch that a consumer was told is committed, so the next coordinator knows it. (Of a member that is gone it says
\* nothing; ToldWasCommitted does, with a history: MCConsumerGroupHistory.)
ToldIsCommitted ==
    \A c \in Clients :
        consumer[c].running /\ consumer[c].memberEpoch > 0 /\ consumer[c].member \in Present(storedGroup) =>
            storedGroup.members[consumer[c].member].memberEpoch = -2
            \/ consumer[c].memberEpoch <= storedGroup.members[consumer[c].member].memberEpoch

\* A member's state says what it has to do. A stable member has its target; while the next target assignment waits it may have lost
\* something by a new subscription.
GroupWellFormed ==
    \A b \in Brokers :
        LET g == group[b] IN
        /\ ~Serving(b) => g = NoGroup
        /\ \A m \in Present(g) :
            LET member == g.members[m] IN
            /\ m <= issued
            /\ member.subscription # {}
            /\ PartitionsOf(member.assigned) \cap PartitionsOf(member.revoking) = {}
            /\ member.state # "UNREVOKED_PARTITIONS" => PartitionsOf(member.revoking) = {}
            /\ member.state = "UNREVOKED_PARTITIONS" => PartitionsOf(member.revoking) # {}
            /\ member.state = "STABLE" /\ member.memberEpoch = g.assignmentEpoch =>
                /\ PartitionsOf(member.assigned) \subseteq g.target[m]
                /\ g.groupEpoch = g.assignmentEpoch => PartitionsOf(member.assigned) = g.target[m]

\* Every member has a session timer. A member that has to revoke has its own rebalance time-out for that. No other timer runs.
TimersRun ==
    \A b \in Brokers : \A m \in MemberIds :
        LET member == group[b].members[m]
            revokes == member.state = "UNREVOKED_PARTITIONS" IN
        /\ timers[b][m].session = IF Serving(b) /\ member.present THEN SessionTimeout ELSE 0
        /\ timers[b][m].rebalance # 0 => revokes
        /\ revokes /\ Serving(b) => timers[b][m].rebalance = member.rebalance

-----------------------------------------------------------------------------
(* Steps *)

\* A group's epochs never decrease, nor a member's while it stays (but -2, when a static one leaves), nor the coordinator's.
EpochsMonotoneStep ==
    /\ leaderAndEpoch'.epoch >= leaderAndEpoch.epoch
    /\ storedGroup'.groupEpoch >= storedGroup.groupEpoch
    /\ storedGroup'.assignmentEpoch >= storedGroup.assignmentEpoch
    /\ \A b \in Brokers : epoch'[b] = epoch[b] =>
        /\ group'[b].groupEpoch >= group[b].groupEpoch
        /\ group'[b].assignmentEpoch >= group[b].assignmentEpoch
        /\ \A m \in Present(group[b]) : group'[b].members[m].present =>
            \/ group'[b].members[m].memberEpoch = -2
            \/ group'[b].members[m].memberEpoch >= group[b].members[m].memberEpoch
EpochsMonotone == [][EpochsMonotoneStep]_vars

\* A heartbeat that is taken comes from a member, in its epoch or one that the member may be in still, or from one that joins.
\* A static one comes from the member that is mapped to its instance. (A late one that is refused changes nothing at the
\* coordinator.)
CurrentAt(b, c, request) ==
    LET member == group[b].members[request.member] IN
    \/ request.memberEpoch = 0
    \/ /\ member.present
       /\ c \in Static => request.member = InstanceMember(group[b])
       /\ \/ request.memberEpoch = member.memberEpoch
          \/ /\ request.memberEpoch = member.previousMemberEpoch /\ request.reports
             /\ request.owned \subseteq PartitionsOf(member.assigned)
AcceptedIsCurrentStep ==
    \A c \in Clients :
        LET taken == heartbeatRpc'[c].type = "waiting" \/ (heartbeatRpc'[c].type = "answered" /\ heartbeatRpc'[c].error = "NONE") IN
        /\ heartbeatRpc[c].type = "heartbeat" /\ taken => CurrentAt(heartbeatRpc[c].broker, c, heartbeatRpc[c])
        /\ stray[c].type = "heartbeat" /\ stray'[c].type = "idle" /\ (appended' # appended \/ group' # group) =>
            CurrentAt(stray[c].broker, c, stray[c])
AcceptedIsCurrent == [][AcceptedIsCurrentStep]_vars

\* A member knows its assignment after a reply: the reply tells it, an earlier one did, or its request reports just that.
AnswersTellStep ==
    \A c \in Clients :
        LET request == heartbeatRpc[c]
            reply   == heartbeatRpc'[c]
            taken   == reply.type = "waiting" \/ (reply.type = "answered" /\ reply.error = "NONE") IN
        request.type = "heartbeat" /\ taken =>
            LET assigned == PartitionsOf(group'[request.broker].members[request.member].assigned) IN
            reply.gives \/ consumer[c].target = assigned \/ (request.reports /\ request.owned = assigned)
AnswersTell == [][AnswersTellStep]_vars

\* A joining consumer is never fenced for its epoch, nor told that its own instance is taken.
JoiningIsNotFencedStep ==
    \A c \in Clients :
        heartbeatRpc[c].type = "heartbeat" /\ heartbeatRpc'[c].type = "answered" /\ heartbeatRpc[c].memberEpoch = 0 =>
            /\ heartbeatRpc'[c].error # "FENCED_MEMBER_EPOCH"
            /\ heartbeatRpc'[c].error = "UNRELEASED_INSTANCE_ID" =>
                InstanceMember(group[heartbeatRpc[c].broker]) # heartbeatRpc[c].member
JoiningIsNotFenced == [][JoiningIsNotFencedStep]_vars

\* An instance's member is replaced only after it has left.
InstanceNotStolenStep ==
    \A b \in Brokers :
        LET m == InstanceMember(group[b])
            n == InstanceMember(group'[b]) IN
        epoch'[b] = epoch[b] /\ m # 0 /\ n # 0 /\ m # n => group[b].members[m].memberEpoch = -2
InstanceNotStolen == [][InstanceNotStolenStep]_vars

\* The elected coordinator accepts a commit for a partition only of its holder, which has held it since no later than the
\* commit's epoch. (With every rule in force this holds by construction: HandleCommit's guards say so. CommitOfOwner asks the
\* consumers.)
AcceptsCommit(c, request, n) ==
    /\ request.broker = leaderAndEpoch.broker
    /\ Len(appended'[leaderAndEpoch.broker]) > Len(appended[leaderAndEpoch.broker])
    /\ appended'[leaderAndEpoch.broker][n].type = "offsets"
CommitOfHolderStep ==
    \A c \in Clients :
        LET b       == leaderAndEpoch.broker
            n       == Len(appended'[b])
            late    == stray[c].type = "commit" /\ stray'[c].type = "idle"
            prompt  == offsetRpc[c].type = "commit" /\ offsetRpc'[c].type = "committing"
            request == IF late THEN stray[c] ELSE offsetRpc[c] IN
        late \/ prompt =>
            (AcceptsCommit(c, request, n) =>
                \A p \in Partitions : appended'[b][n].offsets[p] >= 0 =>
                    AssignmentEpoch(Coordinator.members[request.member], p) \in 0..request.memberEpoch)
CommitOfHolder == [][CommitOfHolderStep]_vars

\* No commit is accepted for a partition that another consumer actively owns.
CommitOfOwnerStep ==
    \A c \in Clients :
        LET b       == leaderAndEpoch.broker
            n       == Len(appended'[b])
            late    == stray[c].type = "commit" /\ stray'[c].type = "idle"
            prompt  == offsetRpc[c].type = "commit" /\ offsetRpc'[c].type = "committing"
            request == IF late THEN stray[c] ELSE offsetRpc[c] IN
        late \/ prompt =>
            (AcceptsCommit(c, request, n) =>
                \A p \in Partitions : appended'[b][n].offsets[p] >= 0 => ~\E d \in Clients \ {c} : ActivelyOwns(d, p))
CommitOfOwner == [][CommitOfOwnerStep]_vars

\* A member may go from each state to each, by one of three events (CurrentAssignmentBuilder). It is told what to give up, and
\* stays in its epoch. Or it takes the target assignment's epoch, and waits for the partitions of its target that others hold;
\* or has all of them. A static one that leaves for a while has nothing left to give up.
LegalEdge(old, new, target, targetEpoch) ==
    CASE new.state = "UNREVOKED_PARTITIONS"  -> new.memberEpoch = Max(old.memberEpoch, 0)
      [] new.state = "UNRELEASED_PARTITIONS" -> /\ new.memberEpoch = targetEpoch
                                                /\ ~(target \subseteq PartitionsOf(new.assigned))
      [] new.state = "STABLE"                -> \/ new.memberEpoch = targetEpoch
                                                \/ old.state = "UNREVOKED_PARTITIONS" /\ new.memberEpoch = -2
LegalStateEdgesStep ==
    \A b \in Brokers : epoch'[b] = epoch[b] =>
        \A m \in Present(group[b]) : group'[b].members[m].present =>
            LET old == group[b].members[m]
                new == group'[b].members[m] IN
            new.state # old.state => LegalEdge(old, new, group'[b].target[m], group'[b].assignmentEpoch)
LegalStateEdges == [][LegalStateEdgesStep]_vars

\* A member gets a partition only after whoever held it has given it up: acknowledged, left, or removed.
AssignmentFollowsReleaseStep ==
    \A b \in Brokers : epoch'[b] = epoch[b] =>
        \A m \in MemberIds : \A p \in PartitionsOf(group'[b].members[m].assigned) \ Holds(group[b].members[m]) :
            \A n \in Present(group[b]) \ {m} :
                p \in Holds(group[b].members[n]) => group[b].members[n].memberEpoch = -2 /\ ~group'[b].members[n].present
AssignmentFollowsRelease == [][AssignmentFollowsReleaseStep]_vars

\* A consumer takes a partition only after its owner has given it up, or is fenced. (Who is fenced itself may take what it was
\* given before: it cannot commit.)
AssignmentFollowsRevocationStep ==
    \A c \in Clients : \A p \in consumer'[c].owned \ consumer[c].owned :
        MayGoOn(consumer'[c]) => \A d \in Clients \ {c} : ~ActivelyOwns(d, p)
AssignmentFollowsRevocation == [][AssignmentFollowsRevocationStep]_vars

\* The committed offsets change only by a commit that the coordinator accepted: the oldest of its batches, or one that its
\* successor has. (Only CommitEntry and BecomeCoordinator write them, so this holds by construction. That each accepted commit is of
\* a request, and of no other's partition: OwnershipRefined.)
CommittedByAcceptedStep ==
    storedOffsets' # storedOffsets =>
        \E i \in 1..Len(appended[leaderAndEpoch.broker]) :
            /\ i > 1 => leaderAndEpoch' # leaderAndEpoch
            /\ appended[leaderAndEpoch.broker][i].type = "offsets"
            /\ \A p \in Partitions : storedOffsets'[p] # storedOffsets[p] =>
                    \E j \in 1..i : appended[leaderAndEpoch.broker][j].type = "offsets"
                                    /\ appended[leaderAndEpoch.broker][j].offsets[p] = storedOffsets'[p]
CommittedByAccepted == [][CommittedByAcceptedStep]_vars

\* A fetch is told the offsets that the log has committed at the time of the reply. (So a coordinator that is deposed tells none:
\* neither of records that will never commit, nor without those that its successor has committed.)
FetchedIsCommittedStep ==
    \A c \in Clients :
        offsetRpc[c].type \in {"fetch", "fetching"} /\ offsetRpc'[c].type = "fetched" /\ offsetRpc'[c].error = "NONE" =>
            offsetRpc'[c].offsets = storedOffsets'
FetchedIsCommitted == [][FetchedIsCommittedStep]_vars

-----------------------------------------------------------------------------
(* At the end of a run whose faults have stopped and that had time to settle: the finite stand-in for liveness *)

\* The group is assigned, every member has what it should, and nobody but running consumers is in it.
QuiescentGroupSettled ==
    /\ Coordinator.groupEpoch = Coordinator.assignmentEpoch
    /\ Coordinator.metadata = {p \in partitions : \E m \in Present(Coordinator) : p \in Coordinator.members[m].subscription}
    /\ Present(Coordinator) = {consumer[c].member : c \in {x \in Clients : consumer[x].running}}
    /\ \A m \in Present(Coordinator) :
        /\ Coordinator.members[m].state = "STABLE" /\ Coordinator.members[m].memberEpoch = Coordinator.assignmentEpoch

\* Every running consumer has what the coordinator gave it, and all that somebody subscribes to is given.
QuiescentAllOwned ==
    /\ \A c \in Clients : consumer[c].running =>
        /\ Unfenced(c) /\ consumer[c].state = "STABLE"
        /\ consumer[c].owned = PartitionsOf(MemberOf(c).assigned)
    /\ \A p \in partitions :
        (\E c \in Clients : consumer[c].running /\ p \in consumer[c].subscription) =>
            \E c \in Clients : consumer[c].running /\ p \in consumer[c].owned

\* Everything that was appended has committed.
QuiescentAllCommitted == appended[leaderAndEpoch.broker] = <<>>

\* The leader of the partition of __consumer_offsets serves. No other broker serves, or holds uncommitted records.
QuiescentCoordinatorServes ==
    \A b \in Brokers : IF b = leaderAndEpoch.broker THEN epoch[b] = leaderAndEpoch.epoch ELSE epoch[b] = 0 /\ appended[b] = <<>>

\* Nobody waits or has something to say, and nothing is on its way: healing answers heartbeats and commits, too.
QuiescentNothingInFlight ==
    \A c \in Clients :
        /\ heartbeatRpc[c].type = "idle" /\ offsetRpc[c].type = "idle" /\ stray[c].type = "idle"
        /\ consumer[c].running =>
            /\ ~consumer[c].full /\ ~consumer[c].unreported /\ ~consumer[c].reconciling
            /\ consumer[c].told = consumer[c].subscription
=============================================================================
