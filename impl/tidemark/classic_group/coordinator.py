"""The coordinator of a classic group, at one broker (GroupCoordinatorService, GroupMetadataManager). No I/O, no clock.

    requests            a handler answers, or parks the request; records that must outlive this broker go out as a batch
    commit_entry        the oldest of them is replicated: it counts, and requests that waited for it are answered
    become_coordinator  replays the log: this broker then knows the committed records of the group only
    resign              another broker leads the partition of __consumer_offsets: this one forgets the group

The caller appends the batch of an Outcome to the log as one unit and in the order of the outcomes, and sends the
replies. Every handler is an action of the specification, under its name. A deposed coordinator that does not know it
goes on as before; its appends never commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from tidemark.classic_group.group import Awaiting, ClassicGroup
from tidemark.classic_group.offsets import Offsets
from tidemark.classic_group.rebalance import GroupConfig, Rebalance
from tidemark.classic_group.rules import Rules
from tidemark.classic_group.states import GroupEvent, GroupState
from tidemark.common.errors import BrokenInvariant, Errors
from tidemark.groups.coordinator import Coordinator, answered
from tidemark.groups.messages import (
    GroupMetadataRecord,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRecord,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Outcome,
    Record,
    Reply,
    SyncGroupRequest,
    SyncGroupResponse,
    Token,
)
from tidemark.groups.partitions import UNKNOWN_MEMBER_ID, MemberId
from tidemark.groups.purgatory import JOIN_TIMER, SYNC_TIMER, Cause, Purgatory, Timer, TimerKind, Waiting


class JoinVerdict(Enum):
    """The handler for a JoinGroup; the values are the handlers' names."""

    REJECT = "reject_join"
    ISSUE_MEMBER_ID = "issue_member_id"
    ADD_MEMBER = "add_member"
    JOIN_STATIC = "join_static_member"
    REJOIN = "rejoin_member"


