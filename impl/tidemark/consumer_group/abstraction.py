"""The abstraction function: the variables of ConsumerGroup848, read off coordinators, consumers and the log.

| variable | in the implementation |
|---|---|
| `leaderAndEpoch` | the leader of the partition of __consumer_offsets, and its epoch |
| `storedGroup`, `storedOffsets` | the last committed records of each key |
| `appended` | the batches of a coordinator that wait to commit, each with the group that the log then holds |
| `epoch`, `group`, `offsets` | the coordinator's memory; empty where it does not serve |
| `partitionEpoch` | the epochs of partitions that the coordinator's group keeps |
| `timers` | how long the coordinator's timers were set to, by rank (table.py) |
| `issued` | how many processes were started; a member id's number is its rank among them, 0 is none |
| `consumer`, `position` | the consumer's membership and subscription; `Stopped` without a process |
| `partitions` | the topics that exist (each has one partition) |
| `heartbeatRpc`, `offsetRpc`, `stray` | a request under way, a response that waits for the log, or the reply |

Here are keys, plain values that mirror the variables' types (records' fields by name, sets as masks), from which cells
are made by trace/shapes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from tidemark.common.errors import Errors
from tidemark.consumer_group.consumer import AsyncConsumer
from tidemark.consumer_group.coordinator import ConsumerGroupCoordinator, Written
from tidemark.consumer_group.group import NOTHING_YET, UNHEARD
from tidemark.consumer_group.membership import MemberState as ConsumerState
from tidemark.consumer_group.table import ConsumerGroupTable
from tidemark.groups.consumer_group_messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupRecord,
    CurrentAssignment,
    CurrentMemberAssignmentRecord,
    Epochs,
    GroupEpochRecord,
    MemberMetadata,
    MemberMetadataRecord,
    PartitionMetadataRecord,
    Partitions,
    TargetAssignmentMemberRecord,
    TargetAssignmentRecord,
)
from tidemark.groups.messages import (
    OffsetCommitRecord,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Response,
)
from tidemark.groups.partitions import MemberId, TopicPartition
from tidemark.groups.purgatory import Timer, TimerKind
from tidemark.groups.seen import IDLE, AnyExchange, GroupAbstraction, Key, State
from tidemark.groups.subscription_state import Asked
from tidemark.trace.cells import CapacityExceeded


class Exchange(AnyExchange, Protocol):
    """One of the consumers' exchanges."""

    @property
    def asked(self) -> Asked:
        """Of a fetch of offsets: the partitions that it is for, as they were."""


class LogState:
    """The group's state as the records of a log define it, record by record. `members`: the metadata in their member
    records."""

    __slots__ = ("_assignments", "assignment_epoch", "group_epoch", "members", "target", "topics")

    def __init__(self) -> None:
        self.assignment_epoch = 0
        self.group_epoch = 0
        self.topics: Mapping[str, int] = {}
        self.target: dict[MemberId, Partitions] = {}
        self.members: dict[MemberId, MemberMetadata] = {}
        self._assignments: dict[MemberId, CurrentAssignment | None] = {}

    def assignment(self, member_id: MemberId) -> CurrentAssignment:
        """How far a member has come."""
        return self._assignments.get(member_id) or NOTHING_YET

    def append(self, records: Iterable[ConsumerGroupRecord]) -> None:
        """Records that follow."""
        for record in records:
            if isinstance(record, MemberMetadataRecord):
                if record.metadata is None:
                    self.members.pop(record.member_id, None)
                else:
                    self.members[record.member_id] = record.metadata
            elif isinstance(record, CurrentMemberAssignmentRecord):
                self._assignments[record.member_id] = record.current
            elif isinstance(record, TargetAssignmentMemberRecord):
                self.target[record.member_id] = record.partitions or ()
            elif isinstance(record, TargetAssignmentRecord):
                self.assignment_epoch = record.assignment_epoch
            elif isinstance(record, GroupEpochRecord):
                self.group_epoch = record.epoch
            elif isinstance(record, PartitionMetadataRecord):
                self.topics = record.counts


