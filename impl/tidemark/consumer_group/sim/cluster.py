"""The events of a simulated KIP-848 group that not every group has: heartbeats, reconciliation, timers.

Which event comes next is somebody else's choice (run.py). A method returns whether the event happened; the handler's
end tells the recorder its action of the specification.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Any

from tidemark.common.errors import BrokenInvariant
from tidemark.consumer_group.consumer import AsyncConsumer, AsyncConsumerConfig
from tidemark.consumer_group.coordinator import ConsumerGroupConfig, ConsumerGroupCoordinator, HeartbeatVerdict
from tidemark.consumer_group.flaws import coordinator_of
from tidemark.consumer_group.rules import Rules
from tidemark.groups.consumer_group_messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupRecord,
    CurrentMemberAssignmentRecord,
    MemberMetadataRecord,
    TargetAssignmentMemberRecord,
)
from tidemark.groups.messages import Batch, OffsetCommitRecord, OffsetCommitRequest, OffsetFetchResponse, Record
from tidemark.groups.partitions import MemberId
from tidemark.groups.purgatory import Timer, TimerKind
from tidemark.groups.sim.events import GroupEvents
from tidemark.groups.sim.network import Broker, Client, Exchange, OffsetsPartition
from tidemark.groups.sim.state import INSTANCE, new_member_id
from tidemark.groups.table import Timeouts

HANDLES = {
    HeartbeatVerdict.REJECT: "RejectHeartbeat",
    HeartbeatVerdict.HEARTBEAT: "HandleHeartbeat",
    HeartbeatVerdict.BUMP: "BumpOnHeartbeat",
    HeartbeatVerdict.ASSIGN: "AssignOnHeartbeat",
}
EXPIRES = {TimerKind.SESSION: "ExpireSession", TimerKind.REBALANCE: "ExpireRevocation"}


class ConsumerGroupPartition(OffsetsPartition):
    """The group's partition; `records`: of the group's committed records the last of each key. The newly elected broker
    loads it while the log cleaner works. It has read those records, and the cleaner has compacted the rest when the
    load comes there."""

    __slots__ = ("records",)

    def __init__(self, brokers: int, leader: Broker) -> None:
        super().__init__(brokers, leader)
        self.records: dict[tuple[type, MemberId], ConsumerGroupRecord] = {}

    def read(self) -> Iterable[Record]:
        """The committed log's latest records, member by member."""
        return chain((self.records[key] for key in sorted(self.records, key=itemgetter(1))), super().read())

    def elect(self, broker: Broker, keep: int) -> Iterable[Record]:
        """Another broker leads, with the first `keep` of the old leader's batches. It reads the records that had
        committed before, and of each key in those batches the last record, at its place."""
        before = list(self.read())
        rest = [record for batch in islice(self.appended[self.leader], keep) for record in batch]
        last = {_key(record): place for place, record in enumerate(rest)}
        super().elect(broker, keep)
        return (*before, *[rest[place] for place in sorted(last.values())])

    def _keep(self, batch: Batch) -> None:
        super()._keep(batch)
        for record in batch:
            if isinstance(record, ConsumerGroupRecord):
                key = type(record), getattr(record, "member_id", "")
                if _is_tombstone(record):
                    self.records.pop(key, None)
                else:
                    self.records[key] = record


def _key(record: Record) -> tuple[type, Any]:
    """The record's key for the log cleaner."""
    if isinstance(record, OffsetCommitRecord):
        return type(record), record.partition
    return type(record), getattr(record, "member_id", "")


def _is_tombstone(record: ConsumerGroupRecord) -> bool:
    if isinstance(record, MemberMetadataRecord):
        return record.metadata is None
    if isinstance(record, CurrentMemberAssignmentRecord):
        return record.current is None
    return isinstance(record, TargetAssignmentMemberRecord) and record.partitions is None


