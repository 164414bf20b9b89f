"""Exchanges between producers, partitions and coordinators, and the log of __transaction_state.

Every exchange has a slot, and beside it one for what outlived it: a request for whose reply nobody waits.
"""

from __future__ import annotations

from enum import StrEnum

from tidemark.common.errors import Errors
from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.messages import (
    CoordinatorRequest,
    CoordinatorResponse,
    FetchRequest,
    FetchResponse,
    TransactionLogValue,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tidemark.transactions.ongoing_transactions import VerificationGuard
from tidemark.transactions.partition import LogRead

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


class ProduceStage(StrEnum):
    """How far a batch is."""

    __hash__ = str.__hash__  # Enum's own is slow

    REQUEST = "request"
    """On the way to the partition's leader."""
    VERIFYING = "verifying"
    """The leader asks the coordinator."""
    ADDING = "adding"
    """The coordinator adds the partition (TV2); its record has not committed."""
    VERIFIED = "verified"
    """The coordinator has said yes."""
    WAITING = "waiting"
    """It is in the log, and not committed."""
    REPLY = "reply"
    """It is answered."""


class ProduceExchange:
    """A batch for a partition. `guard`: the one that it has to show once it is verified; `broker`: the coordinator that
    adds the partition; `offset`: where it is in the log."""

    __slots__ = ("broker", "error", "guard", "offset", "request", "stage")

    def __init__(self, request: ProduceRequest) -> None:
        self.request = request
        self.stage = ProduceStage.REQUEST
        self.guard: VerificationGuard | None = None
        self.broker = 0
        self.offset = 0
        self.error = Errors.NONE

    @property
    def outlives(self) -> bool:
        """Whether its leader may still write it when nobody waits for it any more."""
        return self.stage not in (ProduceStage.WAITING, ProduceStage.REPLY)


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
    answered."""

    __slots__ = ("delayed", "reading", "request", "response")

    def __init__(self, request: FetchRequest) -> None:
        self.request = request
        self.delayed = False
        self.reading: LogRead | None = None
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
