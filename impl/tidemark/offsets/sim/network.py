"""The surroundings of a group's offsets under simulation: the log of its partition, transactions, exchanges."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

from tidemark.groups.offset_records import (
    LogRecord,
    OffsetResponse,
    ProducerId,
    TxnOffsetCommitRequest,
    WriteTxnMarkerRequest,
)
from tidemark.offsets.compaction import compact, may_compact
from tidemark.offsets.metadata import ProducerState, produced
from tidemark.offsets.rules import OffsetRules

Broker = int
R = TypeVar("R", TxnOffsetCommitRequest, WriteTxnMarkerRequest)


class OffsetExchange(Generic[R]):
    """A request and, some time, its response. `verified`: the transaction coordinator has answered; `arrived`: the
    broker has written something for it."""

    __slots__ = ("arrived", "broker", "request", "response", "token", "verified")

    def __init__(self, broker: Broker, request: R, token: int) -> None:
        self.broker = broker
        self.request: R = request
        self.token = token
        self.verified = False
        self.arrived = False
        self.response: OffsetResponse | None = None


class CompactedLog:
    """The group's partition of __consumer_offsets: a logical log with delayed commit, which is compacted.

    `leader` and `epoch` are the election's; `records` the committed log; `appended`: per broker what it appended and
    has not committed; `end` the position after the last committed record, `producers` what is kept of producers.
    """

    __slots__ = ("appended", "end", "epoch", "leader", "producers", "records")

    def __init__(self, brokers: int, leader: Broker) -> None:
        self.leader = leader
        self.epoch = 1
        self.end = 0
        self.records: list[LogRecord] = []
        self.producers: dict[ProducerId, ProducerState] = {}
        self.appended: list[deque[LogRecord]] = [deque() for _ in range(brokers)]

    def commit(self) -> LogRecord:
        """The leader's oldest record is replicated."""
        record = self.appended[self.leader].popleft()
        self._keep((record,))
        return record

    def elect(self, broker: Broker, keep: int) -> list[LogRecord]:
        """Another broker leads; it has the first `keep` of the old leader's records, which it returns: they count."""
        kept = list(self.appended[self.leader])[:keep]
        self._keep(kept)
        self.leader = broker
        self.epoch += 1
        return kept

    def _keep(self, records: Sequence[LogRecord]) -> None:
        for record in records:
            self.records.append(record)
            self.end = record.position + 1
            produced(self.producers, record)

    def may_compact(self, count: int, rules: OffsetRules) -> bool:
        """Whether the cleaner may go over the first `count` records."""
        return may_compact(self.records[count - 1], self.producers.values(), rules)

    def compact(self, count: int, horizon: bool, rules: OffsetRules) -> None:
        """The cleaner has gone over the first `count` records."""
        self.records = compact(self.records, count, horizon, rules)
