"""The abstraction function: the variables of Transactions, read off processes, coordinators and partitions.

| variable | what it is here |
|---|---|
| `leaderAndEpoch` | the leader of __transaction_state's partition, and its epoch |
| `stored`, `unreplicated` | its last committed record, each broker's records behind that |
| `epoch`, `metadata`, `pending` | the coordinator's `epoch`, `value`, `pending` |
| `sending` | the coordinator epoch of its `pending_markers`, 0 without |
| `hasFailedEpochFence` | its `has_failed_epoch_fence` |
| `pendingCompleteTxn`, `earlierTimestamp` | the simulator's: the completion that a coordinator's second thread holds,
and whether its clock was back when it wrote its record |
| `issued`, `begun` | how many producer ids were given out, and transactions begun |
| `client` | the TransactionalProducer |
| `rpc`, `lateRpc` | a request to a coordinator, that it is parked, or the reply |
| `produce`, `lateProduce` | a batch on its way, at the leader (PendingProduce), or the reply; `guard`: the guard that
it has is the one that the partition knows |
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

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tidemark.idempotence.messages import NO_EPOCH, NO_SEQUENCE, ProduceRequest
from tidemark.trace.cells import Abstract
from tidemark.transactions.messages import (
    AddPartitionsToTxnRequest,
    CoordinatorRequest,
    EndTxnRequest,
    IsolationLevel,
    LogEntry,
    TransactionLogValue,
)
from tidemark.transactions.partition import TransactionalPartition
from tidemark.transactions.partition_leader import ProduceStage
from tidemark.transactions.readings import Batch, Marker, Rpc, State

Key = Any
IDLE: Key = ("idle",)
NONE = -1
UNKNOWN: Key = (NO_EPOCH, NO_EPOCH, NONE, NONE, NO_SEQUENCE)
"""A producer of which a leader knows nothing."""


class Table:
    """The names and capacities that the abstraction takes from a trace header."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        constants = header["constants"]
        self.clients: tuple[str, ...] = tuple(sorted(constants["Clients"]))
        self.brokers: tuple[str, ...] = tuple(sorted(constants["Brokers"]))
        self.levels: tuple[str, ...] = tuple(sorted(IsolationLevel))
        self.partitions: tuple[str, ...] = tuple(sorted(constants["Partitions"]))
        self.parties = {"b": self.brokers, "c": self.clients, "r": self.levels, "p": self.partitions}
        self.max_pid: int = constants["MaxPid"]
        self.max_epoch: int = constants["MaxEpoch"]
        self.max_coordinator_epoch: int = constants["MaxCoordinatorEpoch"]
        self.max_unreplicated: int = constants["MaxUnreplicated"]
        self.max_log: int = constants["MaxLog"]
        self.max_sequence: int = constants["MaxSequence"]
        self.max_transaction: int = constants["MaxTransaction"]


