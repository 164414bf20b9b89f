"""The state of consume-transform-produce under simulation: instances, transactions, the group, the results."""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.exactly_once.flaws import asking, isolation_level_of, processor_of
from tidemark.exactly_once.group import TransactionalGroup
from tidemark.exactly_once.message_processor import OUTPUT, MessageProcessor
from tidemark.exactly_once.results_partition import ResultsPartition
from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim.network import Exchange, LateMarker
from tidemark.exactly_once.sim.reader import ResultsReader
from tidemark.idempotence.producer_ids import ProducerIdManager
from tidemark.trace.recording import Recorder
from tidemark.transactions.coordinator import TransactionCoordinator
from tidemark.transactions.messages import TransactionLogValue
from tidemark.transactions.transactional_producer import TransactionalProducer

TOPIC = "input"
LAST_EPOCH = 2**15 - 1


class ExactlyOnceState:
    """The parts, without the events: see `ExactlyOnceCluster`. `recorder` must be set before the first event.

    `inputs`: how many records each input partition has; `statics`: which instances have a group.instance.id;
    `outputs`, `readers`: the partitions of the results, and the reader of each. The transactional id, and the
    producer id, of an instance are its number + 1. As partitions of a transaction the outputs are followed by
    `offsets`, the group's partition of __consumer_offsets. `window`: so many batches of a producer an output remembers.
    """

    recorder: Recorder

    def __init__(
        self, inputs: Sequence[int], statics: Sequence[bool], rules: Rules, outputs: int = 1, window: int = 1
    ) -> None:
        self.rules = rules
        self.inputs = tuple(inputs)
        self.statics = [f"instance-{number}" if static else None for number, static in enumerate(statics)]
        self.transactions = rules.for_transactions()
        self.group = TransactionalGroup(asking(rules), TOPIC, len(inputs))
        self.topics = self.group.partitions
        self.outputs = [ResultsPartition(rules, number, window) for number in range(outputs)]
        self.offsets = outputs
        self.readers = [ResultsReader(output, isolation_level_of(rules)) for output in self.outputs]
        producer_ids = ProducerIdManager(len(statics))
        self.coordinators = [TransactionCoordinator(self.transactions, LAST_EPOCH, producer_ids) for _ in statics]
        for number, coordinator in enumerate(self.coordinators):
            coordinator.load_transactions(1, TransactionLogValue(producer_id=number + 1), 0)
        self.instances = [self.new_process(number) for number in range(len(statics))]
        self.rpc: list[Exchange | None] = [None] * len(statics)
        self.late: list[Exchange | None] = [None] * len(statics)
        self.late_marker: list[LateMarker | None] = [None] * len(statics)

    def new_process(self, number: int) -> MessageProcessor:
        """A process that has just started."""
        return processor_of(self.topics, self.statics[number], self.rules, self.new_producer(number))

    def new_producer(self, number: int) -> TransactionalProducer:
        """Its producer."""
        return TransactionalProducer(len(self.outputs), self.transactions)

    def payload(self, partition: int, offset: int) -> int:
        """The result of an input record."""
        return offset * len(self.inputs) + partition

    def record(self, payload: int) -> tuple[int, int]:
        """The input partition and offset whose result it is."""
        offset, partition = divmod(payload, len(self.inputs))
        return partition, offset

    def results(self, payload: int) -> Sequence[tuple[int, int]]:
        """The input records whose results are in a batch."""
        return (self.record(payload),)

    def output_of(self, partition: int, offset: int) -> int:
        """The output partition of an input record's result."""
        return OUTPUT

    def times_returned(self) -> dict[tuple[int, int], int]:
        """How often a reader has got the result of every input record."""
        records = {(p, offset): 0 for p, count in enumerate(self.inputs) for offset in range(count)}
        for reader in self.readers:
            for payload in reader.returned:
                for record in self.results(payload):
                    records[record] += 1
        return records

    def under_way(self) -> bool:
        """Whether something may still arrive."""
        return any(self.rpc) or any(self.late) or any(self.late_marker)
