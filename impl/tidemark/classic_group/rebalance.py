"""How a classic group rebalances: the join phase and the assignment (GroupMetadataManager, DelayedJoin, DelayedSync).

    rebalance           a member came, went, or joined with something new: all have to join again
    prepare_rebalance   the join phase begins; members that wait for an assignment hear REBALANCE_IN_PROGRESS
    complete_join       it ends, because all have joined or its time is up: a new generation with a leader, or nobody
    assign              the leader's assignment is written down
    distribute          it has committed: every member is told its assignment

These are parts of handlers; requests and timers come in by coordinator.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidemark.classic_group.group import Awaiting, ClassicGroup, ClassicGroupMember
from tidemark.classic_group.rules import Rules
from tidemark.classic_group.states import GroupEvent, GroupState
from tidemark.common.errors import Errors
from tidemark.groups.messages import (
    GroupMetadataRecord,
    JoinGroupRequest,
    JoinGroupResponse,
    Partitions,
    Response,
    Token,
)
from tidemark.groups.messages import SyncGroupResponse as Synced
from tidemark.groups.partitions import UNKNOWN_MEMBER_ID, MemberId
from tidemark.groups.purgatory import JOIN_TIMER, SYNC_TIMER, Cause, Purgatory, Timer, TimerKind, Waiting, taken


@dataclass(slots=True)
class GroupConfig:
    """The coordinator's configuration; times are in milliseconds."""

    initial_rebalance_delay_ms: int = 3_000
    """group.initial.rebalance.delay.ms: how long a group that was empty waits for more members."""
    new_member_join_timeout_ms: int = 300_000
    """How long a new member may wait in its first join phase before it counts as gone."""
    epoch_generations: int = 65_536
    """How many generations an epoch of the coordinator has to itself."""


