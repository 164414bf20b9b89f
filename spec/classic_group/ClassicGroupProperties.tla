----------------------- MODULE ClassicGroupProperties -----------------------
(***************************************************************************)
(* What a classic group must never do: state properties (INVARIANT), step  *)
(* properties (PROPERTY [][...]_vars), and what holds once faults have     *)
(* stopped and everything has settled (Quiescent...), which stands in for  *)
(* liveness on traces. ClassicGroupProperties.cfg is the audit's.          *)
(***************************************************************************)
EXTENDS ClassicGroup

-----------------------------------------------------------------------------
(* States *)

\* The group as the elected broker holds it. (Who leads the partition always serves: loading is one step.)
Coordinator == group[leaderAndEpoch.broker]

\* The coordinator would take what c says: its member id and its generation are current.
Unfenced(c) ==
    /\ consumer[c].running /\ consumer[c].member # 0
    /\ consumer[c].member \in Present(Coordinator)
    /\ consumer[c].generation = Coordinator.generation

\* c reads p and could commit it. (A cooperative consumer goes on reading p while it joins: OneReader.)
ActivelyOwns(c, p) == p \in consumer[c].owned /\ consumer[c].state = "STABLE" /\ Unfenced(c)

\* No partition is actively owned by two consumers. (Of consumers that are STABLE; of those that join, OneReader. That
\* nobody reads what another commits is NoneReadAgain, with a history: MCGroupHistory.)
OneActiveOwner ==
    \A p \in Partitions : \A c, d \in Clients : ActivelyOwns(c, p) /\ ActivelyOwns(d, p) => c = d

\* c is cooperative, and goes on reading p while it joins. (One that was left out of a generation does so, too, until its SyncGroup is
\* answered, here and in Kafka; p may be another's by then. What it does at last is row 107's.)
ReadsOn(c, p) ==
    /\ p \in consumer[c].owned /\ consumer[c].state # "STABLE" /\ Unfenced(c)
    /\ IsCooperative(c) /\ ~consumer[c].missed

\* No other consumer reads what a cooperative one reads while it joins.
OneReader ==
    \A p \in Partitions : \A c, d \in Clients : ReadsOn(c, p) /\ (ReadsOn(d, p) \/ ActivelyOwns(d, p)) => c = d

\* No partition is assigned to two members in one generation: in each coordinator's memory, and on the log. (What consumers own:
\* OneActiveOwner; what two coordinators give in one generation: GenerationNamesMembership.)
OneAssigneePerGeneration ==
    /\ \A b \in Brokers : \A m, n \in MemberIds :
        group[b].members[m].assignment \cap group[b].members[n].assignment # {} => m = n
    /\ \A m, n \in MemberIds :
        storedGroup.members[m].assignment \cap storedGroup.members[n].assignment # {} => m = n

\* A generation names one membership.
GenerationNamesMembership == reissued = {}

