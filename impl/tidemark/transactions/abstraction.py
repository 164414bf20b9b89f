"""The abstraction function: what the variables of Transactions are, read off processes, coordinators and partitions.

| variable | what it is here |
|---|---|
| `office`, `stored`, `unreplicated` | the log of __transaction_state: its leader, its last committed record, each
broker's records behind that |
| `epoch`, `metadata`, `pending`, `sending` | the coordinator's `epoch`, `value`, `pending`, `sending` |
| `aside` | its `failed_fence`, `second`, `earlier` |
| `issued`, `begun` | how many producer ids were given out, and transactions begun |
| `client` | the TransactionalProducer |
| `rpc`, `lateRpc` | a request to a coordinator, that it is parked, or the reply |
| `produce`, `lateProduce` | a batch by its stage; `guard`: the guard that it has is the one that the partition knows |
| `marker`, `lateMarker` | a marker on the way, its offset while it waits for the high watermark, or the reply |
| `log`, `highWatermark`, `lastStableOffset` | the partition's |
| `entry` | epoch and sequence of a producer's last batch (ProducerStateManager), its last marker's coordinator epoch,
where its open transaction begins, the epoch of its verification (ongoing_transactions.py); -1 none |
| `abortedIndex` | the partition's aborted transactions |
| `offsets` | whether the partition is one of __consumer_offsets, and what its `offsets` are: a transaction's number |
| `fetch` | a consumer's fetch; of a response, how far it goes, and where the aborted transactions begin that it lists |
| `position`, `returned` | the Fetcher's position, and which offsets' records its application got |

Here are keys, plain values that mirror the variables' types (records' fields by name, sets as masks), from which cells
are made by trace/shapes.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from tidemark.common.errors import Errors
from tidemark.idempotence.messages import NO_EPOCH, NO_SEQUENCE, ProduceRequest
from tidemark.transactions.coordinator import TransactionCoordinator
from tidemark.transactions.messages import (
    AddPartitionsToTxnRequest,
    CoordinatorRequest,
    CoordinatorResponse,
    EndTxnRequest,
    FetchRequest,
    FetchResponse,
    IsolationLevel,
    LogEntry,
    TransactionLogValue,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tidemark.transactions.ongoing_transactions import VerificationGuard
from tidemark.transactions.partition import LogRead, TransactionalPartition
from tidemark.transactions.transactional_producer import TransactionalProducer

Key = Any
IDLE: Key = ("idle",)
NONE = -1
UNKNOWN: Key = (NO_EPOCH, NO_EPOCH, NONE, NONE, NO_SEQUENCE)
"""A producer of which a leader knows nothing."""


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
        """What it waits for, if it does."""

    @property
    def response(self) -> CoordinatorResponse | None:
        """The reply."""


class Batch(Protocol):
    """A batch; `stage` is how far it is."""

    @property
    def stage(self) -> str:
        """The tag of its slot."""

    @property
    def request(self) -> ProduceRequest:
        """The batch."""

    @property
    def guard(self) -> VerificationGuard | None:
        """The guard of its verification."""

    @property
    def broker(self) -> int:
        """The coordinator that adds its partition."""

    @property
    def offset(self) -> int:
        """Where it is in the log."""

    @property
    def error(self) -> Errors:
        """What it is answered."""


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
    """A consumer's fetch; `delayed`: it waits, or has waited; `reading`: how far it is read."""

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
    def response(self) -> FetchResponse | None:
        """The response."""


