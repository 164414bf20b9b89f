"""A consumer of the results beside the leader that it reads from: the simulator carries fetches in between."""

from __future__ import annotations

from tidemark.exactly_once.results_consumer import ResultsConsumer
from tidemark.exactly_once.rules import Rules
from tidemark.transactions.partition import TransactionalPartition


class ResultsReader(ResultsConsumer):
    """A consumer of one output's results. It knows nothing of the specification."""

    __slots__ = ("_partition",)

    def __init__(self, partition: TransactionalPartition, rules: Rules) -> None:
        super().__init__(rules)
        self._partition = partition

    @property
    def at_end(self) -> bool:
        """Whether it has read all that there is, decided or not."""
        return self.position >= self._partition.high_watermark

    def may_read(self) -> bool:
        """Whether the consumer may get past the next record, by the leader's last stable offset."""
        return self.may_poll(self._partition.last_stable_offset())

    def read(self) -> None:
        """Poll the next record, which is fetched with all behind it if no fetched record is left."""
        request, partition = self.send_fetch(), self._partition
        if request is not None:
            reading = partition.start_read(request, False)
            self.receive_fetch(partition.read(reading, max(partition.read_end(reading), self.position + 1)))
        self.poll()
