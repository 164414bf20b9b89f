"""The abstraction function: what the variables of IdempotentProducer are, read off partitions, producers and network.

| variable | what it is here |
|---|---|
| `leader`, `log`, `highWatermark` | the partition's leader, its batches and how many of them are committed |
| `entry` | the producer state manager's entry; none where it has none |
| `issued` | how many producer ids were issued |
| `producer` | a process' id and epoch |
| `sender` | the sequences of a partition (TxnPartitionEntry), its batches in flight among them |
| `wire` | the exchanges: a request under way, one parked at the leader ("waiting"), or the reply |
| `late` | the requests that outlived their connection |

A *unit* is what is computed and compared at once: a variable's part of one partition, producer, or both. Here is the
key of each, plain values that it depends on; layout.py makes cells of keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidemark.idempotence.layout import Key, Table
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse
from tidemark.idempotence.partition import Parked, Partition
from tidemark.idempotence.producer import IdempotentProducer


class Exchange(Protocol):
    """A request on its way to a broker; `parked` once it waits there, `response` once there is one."""

    @property
    def broker(self) -> int:
        """The broker."""

    @property
    def request(self) -> ProduceRequest:
        """The request."""

    @property
    def parked(self) -> Parked | None:
        """Where it waits, if it does."""

    @property
    def response(self) -> ProduceResponse | None:
        """The reply."""


class LateRequest(Protocol):
    """A request that outlived its connection."""

    @property
    def broker(self) -> int:
        """The broker."""

    @property
    def request(self) -> ProduceRequest:
        """The request."""


class Abstraction:
    """The abstraction function of one run."""

    __slots__ = ("_nothing", "_pids", "table")

    def __init__(self, table: Table) -> None:
        self.table = table
        self._pids = range(1, table.max_pid + 1)
        self._nothing = (None,) * table.max_in_flight

    def log(self, partition: Partition) -> Key:
        """The batches of a log."""
        return tuple([batch.request for batch in partition.log])

    def entry(self, partition: Partition) -> Key:
        """What the leader remembers, per producer id."""
        known = map(partition.producers.entries.get, self._pids)
        return tuple([None if entry is None else (entry.epoch, entry.batches) for entry in known])

    def producer(self, producer: IdempotentProducer) -> Key:
        """A process."""
        return producer.epoch, producer.producer_id

    def sender(self, producer: IdempotentProducer, topic: int) -> Key:
        """The sequences of a partition: how many batches are in flight, each of them or None, and the rest."""
        one = producer.partitions[topic]
        in_flight = one.in_flight[: len(self._nothing)]
        return (
            len(one.in_flight),
            *[(batch.in_doubt, batch.epoch, batch.number, batch.sent, batch.sequence) for batch in in_flight],
            *self._nothing[len(in_flight) :],
            (one.created, one.epoch, one.last_acked, one.next_sequence, one.rewrite, one.unresolved),
        )

    def wire(self, exchanges: Sequence[Exchange]) -> Key:
        """What is on the way."""
        return tuple([(one.broker, one.request, one.response or one.parked) for one in exchanges])

    def late(self, requests: Sequence[LateRequest]) -> Key:
        """What outlived its connection."""
        return tuple([(one.broker, one.request) for one in requests])
