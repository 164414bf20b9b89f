"""The abstraction function: the variables of IdempotentProducer, read off partitions, producers and network.

| variable | what it is here |
|---|---|
| `leader`, `log`, `highWatermark` | the partition's leader, its batches and how many of them are committed |
| `entry` | the producer state manager's entry; none where it has none |
| `issued` | how many producer ids were issued |
| `producer` | a process' id and epoch |
| `sender` | the sequences of a partition (TxnPartitionEntry), its batches in flight among them |
| `wire` | the exchanges: a request under way, one parked at the leader ("waiting"), or the reply |
| `late` | the requests that outlived their connection |

Here are keys, plain values that mirror the variables' types (records' fields by name), from which cells are made by
trace/shapes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from tidemark.idempotence.messages import NO_EPOCH, ProduceRequest, ProduceResponse, RecordBatch
from tidemark.idempotence.partition import Parked, Partition
from tidemark.idempotence.producer import IdempotentProducer
from tidemark.idempotence.producer_ids import ProducerIdManager
from tidemark.idempotence.producer_state import ProducerStateEntry
from tidemark.trace.cells import Abstract, CapacityExceeded, SequenceKeys

Key = Any
UNKNOWN: Key = ((), NO_EPOCH)
"""A producer of which a leader knows nothing."""


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


class Connections(Protocol):
    """A producer's exchanges under way for one partition."""

    @property
    def wire(self) -> Sequence[Exchange]:
        """The exchanges, oldest first."""

    @property
    def late(self) -> Sequence[LateRequest]:
        """The requests that outlived their connection, oldest first."""


class State(Protocol):
    """The state that the abstraction reads."""

    @property
    def producer_ids(self) -> ProducerIdManager:
        """The producer ids."""

    @property
    def partitions(self) -> Sequence[Partition]:
        """The partitions."""

    @property
    def producers(self) -> Sequence[IdempotentProducer]:
        """The processes."""

    @property
    def connections(self) -> Sequence[Sequence[Connections]]:
        """By producer and partition."""


class Table:
    """The names and capacities that simulator and abstraction take from a trace header."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        constants = header["constants"]
        if set(header["variables"]) != set(READS):
            raise ValueError("the header has other variables than idempotent producers")
        self.brokers: tuple[str, ...] = tuple(sorted(constants["Brokers"]))
        self.producers: tuple[str, ...] = tuple(sorted(constants["Producers"]))
        self.partitions: tuple[str, ...] = tuple(sorted(constants["Partitions"]))
        self.parties = {"b": self.brokers, "c": self.producers, "p": self.partitions}
        self.window: int = constants["Window"]
        self.max_in_flight: int = constants["MaxInFlight"]
        self.max_sequence: int = constants["MaxSequence"]
        self.max_pid: int = constants["MaxPid"]
        self.max_epoch: int = constants["MaxEpoch"]
        self.max_log: int = constants["MaxLog"]
        self.max_number: int = constants["MaxNumber"]
        self.max_wire: int = constants["MaxWire"]
        self.max_late: int = constants["MaxLate"]

    def epoch(self, epoch: int) -> int:
        """A producer's epoch. Raises CapacityExceeded."""
        if epoch > self.max_epoch:
            raise CapacityExceeded("producer epochs")
        return epoch

    def number(self, number: int) -> int:
        """A batch's number. Raises CapacityExceeded."""
        if number > self.max_number:
            raise CapacityExceeded("batches")
        return number