class Abstraction(GroupAbstraction):
    """The abstraction function of one run: every method reads the key of a unit, and is given the number of its broker
    or consumer. Raises CapacityExceeded for a value that the table cannot hold."""

    def __init__(self, table: ConsumerGroupTable, state: State) -> None:
        super().__init__(table, state)
        self.table = table
        self._records: Mapping[Any, ConsumerGroupRecord] = state.log.records
        self._coordinators: Sequence[ConsumerGroupCoordinator] = state.coordinators
        self._consumers: Sequence[AsyncConsumer | None] = state.consumers
        self._network = state.network
        self._nothing = (-1,) * len(table.topics)
        self._nobody: Key = (self._nothing, 0, False, -1, 0, self._nothing, NOTHING_YET.state, False, 0)
        self._stopped: Key = (False, 0, 0, 0, False, 0, False, ConsumerState.JOINING, 0, 0, 0, False)
        self._members: dict[tuple[int, int], tuple[MemberMetadata, CurrentAssignment, Key]] = {}
        """The keys of members that were seen, by their metadata and their current assignment. Both are kept, so that
        their ids are no others'."""
        self._entries: dict[int, tuple[Written, Key]] = {}
        """Of batches likewise."""
        self._delays: dict[int, tuple[Mapping[Timer, int], Key]] = {}
        """Of timers' delays likewise."""
        self._logs: dict[int, tuple[int, ConsumerGroupCoordinator, LogState]] = {}
        """Of each coordinator the epoch in which it was seen, and what the log amounts to with all that it has appended
        since."""

    def forget(self) -> None:
        """Members and timers are read again, as if none had been seen."""
        self._members.clear()
        self._delays.clear()

    def number(self, member_id: MemberId) -> int:
        """A member id's number, 0 for none. Raises CapacityExceeded."""
        number = self.numbers[member_id] if member_id else 0
        if number > self.table.max_member:
            raise CapacityExceeded("member ids")
        return number

    # --- the coordinator --------------------------------------------------------------------------------------------

    def group(self, broker: int) -> Key:
        """A coordinator's group."""
        group = self._coordinators[broker].group
        members = [(one.member_id, one.metadata, one.current) for one in group.members.values()]
        return self._group(group.assignment_epoch, group.group_epoch, members, group.metadata, group.target)

    def _group(
        self,
        assignment_epoch: int,
        group_epoch: int,
        members: Iterable[tuple[MemberId, MemberMetadata, CurrentAssignment]],
        metadata: Mapping[str, int],
        target: Mapping[MemberId, Partitions],
    ) -> Key:
        slots = [self._nobody] * self.table.max_member
        for member_id, metadata_of, current in members:
            slots[self.number(member_id) - 1] = self._member(metadata_of, current)
        return assignment_epoch, group_epoch, tuple(slots), self._known(metadata), self._target(target)

    def _target(self, target: Mapping[MemberId, Partitions]) -> Key:
        masks = [0] * self.table.max_member
        for member_id, partitions in target.items():
            masks[self.number(member_id) - 1] = self.table.mask(partitions)
        return tuple(masks)

    def _known(self, topics: Iterable[str]) -> int:
        return self.table.topic_mask(frozenset(topics))

    def _member(self, said: MemberMetadata, current: CurrentAssignment) -> Key:
        known = self._members.get((id(said), id(current)))
        if known is not None:
            return known[2]
        key = (
            self._epochs(current.assigned),
            current.member_epoch,
            True,
            current.previous_member_epoch,
            self.table.ranks.get(said.rebalance_timeout_ms, 0),
            self._epochs(current.pending_revocation),
            current.state,
            said.instance_id is not None,
            self.table.topic_mask(said.topics),
        )
        self._members[id(said), id(current)] = said, current, key
        return key

    def _epochs(self, epochs: Epochs) -> Key:
        return tuple([epochs.get(partition, -1) for partition in self.table.partitions])

    def partition_epoch(self, broker: int) -> Key:
        """The epochs of partitions."""
        group = self._coordinators[broker].group
        return tuple([group.partition_epoch(partition) for partition in self.table.partitions])

    def timers(self, broker: int) -> Key:
        """How long the timers of members were set to: for a revocation, and for the session."""
        delays = self._coordinators[broker].delays
        known = self._delays.get(id(delays))
        if known is not None:
            return known[1]
        rebalance, session = [0] * self.table.max_member, [0] * self.table.max_member
        for (kind, member_id), delay_ms in delays.items():
            timers = session if kind is TimerKind.SESSION else rebalance
            timers[self.number(member_id) - 1] = self.table.ranks.get(delay_ms, 0)
        key = tuple(zip(rebalance, session, strict=True))
        self._delays[id(delays)] = delays, key
        return key

    def epoch(self, broker: int) -> Key:
        """A coordinator's epoch. When it is newly elected it begins with the committed records."""
        coordinator = self._coordinators[broker]
        epoch = coordinator.epoch
        known = self._logs.get(id(coordinator))
        if known is None or known[0] != epoch:
            log = LogState()
            log.append(self._records.values())
            self._logs[id(coordinator)] = epoch, coordinator, log
        return epoch

    def stored_group(self) -> Key:
        """The group's state as the committed records define it, one record of each key."""
        log = LogState()
        log.append(self._records.values())
        members = [(member_id, said, log.assignment(member_id)) for member_id, said in log.members.items()]
        return self._group(log.assignment_epoch, log.group_epoch, members, log.topics, log.target)

    def appended(self, broker: int) -> Key:
        """The coordinator's batches that have not committed, each with the group's state as its records define it. A
        batch is first seen in the step that appends it. The coordinator's memory is not read."""
        coordinator = self._coordinators[broker]
        return tuple([self._entry(written, coordinator) for written in coordinator.waiting])

    def _entry(self, written: Written, coordinator: ConsumerGroupCoordinator) -> Key:
        known = self._entries.get(id(written))
        if known is not None:
            return known[1]
        offsets = {one.partition: one.offset for one in written.batch if isinstance(one, OffsetCommitRecord)}
        if offsets:
            key: Key = "offsets", self.table.offsets(offsets)
        else:
            _, _, log = self._logs[id(coordinator)]
            log.append([one for one in written.batch if isinstance(one, ConsumerGroupRecord)])
            gone = [
                one.member_id for one in written.batch if isinstance(one, MemberMetadataRecord) and one.metadata is None
            ]
            member_id = written.member_id
            key = (
                "group",
                log.assignment_epoch,
                log.group_epoch,
                self.number(member_id),
                self._known(log.topics),
                self.number(gone[0]) if gone else 0,
                self._target(log.target),
                self._member(log.members.get(member_id, UNHEARD), log.assignment(member_id))
                if member_id
                else self._nobody,
            )
        self._entries[id(written)] = written, key
        return key

    # --- consumers --------------------------------------------------------------------------------------------------

    def consumer(self, client: int) -> Key:
        """A consumer."""
        consumer = self._consumers[client]
        if consumer is None:
            return self._stopped
        membership, table = consumer.membership, self.table
        resolved = membership.resolved
        return (
            consumer.say_all,
            self.number(membership.member_id),
            membership.member_epoch,
            table.mask(consumer.subscriptions.owned),
            resolved is not None,
            table.mask(resolved or ()),
            True,
            membership.state,
            table.topic_mask(consumer.subscriptions.topics),
            table.mask(membership.target),
            table.topic_mask(consumer.told_topics),
            membership.unreported,
        )

    # --- the network ------------------------------------------------------------------------------------------------

    def heartbeat_rpc(self, client: int) -> Key:
        """A heartbeat: the request, the response that waits, or the response."""
        exchange: Exchange | None = self._network.heartbeat[client]
        if exchange is None:
            return IDLE
        response = exchange.response
        if isinstance(response, ConsumerGroupHeartbeatResponse):
            failed = response.error is not Errors.NONE
            given, epoch = response.assignment, 0 if failed else response.member_epoch
            return "answered", self._mask(given), response.error, given is not None, epoch
        remaining, held = self._deferred(exchange)
        if isinstance(held, ConsumerGroupHeartbeatResponse):
            given = held.assignment
            return "waiting", self._mask(given), exchange.broker, given is not None, held.member_epoch, remaining
        return self._request(exchange)

    def offset_rpc(self, client: int) -> Key:
        """A commit or a fetch of offsets; of the partitions that a fetch is for those that the consumer owns since."""
        exchange: Exchange | None = self._network.offset[client]
        consumer = self._consumers[client]
        if exchange is None:
            return IDLE
        request, response = exchange.request, exchange.response
        asked = 0
        if isinstance(request, OffsetFetchRequest) and consumer is not None:
            asked = self.table.mask(consumer.subscriptions.still(exchange.asked))
        if isinstance(response, OffsetFetchResponse):
            return "fetched", asked, response.error, self._offsets(response.offsets)
        if isinstance(response, OffsetCommitResponse):
            return "committed", response.error
        remaining, held = self._deferred(exchange)
        if isinstance(held, OffsetFetchResponse):
            return "fetching", asked, exchange.broker, self._offsets(held.offsets), remaining
        if isinstance(request, OffsetFetchRequest):
            return "fetch", asked, exchange.broker, self.number(request.member_id), request.member_epoch
        if isinstance(held, OffsetCommitResponse):
            return "committing", exchange.broker, held.error, remaining
        return self._request(exchange)

    def _deferred(self, exchange: Exchange) -> tuple[int, Response | None]:
        """For how many batches of the log the response waits, and which; None: the request has not arrived."""
        if exchange.arrived:
            for place, written in enumerate(self._coordinators[exchange.broker].waiting, 1):
                for reply in written.replies:
                    if reply.token == exchange.token:
                        return place, reply.response
        return 0, None

    def stray(self, client: int) -> Key:
        """A request for whose reply nobody waits."""
        exchange: Exchange | None = self._network.stray[client]
        return IDLE if exchange is None else self._request(exchange)

    def _request(self, exchange: Exchange) -> Key:
        request, broker = exchange.request, exchange.broker
        if isinstance(request, OffsetCommitRequest):
            number = self.number(request.member_id)
            return "commit", broker, number, request.generation_id, self._offsets(request.offsets)
        if not isinstance(request, ConsumerGroupHeartbeatRequest):
            raise TypeError(f"a {type(request).__name__} is no request of a consumer group's member")
        number = self.number(request.member_id)
        if request.leaves:
            return "leave", broker, number
        owned, topics = request.topic_partitions, request.subscribed_topic_names
        return (
            "heartbeat",
            broker,
            request.full,
            number,
            request.member_epoch,
            self._mask(owned),
            owned is not None,
            0 if topics is None else self.table.topic_mask(topics),
            topics is not None,
        )

    def _mask(self, partitions: Partitions | None) -> int:
        return 0 if partitions is None else self.table.mask(partitions)

    def _offsets(self, offsets: Mapping[TopicPartition, int]) -> Key:
        return self.table.offsets(offsets)