class Rebalance:
    """One group at one coordinator, in one epoch of it."""

    __slots__ = ("_config", "_initial_deadline_ms", "_joined_meanwhile", "_rules", "epoch", "group", "purgatory")

    def __init__(
        self, group: ClassicGroup, epoch: int, purgatory: Purgatory, rules: Rules, config: GroupConfig
    ) -> None:
        self.group = group
        self.epoch = epoch
        self.purgatory = purgatory
        self._rules = rules
        self._config = config
        self._initial_deadline_ms = 0
        self._joined_meanwhile = False

    # --- members come and go ------------------------------------------------------------------------------------

    def add_member(self, member_id: MemberId, request: JoinGroupRequest, now_ms: int) -> None:
        """A new member joins; it is told its generation when the join phase ends."""
        self.group.add(ClassicGroupMember.joining(member_id, request))
        self._joined_meanwhile = True
        self.purgatory.forget(member_id)
        session = Timer(TimerKind.SESSION, member_id)
        self.purgatory.arm(session, now_ms, self._config.new_member_join_timeout_ms)

    def rejoin(self, member: ClassicGroupMember, request: JoinGroupRequest, now_ms: int) -> None:
        """A member joins again. It waits for no assignment any more: a waiting SyncGroup is answered, and the member's
        session begins again. Otherwise its session goes on as it was."""
        synced = member.awaiting is Awaiting.SYNC
        member.update(request)
        self.purgatory.answer_syncs(member.member_id, Synced(Errors.REBALANCE_IN_PROGRESS))
        if synced:
            self.heard_of(member, now_ms)

    def park(self, parked: dict[Token, MemberId], token: Token, member_id: MemberId, sent_away: Response) -> None:
        """A JoinGroup or SyncGroup waits for its member in the place of an earlier one, which is `sent_away`. That
        one's client looks for the coordinator and asks again, if it is still there."""
        earlier = taken(parked, member_id)
        if self._rules.answer_superseded(bool(earlier)):
            for one in earlier:
                self.purgatory.reply(one, sent_away)
        parked[token] = member_id

    def replace_static(self, old_id: MemberId, new_id: MemberId, request: JoinGroupRequest, now_ms: int) -> None:
        """Another process of the instance goes on as `new_id`: requests that wait under the old id are fenced. The
        session is the old process's until the new one is heard of."""
        session_ms = self.group.members[old_id].session_timeout_ms
        if old_id != new_id:
            fenced = Errors.FENCED_INSTANCE_ID
            self.purgatory.answer_joins(old_id, JoinGroupResponse(fenced, old_id))
            self.purgatory.answer_syncs(old_id, Synced(fenced))
            self.purgatory.forget(old_id)
        self.group.replace_static(old_id, new_id, request)
        self.purgatory.answer_syncs(new_id, Synced(Errors.REBALANCE_IN_PROGRESS))
        self.purgatory.arm(Timer(TimerKind.SESSION, new_id), now_ms, session_ms)

    def remove(self, member_id: MemberId) -> None:
        """A member or a pending id goes. Its JoinGroup is answered, its SyncGroup is not: nothing would come of it."""
        self.group.remove(member_id)
        self.purgatory.forget(member_id)
        self.purgatory.answer_joins(member_id, JoinGroupResponse(Errors.UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER_ID))

    def heard_of(self, member: ClassicGroupMember, now_ms: int) -> None:
        """The member is alive: its session begins again."""
        self.purgatory.arm(Timer(TimerKind.SESSION, member.member_id), now_ms, member.session_timeout_ms)

    # --- the join phase -----------------------------------------------------------------------------------------

    def rebalance(self, now_ms: int) -> None:
        """All have to join; or, if they do so already, perhaps all have now."""
        group = self.group
        if group.state is not GroupState.PREPARING_REBALANCE:
            self.prepare_rebalance(now_ms)
        elif not group.initial and group.all_joined:
            self.complete_join(now_ms)

    def after_removal(self, now_ms: int) -> None:
        """A member is gone: the others divide its partitions, and need not wait for it."""
        group = self.group
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            self.prepare_rebalance(now_ms)
        elif group.state is GroupState.PREPARING_REBALANCE and group.all_joined:
            self.complete_join(now_ms)

    def prepare_rebalance(self, now_ms: int) -> None:
        """The join phase begins. In a group that was empty it lasts until its time-out, so that others may join."""
        group, purgatory = self.group, self.purgatory
        group.initial = group.state is GroupState.EMPTY
        restarts = group.state is GroupState.COMPLETING_REBALANCE
        group.transition(GroupEvent.REBALANCE)
        group.pending_sync.clear()
        purgatory.disarm(SYNC_TIMER)
        for member in group.members.values():
            member.assignment = ()
            if member.awaiting is Awaiting.SYNC:
                member.awaiting = Awaiting.NOTHING
                purgatory.answer_syncs(member.member_id, Synced(Errors.REBALANCE_IN_PROGRESS))
                if restarts:
                    self.heard_of(member, now_ms)
        if not group.initial:
            purgatory.arm(JOIN_TIMER, now_ms, group.rebalance_timeout_ms)
            if group.all_joined:
                self.complete_join(now_ms)
        else:
            self._joined_meanwhile = False
            self._initial_deadline_ms = now_ms + group.rebalance_timeout_ms
            purgatory.arm(JOIN_TIMER, now_ms, self._config.initial_rebalance_delay_ms)

    def extend_initial_delay(self, now_ms: int) -> bool:
        """The initial delay is over: once more, if somebody has joined meanwhile and the rebalance time-out allows it
        (InitialDelayedJoin)."""
        if not self.group.initial or not self._joined_meanwhile or now_ms >= self._initial_deadline_ms:
            return False
        self._joined_meanwhile = False
        again_ms = min(self._config.initial_rebalance_delay_ms, self._initial_deadline_ms - now_ms)
        self.purgatory.arm(JOIN_TIMER, now_ms, again_ms)
        return True

    def complete_join(self, now_ms: int) -> None:
        """The join phase ends. Members that have not joined are dropped, but for static members, which may be on their
        way back. If nobody has joined, it goes on for those."""
        group = self.group
        for member in list(group.members.values()):
            if member.awaiting is not Awaiting.JOIN and not member.is_static:
                self.remove(member.member_id)
        if not group.members:
            self._begin_generation(GroupEvent.DESERTED)
            self.purgatory.append(Waiting((group.record(),), Cause.EMPTY))
        elif group.elect_joined_leader():
            self._begin_generation(GroupEvent.JOINED)
            self.purgatory.arm(SYNC_TIMER, now_ms, group.rebalance_timeout_ms)
            for member in group.members.values():
                self._leave_join_phase(member, now_ms)
        else:
            self.purgatory.arm(JOIN_TIMER, now_ms, group.rebalance_timeout_ms)

    def _begin_generation(self, event: GroupEvent) -> None:
        group = self.group
        group.transition(event)
        group.generation = self._next_generation()
        group.protocol = group.select_protocol() if group.members else None
        group.initial = False
        group.pending_sync = set(group.members)
        self.purgatory.disarm(JOIN_TIMER)

    def _next_generation(self) -> int:
        """The generation after this one, of this coordinator's own."""
        per_epoch = self._config.epoch_generations
        if self._rules.generation_of_older_epoch(self.group.generation, self.epoch, per_epoch):
            return (self.epoch - 1) * per_epoch + 1
        return self.group.generation + 1

    def _leave_join_phase(self, member: ClassicGroupMember, now_ms: int) -> None:
        """A member of the new generation is told of it, if it has joined; its SyncGroup is expected in any case."""
        if self._rules.completed_join_ends_newness(member.is_new):
            member.is_new = False
        if member.awaiting is Awaiting.JOIN:
            self.tell(member)
        self.heard_of(member, now_ms)

    def tell(self, member: ClassicGroupMember, skip_assignment: bool = False) -> None:
        """The member's JoinGroup is answered with the generation that is."""
        member.awaiting = Awaiting.NOTHING
        self.purgatory.answer_joins(member.member_id, self.joined(member.member_id, skip_assignment))

    def joined(self, member_id: MemberId, skip_assignment: bool = False) -> JoinGroupResponse:
        """A JoinGroup that succeeds; the leader hears of all members, unless it need not assign."""
        group = self.group
        leads = member_id == group.leader
        return JoinGroupResponse(
            Errors.NONE,
            member_id,
            group.generation,
            group.protocol,
            group.leader or UNKNOWN_MEMBER_ID,
            leads and skip_assignment,
            group.roster() if leads and not skip_assignment else (),
        )

    # --- the assignment -----------------------------------------------------------------------------------------

    def assign(self, assignments: Mapping[MemberId, Partitions], now_ms: int) -> None:
        """The leader has assigned: that is written down first, and handed out when it has committed."""
        self.purgatory.append(Waiting((self.group.record(assignments),), Cause.SYNC))

    def may_assign(self, assignments: Mapping[MemberId, Partitions]) -> bool:
        """Whether this generation takes an assignment: none of it waits to commit, nor counts and is another one."""
        waiting = self.purgatory.waiting
        generations = [
            record.generation
            for one in waiting
            if one.cause is Cause.SYNC
            for record in one.batch
            if isinstance(record, GroupMetadataRecord)
        ]
        group, assigned = self.group, None
        if group.state is GroupState.STABLE:
            assigned = {member_id: member.assignment for member_id, member in group.members.items()}
        return self._rules.one_assignment_per_generation(group.generation, generations, assigned, assignments)

    def assignment_committed(self, record: GroupMetadataRecord, now_ms: int) -> None:
        """An assignment is on the log: it is handed out, if its generation is still waiting for it."""
        group = self.group
        if group.state is GroupState.COMPLETING_REBALANCE and self._rules.propagate_only_to_its_generation(
            group.generation, record.generation
        ):
            self.distribute(record, now_ms)

    def distribute(self, record: GroupMetadataRecord, now_ms: int) -> None:
        """The members get the record's assignments, nothing if they are not in it. A waiting SyncGroup is answered, and
        its member's session begins again."""
        self.group.transition(GroupEvent.ASSIGNED)
        assigned = {stored.member_id: stored.assignment for stored in record.members}
        for member in self.group.members.values():
            member.assignment = assigned.get(member.member_id, ())
            if member.awaiting is Awaiting.SYNC:
                member.awaiting = Awaiting.NOTHING
                self.purgatory.answer_syncs(member.member_id, Synced(Errors.NONE, member.assignment))
                self.heard_of(member, now_ms)

    def replacement_committed(self, member_id: MemberId) -> None:
        """A static member's new id is on the log: it goes on in the generation that is, and assigns nothing."""
        member = self.group.members.get(member_id)
        if member is not None and member.awaiting is Awaiting.JOIN:
            self.tell(member, skip_assignment=True)
