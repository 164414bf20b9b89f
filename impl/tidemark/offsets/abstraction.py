"""The abstraction function of committed offsets: what the variables of Offsets are, read off coordinators and the log.

| variable | what it is here |
|---|---|
| `now` | the clock, in ticks of TICK_MS |
| `office`, `log` | who leads the partition, its epoch; the committed records, as compaction has left them |
| `appended`, `end` | the records of a coordinator that wait to commit; the position after the last that has |
| `producers` | what the partition keeps of each producer |
| `epoch`, `group`, `offsets`, `staged` | the coordinator's memory of what has committed |
| `transaction` | the transaction coordinator's entry |
| `txnRpc`, `late`, `marker`, `lateMarker`, `fetch` | the exchanges: a request, what is held for it, or the reply |

The key of a unit is what its cells depend on; `OffsetsLayout` makes cells of keys. Producers are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidemark.classic_group.layout import Union, atoms
from tidemark.groups.offset_records import (
    NO_PRODUCER_ID,
    EndTransactionMarker,
    LogRecord,
    OffsetsGroup,
    OffsetTombstone,
    ProducerId,
)
from tidemark.groups.partitions import TopicPartition
from tidemark.offsets.coordinator import OffsetCoordinator
from tidemark.offsets.metadata import UNKNOWN_PRODUCER, OffsetAndMetadata, ProducerState
from tidemark.trace.cells import CapacityExceeded, Cells

TICK_MS = 1_000
VARIABLES = {
    "now", "office", "epoch", "log", "appended", "end", "producers", "group", "offsets", "staged", "transaction",
    "txnRpc", "late", "marker", "lateMarker", "fetch",
}  # fmt: skip
"""Those of Offsets."""
Key = Any


class OffsetsTable:
    """What the abstraction needs of a trace header. Raises ValueError for one of another specification."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        self.variables: dict[str, Any] = header["variables"]
        constants = header["constants"]
        if "Retention" not in constants or set(self.variables) != VARIABLES:
            raise ValueError("the header has other variables than the offsets")
        self.brokers: tuple[str, ...] = tuple(sorted(constants["Brokers"]))
        self.producers: tuple[str, ...] = tuple(sorted(constants["Producers"]))
        self.topics: tuple[str, ...] = tuple(sorted(constants["Partitions"]))
        self.partitions = tuple(TopicPartition(topic, 0) for topic in self.topics)
        self.retention_ms: int = constants["Retention"] * TICK_MS
        names = "Time Offset Generation ProducerEpoch Epoch Position Log Appended"
        self.most: dict[str, int] = {name: constants[f"Max{name}"] for name in names.split()}
        self.cells = sum(variable["cells"] for variable in self.variables.values())
        self.entry = Union(self.variables["log"]["type"]["sequence"])
        self.causes = atoms(self.entry.field("tombstone", "cause"))
        self.results = atoms(self.entry.field("marker", "result"))
        self.states = atoms(self.entry.field("group", "value")["record"]["state"])
        self.phases = atoms(self.variables["transaction"]["type"]["function"]["record"]["phase"])
        self.slots = {
            name: Union(self.variables[name]["type"]["function"]) for name in ("txnRpc", "late", "marker", "lateMarker")
        }
        self.slots["fetch"] = Union(self.variables["fetch"]["type"])
        self.errors = atoms(self.slots["txnRpc"].field("answered", "error"))

    def offset(self, variable: str) -> int:
        """The first cell of a variable."""
        return int(self.variables[variable]["offset"])

    def width(self, variable: str) -> int:
        """How many cells each unit of a variable has."""
        entry = self.variables[variable]
        domain = entry["type"].get("domain", ()) if isinstance(entry["type"], dict) else ()
        split = len(domain) if tuple(domain) in (self.brokers, self.producers) else 1
        return int(entry["cells"]) // split

    def bounded(self, what: str, number: int) -> int:
        """The number. Raises CapacityExceeded."""
        if number > self.most[what]:
            raise CapacityExceeded(f"the most of {what}")
        return number

    def mask(self, partitions: Iterable[TopicPartition]) -> int:
        """Partitions as a bit mask."""
        return sum([1 << self.partitions.index(one) for one in partitions])


class OffsetsAbstraction:
    """The keys. Records are keys themselves."""

    __slots__ = ("_nothing_staged", "_numbers", "table")

    def __init__(self, table: OffsetsTable) -> None:
        self.table = table
        self._numbers = range(len(table.producers))
        self._nothing_staged: Key = (None,) * len(table.producers)

    def appended(self, coordinator: OffsetCoordinator) -> Key:
        """The records that wait to commit."""
        return tuple([one.entry for one in coordinator.waiting])

    def producers(self, producers: Mapping[ProducerId, ProducerState]) -> Key:
        """What the partition keeps of each producer, None if nothing."""
        return tuple(map(producers.get, self._numbers))

    def offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Key:
        """Committed offsets, or those that one producer has staged."""
        return tuple(map(offsets.get, self.table.partitions))

    def staged(self, pending: Mapping[ProducerId, Mapping[TopicPartition, OffsetAndMetadata]]) -> Key:
        """Staged offsets: per producer, None if there are none."""
        if not pending:
            return self._nothing_staged
        return tuple([self.offsets(pending[number]) if number in pending else None for number in self._numbers])

    def found(self, offsets: Mapping[TopicPartition, int]) -> Cells:
        """The answer of a fetch."""
        return tuple([offsets.get(partition, -1) for partition in self.table.partitions])


