"""The abstraction function: what the variables of ClassicGroup are, read off coordinators, consumers and the log.

| variable | what it is here |
|---|---|
| `office` | who leads the partition of __consumer_offsets, and its epoch |
| `storedGroup`, `storedOffsets` | the last committed records of each key |
| `appended` | the batches of a coordinator that wait to commit, with what their commit sets off |
| `epoch`, `group`, `offsets` | the coordinator's memory; "Dead" and empty where it does not serve |
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

from tidemark.cells import Cells
from tidemark.client.consumer import Consumer
from tidemark.errors import Errors
from tidemark.group.coordinator import GroupCoordinator
from tidemark.group.group import ClassicGroup, ClassicGroupMember
from tidemark.group.layout import Key, Table
from tidemark.group.messages import (
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
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
    Token,
)
from tidemark.group.partitions import UNKNOWN_MEMBER_ID, MemberId, Subscription, TopicPartition
from tidemark.group.purgatory import Cause, Waiting


class Exchange(Protocol):
    """A request with its token, to the broker `broker`; `response` is None until there is one."""

    @property
    def broker(self) -> int:
        """The broker."""

    @property
    def token(self) -> Token:
        """What the broker's reply names."""

    @property
    def request(self) -> Request:
        """The request."""

    @property
    def response(self) -> Response | None:
        """The reply."""


class Abstraction:
    """The abstraction function of one run. `numbers`: member id -> its rank among the issued; whoever issues them
    fills it. Raises CapacityExceeded for what the table cannot hold."""

    __slots__ = ("numbers", "table")

    def __init__(self, table: Table, numbers: dict[MemberId, int]) -> None:
        self.table = table
        self.numbers = numbers

    def number(self, member_id: MemberId | None) -> int:
        """A member id's number, 0 for none."""
        return self.numbers[member_id] if member_id else 0

    # --- the coordinator --------------------------------------------------------------------------------------------

    def group(self, group: ClassicGroup) -> Key:
        """A coordinator's group."""
        return (
            group.generation,
            group.initial,
            self.number(group.leader),
            tuple([self._member(member) for member in group.members.values()]),
            self._numbers(group.pending),
            self._numbers(group.pending_sync),
            group.protocol,
            group.state,
        )

    def _member(self, member: ClassicGroupMember) -> Key:
        said = member.protocols[0].metadata
        return (
            self.number(member.member_id),
            self.table.mask(member.assignment),
            member.awaiting,
            member.is_new,
            tuple([protocol.name for protocol in member.protocols]),
            self.table.mask(said.owned_partitions),
            said.generation,
            member.group_instance_id is not None,
            self.table.topic_mask(said.topics),
        )

    def _numbers(self, member_ids: Iterable[MemberId]) -> int:
        """Member ids as a bit mask."""
        return sum([1 << (self.numbers[one] - 1) for one in member_ids])

    def stored(self, record: GroupMetadataRecord | None) -> Key:
        """A group record; None: there is none."""
        if record is None:
            return 0, 0, (), None
        members = tuple([self._stored_member(member) for member in record.members])
        return record.generation, self.number(record.leader), members, record.protocol

    def _stored_member(self, member: MemberMetadata) -> Key:
        said, table = member.subscription, self.table
        return (
            self.number(member.member_id),
            table.mask(member.assignment),
            table.mask(said.owned_partitions),
            said.generation,
            1,
            int(member.group_instance_id is not None),
            table.topic_mask(said.topics),
        )

    def appended(self, coordinator: GroupCoordinator) -> Key:
        """What waits to commit."""
        return tuple([self._entry(waiting) for waiting in coordinator.waiting])

    def _entry(self, waiting: Waiting) -> Key:
        first = waiting.batch[0]
        if isinstance(first, GroupMetadataRecord):
            member = self.number(waiting.member_id) if waiting.cause is Cause.STATIC else 0
            return waiting.cause, member, self.stored(first)
        records = [record for record in waiting.batch if isinstance(record, OffsetCommitRecord)]
        return self.table.offsets({record.partition: record.offset for record in records})

    # --- consumers --------------------------------------------------------------------------------------------------

    def consumer(self, consumer: Consumer | None) -> Key:
        """A consumer; None: no process runs."""
        if consumer is None:
            return None
        table, membership, subscriptions = self.table, consumer.membership, consumer.subscriptions
        generation, watched = membership.generation, membership.watched
        owned = table.mask(subscriptions.owned)
        return (
            owned if membership.revoking is None else table.mask(membership.revoking),
            generation.generation_id,
            0 if membership.joined_topics is None else table.topic_mask(membership.joined_topics),
            watched is not None,
            self.number(generation.member_id),
            membership.missed,
            consumer.config.assignors,
            owned,
            membership.owned_generation,
            generation.protocol_name,
            membership.rejoin_needed,
            0 if watched is None else self.partitions(watched),
            membership.state,
            table.topic_mask(subscriptions.topics),
        )

    def position(self, consumer: Consumer | None) -> Cells:
        """The positions of what it owns."""
        if consumer is None:
            return (-1,) * len(self.table.topics)
        position = consumer.subscriptions.position
        return tuple([position(TopicPartition(topic, 0)) for topic in self.table.topics])

    def partitions(self, counts: Mapping[str, int]) -> int:
        """The topics that have a partition."""
        return sum([1 << place for place, topic in enumerate(self.table.topics) if counts.get(topic)])

    # --- the network ------------------------------------------------------------------------------------------------

    def member_rpc(self, exchange: Exchange | None, coordinators: list[GroupCoordinator]) -> Key:
        """A JoinGroup or SyncGroup."""
        if exchange is None:
            return None
        request, response = exchange.request, exchange.response
        if isinstance(response, JoinGroupResponse):
            if response.error is not Errors.NONE:
                return "failed", self.number(response.member_id), response.error
            leads = response.leader == response.member_id
            return (
                "joined",
                exchange.broker,
                self.number(response.member_id),
                response.generation_id,
                response.protocol_name,
                "leader skipping" if response.skip_assignment else "leader" if leads else "follower",
                tuple([(self.number(one.member_id), self._metadata(one.metadata)) for one in response.members]),
            )
        if isinstance(response, SyncGroupResponse):
            if response.error is Errors.NONE:
                return "synced", self.table.mask(response.assignment)
            member_id = request.member_id if isinstance(request, SyncGroupRequest) else UNKNOWN_MEMBER_ID
            return "failed", self.number(member_id), response.error
        coordinator = coordinators[exchange.broker]
        parked = coordinator.parked_joins.get(exchange.token)
        if parked is not None:
            return "joining", exchange.broker, self.number(parked)
        parked = coordinator.parked_syncs.get(exchange.token)
        if parked is not None:
            return "syncing", exchange.broker, self.number(parked)
        return self.request(exchange)

    def heartbeat_rpc(self, exchange: Exchange | None) -> Key:
        """A heartbeat."""
        if exchange is None or not isinstance(exchange.request, HeartbeatRequest):
            return None
        request, response = exchange.request, exchange.response
        told = None if response is None else response.error
        return exchange.broker, told, request.generation_id, self.number(request.member_id)

    def offset_rpc(self, exchange: Exchange | None, coordinators: list[GroupCoordinator]) -> Key:
        """A commit or a fetch of offsets."""
        if exchange is None:
            return None
        request, response = exchange.request, exchange.response
        if isinstance(request, OffsetFetchRequest):
            if isinstance(response, OffsetFetchResponse):
                return "fetched", response.error, self.table.offsets(response.offsets)
            return "fetch", exchange.broker
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
            mode = tuple([protocol.name for protocol in request.protocols])
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
