"""Exchanges between producers, partitions and coordinators, and the log of __transaction_state.

Every exchange has a slot, and beside it one for what outlived it: a request for whose reply nobody waits.
"""

from __future__ import annotations

from tidemark.idempotence.messages import ProduceRequest, ProduceResponse
from tidemark.transactions.messages import (
    CoordinatorRequest,
    CoordinatorResponse,
    FetchRequest,
    FetchResponse,
    Partition,
    TransactionLogValue,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tidemark.transactions.partition import LogRead
from tidemark.transactions.partition_leader import PendingProduce, ProduceStage

Broker = int


class RpcExchange:
    """A producer's request to a coordinator: on the way, `parked` there (as what it waits for), or answered."""

    __slots__ = ("broker", "parked", "request", "response")

    def __init__(self, broker: Broker, request: CoordinatorRequest) -> None:
        self.broker = broker
        self.request = request
        self.parked: str | None = None
        self.response: CoordinatorResponse | None = None

    @property
    def under_way(self) -> bool:
        """Whether it has not arrived."""
        return self.parked is None and self.response is None


class ProduceExchange:
    """A batch for `partition`: on the way, `pending` at its leader, or answered. `broker`: the coordinator that adds
    the partition, or has added it."""

    __slots__ = ("broker", "partition", "pending", "request", "response")

    def __init__(self, partition: Partition, request: ProduceRequest) -> None:
        self.partition = partition
        self.request = request
        self.pending: PendingProduce | None = None
        self.broker: Broker | None = None
        self.response: ProduceResponse | None = None

    @property
    def outlives(self) -> bool:
        """Whether its leader may still write it when nobody waits for it any more."""
        return self.response is None and not self.is_at(ProduceStage.WAITING)

    def is_at(self, stage: ProduceStage) -> bool:
        """Whether it is so far at its leader."""
        return self.response is None and self.pending is not None and self.pending.stage is stage


class MarkerExchange:
    """A marker for a partition: on the way, in the log at `offset`, or answered."""

    __slots__ = ("offset", "request", "response")

    def __init__(self, request: WriteTxnMarkersRequest) -> None:
        self.request = request
        self.offset: int | None = None
        self.response: WriteTxnMarkersResponse | None = None

    @property
    def under_way(self) -> bool:
        """Whether it has not arrived."""
        return self.offset is None and self.response is None


class FetchExchange:
    """A consumer's fetch: on the way, waiting at the leader for something to be read (`delayed`), being read, or
    answered. `stable`: it is read to the high watermark, because nothing below that was undecided."""

    __slots__ = ("delayed", "reading", "request", "response", "stable")

    def __init__(self, request: FetchRequest) -> None:
        self.request = request
        self.delayed = False
        self.reading: LogRead | None = None
        self.stable = False
        self.response: FetchResponse | None = None

    @property
    def waits(self) -> bool:
        """Whether it waits at the leader."""
        return self.delayed and self.reading is None


class TransactionStateLog:
    """The partition of __transaction_state: `leader` and `epoch` are the election's, `stored` the last committed
    record; `unreplicated`: per broker what its own log has behind the committed records, oldest first."""

    def __init__(self, brokers: int, leader: Broker) -> None:
        self.leader = leader
        self.epoch = 1
        self.stored = TransactionLogValue()
        self.unreplicated: list[list[TransactionLogValue]] = [[] for _ in range(brokers)]

    def last(self, broker: Broker) -> TransactionLogValue:
        """The last record of a broker's log."""
        own = self.unreplicated[broker]
        return own[-1] if own else self.stored
