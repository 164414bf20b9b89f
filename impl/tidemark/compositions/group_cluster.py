"""A group's coordinators over a really replicated partition of __consumer_offsets.

    a coordinator appends   its broker produces the batch with acks=all to its replica of the partition
    a batch commits         the high watermark of the broker that leads passes it
    a coordinator loads     its broker leads, and the high watermark has reached the end of its log
    it was deposed          its process has ended, or its replica follows: it forgets, and Resign says so as soon as
                            another serves; one that has not heard of it goes on

A coordinator loads its own replica (replicated_log.py). A batch is one record of the replicated log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidemark.classic_group.rebalance import GroupConfig
from tidemark.classic_group.rules import Rules
from tidemark.classic_group.sim.cluster import GroupCluster
from tidemark.compositions.replicated_log import ReplicatedLog
from tidemark.groups.messages import Batch, OffsetCommitRecord, Outcome, Record
from tidemark.groups.partitions import TopicPartition
from tidemark.groups.purgatory import Timer
from tidemark.groups.sim.network import Broker, Client, Exchange, OffsetsPartition
from tidemark.groups.table import Timeouts
from tidemark.replication.sim.cluster import Cluster


class ReplicatedOffsets(OffsetsPartition):
    """The group's partition where the log is really replicated: `found` is what the replica holds that leads."""

    __slots__ = ("found",)

    def __init__(self, brokers: int, leader: Broker) -> None:
        super().__init__(brokers, leader)
        self.found: Sequence[Batch] = ()

    def elect(self, broker: Broker, keep: int) -> Iterable[Record]:
        """Another broker leads, and reads its own replica, however much that holds."""
        self.group, self.offsets = None, {}
        for batch in self.found:
            self._keep(batch)
        return super().elect(broker, 0)


class ComposedCluster(GroupCluster):
    """`replica`: the group's partition, whose brokers are the group's own."""

    __slots__ = ("found", "replica")

    def __init__(
        self,
        replicated: Cluster,
        static: Sequence[bool],
        timeouts: Sequence[Timeouts],
        counts: dict[str, int],
        first: Broker,
        rules: Rules,
        config: GroupConfig,
    ) -> None:
        super().__init__(replicated.count, static, timeouts, counts, first, rules, config)
        self.found = ReplicatedOffsets(replicated.count, first)
        self.log = self.found
        self.replica: ReplicatedLog[Batch] = ReplicatedLog(replicated, first)

    # --- the replicated log -----------------------------------------------------------------------------------------

    def takes(self, broker: Broker) -> bool:
        """Whether a broker handles a request now: it is up, and its log takes what its coordinator may append."""
        if self.replica.replicated.hosts[broker].up is None:
            return False
        if not self.coordinators[broker].serving:
            return True
        return self.replica.handles(broker) and self.replica.in_sync(broker)

    def settle(self, broker: Broker, outcome: Outcome) -> None:
        """Carries out a handler's outcome: its batch is produced with acks=all, its replies are sent."""
        if outcome.batch:
            self.replica.append(broker, outcome.batch)
        super().settle(broker, outcome)

    def commit_entry(self) -> bool:
        """The high watermark has passed the oldest batch of the current coordinator."""
        payload = self.replica.commit()
        if payload is None:
            return False
        super().commit_entry()
        self.replica.acknowledge(payload)
        return True

    def load(self, broker: Broker) -> bool:
        """A broker that leads replays its log, and serves. If the log has lost what a coordinator has seen commit, its
        step says so, and is none of the specification. Raises LostRecordsReturnedError."""
        replica = self.replica
        if self.coordinators[broker].serving or not replica.may_load(broker):
            return False
        keep = replica.become_leader(broker)
        replica.count_as_committed()
        self.found.found = replica.found()
        return self.become_coordinator(broker, keep)

    def resign(self, broker: Broker) -> bool:
        """A deposed coordinator has heard of it, and another serves."""
        if self.replica.serves[broker] is not None or not super().resign(broker):
            return False
        self.replica.pending[broker].clear()
        return True

    # --- members that cannot be reached -----------------------------------------------------------------------------

    def deliver_member(self, client: Client) -> bool:
        """A JoinGroup or SyncGroup arrives."""
        return self._reaches(self.network.member[client]) and super().deliver_member(client)

    def deliver_stray(self, client: Client) -> bool:
        """A request arrives for whose reply nobody waits."""
        return self._reaches(self.network.stray[client]) and super().deliver_stray(client)

    def deliver_heartbeat(self, client: Client) -> bool:
        """A heartbeat arrives."""
        return self._reaches(self.network.heartbeat[client]) and super().deliver_heartbeat(client)

    def deliver_offset(self, client: Client) -> bool:
        """An OffsetCommit or OffsetFetch arrives."""
        return self._reaches(self.network.offset[client]) and super().deliver_offset(client)

    def _reaches(self, exchange: Exchange | None) -> bool:
        return exchange is not None and self.takes(exchange.broker)

    def expire(self, broker: Broker, timer: Timer) -> bool:
        """A timer runs out at a coordinator."""
        return self.takes(broker) and super().expire(broker, timer)

    # --- reading back -----------------------------------------------------------------------------------------------

    def read_back(self) -> dict[TopicPartition, int]:
        """The committed offsets, read without asking a coordinator."""
        offsets: dict[TopicPartition, int] = {}
        for batch in self.replica.read_back():
            for record in batch:
                if isinstance(record, OffsetCommitRecord):
                    offsets[record.partition] = record.offset
        return offsets
