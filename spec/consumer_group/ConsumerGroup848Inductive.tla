--------------------- MODULE ConsumerGroup848Inductive ---------------------
(***************************************************************************)
(* One owner per partition among the members in their current epochs, and  *)
(* no commit of another than the owner, in runs of any length: `Inductive` *)
(* holds at first, every action keeps it, and it implies the properties    *)
(* that ConsumerGroup848Inductive.cfg names. `tidemark prove` checks that. *)
(*                                                                         *)
(* The key is what one epoch of a member means. While its epoch stays the  *)
(* same a member loses nothing that it holds, in no group that may come to *)
(* count (Logged). So a consumer in that epoch reads nothing that another  *)
(* member may get, whatever late requests say of it.                       *)
(***************************************************************************)
EXTENDS ConsumerGroup848Properties

VARIABLE
    grown   \* per broker: the group after each of its batches that are not committed

History == <<grown>>

\* HistoryNext takes groups from coordinators, where they have this type.
HistoryTypeOK == grown \in [Brokers -> BoundedSeq(Group, MaxAppended)]

HistoryInit == grown = [b \in Brokers |-> <<>>]

HistoryNext ==
    grown' = [b \in Brokers |->
        IF Len(appended'[b]) > Len(appended[b]) THEN Append(grown[b], group'[b])
        ELSE IF Len(appended'[b]) = Len(appended[b]) THEN grown[b]
        ELSE IF Len(appended'[b]) = Len(appended[b]) - 1 THEN Tail(grown[b])
        ELSE <<>>]

InductiveSpec == Init /\ HistoryInit /\ [][Next /\ HistoryNext]_<<vars, History>>

KeptBounds == {"MaxMember", "MaxAppended"}

\* What is assumed: no step is taken while a broker has MaxAppended batches, and the last processes that are started go on.
FewWait      == \A b \in Brokers : Len(appended[b]) < MaxAppended
LastOnesStay == issued = MaxMember => \A c \in Clients : consumer[c].running

-----------------------------------------------------------------------------
(* Vocabulary *)

Leader == leaderAndEpoch.broker

\* The groups that may come to count: the stored one, and that after each batch of the leader that a successor may have.
Logged(i) == IF i = 0 THEN storedGroup ELSE grown[Leader][i]
Steps     == 0..Len(appended[Leader])

\* What a consumer reads, or may take without another reply.
Reach(c) == consumer[c].owned \cup consumer[c].resolved \cup consumer[c].target

\* A broker that serves and is deposed, and has nothing that waits to commit: it answers at once.
AnswersLate(b) == b # Leader /\ Serving(b) /\ Len(appended[b]) = 0

-----------------------------------------------------------------------------
(* Coordinators and their logs *)

\* A leader serves in the epoch of its election (a load never fails: TolerantReplay, KeepNewerEpoch). Others have served in earlier ones.
LeaderIsLatest ==
    /\ epoch[Leader] = leaderAndEpoch.epoch /\ leaderAndEpoch.epoch > 0
    /\ \A b \in Brokers : b # Leader => epoch[b] < leaderAndEpoch.epoch

\* Whoever resigns forgets the group and its batches.
IdleHoldsNothing ==
    \A b \in Brokers : ~Serving(b) => group[b] = NoGroup /\ Len(appended[b]) = 0 /\ partitionEpoch[b] = Nothing

\* A coordinator applies each batch at once, so its group is that after its last batch.
GrownFits ==
    \A b \in Brokers :
        /\ Len(grown[b]) = Len(appended[b])
        /\ Len(appended[b]) > 0 => grown[b][Len(appended[b])] = group[b]

\* What the leader has is what a replay of its batches gives.
LogIsReplayed ==
    /\ Len(appended[Leader]) = 0 => group[Leader] = storedGroup
    /\ \A b \in Brokers : \A i \in 1..Len(appended[b]) :
        b = Leader =>
            LET after  == grown[b][i]
                replay == Replayed(IF i = 1 THEN storedGroup ELSE grown[b][i - 1], appended[b][i]) IN
            /\ after.groupEpoch = replay.groupEpoch /\ after.assignmentEpoch = replay.assignmentEpoch
            /\ after.metadata = replay.metadata /\ after.target = replay.target
            /\ \A m \in MemberIds : after.members[m] = replay.members[m]

-----------------------------------------------------------------------------
(* Groups *)

\* Each of these is said of every group: the stored one, those of coordinators, and those on the way.
EveryGroup(Fits(_)) ==
    /\ Fits(storedGroup)
    /\ \A b \in Brokers : Fits(group[b])
    /\ \A b \in Brokers : \A i \in 1..Len(grown[b]) : Fits(grown[b][i])

MembersFit(g) ==
    \A m \in MemberIds :
        IF g.members[m].present THEN m <= issued /\ g.members[m].subscription # {} ELSE g.members[m] = NoMember
\* A member id is of a process that was started, and a member that is removed leaves nothing behind.
MembersAreIssued == EveryGroup(MembersFit)

InstanceFits(g) ==
    \A m, n \in MemberIds :
        g.members[m].present /\ g.members[n].present /\ g.members[m].static /\ g.members[n].static => m = n
\* An instance is one member: who joins for it replaces the one that has left (ReplaceReleasedInstance), or is it.
InstanceIsOne == EveryGroup(InstanceFits)

EpochsFit(g) ==
    /\ g.assignmentEpoch <= g.groupEpoch
    /\ \A m \in MemberIds : g.members[m].present =>
        \/ 1 <= g.members[m].memberEpoch /\ g.members[m].memberEpoch <= g.assignmentEpoch
        \/ /\ g.members[m].memberEpoch = -2 /\ g.members[m].static /\ 1 <= g.assignmentEpoch
           /\ g.members[m].state # "UNREVOKED_PARTITIONS"
\* Members follow the target assignment, which follows the group. A static one that has left is in no epoch, and has nothing to give up
\* (LeaveEndsRevocation).
EpochsFollow == EveryGroup(EpochsFit)

StatesFit(g) ==
    \A m \in MemberIds :
        LET member == g.members[m] IN
        /\ PartitionsOf(member.assigned) \cap PartitionsOf(member.revoking) = {}
        /\ member.state # "UNREVOKED_PARTITIONS" => PartitionsOf(member.revoking) = {}
        /\ member.state = "UNREVOKED_PARTITIONS" => /\ PartitionsOf(member.revoking) # {}
                                                    /\ member.memberEpoch < g.assignmentEpoch
\* A member revokes on the way to a target assignment, and is in an earlier epoch until it has acknowledged that.
RevokesInEarlierEpoch == EveryGroup(StatesFit)

TargetFits(g) ==
    \A m \in MemberIds :
        LET member == g.members[m]
            at     == IF member.state = "UNREVOKED_PARTITIONS" THEN member.memberEpoch + 1 ELSE member.memberEpoch IN
        member.present /\ at = g.assignmentEpoch =>
            PartitionsOf(member.assigned) \subseteq g.target[m] \cap member.subscription
\* A member has given up what the target assignment of its epoch does not give it. The target changes with a new assignment epoch only,
\* and so does a subscription that takes something from the member (BumpRevokesNothing). So who has to revoke more
\* (AcknowledgedRevocationEndsEpoch) is two epochs behind.
TargetIsReached == EveryGroup(TargetFits)

\* A member gets a partition when none holds it (AssignReleased), and nobody else does.
HeldByOne == EveryGroup(HeldOnce)

SinceFits(g) ==
    \A m \in MemberIds : \A p \in Partitions :
        LET now == Max(g.members[m].memberEpoch, 0) IN
        g.members[m].present => g.members[m].assigned[p] <= now /\ g.members[m].revoking[p] <= now
\* What a member holds it was given in its epoch or an earlier one.
HeldSinceEarlier == EveryGroup(SinceFits)

\* The epoch of a partition is removed and set with each record of its member (RemoveEpochsFirst), and a load comes to the same.
PartitionsHaveEpochs == PartitionEpochsMatch

-----------------------------------------------------------------------------
(* Consumers and their requests *)

\* A process makes up its member id and keeps it; one that has ended leaves requests only.
ProcessesDiffer ==
    \A c \in Clients :
        /\ consumer[c].running => 1 <= consumer[c].member /\ consumer[c].member <= issued /\ consumer[c].subscription # {}
        /\ ~consumer[c].running => heartbeatRpc[c].type = "idle" /\ offsetRpc[c].type = "idle" /\ consumer[c].memberEpoch = 0
                                   /\ Reach(c) = {}
        /\ \A d \in Clients : c # d /\ consumer[c].running /\ consumer[d].running => consumer[c].member # consumer[d].member

\* A consumer without an epoch has lost all, and gives up what it was about to take (AbandonReconciliation).
JoinersHaveNothing ==
    \A c \in Clients :
        /\ ~consumer[c].reconciling => consumer[c].resolved = {}
        /\ consumer[c].memberEpoch = 0 => consumer[c].state = "JOINING" /\ Reach(c) = {} /\ ~consumer[c].reconciling

\* A join says all: what it subscribes to, and that it owns nothing.
SaysAll(request) ==
    /\ request.memberEpoch = 0 => request.reports /\ request.owned = {} /\ request.tells
    /\ request.tells => request.subscription # {}

\* A heartbeat that says what its sender owns also says what that is about to take (ReportUntilRevoked, ReportWhatIsTaken). Its sender
\* takes nothing new before the reply.
HeartbeatIsOwn ==
    \A c \in Clients :
        heartbeatRpc[c].type = "heartbeat" =>
            /\ heartbeatRpc[c].member = consumer[c].member /\ heartbeatRpc[c].memberEpoch = consumer[c].memberEpoch
            /\ heartbeatRpc[c].reports => Reach(c) \subseteq heartbeatRpc[c].owned
            /\ SaysAll(heartbeatRpc[c])

\* A late request is of a process of the consumer that sent it, and of no other's. Who leaves has ended.
StrayIsOwn ==
    \A c \in Clients :
        stray[c].type # "idle" =>
            /\ 1 <= stray[c].member /\ stray[c].member <= issued
            /\ stray[c].type = "heartbeat" => SaysAll(stray[c])
            /\ \A d \in Clients :
                /\ consumer[d].running /\ (c # d \/ stray[c].type = "leave") => stray[c].member # consumer[d].member
                /\ c # d /\ stray[d].type # "idle" => stray[c].member # stray[d].member

KindFits(g) ==
    \A c \in Clients :
        /\ consumer[c].running /\ g.members[consumer[c].member].present => g.members[consumer[c].member].static = (c \in Static)
        /\ stray[c].type # "idle" /\ g.members[stray[c].member].present => g.members[stray[c].member].static = (c \in Static)
\* A member is static if its process has the instance's id, and ids are of one process.
KindIsOfProcess == EveryGroup(KindFits)

\* A commit is of the process that waits for its answer.
CommitIsOwn == \A c \in Clients : offsetRpc[c].type = "commit" => offsetRpc[c].member = consumer[c].member

\* Whoever waits, waits for a batch that its coordinator has.
WaitingFits ==
    \A c \in Clients : \A b \in Brokers :
        heartbeatRpc[c].type = "waiting" /\ heartbeatRpc[c].broker = b =>
            /\ Serving(b) /\ heartbeatRpc[c].remaining <= Len(appended[b]) /\ heartbeatRpc[c].memberEpoch >= 1

-----------------------------------------------------------------------------
(* What consumers were told *)

\* The epoch of member m is at most that in g. If it was removed the group has gone on since.
NotAbove(g, m, e) == IF g.members[m].present THEN e <= g.members[m].memberEpoch ELSE e < g.groupEpoch

\* In g the member m of this epoch holds all of S.
HoldsIn(g, m, e, S) == g.members[m].present /\ g.members[m].memberEpoch = e => S \subseteq Holds(g.members[m])

\* A reply counts for the groups from its batch on.
Answered(c) == heartbeatRpc[c].type = "answered" /\ heartbeatRpc[c].error = "NONE"
Answering(c, i) ==
    \/ Answered(c)
    \/ heartbeatRpc[c].type = "waiting" /\ heartbeatRpc[c].broker = Leader /\ heartbeatRpc[c].remaining <= i

\* A consumer is told an epoch when it is committed (ReplyAfterCommit), and epochs grow. A member that comes back after it was removed is in
\* a newer one (JoinInNewEpoch).
ToldIsNotAbove ==
    \A c \in Clients : \A i \in Steps :
        consumer[c].memberEpoch > 0 => NotAbove(Logged(i), consumer[c].member, consumer[c].memberEpoch)

\* So is what it is about to be told.
AnswerIsNotAbove ==
    \A c \in Clients :
        /\ Answered(c) => heartbeatRpc[c].memberEpoch >= 1
        /\ \A i \in Steps : Answering(c, i) => NotAbove(Logged(i), consumer[c].member, heartbeatRpc[c].memberEpoch)

\* A member that loses something goes on in another epoch (RevocationReported, AcknowledgedRevocationEndsEpoch), so a consumer in its
\* member's epoch may take nothing that its member does not hold.
ReachIsHeld ==
    \A c \in Clients : \A i \in Steps :
        consumer[c].memberEpoch > 0 => HoldsIn(Logged(i), consumer[c].member, consumer[c].memberEpoch, Reach(c))

\* Who is told another epoch has reported what it owns, and loses none of that.
AnswerIsHeld ==
    \A c \in Clients : \A i \in Steps :
        Answering(c, i) =>
            HoldsIn(Logged(i), consumer[c].member, heartbeatRpc[c].memberEpoch, Reach(c) \cup heartbeatRpc[c].assignment)

\* A deposed coordinator that answers at once has a group that was stored. Epochs have grown since, and within an epoch the member of
\* a process that goes on has lost nothing.
DeposedIsBehind ==
    \A b \in Brokers : \A c \in Clients : \A i \in Steps :
        LET m == consumer[c].member IN
        AnswersLate(b) /\ consumer[c].running => (group[b].members[m].present =>
            /\ NotAbove(Logged(i), m, group[b].members[m].memberEpoch)
            /\ HoldsIn(Logged(i), m, group[b].members[m].memberEpoch, Holds(group[b].members[m])))

Inductive ==
    /\ TypeOK
    /\ HistoryTypeOK
    /\ LeaderIsLatest
    /\ IdleHoldsNothing
    /\ GrownFits
    /\ LogIsReplayed
    /\ MembersAreIssued
    /\ InstanceIsOne
    /\ EpochsFollow
    /\ RevokesInEarlierEpoch
    /\ TargetIsReached
    /\ HeldByOne
    /\ HeldSinceEarlier
    /\ PartitionsHaveEpochs
    /\ ProcessesDiffer
    /\ JoinersHaveNothing
    /\ HeartbeatIsOwn
    /\ StrayIsOwn
    /\ KindIsOfProcess
    /\ CommitIsOwn
    /\ WaitingFits
    /\ ToldIsNotAbove
    /\ AnswerIsNotAbove
    /\ ReachIsHeld
    /\ AnswerIsHeld
    /\ DeposedIsBehind
=============================================================================