class Abstraction(Abstract):
    """The abstraction function of one run: every method reads the key of a unit, of whose brokers, clients, levels or
    partitions it is given the numbers."""

    __slots__ = ("_clients", "_coordinators", "_fetch", "_log", "_partitions", "_pids", "_state", "table")

    def __init__(self, table: Table, state: State) -> None:
        self.table = table
        self._state = state
        self._log = state.log
        self._coordinators = state.coordinators
        self._clients = state.clients
        self._partitions = state.partitions
        self._fetch = state.fetch
        self._pids = range(1, table.max_pid + 1)

    # --- coordinators -----------------------------------------------------------------------------------------------

    def leader_and_epoch(self) -> Key:
        """The log's leader and leader epoch."""
        return self._log.leader, self._log.epoch

    def stored(self) -> Key:
        """The last committed record."""
        return _metadata(self._log.stored)

    def unreplicated(self, broker: int) -> Key:
        """The records of a broker that are not committed."""
        return tuple([_metadata(one) for one in self._log.unreplicated[broker]])

    def epoch(self, broker: int) -> Key:
        """The epoch in which a coordinator serves."""
        return self._coordinators[broker].epoch

    def metadata(self, broker: int) -> Key:
        """The transaction metadata that a coordinator has taken from the log."""
        return _metadata(self._coordinators[broker].value)

    def pending(self, broker: int) -> Key:
        """The state that a coordinator is about to write."""
        return self._coordinators[broker].pending or "none"

    def sending(self, broker: int) -> Key:
        """The epoch in which a coordinator sends markers."""
        entry = self._coordinators[broker].pending_markers
        return 0 if entry is None else entry.coordinator_epoch

    def has_failed_epoch_fence(self, broker: int) -> Key:
        """Whether a coordinator could not write the epoch that it has, with which it wanted to fence."""
        return self._coordinators[broker].has_failed_epoch_fence

    def pending_complete_txn(self, broker: int) -> Key:
        """The completion that a second thread of a coordinator has found."""
        completion = self._state.pending_complete_txn[broker]
        return "none" if completion is None else completion.state

    def earlier_timestamp(self, broker: int) -> Key:
        """Whether the time of a coordinator's pending transition is before that of its last one."""
        return self._state.earlier_timestamp[broker]

    def issued(self) -> Key:
        """How many producer ids were given out."""
        return self._state.producer_ids.issued

    def begun(self) -> Key:
        """How many transactions were begun."""
        return self._state.begun

    # --- clients ----------------------------------------------------------------------------------------------------

    def client(self, client: int) -> Key:
        """A process."""
        producer = self._clients[client]
        return (
            producer.bump,
            producer.epoch,
            tuple(producer.sequences),
            _mask(producer.partitions),
            producer.producer_id,
            producer.state,
            producer.transaction,
        )

    def rpc(self, client: int) -> Key:
        """A request to a coordinator."""
        return _rpc(self._state.rpc[client])

    def late_rpc(self, client: int) -> Key:
        """One for whose reply the client does not wait."""
        return _rpc(self._state.late_rpc[client])

    # --- partitions -------------------------------------------------------------------------------------------------

    def produce(self, client: int, partition: int) -> Key:
        """A batch on its way."""
        return self._batch(self._state.produce[client][partition], partition)

    def late_produce(self, client: int, partition: int) -> Key:
        """One for whose reply the client does not wait."""
        return self._batch(self._state.late_produce[client][partition], partition)

    def _batch(self, exchange: Batch | None, partition: int) -> Key:
        if exchange is None:
            return IDLE
        producer_id, epoch, sequence, transaction = exchange.request
        response, pending = exchange.response, exchange.pending
        if response is not None:
            return "reply", epoch, response.error, producer_id, sequence, transaction
        if pending is None:
            return "request", epoch, producer_id, sequence, transaction
        stage = pending.stage
        if stage is ProduceStage.WAITING:
            return stage, epoch, pending.offset, producer_id, sequence, transaction
        guarded = pending.guard is self._partitions[partition].transactions.guard(producer_id)
        if stage is ProduceStage.VERIFYING and exchange.broker is not None:
            return "adding", exchange.broker, epoch, guarded, producer_id, sequence, transaction
        return stage, epoch, guarded, producer_id, sequence, transaction

    def marker(self, broker: int, partition: int) -> Key:
        """A marker on its way."""
        return _marker(self._state.marker[broker][partition])

    def late_marker(self, broker: int, partition: int) -> Key:
        """A copy of one."""
        return _marker(self._state.late_marker[broker][partition])

    def log(self, number: int) -> Key:
        """A partition's log."""
        return tuple([_entry(one) for one in self._partitions[number].log])

    def high_watermark(self, number: int) -> Key:
        """A partition's high watermark."""
        return self._partitions[number].high_watermark

    def last_stable_offset(self, number: int) -> Key:
        """A partition's last stable offset."""
        return self._partitions[number].last_stable_offset()

    def entry(self, number: int) -> Key:
        """The producer state that a leader keeps, by producer id."""
        partition = self._partitions[number]
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

    def aborted_index(self, number: int) -> Key:
        """The aborted transactions of a partition."""
        aborted = self._partitions[number].transactions.aborted
        return tuple([(one.first_offset, one.last_offset, one.producer_id) for one in aborted])

    def offsets(self, number: int) -> Key:
        """The committed offsets in a partition of __consumer_offsets."""
        partition = self._partitions[number]
        return ("offsets", partition.offsets) if partition.is_offsets else ("data",)

    # --- consumers --------------------------------------------------------------------------------------------------

    def fetch(self, level: int, partition: int) -> Key:
        """A consumer's fetch."""
        exchange = self._fetch[level][partition]
        if exchange is None:
            return IDLE
        reading, response = exchange.reading, exchange.response
        if response is not None:
            first = {one.first_offset for one in response.aborted_transactions}
            return "response", _mask(first), exchange.request.fetch_offset + len(response.records)
        if reading is not None:
            return "reading", exchange.delayed, reading.end, exchange.stable
        return ("delayed",) if exchange.delayed else ("request",)

    def position(self, level: int, partition: int) -> Key:
        """A consumer's position."""
        return self._state.consumers[level][partition].position

    def returned(self, level: int, partition: int) -> Key:
        """The records of a partition that a consumer returned to its application."""
        return _mask({offset for offset, _ in self._state.returned[level][partition]})


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