\* Stable: the assignment of this generation is on the log. (A static member's may be there as that of the member it replaced.)
StableIsPersisted ==
    Coordinator.state = "Stable" =>
        /\ storedGroup.generation = Coordinator.generation
        /\ \A m \in Present(Coordinator) : \E n \in MemberIds :
            /\ n = m \/ (Coordinator.members[m].static /\ storedGroup.members[n].static)
            /\ storedGroup.members[n].assignment = Coordinator.members[m].assignment

GroupRecordWaits(b) == \E i \in 1..Len(appended[b]) : appended[b][i].type = "group"

\* The coordinator's state equals its successor's after a replay, except for uncommitted records and a rebalance under way.
LiveIsReplay ==
    LET b == leaderAndEpoch.broker IN
    /\ offsets[b] = storedOffsets
    /\ Coordinator.state \in {"Stable", "Empty"} /\ ~GroupRecordWaits(b) =>
        /\ Coordinator.generation = storedGroup.generation
        /\ Coordinator.state = "Stable" => Record(Coordinator, Assignments(Coordinator)) = storedGroup
        /\ Coordinator.state = "Empty" => \A m \in MemberIds : ~storedGroup.members[m].present

\* An instance is one member. (By construction: JoinStaticMember replaces the one that there is. It is for traces.)
OneMemberPerInstance ==
    \A b \in Brokers : Cardinality({m \in Present(group[b]) : group[b].members[m].static}) <= 1

\* Two processes never hold the same member id.
OneProcessPerMember ==
    \A c, d \in Clients : consumer[c].member # 0 /\ consumer[c].member = consumer[d].member => c = d

\* A dynamic member is a consumer that was told its id: nobody joins as a phantom.
NoPhantomMember ==
    \A b \in Brokers : \A m \in Present(group[b]) : ~group[b].members[m].static => m \in known

\* A static process was replaced, and its successor got an assignment: it is never a member of the elected coordinator's group.
ReplacedStaysFenced ==
    \A m, n \in settled : m < n => m \notin Present(Coordinator)

\* The group's parts fit together: the leader is a member, and so is every counted member.
GroupWellFormed ==
    \A b \in Brokers :
        LET g == group[b] IN
        /\ g.leader # 0 <=> Present(g) # {}
        /\ g.leader # 0 => g.leader \in Present(g)
        /\ g.pending \cap Present(g) = {}
        /\ Serving(b) <=> g.state # "Dead"
        /\ g.state = "Empty" => Present(g) = {}
        /\ g.state \in {"CompletingRebalance", "Stable"} => Present(g) # {}
        /\ \A m \in Present(g) : /\ g.members[m].awaiting = "sync" => g.state = "CompletingRebalance"
                                 /\ m <= issued

\* Every member has a session timer with its own time-out. A new member may have the coordinator's time-out for its first join phase,
\* a static one that of a process of its instance. An issued id waits for its consumer's session time-out. No other timer runs.
SessionTimersRun ==
    \A b \in Brokers : \A m \in MemberIds :
        LET g == group[b] IN
        IF m \in Present(g) THEN \/ g.timers[m] = g.members[m].session
                                 \/ g.members[m].isNew /\ g.timers[m] = OwnTimeout
                                 \/ g.members[m].static /\ \E c \in Static : g.timers[m] = SessionTimeout(c)
        ELSE IF m \in g.pending THEN \E c \in Dynamic : g.timers[m] = SessionTimeout(c)
        ELSE g.timers[m] = 0

\* The timers of the group run while members are waited for, and no longer.
GroupTimersRun ==
    \A b \in Brokers :
        LET g == group[b] IN
        /\ g.joinTimer # 0 => g.state = "PreparingRebalance"
        /\ g.initial => g.joinTimer = OwnTimeout
        /\ g.syncTimer # 0 => g.pendingSync # {}
        /\ g.pendingSync # {} => g.syncTimer # 0 \/ OwnTimeout = 0

\* If a consumer waits for the reply to its JoinGroup or SyncGroup, the group waits for it, or is about to answer it. (A
\* SyncGroup whose member is removed waits for nothing, here and in Kafka.)
WaitingIsAwaited ==
    \A c \in Clients :
        memberRpc[c].type \in {"joining", "syncing", "superseded"} /\ Serving(memberRpc[c].broker) =>
            LET member == group[memberRpc[c].broker].members[memberRpc[c].member] IN
            member.awaiting = "nothing" => memberRpc[c].type = "syncing" /\ ~member.present

\* The leader has nothing to notice: it sees the partitions by which it assigned.
LeaderIsUpToDate ==
    \E c \in Clients :
        consumer[c].leads /\ consumer[c].state = "STABLE" /\ Unfenced(c) /\ consumer[c].snapshot = partitions

\* Everything that is subscribed to and exists is given to somebody when an eager group is stable and has nothing to notice.
EagerAssignmentIsComplete ==
    Coordinator.state = "Stable" /\ Coordinator.protocol = "range" /\ LeaderIsUpToDate =>
        \A p \in partitions :
            (\E m \in Present(Coordinator) : p \in Coordinator.members[m].subscription) =>
                \E m \in Present(Coordinator) : p \in Coordinator.members[m].assignment

\* A cooperative one may withhold partitions that a member has said that it owns: a member that has given them up joins again.
WithheldIsOwed ==
    Coordinator.state = "Stable" /\ Coordinator.protocol = "cooperative-sticky" /\ LeaderIsUpToDate =>
        \A p \in partitions :
            (\E m \in Present(Coordinator) : p \in Coordinator.members[m].subscription) =>
                \E m \in Present(Coordinator) : p \in Coordinator.members[m].assignment \cup Coordinator.members[m].owned

-----------------------------------------------------------------------------
(* Steps *)

\* A coordinator's generations never decrease, nor do those of the log, nor the coordinator's epochs.
GenerationMonotoneStep ==
    /\ leaderAndEpoch'.epoch >= leaderAndEpoch.epoch
    /\ storedGroup'.generation >= storedGroup.generation
    /\ \A b \in Brokers : epoch'[b] = epoch[b] => group'[b].generation >= group[b].generation
GenerationMonotone == [][GenerationMonotoneStep]_vars

\* The coordinator accepts a commit, a SyncGroup or a heartbeat only of a current member in the current generation. (A late
\* request that is refused changes nothing at the coordinator.)
CurrentAt(b, c, request) ==
    /\ request.member \in Present(group[b]) /\ request.generation = group[b].generation
    /\ c \in Static => request.member = InstanceMember(group[b])
AcceptedIsCurrentStep ==
    \A c \in Clients :
        /\ offsetRpc[c].type = "commit" /\ offsetRpc'[c].type = "committing" => CurrentAt(offsetRpc[c].broker, c, offsetRpc[c])
        /\ memberRpc[c].type = "sync" /\ memberRpc'[c].type \in {"syncing", "synced"} =>
            CurrentAt(memberRpc[c].broker, c, memberRpc[c])
        /\ heartbeatRpc[c].type = "heartbeat" /\ heartbeatRpc'[c].type = "answered" /\ heartbeatRpc'[c].error = "NONE" =>
            CurrentAt(heartbeatRpc[c].broker, c, heartbeatRpc[c])
        /\ stray[c].type \in {"commit", "sync"} /\ stray'[c].type = "idle" /\ (appended' # appended \/ group' # group) =>
            CurrentAt(stray[c].broker, c, stray[c])
AcceptedIsCurrent == [][AcceptedIsCurrentStep]_vars

\* No commit is accepted for a partition that another consumer actively owns.
CommitOfOwnerStep ==
    \A c \in Clients :
        LET b       == leaderAndEpoch.broker
            late    == stray[c].type = "commit" /\ stray'[c].type = "idle"
            prompt  == offsetRpc[c].type = "commit" /\ offsetRpc'[c].type = "committing"
            request == IF late THEN stray[c] ELSE offsetRpc[c] IN
        late \/ prompt =>
            (request.broker = b /\ Len(appended'[b]) > Len(appended[b]) =>
                \A p \in Partitions : request.offsets[p] >= 0 => ~\E d \in Clients \ {c} : ActivelyOwns(d, p))
CommitOfOwner == [][CommitOfOwnerStep]_vars

\* Kafka's edges between states.
Edge(from, to) ==
    CASE from = "Empty"               -> to = "PreparingRebalance"
      [] from = "PreparingRebalance"  -> to \in {"CompletingRebalance", "Empty"}
      [] from = "CompletingRebalance" -> to \in {"Stable", "PreparingRebalance"}
      [] from = "Stable"              -> to = "PreparingRebalance"
      [] OTHER                        -> FALSE
\* By what: the end of a join phase is a new generation, and nothing else is. One handler may begin the phase and end it, but not
\* the first one of a group.
LegalEdge(from, to, ends) ==
    IF ends THEN from # "Empty" /\ Edge("PreparingRebalance", to)
    ELSE from # "PreparingRebalance" /\ Edge(from, to)
\* A coordinator is loaded and unloaded.
LegalStateEdgesStep ==
    \A b \in Brokers :
        LET from == group[b].state
            to   == group'[b].state
            ends == group'[b].generation # group[b].generation IN
        IF epoch'[b] # epoch[b] THEN to \in {"Empty", "Stable", "Dead"}
        ELSE to # from \/ ends => LegalEdge(from, to, ends)
LegalStateEdges == [][LegalStateEdgesStep]_vars

\* A consumer takes a partition only after its owner has given it up, or is fenced. (Who is fenced itself may take what it was
\* given before: it cannot commit.)
AssignmentFollowsRevocationStep ==
    \A c \in Clients : \A p \in consumer'[c].owned \ consumer[c].owned :
        Unfenced(c) => \A d \in Clients \ {c} : ~ActivelyOwns(d, p)
AssignmentFollowsRevocation == [][AssignmentFollowsRevocationStep]_vars

\* A rebalance waits for its slowest member: for all to join, and once they have, for all to send their SyncGroup.
RebalanceWaitsForSlowestStep ==
    \A b \in Brokers :
        LET g == group'[b] IN
        /\ g.state = "PreparingRebalance" /\ ~g.initial /\ group[b].state # "PreparingRebalance" =>
            \A m \in Present(g) : g.members[m].rebalance <= g.joinTimer
        /\ g.state = "CompletingRebalance" /\ g.generation # group[b].generation =>
            \A m \in Present(g) : g.members[m].rebalance <= g.syncTimer
RebalanceWaitsForSlowest == [][RebalanceWaitsForSlowestStep]_vars

\* The member that has to assign learns which members have the instance id, in the current group. (By construction: RosterOf is of the
\* group that the reply tells. It is for traces.)
RosterNamesInstancesStep ==
    \A c \in Clients :
        memberRpc[c].type # "joined" /\ memberRpc'[c].type = "joined" /\ memberRpc'[c].role = "leader" =>
            \A m \in MemberIds : memberRpc'[c].roster[m].static = group'[memberRpc'[c].broker].members[m].static
RosterNamesInstances == [][RosterNamesInstancesStep]_vars

\* A leader's assignment that is accepted is for members of its group.
AssignmentNamesMembersStep ==
    \A c \in Clients :
        LET late    == stray[c].type = "sync" /\ stray'[c].type = "idle"
            prompt  == memberRpc[c].type = "sync" /\ memberRpc'[c].type \in {"syncing", "synced"}
            request == IF late THEN stray[c] ELSE memberRpc[c] IN
        late \/ prompt =>
            (Len(appended'[request.broker]) > Len(appended[request.broker]) =>
                \A m \in MemberIds : request.assignments[m] # {} => m \in Present(group[request.broker]))
AssignmentNamesMembers == [][AssignmentNamesMembersStep]_vars

\* The committed offsets change only by a commit that the coordinator accepted: the oldest of its records, or one that its
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

\* A member that has been in a generation and waits in its JoinGroup does not expire.
ParkedMemberStaysStep ==
    \A c \in Clients :
        memberRpc[c].type = "joining" /\ memberRpc'[c].type = "failed" /\ memberRpc'[c].error = "UNKNOWN_MEMBER_ID"
        /\ stray' = stray =>
            memberRpc[c].member \notin UNION {rosters[g] : g \in Generations}
ParkedMemberStays == [][ParkedMemberStaysStep]_vars

-----------------------------------------------------------------------------
(* At the end of a run whose faults have stopped and that had time to settle: the finite stand-in for liveness *)

\* The group is stable or empty, and nobody but running consumers is in it.
QuiescentGroupSettled ==
    /\ Coordinator.state \in {"Stable", "Empty"} /\ Coordinator.pending = {} /\ Coordinator.pendingSync = {}
    /\ Present(Coordinator) = {consumer[c].member : c \in {x \in Clients : consumer[x].running}}

\* Every running consumer has what the coordinator gave it, and all that somebody subscribes to is given.
QuiescentAllOwned ==
    /\ \A c \in Clients : consumer[c].running =>
        /\ Unfenced(c) /\ consumer[c].state = "STABLE"
        /\ consumer[c].owned = Coordinator.members[consumer[c].member].assignment
    /\ \A p \in partitions :
        (\E c \in Clients : consumer[c].running /\ p \in consumer[c].subscription) =>
            \E c \in Clients : consumer[c].running /\ p \in consumer[c].owned

\* Everything that was appended has committed.
QuiescentAllCommitted == appended[leaderAndEpoch.broker] = <<>>

\* The leader of the partition of __consumer_offsets serves. No other broker serves, or holds uncommitted records.
QuiescentCoordinatorServes ==
    \A b \in Brokers : IF b = leaderAndEpoch.broker THEN epoch[b] = leaderAndEpoch.epoch ELSE epoch[b] = 0 /\ appended[b] = <<>>

\* Nobody waits or is about to join again, and nothing is on its way: healing answers heartbeats and commits, too.
QuiescentNothingInFlight ==
    \A c \in Clients :
        /\ memberRpc[c].type = "idle" /\ heartbeatRpc[c].type = "idle" /\ offsetRpc[c].type = "idle" /\ stray[c].type = "idle"
        /\ consumer[c].running => ~consumer[c].rejoin
=============================================================================
