"""The abstraction function: what the variables of ClassicGroup are, read off coordinators, consumers and the log.

| variable | what it is here |
|---|---|
| `office` | who leads the partition of __consumer_offsets, and its epoch |
| `storedGroup`, `storedOffsets` | the last committed records of each key |
| `appended` | the batches of a coordinator that wait to commit, with what their commit sets off |
| `epoch`, `group`, `offsets` | the coordinator's memory; "Dead" and empty where it does not serve |
| `group.timers`, `.joinTimer`, `.syncTimer` | how long its timers were set to, by rank (layout.py) |
| `issued` | how many member ids were issued; an id's number is its rank among them, 0 is none |
| `consumer`, `position` | the consumer's membership and subscription; `Stopped` without a process |
| `partitions` | the topics that exist (each has one partition) |
| `memberRpc` ... `stray` | the exchanges: a request under way, a request parked at its coordinator, or the reply |

A *unit* is what is computed and compared at once: a variable's part of one broker or consumer. Here is the key of each,
plain values that it depends on; layout.py makes cells of keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from tidemark.classic_group.consumer import Consumer
from tidemark.classic_group.coordinator import GroupCoordinator
from tidemark.classic_group.group import ClassicGroup, ClassicGroupMember
from tidemark.classic_group.layout import Key, Table
from tidemark.classic_group.membership import MemberState
from tidemark.common.errors import Errors
from tidemark.groups.assignors import RANGE
from tidemark.groups.messages import (
    GroupMetadataRecord,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberMetadata,
    OffsetCommitRecord,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Protocols,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
    Token,
)
from tidemark.groups.partitions import NO_GENERATION, UNKNOWN_MEMBER_ID, MemberId, Subscription
from tidemark.groups.purgatory import Cause, Timer, TimerKind, Waiting
from tidemark.trace.cells import CapacityExceeded

STOPPED: Key = (
    (0, NO_GENERATION, 0, 0),
    (0, 0, (RANGE,), 0),
    (NO_GENERATION, None, 0, 0, 0, MemberState.UNJOINED, 0),
)
"""The key of a consumer without a process."""


class Exchange(Protocol):
    """A request with its token, to the broker `broker`; `response` is None until there is one."""

    @property
    def broker(self) -> int:
        """The broker."""

    @property
    def token(self) -> Token:
        """What the broker's reply names."""

    @property
    def arrived(self) -> bool:
        """Whether the broker has it."""

    @property
    def request(self) -> Request:
        """The request."""

    @property
    def response(self) -> Response | None:
        """The reply."""

    @property
    def assignment_id(self) -> int:
        """Of a fetch of offsets: the consumer's assignment when it asked."""