READS: dict[str, Callable[..., Key]] = {
    "leaderAndEpoch": Abstraction.leader_and_epoch,
    "storedGroup": Abstraction.stored_group,
    "storedOffsets": Abstraction.stored_offsets,
    "appended": Abstraction.appended,
    "epoch": Abstraction.epoch,
    "group": Abstraction.group,
    "partitionEpoch": Abstraction.partition_epoch,
    "timers": Abstraction.timers,
    "offsets": Abstraction.offsets,
    "issued": Abstraction.issued,
    "consumer": Abstraction.consumer,
    "position": Abstraction.position,
    "partitions": Abstraction.partitions,
    "heartbeatRpc": Abstraction.heartbeat_rpc,
    "offsetRpc": Abstraction.offset_rpc,
    "stray": Abstraction.stray,
}
"""Variable -> what reads the key of its unit."""

_PROCESS = "consumer.c position.c heartbeatRpc.c offsetRpc.c"
_GROUP = "appended.b group.b partitionEpoch.b timers.b"
_REPLY = "!late:heartbeatRpc.c late:stray.c"

TOUCHES = {
    "StartConsumer": "issued consumer.c",
    "CrashConsumer": _PROCESS,
    "LeaveGroup": f"{_PROCESS} stray.c",
    "ChangeSubscription": "consumer.c",
    "AddPartition": "partitions",
    "SendHeartbeat": "consumer.c heartbeatRpc.c",
    "ReceiveHeartbeat": _PROCESS,
    "Reconcile": "consumer.c",
    "FinishReconciliation": "consumer.c position.c offsetRpc.c",
    "Poll": "position.c",
    "SendCommit": "offsetRpc.c",
    "ReceiveCommit": "offsetRpc.c",
    "SendOffsetFetch": "offsetRpc.c",
    "ReceiveOffsets": "position.c offsetRpc.c",
    "RejectHeartbeat": _REPLY,
    "HandleHeartbeat": f"{_GROUP} {_REPLY}",
    "BumpOnHeartbeat": f"{_GROUP} {_REPLY}",
    "AssignOnHeartbeat": f"{_GROUP} {_REPLY}",
    "HandleLeave": f"{_GROUP} stray.c",
    "ExpireSession": _GROUP,
    "ExpireRevocation": _GROUP,
    "HandleCommit": "appended.b !late:offsetRpc.c late:stray.c",
    "RejectCommit": "!late:offsetRpc.c late:stray.c",
    "HandleOffsetFetch": "offsetRpc.c",
    "CommitEntry": "storedGroup storedOffsets appended.b offsets.b heartbeatRpc.* offsetRpc.*",
    "BecomeCoordinator": "leaderAndEpoch storedGroup storedOffsets epoch.b group.b partitionEpoch.b timers.b offsets.b",
    "Resign": f"epoch.b {_GROUP} offsets.b heartbeatRpc.* offsetRpc.*",
    "RepeatHeartbeat": "stray.c",
    "RepeatCommitRequest": "stray.c",
    "LoseHeartbeat": "consumer.c heartbeatRpc.c",
    "LoseOffsetRpc": "offsetRpc.c",
    "LoseStray": "stray.c",
}
"""For each action, the variables that its handler may change. A suffix narrows a variable to the broker `b` or the
consumer `c`. The suffix `*` means every one. A test compares this table with a full comparison of the state."""
