"""The abstraction function: the variables of ClassicGroup, read off coordinators, consumers and the log.

| variable | in the implementation |
|---|---|
| `leaderAndEpoch` | the leader of the partition of __consumer_offsets, and its epoch |
| `storedGroup`, `storedOffsets` | the last committed records of each key |
| `appended` | the batches of a coordinator that wait to commit, with the effects of their commit |
| `epoch`, `group`, `offsets` | the coordinator's memory; "Dead" and empty where it does not serve |
| `group.timers`, `.joinTimer`, `.syncTimer` | how long its timers were set to, by rank (table.py) |
| `issued` | how many member ids were issued; an id's number is its rank among them, 0 is none |
| `consumer`, `position` | the consumer's membership and subscription; `Stopped` without a process |
| `partitions` | the topics that exist (each has one partition) |
| `memberRpc` ... `stray` | the exchanges: a request under way, a request parked at its coordinator, or the reply |

Here are keys, plain values that mirror the variables' types (records' fields by name, sets as masks), from which cells
are made by trace/shapes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from tidemark.classic_group.consumer import Consumer
from tidemark.classic_group.coordinator import GroupCoordinator
from tidemark.classic_group.group import ClassicGroupMember
from tidemark.classic_group.membership import MemberState
from tidemark.classic_group.table import Table
from tidemark.common.errors import Errors
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
    SyncGroupRequest,
    SyncGroupResponse,
)
from tidemark.groups.partitions import NO_GENERATION, UNKNOWN_MEMBER_ID, MemberId, Subscription
from tidemark.groups.purgatory import Cause, Timer, TimerKind, Waiting
from tidemark.groups.seen import IDLE, AnyExchange, GroupAbstraction, Key, State
from tidemark.trace.cells import CapacityExceeded

MODES = {
    ("range",): "eager",
    ("cooperative-sticky",): "cooperative",
    ("cooperative-sticky", "range"): "upgrading",
}
"""A consumer's assignors -> what the specification calls it."""


STOPPED: Key = (0, NO_GENERATION, 0, False, 0, False, "eager", 0, NO_GENERATION, "none", False, False, 0,
                MemberState.UNJOINED, 0)  # fmt: skip
"""The key of a consumer without a process."""
NO_MEMBER: Key = (0, "nothing", False, "eager", 0, NO_GENERATION, False, 0, 0, False, 0)
NO_STORED: Key = (0, 0, NO_GENERATION, False, 0, 0, False, 0)
NO_METADATA: Key = (0, NO_GENERATION, False, False, 0)
"""Those of nobody among a group's members, in its record, in a roster."""


class Exchange(AnyExchange, Protocol):
    """One of the consumers' exchanges."""

    @property
    def assignment_id(self) -> int:
        """Of a fetch of offsets: the consumer's assignment when it asked."""