class Abstraction:
    """The abstraction function of one run. `numbers`: member id -> its rank among the issued; whoever issues them
    fills it. Raises CapacityExceeded for what the table cannot hold."""

    __slots__ = ("_delays", "_entries", "_idle", "_no_roster", "_nobody", "_records", "numbers", "table")

    def __init__(self, table: Table, numbers: dict[MemberId, int]) -> None:
        self.table = table
        self.numbers = numbers
        self._nobody: Key = self._blocks([()] * table.max_member)
        self._no_roster: Key = (*(None,) * len(self._nobody), 0)
        self._idle: Key = (None, *self._no_roster)
        self._records: dict[int, tuple[GroupMetadataRecord, Key]] = {}
        """The keys of records that were seen; a record in it is kept, so that its id is no other's."""
        self._entries: dict[int, tuple[Waiting, Key]] = {}
        """Of batches likewise."""
        self._delays: dict[int, tuple[Mapping[Timer, int], tuple[int, int, Key]]] = {}
        """Of timers' delays likewise."""

    def forget(self) -> None:
        """Everything is read again, as if nothing had been seen."""
        self._records.clear()
        self._entries.clear()
        self._delays.clear()

    def number(self, member_id: MemberId | None) -> int:
        """A member id's number, 0 for none."""
        return self.numbers[member_id] if member_id else 0

    # --- the coordinator --------------------------------------------------------------------------------------------

    def group(self, group: ClassicGroup, delays: Mapping[Timer, int]) -> Key:
        """A coordinator's group: what stands before the members, they, and what stands behind them. `delays`: how long
        its timers were set to."""
        numbers = self.numbers
        join, sync, timers = self._timers(delays)
        slots = [None] * self.table.max_member
        for member_id, member in group.members.items():
            slots[self._slot(member_id)] = self._member(member)
        leader, pending, pending_sync = group.leader, group.pending, group.pending_sync
        return (
            (group.generation, group.initial, join, numbers[leader] if leader else 0),
            *slots,
            (
                self._numbers(pending) if pending else 0,
                self._numbers(pending_sync) if pending_sync else 0,
                group.protocol,
                group.state,
                sync,
                timers,
            ),
        )

    def _timers(self, delays: Mapping[Timer, int]) -> tuple[int, int, Key]:
        """How long timers were set to: that of the join phase, that of SyncGroups, those of member ids."""
        known = self._delays.get(id(delays))
        if known is not None:
            return known[1]
        ranks, join, sync = self.table.ranks, 0, 0
        timers = [0] * self.table.max_member
        for timer, delay_ms in delays.items():
            if timer.member_id:
                timers[self._slot(timer.member_id)] = ranks[delay_ms]
            elif timer.kind is TimerKind.JOIN:
                join = ranks[delay_ms]
            else:
                sync = ranks[delay_ms]
        found = join, sync, tuple(timers)
        self._delays[id(delays)] = delays, found
        return found

    def _slot(self, member_id: MemberId) -> int:
        """Where a member stands among the slots of all member ids."""
        number = self.numbers[member_id]
        if number > self.table.max_member:
            raise CapacityExceeded("member ids")
        return number - 1

    def _blocks(self, slots: list[Key]) -> Key:
        """The slots, several at a time."""
        block = self.table.block
        return tuple([tuple(slots[first : first + block]) for first in range(0, len(slots), block)])

    def _member(self, member: ClassicGroupMember) -> Key:
        protocols, table = member.protocols, self.table
        said = protocols[0].metadata
        return (
            table.mask(member.assignment),
            member.awaiting,
            member.is_new,
            _names(protocols),
            table.mask(said.owned_partitions),
            said.generation,
            table.ranks[member.rebalance_timeout_ms],
            table.ranks[member.session_timeout_ms],
            member.group_instance_id is not None,
            table.topic_mask(said.topics),
        )

    def _numbers(self, member_ids: Iterable[MemberId]) -> int:
        """Member ids as a bit mask."""
        numbers, mask = self.numbers, 0
        for one in member_ids:
            mask |= 1 << numbers[one] - 1
        return mask

    def stored(self, record: GroupMetadataRecord | None) -> Key:
        """A group record; None: there is none."""
        if record is None:
            return (0, 0), *self._nobody, (None,)
        known = self._records.get(id(record))
        if known is not None:
            return known[1]
        slots: list[Key] = [()] * self.table.max_member
        for member in record.members:
            slots[self._slot(member.member_id)] = self._stored_member(member)
        key = (record.generation, self.number(record.leader)), *self._blocks(slots), (record.protocol,)
        self._records[id(record)] = record, key
        return key

    def _stored_member(self, member: MemberMetadata) -> Key:
        said, table = member.subscription, self.table
        return (
            table.mask(member.assignment),
            table.mask(said.owned_partitions),
            said.generation,
            1,
            table.ranks[member.rebalance_timeout_ms],
            table.ranks[member.session_timeout_ms],
            int(member.group_instance_id is not None),
            table.topic_mask(said.topics),
        )

    def appended(self, coordinator: GroupCoordinator) -> Key:
        """What waits to commit."""
        return tuple([self._entry(one) for one in coordinator.waiting])

    def _entry(self, waiting: Waiting) -> Key:
        known = self._entries.get(id(waiting))
        if known is None:
            known = self._entries[id(waiting)] = waiting, self._entry_key(waiting)
        return known[1]

    def _entry_key(self, waiting: Waiting) -> Key:
        first = waiting.batch[0]
        if isinstance(first, GroupMetadataRecord):
            member = self.number(waiting.member_id) if waiting.cause is Cause.STATIC else 0
            return ("group", waiting.cause), self.stored(first), (member, None)
        records = [record for record in waiting.batch if isinstance(record, OffsetCommitRecord)]
        offsets = self.table.offsets({record.partition: record.offset for record in records})
        return ("offsets", None), None, (0, offsets)

    # --- consumers --------------------------------------------------------------------------------------------------

    def consumer(self, consumer: Consumer | None) -> Key:
        """A consumer; None: no process runs."""
        if consumer is None:
            return STOPPED
        table, membership, subscriptions = self.table, consumer.membership, consumer.subscriptions
        generation, watched, joined = membership.generation, membership.watched, membership.joined_topics
        owned = table.mask(subscriptions.owned)
        member_id = generation.member_id
        return (
            (
                owned if membership.revoking is None else table.mask(membership.revoking),
                generation.generation_id,
                0 if joined is None else table.topic_mask(joined),
                watched is not None,
            ),
            (self.numbers[member_id] if member_id else 0, membership.missed, consumer.config.assignors, owned),
            (
                membership.owned_generation,
                generation.protocol_name,
                membership.rejoin_needed,
                1,
                0 if watched is None else self.partitions(watched),
                membership.state,
                table.topic_mask(subscriptions.topics),
            ),
        )

    def position(self, consumer: Consumer | None) -> Key:
        """The positions of what it owns."""
        return self.table.positions(None if consumer is None else consumer.subscriptions)

    def partitions(self, counts: Mapping[str, int]) -> int:
        """The topics that have a partition."""
        return sum([1 << place for place, topic in enumerate(self.table.topics) if counts.get(topic)])

    # --- the network ------------------------------------------------------------------------------------------------

    def member_rpc(self, exchange: Exchange | None, coordinators: list[GroupCoordinator]) -> Key:
        """A JoinGroup or SyncGroup: what it is, the roster that it carries, the topics that it names."""
        if exchange is None:
            return self._idle
        request, response = exchange.request, exchange.response
        if isinstance(response, JoinGroupResponse):
            if response.error is not Errors.NONE:
                return ("failed", self.number(response.member_id), response.error), *self._no_roster
            leads = response.leader == response.member_id
            role = "leader skipping" if response.skip_assignment else "leader" if leads else "follower"
            generation, protocol = response.generation_id, response.protocol_name
            joined = "joined", exchange.broker, self.number(response.member_id), generation, protocol, role
            if not response.members:
                return joined, *self._nobody, 0
            roster: list[Key] = [()] * self.table.max_member
            for one in response.members:
                roster[self._slot(one.member_id)] = one.group_instance_id is not None, *self._metadata(one.metadata)
            return joined, *self._blocks(roster), 0
        if isinstance(response, SyncGroupResponse):
            if response.error is Errors.NONE:
                return ("synced", self.table.mask(response.assignment)), *self._no_roster
            member_id = request.member_id if isinstance(request, SyncGroupRequest) else UNKNOWN_MEMBER_ID
            return ("failed", self.number(member_id), response.error), *self._no_roster
        if exchange.arrived:
            coordinator, token = coordinators[exchange.broker], exchange.token
            parked = coordinator.parked_joins.get(token)
            if parked is not None:
                return ("joining", exchange.broker, self.number(parked)), *self._no_roster
            parked = coordinator.parked_syncs.get(token)
            if parked is not None:
                return ("syncing", exchange.broker, self.number(parked)), *self._no_roster
        key = self.request(exchange)
        if key[0] == "join":
            return key[:-1], *self._no_roster[:-1], key[-1]
        return key, *self._no_roster

    def heartbeat_rpc(self, exchange: Exchange | None) -> Key:
        """A heartbeat."""
        if exchange is None or not isinstance(exchange.request, HeartbeatRequest):
            return None
        request, response = exchange.request, exchange.response
        told = None if response is None else response.error
        return exchange.broker, told, request.generation_id, self.number(request.member_id)

    def offset_rpc(
        self, exchange: Exchange | None, coordinators: list[GroupCoordinator], consumer: Consumer | None
    ) -> Key:
        """A commit or a fetch of offsets by `consumer`; a fetch is current while its assignment is the one it names."""
        if exchange is None:
            return None
        request, response = exchange.request, exchange.response
        if isinstance(request, OffsetFetchRequest):
            current = consumer is not None and exchange.assignment_id == consumer.subscriptions.assignment_id
            if isinstance(response, OffsetFetchResponse):
                return "fetched", response.error, self.table.offsets(response.offsets), current
            return "fetch", exchange.broker, current
        if isinstance(request, OffsetCommitRequest):
            if response is not None:
                return "committed", self.number(request.member_id), request.generation_id, response.error
            for place, waiting in enumerate(coordinators[exchange.broker].waiting, 1):
                if waiting.token == exchange.token:
                    member = self.number(request.member_id)
                    return "committing", exchange.broker, member, request.generation_id, place
        return self.request(exchange)

    def request(self, exchange: Exchange | None) -> Key:
        """A request that has not arrived."""
        if exchange is None:
            return None
        request = exchange.request
        if isinstance(request, JoinGroupRequest):
            mode = _names(request.protocols)
            said = self._metadata(request.protocols[0].metadata)
            return "join", exchange.broker, self.number(request.member_id), mode, *said
        if isinstance(request, SyncGroupRequest):
            assignments = request.assignments or {}
            given = tuple([(self.number(one), self.table.mask(parts)) for one, parts in assignments.items()])
            return "sync", exchange.broker, self.number(request.member_id), request.generation_id, given
        if isinstance(request, OffsetCommitRequest):
            offsets = self.table.offsets(request.offsets)
            return "commit", exchange.broker, self.number(request.member_id), request.generation_id, offsets
        if isinstance(request, LeaveGroupRequest):
            return "leave", exchange.broker, self.number(request.member_id)
        raise TypeError(f"a {type(request).__name__} is no stray request")

    def _metadata(self, said: Subscription) -> Key:
        table = self.table
        return table.mask(said.owned_partitions), said.generation, table.topic_mask(said.topics)


def _names(protocols: Protocols) -> tuple[str, ...]:
    """The names of a member's assignors."""
    return tuple([protocol.name for protocol in protocols])
