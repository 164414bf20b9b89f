"""The state of producers under simulation: partitions with their leaders, processes, connections."""

from __future__ import annotations

from typing import NamedTuple

from tidemark.idempotence.flaws import partition_of, producer_of
from tidemark.idempotence.messages import ProducerId
from tidemark.idempotence.partition import Broker, Partition
from tidemark.idempotence.producer import IdempotentProducer, ProducerConfig
from tidemark.idempotence.producer_ids import ProducerIdManager
from tidemark.idempotence.rules import Rules
from tidemark.idempotence.sim.disk import Disk
from tidemark.idempotence.sim.network import Connections
from tidemark.trace.recording import Recorder

DELIVERY_TIMEOUT_MS = 120_000
"""delivery.timeout.ms: so long after it was made a batch is given up, if it has not been acknowledged."""
REQUEST_LIFE_MS = 10_000
"""So long after its batch is given up a request may still reach its broker."""
EXPIRATION_MS = DELIVERY_TIMEOUT_MS + REQUEST_LIFE_MS + 1
"""producer.id.expiration.ms, as short as it may be."""


class Acknowledged(NamedTuple):
    """An acknowledgement that an application received: the batch of a process, and its offset."""

    producer_id: ProducerId
    partition: int
    number: int
    offset: int


class ProducerState:
    """The parts, without the events: see `ProducerCluster`. `recorder` must be set before the first event. `partitions`
    are those of the leaders, on `disks`; `now`: the time in milliseconds, by everybody's clock."""

    __slots__ = (
        "acked",
        "config",
        "connections",
        "disks",
        "now",
        "partitions",
        "producer_ids",
        "producers",
        "recorder",
        "rules",
    )

    recorder: Recorder

    def __init__(self, producers: int, leaders: list[Broker], rules: Rules, config: ProducerConfig) -> None:
        self.rules = rules
        self.config = config
        self.producer_ids = ProducerIdManager()
        self.now = 0
        self.disks = [Disk() for _ in leaders]
        self.partitions = [self.new_partition(leader, disk) for leader, disk in zip(leaders, self.disks, strict=True)]
        self.producers = [self.new_process() for _ in range(producers)]
        self.connections = [[Connections() for _ in leaders] for _ in range(producers)]
        self.acked: list[Acknowledged] = []

    def new_partition(self, broker: Broker, disk: Disk) -> Partition:
        """A partition at a broker that has nothing of it yet."""
        return partition_of(self.rules, self.config, broker, disk, EXPIRATION_MS)

    def new_process(self) -> IdempotentProducer:
        """A process that has just started."""
        return producer_of(len(self.partitions), self.rules, self.config)

    def lost(self) -> int:
        """How many wrong batches a reader of the logs finds: acknowledged ones that are not at their offsets, and any
        that are there twice."""
        wrong = sum(not self._is_at(one) for one in self.acked)
        seen = [
            (topic, batch.request.producer_id, batch.request.payload)
            for topic, partition in enumerate(self.partitions)
            for batch in partition.log
        ]
        return wrong + len(seen) - len(set(seen))

    def _is_at(self, one: Acknowledged) -> bool:
        log = self.partitions[one.partition].log
        found = log[one.offset].request if one.offset < len(log) else None
        return found is not None and (found.producer_id, found.payload) == (one.producer_id, one.number)