class GroupCoordinator(Coordinator[Waiting]):
    """A broker's coordinator of one classic group.

    `new_member_id` makes member ids that no other broker makes; when any member will do, the lowest one is taken.
    """

    __slots__ = ("_config", "_new_member_id", "_offsets", "_purgatory", "_rebalance", "_rules", "group")

    def __init__(self, rules: Rules, config: GroupConfig, new_member_id: Callable[[], MemberId]) -> None:
        self._rules = rules
        self._config = config
        self._new_member_id = new_member_id
        self._forget()

    def _forget(self) -> None:
        self.group = ClassicGroup()
        self._offsets = Offsets(self._rules)
        self._purgatory = Purgatory()
        self._begin(self._offsets, self._purgatory)
        self._rebalance = self._new_rebalance()

    def _new_rebalance(self) -> Rebalance:
        """Of the group, in the epoch that the coordinator serves in."""
        return Rebalance(self.group, self.epoch, self._purgatory, self._rules, self._config)

    # --- reading ------------------------------------------------------------------------------------------------

    @property
    def parked_joins(self) -> dict[Token, MemberId]:
        """The JoinGroups that wait, each with the member that it is for."""
        return self._purgatory.joins

    @property
    def parked_syncs(self) -> dict[Token, MemberId]:
        """The SyncGroups that wait, each with the member that it is for."""
        return self._purgatory.syncs

    # --- JoinGroup ----------------------------------------------------------------------------------------------

    def join_error(self, request: JoinGroupRequest) -> Errors:
        """The error for a JoinGroup; Errors.NONE if the coordinator accepts it."""
        group, member_id = self.group, request.member_id
        if not self.serving:
            return Errors.NOT_COORDINATOR
        if not group.supports_protocols(request.protocols):
            return Errors.INCONSISTENT_GROUP_PROTOCOL
        if member_id == UNKNOWN_MEMBER_ID or member_id in group.pending:
            return Errors.NONE
        return group.member_error(member_id, request.group_instance_id, self._rules)

    def join_verdict(self, request: JoinGroupRequest) -> JoinVerdict:
        """The handler that a JoinGroup goes to."""
        member_id = request.member_id
        if self.join_error(request) is not Errors.NONE:
            return JoinVerdict.REJECT
        if request.group_instance_id is not None:
            return JoinVerdict.JOIN_STATIC if member_id == UNKNOWN_MEMBER_ID else JoinVerdict.REJOIN
        if not self._rules.join_names_member_id(member_id):
            return JoinVerdict.ISSUE_MEMBER_ID
        return JoinVerdict.REJOIN if member_id in self.group.members else JoinVerdict.ADD_MEMBER

    def handle_join(self, verdict: JoinVerdict, request: JoinGroupRequest, token: Token, now_ms: int) -> Outcome:
        """A JoinGroup of which `join_verdict` says this."""
        if verdict is JoinVerdict.REJECT:
            return self.reject_join(request, token)
        if verdict is JoinVerdict.ISSUE_MEMBER_ID:
            return self.issue_member_id(request, token, now_ms)
        if verdict is JoinVerdict.ADD_MEMBER:
            return self.add_member(request, token, now_ms)
        if verdict is JoinVerdict.JOIN_STATIC:
            return self.join_static_member(request, token, now_ms)
        return self.rejoin_member(request, token, now_ms)

    def reject_join(self, request: JoinGroupRequest, token: Token) -> Outcome:
        """A JoinGroup is refused."""
        return answered(token, JoinGroupResponse(self.join_error(request), request.member_id))

    def issue_member_id(self, request: JoinGroupRequest, token: Token, now_ms: int) -> Outcome:
        """A consumer without a member id gets one and has to join with it; until then, or its session time-out, the id
        is pending."""
        member_id = self._new_member_id()
        self.group.pending.add(member_id)
        self._purgatory.arm(Timer(TimerKind.PENDING_MEMBER, member_id), now_ms, request.session_timeout_ms)
        return answered(token, JoinGroupResponse(Errors.MEMBER_ID_REQUIRED, member_id))

    def add_member(self, request: JoinGroupRequest, token: Token, now_ms: int) -> Outcome:
        """A consumer joins with the member id that it was issued."""
        member_id = request.member_id or self._new_member_id()
        self._rebalance.add_member(member_id, request, now_ms)
        self._purgatory.joins[token] = member_id
        self._rebalance.rebalance(now_ms)
        return self._purgatory.outcome()

    def join_static_member(self, request: JoinGroupRequest, token: Token, now_ms: int) -> Outcome:
        """A new process of an instance joins. It replaces the old process of the instance. In a stable group that is
        written down and nobody rebalances. All rebalance if the assignor or the subscription changes, or if the old
        process had something to give up. While the leader assigns, all join again."""
        group, rebalance, rules = self.group, self._rebalance, self._rules
        old_id = group.static_members.get(request.group_instance_id or "")
        fresh = rules.replace_static_member_id(old_id) or old_id is None
        member_id = self._new_member_id() if fresh else old_id
        if member_id is None:
            raise BrokenInvariant("an instance is mapped to no member and is none's first")
        keeps = False
        if old_id is None:
            rebalance.add_member(member_id, request, now_ms)
        else:
            old = group.members[old_id]
            before, owned = old.topics, old.metadata(group.protocol).owned_partitions
            done = rules.replacement_owes_nothing(owned, old.assignment)
            rebalance.replace_static(old_id, member_id, request, now_ms)
            keeps = done and rules.replacement_keeps_subscription(before, group.members[member_id].topics)
        self._purgatory.joins[token] = member_id
        stays = keeps and group.select_protocol() == group.protocol
        if rules.persist_static_replacement(group.state) and stays:
            self._purgatory.append(Waiting((group.record(),), Cause.STATIC, member_id))
        elif old_id is None or self._rejoins_on_replacement(stays):
            rebalance.rebalance(now_ms)
        else:
            rebalance.tell(group.members[member_id])
        return self._purgatory.outcome()

    def _rejoins_on_replacement(self, stays: bool) -> bool:
        """Whether all have to join again when a static member is replaced. `stays`: nothing else changes by it."""
        state = self.group.state
        if state is GroupState.COMPLETING_REBALANCE:
            return self._rules.rebalance_on_replacement_in_completing(state)
        return state is not GroupState.STABLE or not stays

    def rejoin_member(self, request: JoinGroupRequest, token: Token, now_ms: int) -> Outcome:
        """A member joins again. A follower that says nothing new is told the generation at once, and so is the leader
        while it assigns; else the group rebalances."""
        group, rebalance = self.group, self._rebalance
        member = group.members[request.member_id]
        if member.protocols == request.protocols and (
            group.state is GroupState.COMPLETING_REBALANCE
            or (group.state is GroupState.STABLE and group.leader != member.member_id)
        ):
            return answered(token, rebalance.joined(member.member_id))
        sent_away = JoinGroupResponse(Errors.NOT_COORDINATOR, member.member_id)
        rebalance.park(self._purgatory.joins, token, member.member_id, sent_away)
        rebalance.rejoin(member, request, now_ms)
        rebalance.rebalance(now_ms)
        return self._purgatory.outcome()

    # --- SyncGroup, Heartbeat, LeaveGroup -----------------------------------------------------------------------

    def sync_error(self, request: SyncGroupRequest) -> Errors:
        """The error for a SyncGroup; Errors.NONE if the coordinator accepts it."""
        return self._error_of_generation(request, self._rules.sync_of_current_generation)

    def reject_sync(self, token: Token, error: Errors) -> Outcome:
        """A SyncGroup is refused with `sync_error`."""
        return answered(token, SyncGroupResponse(error))

    def handle_sync(self, request: SyncGroupRequest, token: Token, now_ms: int) -> Outcome:
        """While the leader assigns, members wait; its assignment is written down. Members whose SyncGroup comes later
        are told their assignment at once. If the leader has assigned already, it may have assigned by something new:
        all join again."""
        group, rebalance = self.group, self._rebalance
        member = group.members[request.member_id]
        group.pending_sync.discard(member.member_id)
        if not group.pending_sync:
            self._purgatory.disarm(SYNC_TIMER)
        leads, assignments = member.member_id == group.leader, request.assignments or {}
        again = leads and not rebalance.may_assign(assignments)
        if group.state is GroupState.STABLE and not again:
            return answered(token, SyncGroupResponse(Errors.NONE, member.assignment))
        sent_away = SyncGroupResponse(Errors.NOT_COORDINATOR)
        rebalance.park(self._purgatory.syncs, token, member.member_id, sent_away)
        member.awaiting = Awaiting.SYNC
        if again:
            rebalance.prepare_rebalance(now_ms)
        elif leads:
            rebalance.assign(assignments, now_ms)
        return self._purgatory.outcome()

    def heartbeat_error(self, request: HeartbeatRequest) -> Errors:
        """The error for a Heartbeat; Errors.NONE if the coordinator accepts it."""
        return self._error_of_generation(request, self._rules.heartbeat_of_current_generation)

    def _error_of_generation(
        self, request: SyncGroupRequest | HeartbeatRequest, current: Callable[[int, int], bool]
    ) -> Errors:
        """The error for a request that names a generation. `current`: the rule that this generation is the group's."""
        group = self.group
        if not self.serving:
            return Errors.NOT_COORDINATOR
        error = group.member_error(request.member_id, request.group_instance_id, self._rules)
        if error is not Errors.NONE:
            return error
        if not current(request.generation_id, group.generation):
            return Errors.ILLEGAL_GENERATION
        if group.state is GroupState.PREPARING_REBALANCE:
            return Errors.REBALANCE_IN_PROGRESS
        return Errors.NONE

    def handle_heartbeat(self, request: HeartbeatRequest, token: Token, now_ms: int) -> Outcome:
        """A member is alive, asked to rejoin or not; or it is none."""
        error = self.heartbeat_error(request)
        if error in (Errors.NONE, Errors.REBALANCE_IN_PROGRESS):
            self._rebalance.heard_of(self.group.members[request.member_id], now_ms)
        return answered(token, HeartbeatResponse(error))

    def handle_leave(self, request: LeaveGroupRequest, token: Token, now_ms: int) -> Outcome:
        """A member or a pending id goes; an unknown one changes nothing."""
        group, member_id = self.group, request.member_id
        if not self.serving:
            return answered(token, LeaveGroupResponse(Errors.NOT_COORDINATOR))
        if member_id not in group.members and member_id not in group.pending:
            return answered(token, LeaveGroupResponse(Errors.UNKNOWN_MEMBER_ID))
        self._rebalance.remove(member_id)
        if group.state is not GroupState.EMPTY:
            self._rebalance.rebalance(now_ms)
        self._purgatory.reply(token, LeaveGroupResponse(Errors.NONE))
        return self._purgatory.outcome()

    # --- timers -------------------------------------------------------------------------------------------------

    def expire(self, timer: Timer, now_ms: int) -> Outcome | None:
        """A timer has run out. None: there is nothing to do about it; it may run again."""
        kind, member_id = timer
        delay_ms = self._purgatory.delays.get(timer, 0)
        self._purgatory.disarm(timer)
        if kind is TimerKind.SESSION:
            member = self.group.members.get(member_id)
            if member is None:
                return None
            if member.has_satisfied_heartbeat:  # a member that waits for a reply has not gone; its session goes on
                self._purgatory.arm(timer, now_ms, delay_ms)
                return None
            return self.expire_session(member_id, now_ms)
        if kind is TimerKind.PENDING_MEMBER:
            return self.expire_pending_member(member_id, now_ms) if member_id in self.group.pending else None
        return self.expire_join(now_ms, delay_ms) if kind is TimerKind.JOIN else self.expire_sync(now_ms)

    def expire_session(self, member_id: MemberId, now_ms: int) -> Outcome:
        """A member was not heard of for its session time-out."""
        self._rebalance.remove(member_id)
        self._rebalance.after_removal(now_ms)
        return self._purgatory.outcome()

    def expire_pending_member(self, member_id: MemberId, now_ms: int) -> Outcome:
        """A member id was issued and nobody has joined with it."""
        self._rebalance.remove(member_id)
        if self.group.state is GroupState.PREPARING_REBALANCE:
            self._rebalance.after_removal(now_ms)
        return self._purgatory.outcome()

    def expire_join(self, now_ms: int, delay_ms: int) -> Outcome | None:
        """The initial delay or the rebalance time-out, which was `delay_ms`, is over: the join phase ends with those
        that have joined. None: it goes on as it is."""
        group, purgatory = self.group, self._purgatory
        if group.state is not GroupState.PREPARING_REBALANCE or self._rebalance.extend_initial_delay(now_ms):
            return None
        before = (group.state, group.leader, len(group.members), delay_ms)
        self._rebalance.complete_join(now_ms)
        changed = (group.state, group.leader, len(group.members), purgatory.delays.get(JOIN_TIMER, 0)) != before
        return self._purgatory.outcome() if changed else None

    def expire_sync(self, now_ms: int) -> Outcome | None:
        """Members have not sent their SyncGroup within the rebalance time-out: they are removed. None: all have."""
        group = self.group
        if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE) or not group.pending_sync:
            return None
        for member_id in sorted(group.pending_sync):
            self._rebalance.remove(member_id)
        self._rebalance.prepare_rebalance(now_ms)
        return self._purgatory.outcome()

    # --- offsets ------------------------------------------------------------------------------------------------

    def commit_error(self, request: OffsetCommitRequest) -> Errors:
        """The error for an OffsetCommit; Errors.NONE if the coordinator accepts it."""
        return self._offsets.commit_error(self.group, request) if self.serving else Errors.NOT_COORDINATOR

    def handle_commit(self, request: OffsetCommitRequest, token: Token, now_ms: int) -> Outcome:
        """An OffsetCommit is accepted: written down, and answered when that has committed. The member is alive."""
        member = self.group.members.get(request.member_id)
        if member is not None:
            self._rebalance.heard_of(member, now_ms)
        self._purgatory.append(Waiting(self._offsets.records(request), Cause.COMMIT, token=token))
        return self._purgatory.outcome()

    def handle_offset_fetch(self, request: OffsetFetchRequest, token: Token, elected: bool) -> Outcome:
        """Somebody asks for the offsets (require_stable): those that are written, once they have committed. `elected`:
        this broker still leads the partition, as its log has made sure."""
        if not self.serving or not self._rules.fetch_of_elected(elected):
            return answered(token, OffsetFetchResponse(Errors.NOT_COORDINATOR, {}))
        response = OffsetFetchResponse(Errors.NONE, self._offsets.written(self.waiting))
        if not self._rules.fetch_waits_for_commit(len(self.waiting)):
            return answered(token, response)
        self.waiting[-1].fetches.append(Reply(token, response))
        return Outcome()

    # --- the log ------------------------------------------------------------------------------------------------

    def commit_entry(self, now_ms: int) -> Outcome:
        """The oldest batch is replicated: it counts, and the requests that waited for it are answered."""
        waiting = self._purgatory.waiting.popleft()
        if waiting.cause is Cause.COMMIT:
            for record in waiting.batch:
                self.replay(record)
            self._purgatory.reply(waiting.token, OffsetCommitResponse(Errors.NONE))
        elif waiting.cause is Cause.STATIC:
            self._rebalance.replacement_committed(waiting.member_id)
        elif waiting.cause is Cause.SYNC:
            for record in waiting.batch:
                if isinstance(record, GroupMetadataRecord):
                    self._rebalance.assignment_committed(record, now_ms)
        for reply in waiting.fetches:
            self._purgatory.reply(reply.token, reply.response)
        return self._purgatory.outcome()

    def replay(self, record: Record) -> None:
        """A committed record of the log is read: it replaces the group, or an offset."""
        if isinstance(record, GroupMetadataRecord):
            self.group = ClassicGroup.load(record)
        elif isinstance(record, OffsetCommitRecord):
            self._offsets.replay(record)

    def become_coordinator(self, epoch: int, records: Iterable[Record], now_ms: int) -> None:
        """This broker leads the group's partition in `epoch`; `records` is the log, in order. Every member of the group
        has a session from now on."""
        self._forget()
        self.epoch = epoch
        self.group = ClassicGroup.load(None)
        for record in records:
            self.replay(record)
        self._rebalance = self._new_rebalance()
        for member in self.group.members.values():
            self._rebalance.heard_of(member, now_ms)

    def resign(self) -> Outcome:
        """Another broker leads: waiting requests are refused, and the memory is empty."""
        purgatory, error = self._purgatory, Errors.NOT_COORDINATOR
        if self.serving:
            self.group.transition(GroupEvent.UNLOADED)
        for token, member_id in purgatory.joins.items():
            purgatory.reply(token, JoinGroupResponse(error, member_id))
        for token in purgatory.syncs:
            purgatory.reply(token, SyncGroupResponse(error))
        for waiting in purgatory.waiting:
            if waiting.cause is Cause.COMMIT:
                purgatory.reply(waiting.token, OffsetCommitResponse(error))
            for reply in waiting.fetches:
                purgatory.reply(reply.token, OffsetFetchResponse(error, {}))
        self._forget()
        return Outcome(replies=purgatory.outcome().replies)
