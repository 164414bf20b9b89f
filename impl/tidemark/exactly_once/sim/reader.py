"""A consumer of the results, which knows nothing of the specification: it reads on, and counts what it has got."""

from __future__ import annotations

from tidemark.exactly_once.rules import Rules
from tidemark.transactions.fetcher import Fetcher
from tidemark.transactions.partition import TransactionalPartition


class ResultsReader:
    """A consumer with isolation.level=read_committed and max.poll.records=1: it fetches all that it may read, and its
    application gets past one record at a time. `position`: the next one; `returned`: the payloads that the application
    has got, in order."""

    __slots__ = ("_fetched", "_fetcher", "_partition", "_rules", "position", "returned")

    def __init__(self, partition: TransactionalPartition, rules: Rules) -> None:
        self._partition = partition
        self._rules = rules
        self._fetcher = Fetcher(rules.isolation_level)
        self._fetched: dict[int, int] = {}
        self.position = 0
        self.returned: list[int] = []

    @property
    def at_end(self) -> bool:
        """Whether it has read all that there is, decided or not."""
        return self.position >= self._partition.high_watermark

    def may_read(self) -> bool:
        """Whether the next record is decided."""
        return self._rules.read_committed(self.position, self._partition.last_stable_offset())

    def read(self) -> None:
        """Get past the next record, which is fetched with all behind it if nothing that was fetched is left."""
        fetcher, partition, position = self._fetcher, self._partition, self.position
        if position == fetcher.position:
            reading = partition.start_read(fetcher.send_fetch(), False)
            response = partition.read(reading, max(partition.read_end(reading), position + 1))
            self._fetched = {offset: batch.payload for offset, batch in fetcher.receive_fetch(response)}
        if position in self._fetched:
            self.returned.append(self._fetched[position])
        self.position = position + 1