def _metadata(value: TransactionLogValue) -> Key:
    return (
        value.producer_epoch,
        value.last_producer_epoch,
        value.next_producer_id,
        _mask(value.partitions),
        value.producer_id,
        value.previous_producer_id,
        value.state,
    )


def _rpc(exchange: Rpc | None) -> Key:
    if exchange is None:
        return IDLE
    kind, epoch, partitions, producer_id, result = _request(exchange.request)
    response = exchange.response
    if response is not None:
        return "reply", response.producer_epoch, response.error, kind, partitions, response.producer_id
    if exchange.parked is not None:
        return "parked", exchange.broker, exchange.parked, partitions
    return "request", exchange.broker, epoch, kind, partitions, producer_id, result


def _marker(exchange: Marker | None) -> Key:
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


READS: dict[str, Callable[..., Key]] = {
    "leaderAndEpoch": Abstraction.leader_and_epoch,
    "stored": Abstraction.stored,
    "unreplicated": Abstraction.unreplicated,
    "epoch": Abstraction.epoch,
    "metadata": Abstraction.metadata,
    "pending": Abstraction.pending,
    "sending": Abstraction.sending,
    "hasFailedEpochFence": Abstraction.has_failed_epoch_fence,
    "pendingCompleteTxn": Abstraction.pending_complete_txn,
    "earlierTimestamp": Abstraction.earlier_timestamp,
    "issued": Abstraction.issued,
    "begun": Abstraction.begun,
    "client": Abstraction.client,
    "rpc": Abstraction.rpc,
    "lateRpc": Abstraction.late_rpc,
    "produce": Abstraction.produce,
    "lateProduce": Abstraction.late_produce,
    "marker": Abstraction.marker,
    "lateMarker": Abstraction.late_marker,
    "log": Abstraction.log,
    "highWatermark": Abstraction.high_watermark,
    "lastStableOffset": Abstraction.last_stable_offset,
    "entry": Abstraction.entry,
    "abortedIndex": Abstraction.aborted_index,
    "offsets": Abstraction.offsets,
    "fetch": Abstraction.fetch,
    "position": Abstraction.position,
    "returned": Abstraction.returned,
}
"""Variable -> what reads the key of its unit."""

_WRITES = "unreplicated.b pending.b issued"
_MEMORY = "hasFailedEpochFence.b pendingCompleteTxn.b earlierTimestamp.b"
_ANSWERS = "rpc.* produce.** lateProduce.**"
_APPENDS = "log.p entry.p lastStableOffset.p"

