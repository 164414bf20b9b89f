"""A consumer of the results, which knows nothing of the specification: it reads on, and counts what it has got."""

from __future__ import annotations

from tidemark.client.fetcher import Fetcher
from tidemark.exactly_once.rules import Rules
from tidemark.transaction.messages import IsolationLevel
from tidemark.transaction.partition import TransactionalPartition


class ResultsReader:
    """A consumer with isolation.level=read_committed. `returned`: the payloads that its application has got, in
    order."""

    __slots__ = ("_fetcher", "_partition", "_rules", "returned")

    def __init__(self, partition: TransactionalPartition, rules: Rules) -> None:
        self._partition = partition
        self._rules = rules
        committed = not rules.read_committed(1, 0)  # what it leaves out is more than one answer
        self._fetcher = Fetcher(IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED)
        self.returned: list[int] = []

    @property
    def position(self) -> int:
        """The next offset that it reads."""
        return self._fetcher.position

    @property
    def at_end(self) -> bool:
        """Whether it has read all that there is, decided or not."""
        return self.position >= self._partition.high_watermark

    def may_read(self) -> bool:
        """Whether the next record is decided."""
        return self._rules.read_committed(self.position, self._partition.last_stable_offset())

    def read(self) -> None:
        """Get past the next record."""
        fetcher, partition = self._fetcher, self._partition
        reading = partition.start_read(fetcher.send_fetch(), False)
        for _, batch in fetcher.receive_fetch(partition.read(reading, fetcher.position + 1)):
            self.returned.append(batch.payload)
