"""A consumer of the results beside the leader that it reads from: the simulator carries fetches in between."""

from __future__ import annotations

from tidemark.exactly_once.results_consumer import ResultsConsumer
from tidemark.exactly_once.results_partition import ResultsPartition
from tidemark.transactions.messages import IsolationLevel


class ResultsReader(ResultsConsumer):
    """A consumer of one output's results. It knows nothing of the specification."""

    __slots__ = ("_isolation_level", "_partition")

    def __init__(self, partition: ResultsPartition, isolation_level: IsolationLevel) -> None:
        super().__init__(isolation_level)
        self._partition = partition
        self._isolation_level = isolation_level

    @property
    def at_end(self) -> bool:
        """Whether it has read all that there is, decided or not."""
        return self.position >= self._partition.high_watermark

    @property
    def waits(self) -> bool:
        """Whether the next record would not be readable if it were asked for now."""
        return self.position >= self._partition.last_readable(self._isolation_level)

    def read(self) -> bool:
        """Poll the next record, which is fetched with all behind it if no fetched record is left; False: the fetch
        waits."""
        request = self.send_fetch()
        if request is not None:
            response = self._partition.fetch(request)
            if response is None:
                return False
            self.receive_fetch(response)
        self.poll()
        return True
