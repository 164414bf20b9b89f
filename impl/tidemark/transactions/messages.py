"""Messages of producers, partitions and a transaction coordinator, and the coordinator's records.

Values: made once, shared, never changed. Names and fields are those of Kafka's message schemas; left out is what the
protocol does not depend on. A coordinator is of one transactional id, so requests do not name it; a partition is a
number. A producer's batches are those of idempotence (idempotence/messages.py), with a transaction's number as payload.
"""

from __future__ import annotations

from collections.abc import Hashable
from enum import StrEnum
from typing import NamedTuple

from tidemark.common.errors import Errors
from tidemark.common.structs import value
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse, ProducerId
from tidemark.transactions.states import TransactionState

__all__ = [
    "AbortedTransaction",
    "AddPartitionsToTxnRequest",
    "CoordinatorRequest",
    "CoordinatorResponse",
    "EndTransactionMarker",
    "EndTxnRequest",
    "FetchRequest",
    "FetchResponse",
    "InitProducerIdRequest",
    "IsolationLevel",
    "LogEntry",
    "Partition",
    "Partitions",
    "ProduceRequest",
    "ProduceResponse",
    "ProducerId",
    "Reply",
    "Token",
    "TransactionLogValue",
    "WriteTxnMarkersRequest",
    "WriteTxnMarkersResponse",
]

TRANSACTION_VERSION = 2
"""The default of the finalized feature level transaction.version (KIP-890): 1 or 2."""
NO_PRODUCER_ID = 0
"""Ids are 1, 2, ..."""
NO_PRODUCER_EPOCH = -1
Partition = int
Partitions = frozenset[Partition]
NO_PARTITIONS: Partitions = frozenset()
Token = Hashable
"""The receiver of a request's reply; the transport makes the token and knows its meaning."""


class InitProducerIdRequest(NamedTuple):
    """A process takes the transactional id over; with an id and an epoch, one that has it asks for the next epoch."""

    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class AddPartitionsToTxnRequest(NamedTuple):
    """A producer (of TV1), or a partition's leader for it (of TV2), says that a partition is about to be written to."""

    producer_id: ProducerId
    producer_epoch: int
    partition: Partition


class EndTxnRequest(NamedTuple):
    """A producer ends its transaction."""

    producer_id: ProducerId
    producer_epoch: int
    committed: bool


CoordinatorRequest = InitProducerIdRequest | AddPartitionsToTxnRequest | EndTxnRequest


class CoordinatorResponse(NamedTuple):
    """The answer to one of them, when what it changes has committed. `producer_id`, `producer_epoch`: the producer's
    from now on, where the request asks for that and was not refused."""

    error: Errors
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class WriteTxnMarkersRequest(NamedTuple):
    """The coordinator tells a partition's leader how a transaction ended."""

    producer_id: ProducerId
    producer_epoch: int
    committed: bool
    coordinator_epoch: int


class WriteTxnMarkersResponse(NamedTuple):
    """It comes when the marker has committed."""

    coordinator_epoch: int
    error: Errors


class EndTransactionMarker(NamedTuple):
    """A control batch of a partition: the transaction that the producer has open there ends."""

    producer_id: ProducerId
    producer_epoch: int
    committed: bool
    coordinator_epoch: int


LogEntry = ProduceRequest | EndTransactionMarker
"""An entry of a partition's log: a batch or a marker, one offset each."""


class IsolationLevel(StrEnum):
    """isolation.level of a consumer."""

    __hash__ = str.__hash__  # Enum's own is slow

    READ_COMMITTED = "read_committed"
    """It gets what is below the last stable offset, and returns no record of an aborted transaction."""
    READ_UNCOMMITTED = "read_uncommitted"
    """It gets what is below the high watermark, and returns every record."""


class FetchRequest(NamedTuple):
    """A consumer asks a partition's leader for records from an offset on."""

    fetch_offset: int
    isolation_level: IsolationLevel


class AbortedTransaction(NamedTuple):
    """An aborted transaction that begins at an offset, as a consumer is told of it."""

    producer_id: ProducerId
    first_offset: int


class FetchResponse(NamedTuple):
    """Batches and markers from the fetch offset on, and the aborted transactions that they are of (read_committed)."""

    records: tuple[LogEntry, ...]
    aborted_transactions: tuple[AbortedTransaction, ...]


class TransactionLogValue(NamedTuple):
    """A record of __transaction_state: all that outlives a coordinator.

    `previous_producer_id`: that of the record before; `last_producer_epoch`: the epoch before a bump that the producer
    knows of, so that a repeated request is recognised (a completion keeps it);
    `next_producer_id`: the id that follows when the epochs of this one are used up, 0 none.
    """

    state: TransactionState = TransactionState.EMPTY
    producer_id: ProducerId = 1
    previous_producer_id: ProducerId = NO_PRODUCER_ID
    next_producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    partitions: Partitions = NO_PARTITIONS


@value
class Reply:
    """An answer, now, to a request that came now or that was parked."""

    token: Token
    response: CoordinatorResponse
