"""A group's coordinators over a really replicated partition of __consumer_offsets.

    a coordinator appends   its broker produces the batch with acks=all to its replica of the partition
    a batch commits         the high watermark of the broker that leads passes it
    a coordinator loads     its broker leads, and the high watermark has reached the end of its log
    it hears that it has    its process has ended, or its replica follows: it forgets, and Resign says so as soon as
    lost its office         another serves; one that has not heard of it goes on
    records are lost        with the suffix that a replica truncates, or loses in a crash

What a coordinator reads when it loads is what its replica holds; what counts as committed there is compared with what
the coordinators before it have seen commit. A batch is one record of the replicated log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from tidemark.errors import BrokenInvariant
from tidemark.group.messages import Batch, OffsetCommitRecord, Outcome, Record
from tidemark.group.partitions import TopicPartition
from tidemark.group.purgatory import Timer
from tidemark.group.rebalance import GroupConfig
from tidemark.group.rules import Rules
from tidemark.log.storage import Payload, RecordBatch
from tidemark.replication.broker import Broker as Process
from tidemark.sim.cluster import Cluster
from tidemark.sim.group.cluster import GroupCluster
from tidemark.sim.group.network import Broker, Client, Exchange, OffsetsPartition
from tidemark.sim.healing import fair_round

MOST_ROUNDS = 10
"""So many fair rounds are enough for a record to commit."""
FIRST_PAYLOAD = 2
"""Payloads are numbered from here on, as the replication simulator numbers its own."""


class LostRecordsReturnedError(Exception):
    """A broker leads whose log holds records that an earlier fail-over had lost: ClassicGroup has no step for that."""


class ReplicatedOffsets(OffsetsPartition):
    """The group's partition where the log is really replicated: `found` is what the replica holds that leads."""

    __slots__ = ("found",)

    def __init__(self, brokers: int, leader: Broker) -> None:
        super().__init__(brokers, leader)
        self.found: Sequence[Batch] = ()

    def elect(self, broker: Broker, keep: int) -> Iterable[Record]:
        """Another broker leads, and reads what it holds, whatever that is."""
        self.group, self.offsets = None, {}
        for batch in self.found:
            self._keep(batch)
        return super().elect(broker, 0)


