"""What producers under simulation consist of: partitions with their leaders, processes, connections."""

from __future__ import annotations

from typing import NamedTuple

from tidemark.idempotence.messages import ProducerId
from tidemark.idempotence.partition import Broker, Partition
from tidemark.idempotence.producer import IdempotentProducer, ProducerConfig
from tidemark.idempotence.rules import Rules
from tidemark.idempotence.sim.network import Connections
from tidemark.trace.recording import Recorder


class Acknowledged(NamedTuple):
    """What an application was told: which batch of a process is where."""

    producer_id: ProducerId
    partition: int
    number: int
    offset: int


class ProducerState:
    """The parts, without the events: see `ProducerCluster`. `recorder` must be set before the first event."""

    __slots__ = ("acked", "config", "connections", "issued", "partitions", "producers", "recorder", "rules")

    recorder: Recorder

    def __init__(self, producers: int, leaders: list[Broker], rules: Rules, config: ProducerConfig) -> None:
        self.rules = rules
        self.config = config
        self.issued = 0
        self.partitions = [Partition(rules, config.window, config.max_sequence, leader) for leader in leaders]
        self.producers = [self.new_process() for _ in range(producers)]
        self.connections = [[Connections() for _ in leaders] for _ in range(producers)]
        self.acked: list[Acknowledged] = []

    def new_process(self) -> IdempotentProducer:
        """A process that has just started."""
        return IdempotentProducer(len(self.partitions), self.rules, self.config)

    def lost(self) -> int:
        """How many of the batches that were acknowledged are not at their offsets, and how many of all are there twice:
        what a reader of the logs finds."""
        wrong = sum(not self._is_at(one) for one in self.acked)
        seen = [
            (topic, batch.producer_id, batch.payload)
            for topic, partition in enumerate(self.partitions)
            for batch in partition.log
        ]
        return wrong + len(seen) - len(set(seen))

    def _is_at(self, one: Acknowledged) -> bool:
        log = self.partitions[one.partition].log
        found = log[one.offset] if one.offset < len(log) else None
        return found is not None and (found.producer_id, found.payload) == (one.producer_id, one.number)
