"""The coordinator of a KIP-848 group, at one broker (GroupMetadataManager.consumerGroupHeartbeat). No I/O, no clock.

    a handler           reads the group and comes to records and a response; it changes nothing
    the records         are replayed at once, and appended as one batch: `ConsumerGroup.replay` alone changes the group
    commit_entry        the oldest batch is replicated: its offsets count, and the responses that waited for it go out
    become_coordinator  replays the log
    resign              another broker leads the partition of __consumer_offsets: this one forgets the group

A response waits for everything that was appended before it, so that nobody is told a result that may be lost. Every
handler is an action of the specification, under its name. A deposed coordinator that does not know it goes on as
before; its appends never commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum

from tidemark.common.errors import BrokenInvariant, Errors
from tidemark.common.structs import value
from tidemark.consumer_group.group import ConsumerGroup, ConsumerGroupMember, UnreadableLog
from tidemark.consumer_group.heartbeat import Heartbeats, fencing, left
from tidemark.consumer_group.rules import Rules
from tidemark.groups.committed_offsets import CommittedOffsets
from tidemark.groups.consumer_group_messages import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupRecord,
    MemberState,
    Partitions,
)
from tidemark.groups.coordinator import Coordinator, answered
from tidemark.groups.messages import (
    Batch,
    OffsetCommitRecord,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Outcome,
    Record,
    Reply,
    Response,
    Token,
)
from tidemark.groups.partitions import UNKNOWN_MEMBER_ID, MemberId, TopicPartition
from tidemark.groups.purgatory import Appended, Delayed, Timer, TimerKind


@value
class ConsumerGroupConfig:
    """The coordinator's configuration; times are in milliseconds. `assignment_interval_ms`: the least time between two
    target assignments (group.consumer.assignment.interval.ms, KIP-1263). `assignor`: the first of
    group.consumer.assignors."""

    session_timeout_ms: int = 45_000
    assignment_interval_ms: int = 1_000
    metadata_refresh_interval_ms: int = 180_000
    assignor: str = "uniform"


class HeartbeatVerdict(Enum):
    """The handler for a ConsumerGroupHeartbeat; the values are the handlers' names."""

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    REJECT = "reject_heartbeat"
    HEARTBEAT = "handle_heartbeat"
    BUMP = "bump_on_heartbeat"
    ASSIGN = "assign_on_heartbeat"
    LEAVE = "handle_leave"


@value
class Written(Appended):
    """A batch with the responses that wait for it. `member_id`: whose heartbeat it is, empty if it is none's."""

    member_id: MemberId = UNKNOWN_MEMBER_ID
    replies: list[Reply] = field(default_factory=list)