class ComposedCluster(GroupCluster):
    """`replicated` is the partition's cluster, broker by broker the group's own brokers.

    `found` is the group's log; `batches`: what each payload says; `pending`: per broker its coordinator's appended
    batches that have not committed, as payload and offset, oldest first; `committed`: the payloads that coordinators
    have seen commit, in order;
    `serves`: per broker the process and the leader epoch in which its coordinator serves, None where it does not or has
    forgotten; `office_epoch`: the leader epoch of the coordinator in office; `room`: records that a log may get,
    `payloads`: how many may be appended in all; `heals`: who waits for a batch to commit runs the partition fairly;
    `kept`, `dropped`: batches that were not committed at a fail-over and that the successor had, had not; `orphaned`:
    batches that a deposed coordinator appended.
    """

    __slots__ = (
        "batches",
        "committed",
        "dropped",
        "found",
        "heals",
        "kept",
        "office_epoch",
        "orphaned",
        "payloads",
        "pending",
        "replicated",
        "room",
        "serves",
    )

    def __init__(
        self,
        replicated: Cluster,
        static: Sequence[bool],
        counts: dict[str, int],
        first: Broker,
        rules: Rules,
        config: GroupConfig,
    ) -> None:
        super().__init__(replicated.count, static, counts, first, rules, config)
        self.replicated = replicated
        self.found = ReplicatedOffsets(replicated.count, first)
        self.log = self.found
        self.batches: dict[Payload, Batch] = {}
        self.pending: list[deque[tuple[Payload, int]]] = [deque() for _ in range(replicated.count)]
        self.committed: list[Payload] = []
        self.serves: list[tuple[Process, int] | None] = [None] * replicated.count
        self.office_epoch = 0
        self.room = self.payloads = 0
        self.kept = self.dropped = self.orphaned = 0
        self.heals = False
        process = replicated.hosts[first].up
        if process is not None:
            self._take_office(first, process)

    def _take_office(self, broker: Broker, process: Process) -> None:
        self.office_epoch = process.partition.leader_epoch
        self.serves[broker] = process, self.office_epoch

    # --- the replicated log -----------------------------------------------------------------------------------------

    def observe(self) -> None:
        """After an event of replication: coordinators forget whose process has ended or whose replica follows. One
        that was elected again meanwhile goes on, if nobody else has served."""
        for broker, served in enumerate(self.serves):
            if served is None:
                continue
            process, epoch = served
            partition = process.partition
            if self.replicated.hosts[broker].broker is not process or not partition.is_leader:
                self.serves[broker] = None
            elif partition.leader_epoch != epoch:
                self.serves[broker] = None
                if self.acting(broker):
                    self._take_office(broker, process)

    def takes(self, broker: Broker) -> bool:
        """Whether a broker handles a request now: it is up, and its log takes what its coordinator may append."""
        host = self.replicated.hosts[broker]
        if host.up is None:
            return False
        if not self.coordinators[broker].serving:
            return True
        if self.serves[broker] is None:
            return False
        partition, config = host.up.partition, self.replicated.config
        return (
            len(partition.isr) >= min(config.min_insync_replicas, self.replicated.count)
            and partition.log.end_offset < self.room
            and len(self.batches) < self.payloads
        )

    def settle(self, broker: Broker, outcome: Outcome) -> None:
        """What a handler came to: its batch is produced with acks=all, its replies go out."""
        if outcome.batch:
            payload, process = FIRST_PAYLOAD + len(self.batches), self.replicated.hosts[broker].up
            self.batches[payload] = outcome.batch
            if process is None or not process.partition.is_leader:
                raise BrokenInvariant(f"broker {broker} serves a group and does not lead its partition")
            self.pending[broker].append((payload, process.log.end_offset))
            self.replicated.append_record(broker, payload, "all")
            self.orphaned += not self.acting(broker)
        super().settle(broker, outcome)

    def commit_entry(self) -> bool:
        """The high watermark has passed the oldest batch of the coordinator in office."""
        broker = self.log.leader
        served, pending = self.serves[broker], self.pending[broker]
        if served is None or not pending or not self.acting(broker):
            return False
        process, (payload, offset) = served[0], pending[0]
        if self.heals and process.log.high_watermark <= offset:
            self._replicate(process, offset)
        if self.replicated.hosts[broker].up is not process or process.log.high_watermark <= offset:
            return False
        pending.popleft()
        self.committed.append(payload)
        super().commit_entry()
        self.replicated.complete_produce(broker, payload)
        return True

    def _replicate(self, process: Process, offset: int) -> None:
        """Everybody fetches until the high watermark has passed an offset."""
        for _ in range(MOST_ROUNDS):
            fair_round(self.replicated)
            self.observe()
            if process.log.high_watermark > offset:
                break

    def may_load(self, broker: Broker) -> bool:
        """Whether a broker leads the partition in an epoch in which nobody has served, and all that it has is
        committed."""
        process = self.replicated.hosts[broker].up
        if process is None or not process.partition.is_leader or self.coordinators[broker].serving:
            return False
        partition, log = process.partition, process.log
        return partition.leader_epoch > self.office_epoch and log.high_watermark == log.end_offset

    def load(self, broker: Broker) -> bool:
        """A broker that leads replays its log, and serves. If the log has lost what a coordinator has seen commit, its
        step says so, and is none of the specification. Raises LostRecordsReturnedError."""
        process = self.replicated.hosts[broker].up
        if process is None or not self.may_load(broker):
            return False
        found, known = payloads(process.log.storage.batches), len(self.committed)
        keep = max(len(found) - known, 0)
        if found[:known] != self.committed:
            keep = 0
        elif found[known:] != [payload for payload, _ in self.pending[self.log.leader]][:keep]:
            raise LostRecordsReturnedError
        self.found.found = [self.batches[payload] for payload in found]
        self.kept += keep
        self.dropped += len(self.pending[self.log.leader]) - keep
        self._take_office(broker, process)
        self.pending[broker].clear()
        self.committed = found
        return self.become_coordinator(broker, keep)

    def resign(self, broker: Broker) -> bool:
        """A deposed coordinator has heard of it, and another serves."""
        if self.serves[broker] is not None or not super().resign(broker):
            return False
        self.pending[broker].clear()
        return True

    # --- who cannot be reached --------------------------------------------------------------------------------------

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
        """The committed offsets, as somebody reads them who knows of no coordinator: from the partition's leader, below
        its high watermark."""
        leader = self.replicated.control.partition.leader
        process = None if leader is None else self.replicated.up(leader)
        if process is None:
            return {}
        offsets: dict[TopicPartition, int] = {}
        for payload in payloads(process.partition.read_committed(0, process.log.end_offset)):
            for record in self.batches[payload]:
                if isinstance(record, OffsetCommitRecord):
                    offsets[record.partition] = record.offset
        return offsets


def payloads(batches: Iterable[RecordBatch]) -> list[Payload]:
    """Record by record."""
    return [payload for batch in batches for payload in batch.records]