class OffsetsLayout:
    """From keys to cells."""

    __slots__ = ("_record", "table")

    def __init__(self, table: OffsetsTable) -> None:
        self.table = table
        self._record = (table.width("log") - 1) // table.most["Log"]

    def now(self, key: int) -> Cells:
        """The clock."""
        return (self.table.bounded("Time", key),)

    def epoch(self, key: int) -> Cells:
        """The epoch in which a coordinator serves."""
        return (self.table.bounded("Epoch", key),)

    def office(self, key: tuple[int, int]) -> Cells:
        """Who leads."""
        return key[0], self.table.bounded("Epoch", key[1])

    def end(self, key: int) -> Cells:
        """A position."""
        return (self.table.bounded("Position", key),)

    def group(self, key: OffsetsGroup) -> Cells:
        """The group."""
        return (
            self.table.bounded("Generation", key.generation),
            self.table.bounded("Time", key.since_ms // TICK_MS),
            self.table.states[key.state.value],
            self.table.mask(key.subscribed),
        )

    def record(self, key: LogRecord | None) -> Cells:
        """A record of the log; None: there is none."""
        if key is None:
            return (0,) * self._record
        table, width, make, record = self.table, self._record, self.table.entry.cells, key.record
        position = table.bounded("Position", key.position)
        if isinstance(record, OffsetTombstone):
            cause, partitions = table.causes[record.cause.value], table.mask(record.partitions)
            return make(
                width, "tombstone", position=position, cause=cause, partitions=partitions, group=int(record.group)
            )
        if isinstance(record, OffsetsGroup):
            return make(width, "group", position=position, value=self.group(record))
        if isinstance(record, EndTransactionMarker):
            epoch = self._producer_epoch(record.producer_epoch)
            result = self._result(record.commit)
            return make(width, "marker", position=position, producer=record.producer_id, epoch=epoch, result=result)
        committed = {
            "position": position,
            "partition": table.partitions.index(record.partition),
            "offset": table.bounded("Offset", record.offset),
            "time": record.commit_timestamp_ms // TICK_MS,
        }
        if record.producer_id == NO_PRODUCER_ID:
            return make(width, "commit", **committed)
        epoch = self._producer_epoch(record.producer_epoch)
        return make(width, "staged", **committed, producer=record.producer_id, epoch=epoch)

    def _producer_epoch(self, epoch: int) -> int:
        return self.table.bounded("ProducerEpoch", epoch)

    def _result(self, commit: bool) -> int:
        return self.table.results["COMMIT" if commit else "ABORT"]

    def producers(self, key: Key) -> Cells:
        """What the partition keeps of each producer."""
        return tuple([cell for one in key for cell in one or UNKNOWN_PRODUCER])

    def offsets(self, key: Key) -> Cells:
        """Offsets, each with its position and time; None: there are none."""
        cells: list[int] = []
        for one in key or (None,) * len(self.table.partitions):
            cells += (-1, -1, 0) if one is None else (one[0], one[1], one[2] // TICK_MS)
        return tuple(cells)

    def transaction(self, key: Key) -> Cells:
        """A transaction."""
        added, epoch, failed, phase, commit = key
        return added, self._producer_epoch(epoch), failed, self.table.phases[phase], self._result(commit)

    def slot(self, variable: str, key: Key) -> Cells:
        """An exchange: None, or its tag and its fields: an error; a broker and a place; a broker and a request, with
        what the group said of it."""
        table = self.table
        make, width = table.slots[variable].cells, table.width(variable)
        if key is None:
            return make(width, "idle")
        tag = key[0]
        if tag in ("answered", "written"):
            return make(width, tag, error=table.errors[key[1]])
        if tag in ("committing", "writing"):
            return make(width, tag, broker=key[1], remaining=table.bounded("Appended", key[2]))
        broker, request = key[1:3]
        epoch = request.producer_epoch
        if tag == "marker":
            return make(width, tag, broker=broker, epoch=epoch, result=self._result(request.commit))
        partition, rest = table.partitions.index(request.partition), {"valid": int(key[3])} if len(key) > 3 else {}
        return make(
            width, tag, broker=broker, epoch=epoch, generation=request.generation_id, partition=partition,
            offset=request.offset, **rest,
        )  # fmt: skip

    def fetch(self, key: Key) -> Cells:
        """The OffsetFetch: None, or its tag and its fields by name."""
        table = self.table
        make, width = table.slots["fetch"].cells, table.width("fetch")
        if key is None:
            return make(width, "idle")
        fields = dict(key[1:])
        if "error" in fields:
            fields["error"] = table.errors[fields["error"]]
        if "remaining" in fields:
            table.bounded("Appended", fields["remaining"])
        return make(width, key[0], **fields)