class ConsumerGroupCoordinator(Coordinator[Written]):
    """A broker's coordinator of one group of KIP-848.

    `image`: topic -> number of its partitions, 0 for one that does not exist, as the broker knows them at any time.
    """

    __slots__ = ("_config", "_heartbeats", "_image", "_offsets", "_refresh_deadline_ms", "_rules", "group")

    def __init__(self, rules: Rules, config: ConsumerGroupConfig, image: Mapping[str, int]) -> None:
        self._rules = rules
        self._config = config
        self._image = image
        self._forget()

    def _forget(self) -> None:
        self.group = self._new_group()
        self._offsets = CommittedOffsets()
        self._begin(self._offsets, Delayed())
        self._heartbeats = Heartbeats(self.group, self._rules, self._config.assignor, self._image)
        self._refresh_deadline_ms = 0

    def _new_group(self) -> ConsumerGroup:
        """A group of which nothing was read yet."""
        return ConsumerGroup(self._rules)

    # --- ConsumerGroupHeartbeat ---------------------------------------------------------------------------------

    def heartbeat_error(self, request: ConsumerGroupHeartbeatRequest) -> Errors:
        """The error for a heartbeat that does not leave; Errors.NONE if the coordinator accepts it."""
        if not self.serving:
            return Errors.NOT_COORDINATOR
        if request.member_epoch == JOIN_GROUP_MEMBER_EPOCH:
            return self._join_error(request)
        return self._member_error(request)

    def _join_error(self, request: ConsumerGroupHeartbeatRequest) -> Errors:
        """A consumer joins: a static one needs that its instance is nobody's, or was released, or is its own."""
        rules, instance = self._rules, self.group.instance_member(request.instance_id)
        if instance is None:
            known = self.group.members.get(request.member_id)
            return Errors.NONE if known is None else self._epoch_error(known, request)
        if rules.replace_released_instance(instance.member_epoch):
            return Errors.NONE
        if rules.rejoin_of_own_instance(request.member_id, instance.member_id):
            return self._epoch_error(instance, request)
        return Errors.UNRELEASED_INSTANCE_ID

    def _member_error(self, request: ConsumerGroupHeartbeatRequest) -> Errors:
        """A member is heard of: a static one is looked up by its instance."""
        group, member_id = self.group, request.member_id
        static = request.instance_id is not None
        known = group.instance_member(request.instance_id) if static else group.members.get(member_id)
        if known is None:
            return Errors.UNKNOWN_MEMBER_ID
        if static and not self._rules.member_of_instance(member_id, known.member_id):
            return Errors.FENCED_INSTANCE_ID
        return self._epoch_error(known, request)

    def _epoch_error(self, member: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest) -> Errors:
        """May the member go on with what this request says of it?"""
        rules, epoch, current = self._rules, request.member_epoch, member.current
        if rules.heartbeat_of_member_epoch(epoch, current.member_epoch) or rules.accept_rejoin(epoch):
            return Errors.NONE
        previous = epoch < current.member_epoch and epoch == current.previous_member_epoch
        if previous and rules.previous_epoch_of_owner(request.topic_partitions, current.assigned.keys()):
            return Errors.NONE
        return Errors.FENCED_MEMBER_EPOCH

    def heartbeat_verdict(self, request: ConsumerGroupHeartbeatRequest, now_ms: int) -> HeartbeatVerdict:
        """The handler that a heartbeat goes to."""
        if request.leaves:
            return HeartbeatVerdict.LEAVE
        if self.heartbeat_error(request) is not Errors.NONE:
            return HeartbeatVerdict.REJECT
        bumps = self._heartbeats.bumps(request, now_ms >= self._refresh_deadline_ms)
        if not bumps and self.group.group_epoch == self.group.assignment_epoch:
            return HeartbeatVerdict.HEARTBEAT
        if self._can_assign(now_ms):
            return HeartbeatVerdict.ASSIGN
        if not bumps:
            return HeartbeatVerdict.HEARTBEAT
        return HeartbeatVerdict.BUMP if self._heartbeats.may_wait(request) else HeartbeatVerdict.ASSIGN

    def _can_assign(self, now_ms: int) -> bool:
        """Whether the next target assignment need not wait: the interval has passed since the last one, or nobody knows
        when that was (KIP-1263)."""
        last_ms, interval_ms = self.group.assignment_timestamp_ms, self._config.assignment_interval_ms
        return last_ms == 0 or interval_ms == 0 or now_ms >= last_ms + interval_ms

    def handle(
        self, verdict: HeartbeatVerdict, request: ConsumerGroupHeartbeatRequest, token: Token, now_ms: int
    ) -> Outcome:
        """A heartbeat of which `heartbeat_verdict` says this."""
        if verdict is HeartbeatVerdict.REJECT:
            return self.reject_heartbeat(request, token)
        if verdict is HeartbeatVerdict.HEARTBEAT:
            return self.handle_heartbeat(request, token, now_ms)
        if verdict is HeartbeatVerdict.BUMP:
            return self.bump_on_heartbeat(request, token, now_ms)
        if verdict is HeartbeatVerdict.ASSIGN:
            return self.assign_on_heartbeat(request, token, now_ms)
        return self.handle_leave(request, token)

    def reject_heartbeat(self, request: ConsumerGroupHeartbeatRequest, token: Token) -> Outcome:
        """A heartbeat is refused."""
        error = self.heartbeat_error(request)
        return answered(token, ConsumerGroupHeartbeatResponse(error, request.member_id))

    def handle_heartbeat(self, request: ConsumerGroupHeartbeatRequest, token: Token, now_ms: int) -> Outcome:
        """The last target assignment stands: it is the group epoch's, or the next one has to wait. The member comes
        closer to its own. A static member's successor has its predecessor's."""
        records = self._heartbeats.records(request)
        if now_ms >= self._refresh_deadline_ms:
            self._refresh_deadline_ms = now_ms + self._config.metadata_refresh_interval_ms
        return self._take(request, token, now_ms, records)

    def bump_on_heartbeat(self, request: ConsumerGroupHeartbeatRequest, token: Token, now_ms: int) -> Outcome:
        """The group epoch goes up, and the next target assignment has to wait. Until then the members have the last
        one, and a new member has nothing. A new member is in a new epoch."""
        records = self._heartbeats.records_of_bump(request)
        self._refresh_deadline_ms = now_ms + self._config.metadata_refresh_interval_ms
        return self._take(request, token, now_ms, records)

    def assign_on_heartbeat(self, request: ConsumerGroupHeartbeatRequest, token: Token, now_ms: int) -> Outcome:
        """The group is assigned anew, then as ever, for one of four reasons. A member is new, a member's subscription
        is another, other partitions exist than when the group last looked, or the group epoch is ahead. It is ahead
        when a member was removed, or when the assignment had to wait."""
        records = self._heartbeats.records_of_assignment(request, now_ms)
        self._refresh_deadline_ms = now_ms + self._config.metadata_refresh_interval_ms
        return self._take(request, token, now_ms, records)

    def _take(
        self, request: ConsumerGroupHeartbeatRequest, token: Token, now_ms: int, records: list[ConsumerGroupRecord]
    ) -> Outcome:
        """The records are written, and the heartbeat is answered from the member that results."""
        heartbeats = self._heartbeats
        before = heartbeats.found(request)
        replaced = heartbeats.replaced(request)
        if replaced is not None:
            self._forget_timers(replaced.member_id)
        self._write(records, before.member_id)
        after = self.group.members[before.member_id]
        self._arm(after, now_ms, after.current != before.current)
        told = (
            request.full
            or request.member_epoch == JOIN_GROUP_MEMBER_EPOCH
            or after.current.assigned.keys() != before.current.assigned.keys()
            or self._rules.give_until_reported(request.topic_partitions, after.current.assigned.keys())
        )
        assignment: Partitions | None = tuple(sorted(after.current.assigned)) if told else None
        response = ConsumerGroupHeartbeatResponse(Errors.NONE, request.member_id, after.member_epoch, assignment)
        self._answer(token, response)
        return self.delayed.outcome()

    def handle_leave(self, request: ConsumerGroupHeartbeatRequest, token: Token) -> Outcome:
        """A dynamic member is removed. A static one keeps its assignment, for its successor; partitions that it was
        giving up are released."""
        member_id = request.member_id
        member = self.group.members.get(member_id)
        if not self.serving or member is None:
            error = Errors.UNKNOWN_MEMBER_ID if self.serving else Errors.NOT_COORDINATOR
            return answered(token, ConsumerGroupHeartbeatResponse(error, member_id))
        if request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH:
            record = left(member, self._rules)
            self._write([record] if record.current != member.current else [], member_id)
            self.delayed.disarm(Timer(TimerKind.REBALANCE, member_id))
        else:
            self._fence(member_id)
        self._answer(token, ConsumerGroupHeartbeatResponse(Errors.NONE, member_id, request.member_epoch))
        return self.delayed.outcome()

    # --- what a handler comes to ----------------------------------------------------------------------------------

    def _write(self, records: Iterable[Record], member_id: MemberId = UNKNOWN_MEMBER_ID) -> None:
        """The records are replayed and become one batch; nothing happens if there are none."""
        batch: Batch = tuple(records)
        for record in batch:
            if not isinstance(record, OffsetCommitRecord):
                self.replay(record)
        if batch:
            self.delayed.append(Written(batch, member_id))

    def _answer(self, token: Token, response: Response) -> None:
        """The response goes out when all that was appended has committed."""
        if self._rules.reply_after_commit(len(self.waiting)):
            self.waiting[-1].replies.append(Reply(token, response))
        else:
            self.delayed.reply(token, response)

    def _arm(self, member: ConsumerGroupMember, now_ms: int, moved: bool) -> None:
        """The member's session begins again. A member that has to give something up has its rebalance time-out for
        that, from when it `moved` there."""
        member_id = member.member_id
        self.delayed.arm(Timer(TimerKind.SESSION, member_id), now_ms, self._config.session_timeout_ms)
        timer = Timer(TimerKind.REBALANCE, member_id)
        if member.current.state is not MemberState.UNREVOKED_PARTITIONS:
            self.delayed.disarm(timer)
        elif moved:
            self.delayed.arm(timer, now_ms, max(member.metadata.rebalance_timeout_ms, 0))

    def _forget_timers(self, member_id: MemberId) -> None:
        self.delayed.disarm(Timer(TimerKind.SESSION, member_id))
        self.delayed.disarm(Timer(TimerKind.REBALANCE, member_id))

    def _fence(self, member_id: MemberId) -> None:
        """The member is removed: the group epoch goes up."""
        self._forget_timers(member_id)
        self._write(fencing(self.group, member_id, self._image, self._rules))

    # --- timers -------------------------------------------------------------------------------------------------

    def expire(self, timer: Timer) -> Outcome | None:
        """A timer has run out. None: there is nothing to do about it."""
        kind, member_id = timer
        self.delayed.disarm(timer)
        member = self.group.members.get(member_id)
        if member is None:
            return None
        if kind is TimerKind.SESSION:
            return self.expire_session(member_id)
        if member.current.state is not MemberState.UNREVOKED_PARTITIONS:
            return None
        return self.expire_revocation(member_id)

    def expire_session(self, member_id: MemberId) -> Outcome:
        """Nothing was heard of the member, or a static one has not come back, within the session time-out."""
        self._fence(member_id)
        return self.delayed.outcome()

    def expire_revocation(self, member_id: MemberId) -> Outcome:
        """The member has not acknowledged its revocation within its rebalance time-out."""
        self._fence(member_id)
        return self.delayed.outcome()

    # --- offsets ------------------------------------------------------------------------------------------------

    def commit_error(self, request: OffsetCommitRequest) -> Errors:
        """The error for an OffsetCommit; Errors.NONE if the coordinator accepts it."""
        if not self.serving:
            return Errors.NOT_COORDINATOR
        if not self._rules.commit_of_member(request.member_id, self.group.members.keys()):
            return Errors.UNKNOWN_MEMBER_ID
        member = self.group.members.get(request.member_id)
        if member is not None and request.generation_id > member.member_epoch:
            return Errors.STALE_MEMBER_EPOCH
        return Errors.NONE if self._committable(request) else Errors.STALE_MEMBER_EPOCH

    def _committable(self, request: OffsetCommitRequest) -> dict[TopicPartition, int]:
        """The part of a commit that counts: in the member's own epoch, or of partitions that it has held since it was
        sent."""
        member, rules, epoch = self.group.members.get(request.member_id), self._rules, request.generation_id
        if member is None:
            return dict(request.offsets)
        taken = {}
        for partition, offset in request.offsets.items():
            at = member.assignment_epoch(partition)
            if epoch == member.member_epoch:
                takes = rules.commit_of_held_partition(at)
            else:
                takes = rules.commit_from_assignment_epoch(at, epoch)
            if takes:
                taken[partition] = offset
        return taken

    def handle_commit(self, request: OffsetCommitRequest, token: Token, now_ms: int) -> Outcome:
        """An OffsetCommit is accepted, maybe for some of its partitions only: it is written down, and answered when
        that has committed."""
        taken = self._committable(request)
        error = Errors.NONE if len(taken) == len(request.offsets) else Errors.STALE_MEMBER_EPOCH
        self._write(OffsetCommitRecord(partition, offset) for partition, offset in taken.items())
        self.waiting[-1].replies.append(Reply(token, OffsetCommitResponse(error)))
        return self.delayed.outcome()

    def handle_offset_fetch(self, request: OffsetFetchRequest, token: Token, elected: bool) -> Outcome:
        """A member in its epoch asks for the offsets (require_stable): those that are written, once they have
        committed. `elected`: this broker still leads the partition, as its log has made sure."""
        error = self._fetch_error(request, elected)
        found = self._offsets.written(self.waiting) if error is Errors.NONE else {}
        reply = Reply(token, OffsetFetchResponse(error, found))
        if error is Errors.NONE and self._rules.fetch_waits_for_commit(len(self.waiting)):
            self.waiting[-1].replies.append(reply)
            return Outcome()
        return Outcome(replies=(reply,))

    def _fetch_error(self, request: OffsetFetchRequest, elected: bool) -> Errors:
        if not self.serving:
            return Errors.NOT_COORDINATOR
        member = self.group.members.get(request.member_id)
        if member is None:
            return Errors.UNKNOWN_MEMBER_ID
        if request.member_epoch != member.member_epoch:
            return Errors.STALE_MEMBER_EPOCH
        return Errors.NONE if self._rules.fetch_of_elected(elected) else Errors.NOT_COORDINATOR

    # --- the log ------------------------------------------------------------------------------------------------

    def commit_entry(self, now_ms: int) -> Outcome:
        """The oldest batch is replicated: its offsets count, and the requests that waited for it are answered."""
        written = self.waiting.popleft()
        for record in written.batch:
            if isinstance(record, OffsetCommitRecord):
                self.replay(record)
        return Outcome(replies=tuple(written.replies))

    def replay(self, record: Record) -> None:
        """A record is read: it changes the group, or an offset. Raises BrokenInvariant for one of a classic group."""
        if isinstance(record, OffsetCommitRecord):
            self._offsets.replay(record)
        elif isinstance(record, ConsumerGroupRecord):
            self.group.replay(record)
        else:
            raise BrokenInvariant(f"a {type(record).__name__} is of a classic group")

    def become_coordinator(self, epoch: int, records: Iterable[Record], now_ms: int) -> None:
        """This broker leads the group's partition in `epoch`. `records` is the log, in order, as far as the cleaner has
        left it when it is read. Every member of the group has a session from now on, and the time for a revocation
        begins again. If a record cannot be replayed nothing is served: the load has failed."""
        self._forget()
        self.group.loading = True
        try:
            for record in records:
                self.replay(record)
        except UnreadableLog:
            self._forget()
            return
        self.group.loading = False
        self.epoch = epoch
        for member in self.group.members.values():
            self._arm(member, now_ms, True)

    def resign(self) -> Outcome:
        """Another broker leads: waiting requests are refused, and the memory is empty."""
        replies = [
            Reply(reply.token, _sent_away(reply.response)) for written in self.waiting for reply in written.replies
        ]
        self._forget()
        return Outcome(replies=tuple(replies))


def _sent_away(response: Response) -> Response:
    """The NOT_COORDINATOR reply that replaces a response after leadership was lost."""
    if isinstance(response, ConsumerGroupHeartbeatResponse):
        return ConsumerGroupHeartbeatResponse(Errors.NOT_COORDINATOR, response.member_id)
    if isinstance(response, OffsetFetchResponse):
        return OffsetFetchResponse(Errors.NOT_COORDINATOR, {})
    return OffsetCommitResponse(Errors.NOT_COORDINATOR)