TOUCHES = {
    "SendInitProducerId": "client.c rpc.c",
    "BeginTransaction": "begun client.c",
    "SendAddPartitions": "rpc.c",
    "SendAddOffsets": "rpc.c",
    "SendProduce": "client.c produce.cp",
    "SendTxnOffsetCommit": "client.c produce.cp",
    "SendEndTxn": "client.c rpc.c",
    "ReceiveInitProducerId": "client.c rpc.c",
    "ReceiveAddPartitions": "client.c rpc.c",
    "ReceiveEndTxn": "client.c rpc.c",
    "ReceiveProduce": "client.c produce.cp",
    "ReceiveTxnOffsetCommit": "client.c produce.cp",
    "GiveUpProduce": "client.c produce.cp lateProduce.cp",
    "DisconnectOffsets": "produce.cp lateProduce.cp",
    "DisconnectRpc": "rpc.c lateRpc.c",
    "CrashClient": "client.c rpc.c lateRpc.c produce.c* lateProduce.c*",
    "AppendInitProducerId": f"{_WRITES} rpc.c lateRpc.c",
    "FenceProducer": f"{_WRITES} rpc.c lateRpc.c",
    "AppendAddPartitions": f"{_WRITES} rpc.c lateRpc.c",
    "AppendEndTxn": f"{_WRITES} rpc.c lateRpc.c",
    "AnswerRpc": "rpc.c lateRpc.c",
    "VerifyPartition": "produce.cp lateProduce.cp",
    "AppendVerified": f"{_WRITES} produce.cp lateProduce.cp",
    "RefuseVerification": "produce.cp lateProduce.cp",
    "AbortTimedOutTransaction": _WRITES,
    "ClockGoesBack": "earlierTimestamp.b",
    "CommitRecord": f"stored unreplicated.b metadata.b pending.b sending.b {_MEMORY} {_ANSWERS}",
    "FailAppend": f"unreplicated.b metadata.b pending.b hasFailedEpochFence.b earlierTimestamp.b {_ANSWERS}",
    "BecomeCoordinator": "leaderAndEpoch unreplicated.*",
    "LoadTransactions": "epoch.b metadata.b sending.b",
    "Resign": f"epoch.b unreplicated.b metadata.b pending.b sending.b {_MEMORY} {_ANSWERS}",
    "SendMarker": "marker.bp",
    "ReceiveMarkerReply": "metadata.b sending.b marker.bp",
    "CompleteTransaction": f"{_WRITES} sending.b",
    "FindCompletion": "pendingCompleteTxn.b",
    "CompleteAgain": "unreplicated.b pending.b pendingCompleteTxn.b",
    "StartVerification": "produce.cp lateProduce.cp entry.p",
    "AppendBatch": f"{_APPENDS} produce.*p lateProduce.*p",
    "AnswerDuplicate": "produce.cp lateProduce.cp",
    "RejectBatch": "produce.cp lateProduce.cp",
    "RefuseOffsets": "produce.cp lateProduce.cp",
    "AppendMarker": f"{_APPENDS} abortedIndex.p offsets.p produce.*p lateProduce.*p marker.bp lateMarker.bp",
    "RejectMarker": "marker.bp lateMarker.bp",
    "AdvanceHighWatermark": "highWatermark.p lastStableOffset.p produce.*p marker.*p",
    "ExpireProducer": "entry.p",
    "ElectPartitionLeader": f"{_APPENDS} abortedIndex.p offsets.p produce.*p lateProduce.*p marker.*p fetch.*p",
    "LoseMarker": "marker.bp lateMarker.bp",
    "DropLateRpc": "lateRpc.c",
    "DropLateProduce": "lateProduce.cp",
    "DropLateMarker": "lateMarker.bp",
    "RepeatMarker": "lateMarker.bp",
    "SendFetch": "fetch.rp",
    "DelayFetch": "fetch.rp",
    "StartRead": "fetch.rp",
    "AnswerFetch": "fetch.rp",
    "ReceiveFetch": "fetch.rp position.rp returned.rp",
    "LoseFetch": "fetch.rp",
}
"""For each action, the variables that its handler may change. A suffix narrows a variable: the broker `b`, the client
`c`, the partition `p`, the consumers of isolation level `r`, or two of them. `*` means every one. A test compares this
table with a full comparison of the state."""

NOWHERE = (
    "ExpireProducer", "StartVerification", "AppendBatch", "AnswerDuplicate", "RejectBatch", "RefuseOffsets",
    "AppendMarker",
    "RejectMarker", "DelayFetch", "StartRead", "AnswerFetch", "Disconnect", "LoseMarker", "Drop", "RepeatMarker",
)  # fmt: skip
"""Actions that begin so happen at no node of a trace: at a partition's leader, which has no name, or in the network. No
consumer has a name, either."""
