"""What the abstraction reads of a cluster: the requests that are under way, the logs, and who takes part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from tidemark.idempotence.messages import ProduceRequest, ProduceResponse
from tidemark.idempotence.producer_ids import ProducerIdManager
from tidemark.transactions.coordinator import PendingCompleteTxn, TransactionCoordinator
from tidemark.transactions.fetcher import Fetcher
from tidemark.transactions.messages import (
    CoordinatorRequest,
    CoordinatorResponse,
    FetchRequest,
    FetchResponse,
    TransactionLogValue,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tidemark.transactions.partition import LogRead, TransactionalPartition
from tidemark.transactions.partition_leader import PendingProduce
from tidemark.transactions.transactional_producer import TransactionalProducer


class Rpc(Protocol):
    """A request to the broker `broker`; `parked` is what it waits for there."""

    @property
    def broker(self) -> int:
        """The broker."""

    @property
    def request(self) -> CoordinatorRequest:
        """The request."""

    @property
    def parked(self) -> str | None:
        """The event that the request waits for, if it is parked."""

    @property
    def response(self) -> CoordinatorResponse | None:
        """The reply."""


class Batch(Protocol):
    """A batch on its way; `pending` once it waits at its leader, `response` once it is answered."""

    @property
    def request(self) -> ProduceRequest:
        """The batch."""

    @property
    def pending(self) -> PendingProduce | None:
        """The batch at its leader."""

    @property
    def broker(self) -> int | None:
        """The coordinator that adds its partition, or has added it."""

    @property
    def response(self) -> ProduceResponse | None:
        """The reply."""


class Marker(Protocol):
    """A marker; `offset` once it is in the log, `response` once it is answered."""

    @property
    def request(self) -> WriteTxnMarkersRequest:
        """The marker."""

    @property
    def offset(self) -> int | None:
        """Where it is in the log."""

    @property
    def response(self) -> WriteTxnMarkersResponse | None:
        """The reply."""


class Fetch(Protocol):
    """A consumer's fetch; `delayed`: it waits, or has waited; `reading`: how far it is read; `stable`: that was to the
    high watermark, because nothing below it was undecided."""

    @property
    def request(self) -> FetchRequest:
        """The request."""

    @property
    def delayed(self) -> bool:
        """Whether it has found nothing to be read at first."""

    @property
    def reading(self) -> LogRead | None:
        """How far it is read."""

    @property
    def stable(self) -> bool:
        """Whether nothing below the high watermark was undecided."""

    @property
    def response(self) -> FetchResponse | None:
        """The response."""


class StateLog(Protocol):
    """The partition of __transaction_state: its leader and epoch, its last committed record, each broker's records
    behind that."""

    leader: int
    epoch: int
    stored: TransactionLogValue

    @property
    def unreplicated(self) -> Sequence[Sequence[TransactionLogValue]]:
        """See above."""


class State(Protocol):
    """The state that the abstraction reads: exchanges by client and partition, by broker and partition, or by level and
    partition."""

    begun: int

    @property
    def producer_ids(self) -> ProducerIdManager:
        """The producer ids."""

    @property
    def log(self) -> StateLog:
        """The log of the coordinators."""

    @property
    def coordinators(self) -> Sequence[TransactionCoordinator]:
        """By broker."""

    @property
    def earlier_timestamp(self) -> Sequence[bool]:
        """By broker, whether the time of its pending transition is before that of its last one."""

    @property
    def pending_complete_txn(self) -> Sequence[PendingCompleteTxn | None]:
        """By broker, the completion that a second thread has found."""

    @property
    def clients(self) -> Sequence[TransactionalProducer]:
        """The processes."""

    @property
    def partitions(self) -> Sequence[TransactionalPartition]:
        """Of data, or of offsets."""

    @property
    def consumers(self) -> Sequence[Sequence[Fetcher]]:
        """By level and partition."""

    @property
    def returned(self) -> Sequence[Sequence[Iterable[tuple[int, ProduceRequest]]]]:
        """The records that the consumers returned to their applications."""

    @property
    def rpc(self) -> Sequence[Rpc | None]:
        """Of every client its request to a coordinator."""

    @property
    def late_rpc(self) -> Sequence[Rpc | None]:
        """One for whose reply it does not wait."""

    @property
    def produce(self) -> Sequence[Sequence[Batch | None]]:
        """Of every client its batch to a partition."""

    @property
    def late_produce(self) -> Sequence[Sequence[Batch | None]]:
        """One for whose reply it does not wait."""

    @property
    def marker(self) -> Sequence[Sequence[Marker | None]]:
        """Of every broker its marker to a partition."""

    @property
    def late_marker(self) -> Sequence[Sequence[Marker | None]]:
        """A copy of one."""

    @property
    def fetch(self) -> Sequence[Sequence[Fetch | None]]:
        """A consumer's fetch."""