class Abstraction(GroupAbstraction):
    """The abstraction function of one run: every method reads the key of a unit, and is given the number of its broker
    or consumer. Raises CapacityExceeded for a value that the table cannot hold."""

    def __init__(self, table: Table, state: State) -> None:
        super().__init__(table, state)
        self.table = table
        self._log = state.log
        self._coordinators: Sequence[GroupCoordinator] = state.coordinators
        self._consumers: Sequence[Consumer | None] = state.consumers
        self._network = state.network
        self._no_stored: Key = (0, 0, (NO_STORED,) * table.max_member, "none")
        self._no_roster: Key = (NO_METADATA,) * table.max_member
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

    def epoch(self, broker: int) -> Key:
        """The epoch in which a coordinator serves."""
        epoch = self._coordinators[broker].epoch
        if epoch > self.table.max_epoch:
            raise CapacityExceeded("epochs")
        return epoch

    def issued(self) -> Key:
        """How many member ids were issued."""
        if len(self.numbers) > self.table.max_member:
            raise CapacityExceeded("member ids")
        return len(self.numbers)

    def group(self, broker: int) -> Key:
        """A coordinator's group."""
        coordinator, numbers = self._coordinators[broker], self.numbers
        group = coordinator.group
        join, sync, timers = self._timers(coordinator.delays)
        members = [NO_MEMBER] * self.table.max_member
        for member_id, member in group.members.items():
            members[self._slot(member_id)] = self._member(member)
        leader, pending, pending_sync = group.leader, group.pending, group.pending_sync
        return (
            self.table.generation(group.generation),
            group.initial,
            join,
            numbers[leader] if leader else 0,
            tuple(members),
            self._numbers(pending) if pending else 0,
            self._numbers(pending_sync) if pending_sync else 0,
            group.protocol or "none",
            group.state,
            sync,
            timers,
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

    def _member(self, member: ClassicGroupMember) -> Key:
        protocols, table = member.protocols, self.table
        said = protocols[0].metadata
        return (
            table.mask(member.assignment),
            member.awaiting,
            member.is_new,
            _mode(protocols),
            table.mask(said.owned_partitions),
            said.generation,
            True,
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

    def stored_group(self) -> Key:
        """The last committed group record."""
        record: GroupMetadataRecord | None = self._log.group
        return self._no_stored if record is None else self._stored(record)

    def _stored(self, record: GroupMetadataRecord) -> Key:
        known = self._records.get(id(record))
        if known is not None:
            return known[1]
        members = [NO_STORED] * self.table.max_member
        for member in record.members:
            members[self._slot(member.member_id)] = self._stored_member(member)
        leader, generation = self.number(record.leader), self.table.generation(record.generation)
        key = generation, leader, tuple(members), record.protocol or "none"
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

    def appended(self, broker: int) -> Key:
        """The coordinator's batches that are appended and have not committed."""
        return tuple([self._entry(one) for one in self._coordinators[broker].waiting])

    def _entry(self, waiting: Waiting) -> Key:
        known = self._entries.get(id(waiting))
        if known is None:
            known = self._entries[id(waiting)] = waiting, self._entry_key(waiting)
        return known[1]

    def _entry_key(self, waiting: Waiting) -> Key:
        first = waiting.batch[0]
        if isinstance(first, GroupMetadataRecord):
            member = self.number(waiting.member_id) if waiting.cause is Cause.STATIC else 0
            return "group", waiting.cause, self._stored(first), member
        records = [record for record in waiting.batch if isinstance(record, OffsetCommitRecord)]
        return "offsets", self.table.offsets({record.partition: record.offset for record in records})

    # --- consumers --------------------------------------------------------------------------------------------------

    def consumer(self, client: int) -> Key:
        """A consumer."""
        consumer = self._consumers[client]
        if consumer is None:
            return STOPPED
        table, membership, subscriptions = self.table, consumer.membership, consumer.subscriptions
        generation, watched, joined = membership.generation, membership.watched, membership.joined_topics
        owned = table.mask(subscriptions.owned)
        member_id = generation.member_id
        return (
            owned if membership.revoking is None else table.mask(membership.revoking),
            table.generation(generation.generation_id),
            0 if joined is None else table.topic_mask(joined),
            watched is not None,
            self.numbers[member_id] if member_id else 0,
            membership.missed,
            MODES[consumer.config.assignors],
            owned,
            membership.owned_generation,
            generation.protocol_name or "none",
            membership.rejoin_needed,
            True,
            0 if watched is None else self._topics(watched),
            membership.state,
            table.topic_mask(subscriptions.topics),
        )

    def position(self, client: int) -> Key:
        """The positions of the partitions that a consumer owns."""
        positions = super().position(client)
        if max(positions) > self.table.max_offset:
            raise CapacityExceeded("a position")
        return positions

    # --- the network ------------------------------------------------------------------------------------------------

    def member_rpc(self, client: int) -> Key:
        """A JoinGroup or SyncGroup, with the roster that its reply carries."""
        exchange: Exchange | None = self._network.member[client]
        if exchange is None:
            return IDLE
        request, response, broker = exchange.request, exchange.response, exchange.broker
        if isinstance(response, JoinGroupResponse):
            if response.error is not Errors.NONE:
                return "failed", response.error, self.number(response.member_id)
            leads = response.leader == response.member_id
            role = "leader skipping" if response.skip_assignment else "leader" if leads else "follower"
            member, protocol = self.number(response.member_id), response.protocol_name or "none"
            return "joined", broker, response.generation_id, member, protocol, role, self._roster(response)
        if isinstance(response, SyncGroupResponse):
            if response.error is Errors.NONE:
                return "synced", self.table.mask(response.assignment)
            member_id = request.member_id if isinstance(request, SyncGroupRequest) else UNKNOWN_MEMBER_ID
            return "failed", response.error, self.number(member_id)
        if exchange.arrived:
            coordinator, token = self._coordinators[broker], exchange.token
            parked = coordinator.parked_joins.get(token)
            if parked is not None:
                return "joining", broker, self.number(parked)
            parked = coordinator.parked_syncs.get(token)
            if parked is not None:
                return "syncing", broker, self.number(parked)
            if isinstance(request, JoinGroupRequest | SyncGroupRequest):
                return "superseded", broker, self.number(request.member_id)
        return self._request(exchange)

    def _roster(self, response: JoinGroupResponse) -> Key:
        if not response.members:
            return self._no_roster
        roster = [NO_METADATA] * self.table.max_member
        for one in response.members:
            owned, generation, topics = self._metadata(one.metadata)
            static = one.group_instance_id is not None
            roster[self._slot(one.member_id)] = owned, generation, True, static, topics
        return tuple(roster)

    def heartbeat_rpc(self, client: int) -> Key:
        """A heartbeat."""
        exchange: Exchange | None = self._network.heartbeat[client]
        if exchange is None or not isinstance(exchange.request, HeartbeatRequest):
            return IDLE
        request, response = exchange.request, exchange.response
        generation, member = request.generation_id, self.number(request.member_id)
        if response is None:
            return "heartbeat", exchange.broker, generation, member
        return "answered", response.error, generation, member

    def offset_rpc(self, client: int) -> Key:
        """A commit or a fetch of offsets; a fetch is current while the consumer's assignment is the one it names."""
        exchange: Exchange | None = self._network.offset[client]
        consumer = self._consumers[client]
        if exchange is None:
            return IDLE
        request, response, broker = exchange.request, exchange.response, exchange.broker
        if isinstance(request, OffsetFetchRequest):
            current = consumer is not None and exchange.assignment_id == consumer.subscriptions.assignment_id
            if isinstance(response, OffsetFetchResponse):
                return "fetched", current, response.error, self.table.offsets(response.offsets)
            for place, waiting in enumerate(self._coordinators[broker].waiting if exchange.arrived else (), 1):
                for reply in waiting.fetches:
                    if reply.token == exchange.token and isinstance(reply.response, OffsetFetchResponse):
                        return "fetching", broker, current, self.table.offsets(reply.response.offsets), place
            return "fetch", broker, current
        if isinstance(request, OffsetCommitRequest):
            generation, member = request.generation_id, self.number(request.member_id)
            if response is not None:
                return "committed", response.error, generation, member
            for place, waiting in enumerate(self._coordinators[broker].waiting, 1):
                if waiting.token == exchange.token:
                    if place > self.table.max_appended:
                        raise CapacityExceeded("records that wait to commit")
                    return "committing", broker, generation, member, place
        return self._request(exchange)

    def stray(self, client: int) -> Key:
        """A request for whose reply nobody waits."""
        exchange: Exchange | None = self._network.stray[client]
        return IDLE if exchange is None else self._request(exchange)

    def _request(self, exchange: Exchange) -> Key:
        """A request that has not arrived."""
        request, broker = exchange.request, exchange.broker
        if isinstance(request, JoinGroupRequest):
            said = self._metadata(request.protocols[0].metadata)
            return "join", broker, self.number(request.member_id), _mode(request.protocols), *said
        if isinstance(request, SyncGroupRequest):
            assignments = [0] * self.table.max_member
            for one, given in (request.assignments or {}).items():
                assignments[self._slot(one)] = self.table.mask(given)
            return "sync", tuple(assignments), broker, request.generation_id, self.number(request.member_id)
        if isinstance(request, OffsetCommitRequest):
            offsets = self.table.offsets(request.offsets)
            return "commit", broker, request.generation_id, self.number(request.member_id), offsets
        if isinstance(request, LeaveGroupRequest):
            return "leave", broker, self.number(request.member_id)
        raise TypeError(f"a {type(request).__name__} is no stray request")

    def _metadata(self, said: Subscription) -> Key:
        table = self.table
        return table.mask(said.owned_partitions), said.generation, table.topic_mask(said.topics)


def _mode(protocols: Protocols) -> str:
    """The name in the specification for a member's list of assignors."""
    return MODES[tuple([protocol.name for protocol in protocols])]


READS: dict[str, Callable[..., Key]] = {
    "leaderAndEpoch": Abstraction.leader_and_epoch,
    "storedGroup": Abstraction.stored_group,
    "storedOffsets": Abstraction.stored_offsets,
    "appended": Abstraction.appended,
    "epoch": Abstraction.epoch,
    "group": Abstraction.group,
    "offsets": Abstraction.offsets,
    "issued": Abstraction.issued,
    "consumer": Abstraction.consumer,
    "position": Abstraction.position,
    "partitions": Abstraction.partitions,
    "memberRpc": Abstraction.member_rpc,
    "heartbeatRpc": Abstraction.heartbeat_rpc,
    "offsetRpc": Abstraction.offset_rpc,
    "stray": Abstraction.stray,
}
"""Variable -> what reads the key of its unit."""

_PROCESS = "consumer.c position.c memberRpc.c heartbeatRpc.c offsetRpc.c"
_ANSWERS = "appended.b group.b memberRpc.*"
_REPLY = "!late:memberRpc.c late:stray.c"
_JOIN = f"issued {_ANSWERS} late:stray.c"

TOUCHES = {
    "StartConsumer": "consumer.c",
    "CrashConsumer": _PROCESS,
    "LeaveGroup": f"{_PROCESS} stray.c",
    "ChangeSubscription": "consumer.c",
    "AddPartition": "partitions",
    "NoticePartitions": "consumer.c",
    "SendJoin": "consumer.c position.c memberRpc.c offsetRpc.c",
    "JoinAsFollower": "consumer.c memberRpc.c",
    "JoinAsLeader": "consumer.c memberRpc.c",
    "ReceiveMemberError": _PROCESS,
    "ReceiveAssignment": "consumer.c position.c memberRpc.c offsetRpc.c",
    "FinishRevocation": "consumer.c position.c offsetRpc.c",
    "SendHeartbeat": "heartbeatRpc.c",
    "ReceiveHeartbeat": _PROCESS,
    "Poll": "position.c",
    "SendCommit": "offsetRpc.c",
    "ReceiveCommit": _PROCESS,
    "SendOffsetFetch": "offsetRpc.c",
    "ReceiveOffsets": "position.c offsetRpc.c",
    "RejectJoin": _REPLY,
    "IssueMemberId": f"group.b issued {_REPLY}",
    "AddMember": _JOIN,
    "JoinStaticMember": _JOIN,
    "RejoinMember": _JOIN,
    "RejectSync": _REPLY,
    "HandleSync": f"{_ANSWERS} late:stray.c",
    "HandleHeartbeat": "group.b heartbeatRpc.c",
    "HandleLeave": f"{_ANSWERS} stray.c",
    "ExpireSession": _ANSWERS,
    "ExpirePendingMember": _ANSWERS,
    "ExpireJoin": _ANSWERS,
    "ExpireSync": _ANSWERS,
    "HandleCommit": "appended.b group.b !late:offsetRpc.c late:stray.c",
    "RejectCommit": "!late:offsetRpc.c late:stray.c",
    "HandleOffsetFetch": "offsetRpc.c",
    "CommitEntry": "storedGroup storedOffsets appended.b group.b offsets.b memberRpc.* offsetRpc.*",
    "BecomeCoordinator": "leaderAndEpoch storedGroup storedOffsets epoch.b group.b offsets.b",
    "Resign": "appended.b epoch.b group.b offsets.b memberRpc.* offsetRpc.*",
    "RepeatMemberRequest": "stray.c",
    "RepeatCommitRequest": "stray.c",
    "LoseMemberRpc": "memberRpc.c",
    "LoseHeartbeat": "heartbeatRpc.c",
    "LoseOffsetRpc": "offsetRpc.c",
    "LoseStray": "stray.c",
}
"""For each action, the variables that its handler may change. A suffix narrows a variable to the broker `b` or the
consumer `c`. The suffix `*` means every one. A test compares this table with a full comparison of the state."""
