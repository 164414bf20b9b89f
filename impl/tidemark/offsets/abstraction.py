"""The abstraction function of committed offsets: the variables of Offsets, read off coordinators and the log.

| variable | what it is here |
|---|---|
| `now` | the clock, in ticks of TICK_MS |
| `leaderAndEpoch`, `log` | who leads the partition, its epoch; the committed records, as compaction has left them |
| `appended`, `end` | the records of a coordinator that wait to commit; the position after the last that has |
| `producers` | what the partition keeps of each producer |
| `epoch`, `group`, `offsets`, `staged` | the coordinator's memory of what has committed |
| `transaction` | the transaction coordinator's entry |
| `txnRpc`, `late`, `marker`, `lateMarker`, `fetch` | the exchanges: a request, what is held for it, or the reply |

Here are keys, plain values that mirror the variables' types (records' fields by name, sets as masks), from which cells
are made by trace/shapes.py. Producers are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from tidemark.groups.offset_records import (
    NO_PRODUCER_ID,
    EndTransactionMarker,
    LogRecord,
    OffsetResponse,
    OffsetsGroup,
    OffsetTombstone,
    StableOffsetFetchResponse,
    TxnOffsetCommitRequest,
    WriteTxnMarkerRequest,
)
from tidemark.groups.partitions import TopicPartition
from tidemark.offsets.coordinator import OffsetCoordinator
from tidemark.offsets.metadata import UNKNOWN_PRODUCER, OffsetAndMetadata
from tidemark.trace.cells import Abstract, CapacityExceeded, SequenceKeys

TICK_MS = 1_000
Key = Any
IDLE: Key = ("idle",)
NOTHING: Key = (-1, -1, 0)
"""No offset."""
R = TypeVar("R", TxnOffsetCommitRequest, WriteTxnMarkerRequest)


class Exchange(Protocol, Generic[R]):
    """A request; `verified`: the transaction coordinator has answered; `arrived`: the broker has written something for
    it."""

    broker: int
    request: R
    token: int
    verified: bool
    arrived: bool
    response: OffsetResponse | None


class Transaction(Protocol):
    """A producer's transaction, as the transaction coordinator has it."""

    phase: str
    epoch: int
    commit: bool
    added: bool
    failed: bool


class Log(Protocol):
    """The group's partition: its leader and epoch, the committed records."""

    leader: int
    epoch: int
    records: list[LogRecord]


class State(Protocol):
    """The state that the abstraction reads. `fetched`: the last OffsetFetch reply, its broker, and whether it is of
    stable offsets. `fetching`: the coordinator that holds an OffsetFetch."""

    now: int
    fetched: tuple[int, bool, StableOffsetFetchResponse] | None
    fetching: int | None

    @property
    def log(self) -> Log:
        """The group's partition."""

    @property
    def coordinators(self) -> Sequence[OffsetCoordinator]:
        """By broker."""

    @property
    def transactions(self) -> Sequence[Transaction]:
        """By producer; so are the exchanges."""

    @property
    def commits(self) -> Sequence[Exchange[TxnOffsetCommitRequest] | None]:
        """TxnOffsetCommits."""

    @property
    def late(self) -> Sequence[Exchange[TxnOffsetCommitRequest] | None]:
        """Those for whose replies nobody waits."""

    @property
    def markers(self) -> Sequence[Exchange[WriteTxnMarkerRequest] | None]:
        """Markers."""

    @property
    def late_markers(self) -> Sequence[Exchange[WriteTxnMarkerRequest] | None]:
        """Copies of them."""


