"""Consumers' fetches under simulation. Every partition has a consumer of each isolation level, with one fetch under way
at a time."""

from __future__ import annotations

from tidemark.transactions.flaws import answer_of, read_end_of
from tidemark.transactions.sim.network import FetchExchange
from tidemark.transactions.sim.state import TransactionState


class Fetching(TransactionState):
    """The events of consumers. `level`: the number of an isolation level, in the order of their names."""

    def send_fetch(self, level: int, partition: int) -> bool:
        """A consumer asks for records."""
        if self.fetch[level][partition] is not None:
            return False
        self.fetch[level][partition] = FetchExchange(self.consumers[level][partition].send_fetch())
        self.recorder.did("SendFetch", level, partition)
        return True

    def handle_fetch(self, level: int, partition: int) -> bool:
        """A leader gets a fetch, which waits if there is nothing to be read."""
        exchange = self.fetch[level][partition]
        if exchange is None or exchange.delayed or exchange.reading is not None:
            return False
        exchange.reading = self.leaders[partition].receive_fetch(exchange.request)
        exchange.delayed = exchange.reading is None
        exchange.stable = self._is_stable(level, partition)
        self.recorder.did("DelayFetch" if exchange.delayed else "StartRead", level, partition)
        return True

    def complete_delayed_fetch(self, level: int, partition: int, timed_out: bool) -> bool:
        """There is something to be read for a fetch that waits, or it has waited long enough (fetch.max.wait.ms)."""
        exchange = self.fetch[level][partition]
        if exchange is None or not exchange.waits:
            return False
        exchange.reading = self.leaders[partition].complete_fetch(exchange.request, timed_out)
        if exchange.reading is None:
            return False
        exchange.stable = self._is_stable(level, partition)
        self.recorder.did("StartRead", level, partition)
        return True

    def _is_stable(self, level: int, partition: int) -> bool:
        """Whether nothing below the high watermark is undecided, for a consumer of that level."""
        log = self.partitions[partition]
        return log.last_readable(self.consumers[level][partition].isolation_level) == log.high_watermark

    def answer_fetch(self, level: int, partition: int, most: int) -> bool:
        """A leader reads at most so many records, 1 or more, for a response."""
        exchange, log = self.fetch[level][partition], self.partitions[partition]
        if exchange is None or exchange.reading is None or exchange.response is not None:
            return False
        decided = read_end_of(self.rules, log, exchange.reading, exchange.stable)
        end = min(decided, exchange.request.fetch_offset + most)
        exchange.response = answer_of(self.rules, log.read(exchange.reading, end), exchange.delayed)
        self.recorder.did("AnswerFetch", level, partition, end)
        return True

    def receive_fetch(self, level: int, partition: int) -> bool:
        """A consumer gets a response, and its application the records."""
        exchange = self.fetch[level][partition]
        if exchange is None or exchange.response is None:
            return False
        self.fetch[level][partition] = None
        self.returned[level][partition] += self.consumers[level][partition].receive_fetch(exchange.response)
        self.recorder.did("ReceiveFetch", level, partition)
        return True

    def lose_fetch(self, level: int, partition: int) -> bool:
        """A fetch or its response is lost."""
        if self.fetch[level][partition] is None:
            return False
        self.fetch[level][partition] = None
        self.recorder.did("LoseFetch", level, partition)
        return True