class ConsumerGroupCluster(GroupEvents[ConsumerGroupCoordinator, AsyncConsumer, ConsumerGroupPartition]):
    """A KIP-848 group's brokers and consumers; `timeouts`: per consumer; `interval_ms`: between target assignments."""

    __slots__ = ("interval_ms", "rules", "timeouts")

    def __init__(
        self,
        brokers: int,
        static: Sequence[bool],
        timeouts: Sequence[Timeouts],
        counts: dict[str, int],
        first: Broker,
        rules: Rules,
        config: ConsumerGroupConfig,
    ) -> None:
        super().__init__(static, counts, ConsumerGroupPartition(brokers, first))
        self.rules = rules
        self.timeouts = timeouts
        self.interval_ms = config.assignment_interval_ms
        self.coordinators = [coordinator_of(rules, config, counts) for _ in range(brokers)]
        self.coordinators[first].become_coordinator(1, (), 0)

    # --- consumers --------------------------------------------------------------------------------------------------

    def start_consumer(self, client: Client) -> bool:
        """A process starts with a member id of its own, and subscribes to everything."""
        if self.consumers[client] is not None:
            return False
        config = AsyncConsumerConfig(INSTANCE if self.static[client] else None, self.timeouts[client].rebalance_ms)
        self.consumers[client] = AsyncConsumer(config, new_member_id(self.numbers), self.counts, self.rules)
        self.recorder.did("StartConsumer", client)
        return True

    def _take_offsets(self, consumer: AsyncConsumer, exchange: Exchange, response: OffsetFetchResponse) -> bool:
        consumer.receive_asked(response, exchange.asked)
        return True

    def send_heartbeat(self, client: Client, broker: Broker) -> bool:
        """A consumer joins, reports, or says that it is there."""
        consumer, network = self.consumers[client], self.network
        if consumer is None or network.heartbeat[client] is not None:
            return False
        network.heartbeat[client] = network.exchange(broker, consumer.send_heartbeat())
        self.recorder.did("SendHeartbeat", client, broker)
        return True

    def receive_heartbeat(self, client: Client) -> bool:
        """The reply to a heartbeat arrives."""
        exchange = self.network.heartbeat[client]
        if exchange is None or not isinstance(exchange.response, ConsumerGroupHeartbeatResponse):
            return False
        self.consumer(client).receive_heartbeat(exchange.response)
        self.network.heartbeat[client] = None
        self._end_if_fatal(client)
        self.recorder.did("ReceiveHeartbeat", client)
        return True

    def reconcile(self, client: Client) -> bool:
        """A rebalance listener begins."""
        consumer = self.consumers[client]
        if consumer is None or not consumer.reconcile():
            return False
        self.recorder.did("Reconcile", client)
        return True

    def finish_reconciliation(self, client: Client) -> bool:
        """A rebalance listener returns."""
        consumer = self.consumers[client]
        if consumer is None or not consumer.finish_reconciliation():
            return False
        self.recorder.did("FinishReconciliation", client)
        return True

    # --- requests arrive --------------------------------------------------------------------------------------------

    def deliver_heartbeat(self, client: Client) -> bool:
        """A heartbeat arrives."""
        exchange = self.network.heartbeat[client]
        if exchange is None or exchange.arrived:
            return False
        self.network.arrive(exchange)
        if isinstance(exchange.request, ConsumerGroupHeartbeatRequest):
            self._heartbeat(client, exchange.broker, exchange.token, exchange.request, False)
        return True

    def deliver_stray(self, client: Client) -> bool:
        """A request arrives for whose reply nobody waits."""
        exchange = self.network.stray[client]
        if exchange is None:
            return False
        self.network.stray[client] = None
        request, broker = exchange.request, exchange.broker
        if isinstance(request, OffsetCommitRequest):
            self._commit(client, broker, exchange.token, request, True)
        elif isinstance(request, ConsumerGroupHeartbeatRequest):
            self._heartbeat(client, broker, exchange.token, request, True)
        else:
            raise BrokenInvariant(f"a {type(request).__name__} arrives by another way")
        return True

    def _heartbeat(
        self, client: Client, broker: Broker, token: int, request: ConsumerGroupHeartbeatRequest, late: bool
    ) -> None:
        coordinator = self.coordinators[broker]
        verdict = coordinator.heartbeat_verdict(request, self.now)
        self.settle(broker, coordinator.handle(verdict, request, token, self.now))
        if verdict is HeartbeatVerdict.LEAVE:
            self.recorder.did("HandleLeave", broker, client)
        elif verdict is HeartbeatVerdict.ASSIGN:
            self.recorder.did(HANDLES[verdict], broker, client, late, self._given(coordinator))
        else:
            self.recorder.did(HANDLES[verdict], broker, client, late)

    def _given(self, coordinator: ConsumerGroupCoordinator) -> tuple[int, ...]:
        """Per topic the number of the member whose target it is in, 0 for nobody."""
        target = coordinator.group.target
        to = {one.topic: self.numbers[member] for member, partitions in target.items() for one in partitions}
        return tuple([to.get(topic, 0) for topic in self.counts])

    # --- timers and the network -------------------------------------------------------------------------------------

    def expire(self, broker: Broker, timer: Timer) -> bool:
        """A timer runs out at a coordinator."""
        outcome = self.coordinators[broker].expire(timer)
        if outcome is None:
            return False
        self.settle(broker, outcome)
        self.recorder.did(EXPIRES[timer.kind], broker, self.numbers[timer.member_id])
        return True

    def repeat_heartbeat(self, client: Client) -> bool:
        """A heartbeat will arrive twice."""
        return self._repeat(client, self.network.heartbeat[client], "RepeatHeartbeat")

    def lose_heartbeat(self, client: Client) -> bool:
        """A heartbeat or its reply is lost, or given up."""
        if self.network.heartbeat[client] is None:
            return False
        self.consumer(client).lose_heartbeat()
        return super().lose_heartbeat(client)