class Abstraction(Abstract):
    """The abstraction function of one run: every method reads the key of a unit, of whose producer or partition it is
    given the numbers. Raises CapacityExceeded for a value that the table cannot hold."""

    __slots__ = ("_connections", "_logs", "_partitions", "_pids", "_producers", "_state", "table")

    def __init__(self, table: Table, state: State) -> None:
        self.table = table
        self._state = state
        self._partitions = state.partitions
        self._producers = state.producers
        self._connections = state.connections
        self._pids = range(1, table.max_pid + 1)
        self._logs = [SequenceKeys(partial(_stored, table)) for _ in state.partitions]

    def forget(self) -> None:
        """Logs are read again."""
        for one in self._logs:
            one.forget()

    def leader(self, p: int) -> Key:
        """A partition's leader."""
        return self._partitions[p].leader

    def log(self, p: int) -> Key:
        """The batches of a log."""
        return self._logs[p](self._partitions[p].log)

    def high_watermark(self, p: int) -> Key:
        """How many batches are committed."""
        return self._partitions[p].high_watermark

    def entry(self, p: int) -> Key:
        """The producer state that the leader keeps, per producer id."""
        entries = self._partitions[p].producers.entries
        return tuple([self._entry(entries[pid]) if pid in entries else UNKNOWN for pid in self._pids])

    def _entry(self, entry: ProducerStateEntry) -> Key:
        return tuple([(offset, sequence) for sequence, offset in entry.batches]), self.table.epoch(entry.epoch)

    def issued(self) -> Key:
        """How many producer ids were issued."""
        issued = self._state.producer_ids.issued
        if issued > self.table.max_pid:
            raise CapacityExceeded("producer ids")
        return issued

    def producer(self, c: int) -> Key:
        """A process."""
        producer = self._producers[c]
        return self.table.epoch(producer.epoch), producer.producer_id

    def sender(self, c: int, p: int) -> Key:
        """The sequences of a partition."""
        one = self._producers[c].partitions[p]
        if one.created > self.table.max_number:
            raise CapacityExceeded("batches")
        return (
            tuple(
                [
                    (batch.in_doubt, self.table.epoch(batch.epoch), batch.number, batch.sent, batch.sequence)
                    for batch in one.in_flight
                ]
            ),
            one.created,
            self.table.epoch(one.epoch),
            one.last_acked,
            one.next_sequence,
            one.rewrite,
            one.unresolved,
        )

    def wire(self, c: int, p: int) -> Key:
        """The exchanges under way."""
        return tuple([self._exchange(one) for one in self._connections[c][p].wire])

    def _exchange(self, exchange: Exchange) -> Key:
        broker, response, parked = exchange.broker, exchange.response, exchange.parked
        pid, epoch, sequence, number = exchange.request
        epoch, number = self.table.epoch(epoch), self.table.number(number)
        if response is not None:
            return "reply", broker, epoch, response.error, number, response.offset, sequence
        if parked is not None:
            return "waiting", broker, epoch, number, parked.offset, sequence
        return "request", broker, epoch, number, pid, sequence

    def late(self, c: int, p: int) -> Key:
        """The requests that outlived their connection."""
        return tuple([(one.broker, *_batch(self.table, one.request)) for one in self._connections[c][p].late])


def _batch(table: Table, request: ProduceRequest) -> Key:
    pid, epoch, sequence, number = request
    return table.epoch(epoch), table.number(number), pid, sequence


def _stored(table: Table, batch: RecordBatch) -> Key:
    return _batch(table, batch.request)


READS: dict[str, Callable[..., Key]] = {
    "leader": Abstraction.leader,
    "log": Abstraction.log,
    "highWatermark": Abstraction.high_watermark,
    "entry": Abstraction.entry,
    "issued": Abstraction.issued,
    "producer": Abstraction.producer,
    "sender": Abstraction.sender,
    "wire": Abstraction.wire,
    "late": Abstraction.late,
}
"""Variable -> what reads the key of its unit."""

TOUCHES = {
    "GetProducerId": "issued producer.c",
    "SendBatch": "sender.cp wire.cp",
    "ResendBatch": "sender.cp wire.cp",
    "ReceiveAck": "sender.cp wire.cp",
    "ReceiveError": "sender.cp wire.cp",
    "ExpireBatch": "sender.cp",
    "ResolveSequences": "sender.cp",
    "BumpEpoch": "producer.c sender.c*",
    "AppendBatch": "log.p entry.p wire.cp",
    "AnswerDuplicate": "wire.cp",
    "RejectBatch": "wire.cp",
    "RejectUnderMinIsr": "wire.cp",
    "FailAppend": "entry.p wire.cp",
    "AppendLate": "log.p entry.p late.cp",
    "DropLate": "late.cp",
    "CompleteProduce": "wire.cp",
    "AdvanceHighWatermark": "highWatermark.p",
    "ExpireProducer": "entry.p",
    "ElectLeader": "leader.p log.p entry.p wire.*p",
    "Disconnect": "sender.cp wire.cp late.cp",
    "CrashProducer": "producer.c sender.c* wire.c*",
}
"""For each action, the variables that its handler may change. A suffix narrows a variable to the producer `c`, the
partition `p`, or both; `*` means every one. A test compares this table with a full comparison of the state."""

NOWHERE = ("Disconnect", "DropLate")
"""These actions happen nowhere."""