class Table:
    """What the abstraction needs of a trace header: names and capacities."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        constants = header["constants"]
        self.clients: tuple[str, ...] = tuple(sorted(constants["Clients"]))
        self.brokers: tuple[str, ...] = tuple(sorted(constants["Brokers"]))
        self.levels: tuple[str, ...] = tuple(sorted(IsolationLevel))
        self.partitions: tuple[str, ...] = tuple(sorted(constants["Partitions"]))
        self.max_pid: int = constants["MaxPid"]
        self.max_epoch: int = constants["MaxEpoch"]
        self.max_coordinator_epoch: int = constants["MaxCoordinatorEpoch"]
        self.max_unreplicated: int = constants["MaxUnreplicated"]
        self.max_log: int = constants["MaxLog"]
        self.max_sequence: int = constants["MaxSequence"]
        self.max_transaction: int = constants["MaxTransaction"]


class Abstraction:
    """The abstraction function of one run. Raises CapacityExceeded for what the table cannot hold."""

    __slots__ = ("_pids", "table")

    def __init__(self, table: Table) -> None:
        self.table = table
        self._pids = range(1, table.max_pid + 1)

    # --- coordinators -----------------------------------------------------------------------------------------------

    def metadata(self, value: TransactionLogValue) -> Key:
        """A record of the log, or what a coordinator has taken from one."""
        return (
            value.producer_epoch,
            value.last_producer_epoch,
            value.next_producer_id,
            _mask(value.partitions),
            value.producer_id,
            value.previous_producer_id,
            value.state,
        )

    def aside(self, coordinator: TransactionCoordinator) -> Key:
        """What a coordinator's memory has beside what is from the log."""
        second = coordinator.second
        return coordinator.earlier, coordinator.failed_fence, "none" if second is None else second

    def unreplicated(self, records: Sequence[TransactionLogValue]) -> Key:
        """The records of a broker that are not committed."""
        return tuple([self.metadata(one) for one in records])

    # --- processes --------------------------------------------------------------------------------------------------

    def client(self, producer: TransactionalProducer) -> Key:
        """A process."""
        return (
            producer.bump,
            producer.epoch,
            tuple(producer.sequences),
            _mask(producer.partitions),
            producer.producer_id,
            producer.state,
            producer.transaction,
        )

    def rpc(self, exchange: Rpc | None) -> Key:
        """A request to a coordinator."""
        if exchange is None:
            return IDLE
        kind, epoch, partitions, producer_id, result = _request(exchange.request)
        response = exchange.response
        if response is not None:
            return "reply", response.producer_epoch, response.error, kind, partitions, response.producer_id
        if exchange.parked is not None:
            return "parked", exchange.broker, exchange.parked, partitions
        return "request", exchange.broker, epoch, kind, partitions, producer_id, result

    # --- partitions -------------------------------------------------------------------------------------------------

    def batch(self, exchange: Batch | None, partition: TransactionalPartition) -> Key:
        """A batch on its way."""
        if exchange is None:
            return IDLE
        stage = exchange.stage
        producer_id, epoch, sequence, transaction = exchange.request
        if stage == "request":
            return stage, epoch, producer_id, sequence, transaction
        if stage == "waiting":
            return stage, epoch, exchange.offset, producer_id, sequence, transaction
        if stage == "reply":
            return stage, epoch, exchange.error, producer_id, sequence, transaction
        guarded = exchange.guard is partition.transactions.guard(producer_id)
        if stage == "adding":
            return stage, exchange.broker, epoch, guarded, producer_id, sequence, transaction
        return stage, epoch, guarded, producer_id, sequence, transaction

    def marker(self, exchange: Marker | None) -> Key:
        """A marker on its way."""
        if exchange is None:
            return IDLE
        request, response = exchange.request, exchange.response
        if response is not None:
            return "reply", response.coordinator_epoch, response.error
        if exchange.offset is not None:
            return "waiting", request.coordinator_epoch, exchange.offset
        return (
            "marker",
            request.coordinator_epoch,
            request.producer_epoch,
            request.producer_id,
            _result(request.committed),
        )

    def log(self, partition: TransactionalPartition) -> Key:
        """A partition's log."""
        return tuple([_entry(one) for one in partition.log])

    def producers(self, partition: TransactionalPartition) -> Key:
        """What a leader knows of producers, by producer id."""
        entries, known = partition.producers.entries, partition.transactions
        named = {*entries, *known.guards, *known.first_offsets, *known.coordinator_epochs}
        return tuple([self._producer(partition, one) if one in named else UNKNOWN for one in self._pids])

    @staticmethod
    def _producer(partition: TransactionalPartition, producer_id: int) -> Key:
        known, transactions = partition.producers.entries.get(producer_id), partition.transactions
        guard = transactions.guards.get(producer_id)
        return (
            transactions.coordinator_epoch(producer_id),
            NO_EPOCH if known is None else known.epoch,
            transactions.first_offsets.get(producer_id, NONE),
            NONE if guard is None else guard.epoch,
            known.batches[-1].sequence if known is not None and known.batches else NO_SEQUENCE,
        )

    def aborted(self, partition: TransactionalPartition) -> Key:
        """The aborted transactions of a partition."""
        return tuple([(one.first_offset, one.last_offset, one.producer_id) for one in partition.transactions.aborted])

    @staticmethod
    def offsets(partition: TransactionalPartition) -> Key:
        """Which offsets count in a partition of __consumer_offsets."""
        return ("offsets", partition.offsets) if partition.is_offsets else ("data",)

    # --- consumers --------------------------------------------------------------------------------------------------

    @staticmethod
    def fetch(exchange: Fetch | None) -> Key:
        """A consumer's fetch."""
        if exchange is None:
            return IDLE
        reading, response = exchange.reading, exchange.response
        if response is not None:
            first = {one.first_offset for one in response.aborted_transactions}
            return "response", _mask(first), exchange.request.fetch_offset + len(response.records)
        if reading is not None:
            return "reading", reading.delayed, reading.end, reading.stable
        return ("delayed",) if exchange.delayed else ("request",)

    @staticmethod
    def returned(records: Iterable[tuple[int, ProduceRequest]]) -> Key:
        """What an application got of a partition."""
        return _mask({offset for offset, _ in records})


def _mask(numbers: Iterable[int]) -> int:
    return sum([1 << number for number in numbers])


def _result(committed: bool) -> str:
    return "COMMIT" if committed else "ABORT"


def _request(request: CoordinatorRequest) -> tuple[str, int, int, int, str]:
    """Kind, epoch, partitions, producer id and result."""
    if isinstance(request, EndTxnRequest):
        return "end", request.producer_epoch, 0, request.producer_id, _result(request.committed)
    if isinstance(request, AddPartitionsToTxnRequest):
        return "add", request.producer_epoch, 1 << request.partition, request.producer_id, "ABORT"
    return "init", request.producer_epoch, 0, request.producer_id, "ABORT"


def _entry(one: LogEntry) -> Key:
    if isinstance(one, ProduceRequest):
        return "data", one.producer_epoch, one.producer_id, one.sequence, one.payload
    return "marker", one.coordinator_epoch, one.producer_epoch, one.producer_id, _result(one.committed)