class OffsetsTable:
    """The values that the abstraction takes from a trace header. Raises ValueError for a header of another
    specification."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        constants = header["constants"]
        if "Retention" not in constants or set(header["variables"]) != set(READS):
            raise ValueError("the header has other variables than the offsets")
        self.brokers: tuple[str, ...] = tuple(sorted(constants["Brokers"]))
        self.producers: tuple[str, ...] = tuple(sorted(constants["Producers"]))
        self.parties = {"b": self.brokers, "t": self.producers}
        self.topics: tuple[str, ...] = tuple(sorted(constants["Partitions"]))
        self.partitions = tuple(TopicPartition(topic, 0) for topic in self.topics)
        self.retention_ms: int = constants["Retention"] * TICK_MS
        names = "Time Offset Generation ProducerEpoch Epoch Position Log Appended"
        self.most: dict[str, int] = {name: constants[f"Max{name}"] for name in names.split()}

    def bounded(self, what: str, number: int) -> int:
        """The number. Raises CapacityExceeded."""
        if number > self.most[what]:
            raise CapacityExceeded(f"the most of {what}")
        return number

    def mask(self, partitions: Iterable[TopicPartition]) -> int:
        """Partitions as a bit mask."""
        return sum([1 << self.partitions.index(one) for one in partitions])

    def group(self, group: OffsetsGroup) -> Key:
        """The group."""
        since = self.bounded("Time", group.since_ms // TICK_MS)
        return self.bounded("Generation", group.generation), since, group.state, self.mask(group.subscribed)

    def record(self, one: LogRecord) -> Key:
        """A record of the log."""
        position, record = self.bounded("Position", one.position), one.record
        if isinstance(record, OffsetTombstone):
            return "tombstone", record.cause, record.group, self.mask(record.partitions), position
        if isinstance(record, OffsetsGroup):
            return "group", position, self.group(record)
        if isinstance(record, EndTransactionMarker):
            epoch = self.bounded("ProducerEpoch", record.producer_epoch)
            return "marker", epoch, position, record.producer_id, result(record.commit)
        offset, partition = self.bounded("Offset", record.offset), self.partitions.index(record.partition)
        time = record.commit_timestamp_ms // TICK_MS
        if record.producer_id == NO_PRODUCER_ID:
            return "commit", offset, partition, position, time
        epoch = self.bounded("ProducerEpoch", record.producer_epoch)
        return "staged", epoch, offset, partition, position, record.producer_id, time


class OffsetsAbstraction(Abstract):
    """The abstraction function of one run: every method reads the key of a unit, and is given the number of its broker
    or producer. Raises CapacityExceeded for a value that the table cannot hold."""

    __slots__ = (
        "_appended",
        "_coordinators",
        "_log",
        "_nothing",
        "_numbers",
        "_records",
        "_state",
        "_told",
        "_told_key",
        "table",
    )

    def __init__(self, table: OffsetsTable, state: State) -> None:
        self.table = table
        self._state = state
        self._log = state.log
        self._coordinators = state.coordinators
        self._numbers = range(len(table.producers))
        self._nothing: Key = (NOTHING,) * len(table.partitions)
        self._records = SequenceKeys(table.record)
        self._appended = [SequenceKeys(table.record) for _ in state.coordinators]
        self._told: object = None
        self._told_key: Key = IDLE

    def forget(self) -> None:
        """Logs are read again."""
        for one in (self._records, *self._appended):
            one.forget()

    def now(self) -> Key:
        """The clock."""
        return self.table.bounded("Time", self._state.now // TICK_MS)

    def leader_and_epoch(self) -> Key:
        """The partition's leader and leader epoch."""
        return self._log.leader, self.table.bounded("Epoch", self._log.epoch)

    def log(self) -> Key:
        """The committed records."""
        return self._records(self._log.records)

    def appended(self, broker: int) -> Key:
        """The records of a coordinator that wait to commit."""
        return self._appended[broker]([one.entry for one in self._coordinators[broker].waiting])

    def end(self, broker: int) -> Key:
        """The position after a coordinator's last committed record."""
        return self.table.bounded("Position", self._coordinators[broker].end)

    def producers(self, broker: int) -> Key:
        """The partition's producer state, for each producer."""
        producers = self._coordinators[broker].producers
        return tuple([producers.get(number, UNKNOWN_PRODUCER) for number in self._numbers])

    def epoch(self, broker: int) -> Key:
        """The epoch in which a coordinator serves."""
        return self.table.bounded("Epoch", self._coordinators[broker].epoch)

    def group(self, broker: int) -> Key:
        """The group, as a coordinator has it."""
        return self.table.group(self._coordinators[broker].committed.group)

    def offsets(self, broker: int) -> Key:
        """Committed offsets."""
        return self._offsets(self._coordinators[broker].committed.offsets)

    def staged(self, broker: int) -> Key:
        """Those that each producer has staged."""
        pending = self._coordinators[broker].committed.pending
        return tuple(
            [self._offsets(pending[number]) if number in pending else self._nothing for number in self._numbers]
        )

    def _offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Key:
        found = [offsets.get(partition) for partition in self.table.partitions]
        return tuple([NOTHING if one is None else (one[0], one[1], one[2] // TICK_MS) for one in found])

    # --- transactions -----------------------------------------------------------------------------------------------

    def transaction(self, producer: int) -> Key:
        """A transaction."""
        one = self._state.transactions[producer]
        epoch = self.table.bounded("ProducerEpoch", one.epoch)
        return one.added, epoch, one.failed, one.phase, result(one.commit)

    def txn_rpc(self, producer: int) -> Key:
        """A TxnOffsetCommit."""
        return self._commit(self._state.commits[producer])

    def late(self, producer: int) -> Key:
        """One for whose reply nobody waits."""
        return self._commit(self._state.late[producer])

    def marker(self, producer: int) -> Key:
        """A marker."""
        return self._marker(self._state.markers[producer])

    def late_marker(self, producer: int) -> Key:
        """A copy of one."""
        return self._marker(self._state.late_markers[producer])

    def _commit(self, exchange: Exchange[TxnOffsetCommitRequest] | None) -> Key:
        if exchange is None:
            return IDLE
        broker, request, response = exchange.broker, exchange.request, exchange.response
        if response is not None:
            return "answered", response.error
        if exchange.arrived:
            return "committing", broker, self._place(broker, exchange.token)
        partition = self.table.partitions.index(request.partition)
        kind = "verified" if exchange.verified else "request"
        return kind, broker, request.producer_epoch, request.generation_id, request.offset, partition

    def _marker(self, exchange: Exchange[WriteTxnMarkerRequest] | None) -> Key:
        if exchange is None:
            return IDLE
        broker, response = exchange.broker, exchange.response
        if response is not None:
            return "written", response.error
        if exchange.arrived:
            return "writing", broker, self._place(broker, exchange.token)
        return "marker", broker, exchange.request.producer_epoch, result(exchange.request.commit)

    def _place(self, broker: int, token: int) -> int:
        """For how many records an exchange waits."""
        waiting = self._coordinators[broker].waiting
        return self.table.bounded("Appended", next(n for n, one in enumerate(waiting, 1) if one.token == token))

    # --- fetches ----------------------------------------------------------------------------------------------------

    def fetch(self) -> Key:
        """The only OffsetFetch. The last answer stands for long: its key is made once."""
        state = self._state
        if state.fetching is not None:
            for place, written in enumerate(self._coordinators[state.fetching].waiting, 1):
                for reply in written.fetches:
                    if isinstance(reply.response, StableOffsetFetchResponse):
                        return self._held(state.fetching, reply.response, place)
        fetched = state.fetched
        if fetched is not self._told:
            self._told = fetched
            self._told_key = IDLE if fetched is None else self._fetched(*fetched)
        return self._told_key

    def _held(self, broker: int, response: StableOffsetFetchResponse, place: int) -> Key:
        remaining = self.table.bounded("Appended", place)
        return "waiting", broker, self._found(response), remaining, self.table.mask(response.unstable)

    def _fetched(self, broker: int, stable: bool, response: StableOffsetFetchResponse) -> Key:
        return "fetched", broker, response.error, self._found(response), stable, self.table.mask(response.unstable)

    def _found(self, response: StableOffsetFetchResponse) -> Key:
        return tuple([response.offsets.get(partition, -1) for partition in self.table.partitions])


def result(commit: bool) -> str:
    """The end of a transaction."""
    return "COMMIT" if commit else "ABORT"


READS: dict[str, Callable[..., Key]] = {
    "now": OffsetsAbstraction.now,
    "leaderAndEpoch": OffsetsAbstraction.leader_and_epoch,
    "log": OffsetsAbstraction.log,
    "appended": OffsetsAbstraction.appended,
    "end": OffsetsAbstraction.end,
    "producers": OffsetsAbstraction.producers,
    "epoch": OffsetsAbstraction.epoch,
    "group": OffsetsAbstraction.group,
    "offsets": OffsetsAbstraction.offsets,
    "staged": OffsetsAbstraction.staged,
    "transaction": OffsetsAbstraction.transaction,
    "txnRpc": OffsetsAbstraction.txn_rpc,
    "late": OffsetsAbstraction.late,
    "marker": OffsetsAbstraction.marker,
    "lateMarker": OffsetsAbstraction.late_marker,
    "fetch": OffsetsAbstraction.fetch,
}
"""Variable -> what reads the key of its unit."""

_MEMORY = "end.b producers.b group.b offsets.b staged.b"

TOUCHES = {
    "Tick": "now",
    "Rebalance": "appended.b",
    "CommitOffset": "appended.b",
    "ExpireOffsets": "appended.b",
    "DeleteOffset": "appended.b",
    "DeleteGroup": "appended.b",
    "DropTopic": "appended.b",
    "BeginTransaction": "transaction.t",
    "SendTxnOffsetCommit": "txnRpc.t",
    "VerifyTxnOffsetCommit": "transaction.t txnRpc.t late.t",
    "HandleTxnOffsetCommit": "appended.b txnRpc.t late.t",
    "RejectTxnOffsetCommit": "txnRpc.t late.t",
    "ReceiveTxnReply": "transaction.t txnRpc.t",
    "GiveUpTxnOffsetCommit": "transaction.t txnRpc.t late.t",
    "EndTransaction": "transaction.t",
    "SendMarker": "marker.t",
    "HandleMarker": "appended.b marker.t lateMarker.t",
    "RejectMarker": "marker.t lateMarker.t",
    "ReceiveMarkerReply": "transaction.t marker.t",
    "FetchOffsets": "fetch",
    "CommitEntry": f"log appended.b {_MEMORY} txnRpc.* marker.* fetch",
    "Compact": "log",
    "BecomeCoordinator": f"leaderAndEpoch log epoch.b {_MEMORY}",
    "Resign": f"appended.b epoch.b {_MEMORY} txnRpc.* marker.* fetch",
    "RepeatMarker": "lateMarker.t",
    "LoseMarker": "marker.t",
    "LoseLate": "late.t",
    "LoseLateMarker": "lateMarker.t",
}
"""For each action, the variables that its handler may change. A suffix narrows a variable to the broker `b` or the
producer `t`; `*` means every one. A test compares this table with a full comparison of the state."""

NOWHERE = ("Tick", "Compact", "RepeatMarker", "LoseMarker", "LoseLate", "LoseLateMarker")
"""Actions of the clock, the cleaner and the network."""
