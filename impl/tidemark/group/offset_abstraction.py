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

from tidemark.cells import CapacityExceeded, Cells
from tidemark.group.layout import Union, atoms
from tidemark.group.offset_coordinator import OffsetCoordinator
from tidemark.group.offset_metadata import UNKNOWN_PRODUCER, OffsetAndMetadata, ProducerState
from tidemark.group.offset_records import (
    NO_PRODUCER_ID,
    LogRecord,
    OffsetCommitValue,
    OffsetsGroup,
    OffsetTombstone,
    ProducerId,
)
from tidemark.group.partitions import TopicPartition

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
    """The keys."""

    __slots__ = ("table",)

    def __init__(self, table: OffsetsTable) -> None:
        self.table = table

    def group(self, group: OffsetsGroup) -> Key:
        """The group."""
        return group.generation, group.since_ms // TICK_MS, group.state, self.table.mask(group.subscribed)

    def entries(self, records: Iterable[LogRecord]) -> Key:
        """Records, in order."""
        return tuple([self._entry(one) for one in records])

    def _entry(self, one: LogRecord) -> Key:
        record, position = one.record, one.position
        if isinstance(record, OffsetCommitValue):
            partition = self.table.partitions.index(record.partition)
            time = record.commit_timestamp_ms // TICK_MS
            if record.producer_id == NO_PRODUCER_ID:
                return "commit", position, partition, record.offset, time
            return "staged", position, partition, record.offset, time, record.producer_id, record.producer_epoch
        if isinstance(record, OffsetTombstone):
            return "tombstone", position, record.cause, self.table.mask(record.partitions), record.group
        if isinstance(record, OffsetsGroup):
            return "group", position, self.group(record)
        return "marker", position, record.producer_id, record.producer_epoch, record.commit

    def appended(self, coordinator: OffsetCoordinator) -> Key:
        """The records that wait to commit."""
        return self.entries([one.entry for one in coordinator.waiting])

    def producers(self, producers: Mapping[ProducerId, ProducerState]) -> Key:
        """What the partition keeps of each producer."""
        known = [producers.get(number, UNKNOWN_PRODUCER) for number in range(len(self.table.producers))]
        return tuple([(one.epoch, one.first_offset) for one in known])

    def offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Key:
        """Committed offsets, or those that one producer has staged."""
        found = [offsets.get(partition) for partition in self.table.partitions]
        return tuple(
            [
                (-1, -1, 0) if one is None else (one.offset, one.record_offset, one.commit_timestamp_ms // TICK_MS)
                for one in found
            ]
        )

    def staged(self, pending: Mapping[ProducerId, Mapping[TopicPartition, OffsetAndMetadata]]) -> Key:
        """Staged offsets."""
        return tuple([self.offsets(pending.get(number, {})) for number in range(len(self.table.producers))])

    def found(self, offsets: Mapping[TopicPartition, int]) -> Cells:
        """The answer of a fetch."""
        return tuple([offsets.get(partition, -1) for partition in self.table.partitions])


class OffsetsLayout:
    """From keys to cells."""

    __slots__ = ("table",)

    def __init__(self, table: OffsetsTable) -> None:
        self.table = table

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

    def group(self, key: Key) -> Cells:
        """The group."""
        generation, since, state, subscribed = key
        return (
            self.table.bounded("Generation", generation),
            self.table.bounded("Time", since),
            self.table.states[state.value],
            subscribed,
        )

    def log(self, key: Key) -> Cells:
        """The log."""
        return self._entries("Log", self.table.width("log"), key)

    def appended(self, key: Key) -> Cells:
        """What waits to commit."""
        return self._entries("Appended", self.table.width("appended"), key)

    def _entries(self, what: str, width: int, key: Key) -> Cells:
        self.table.bounded(what, len(key))
        each = (width - 1) // self.table.most[what]
        cells = [len(key)]
        for entry in key:
            cells += self._entry(each, entry)
        return tuple(cells + [0] * (width - len(cells)))

    def _entry(self, width: int, key: Key) -> Cells:
        table, tag = self.table, key[0]
        make, position = table.entry.cells, table.bounded("Position", key[1])
        if tag == "commit":
            return make(width, tag, position=position, partition=key[2], offset=self._offset(key[3]), time=key[4])
        if tag == "staged":
            return make(
                width, tag, position=position, partition=key[2], offset=self._offset(key[3]), time=key[4],
                producer=key[5], epoch=self._producer_epoch(key[6]),
            )  # fmt: skip
        if tag == "tombstone":
            cause = table.causes[key[2].value]
            return make(width, tag, position=position, cause=cause, partitions=key[3], group=int(key[4]))
        if tag == "group":
            return make(width, tag, position=position, value=self.group(key[2]))
        epoch = self._producer_epoch(key[3])
        return make(width, tag, position=position, producer=key[2], epoch=epoch, result=self._result(key[4]))

    def _offset(self, offset: int) -> int:
        return self.table.bounded("Offset", offset)

    def _producer_epoch(self, epoch: int) -> int:
        return self.table.bounded("ProducerEpoch", epoch)

    def _result(self, commit: bool) -> int:
        return self.table.results["COMMIT" if commit else "ABORT"]

    def nested(self, key: Key) -> Cells:
        """Records of a function, one after another."""
        return tuple([cell for one in key for cell in one])

    def staged(self, key: Key) -> Cells:
        """Staged offsets."""
        return tuple([cell for of_producer in key for one in of_producer for cell in one])

    def transaction(self, key: Key) -> Cells:
        """A transaction."""
        added, epoch, failed, phase, commit = key
        return added, self._producer_epoch(epoch), failed, self.table.phases[phase], self._result(commit)

    def slot(self, variable: str, key: Key) -> Cells:
        """An exchange: None, or its tag and its fields by name, a result as whether it is COMMIT."""
        table = self.table
        make, width = table.slots[variable].cells, table.width(variable)
        if key is None:
            return make(width, "idle")
        fields = dict(key[1:])
        if "error" in fields:
            fields["error"] = table.errors[fields["error"]]
        if "result" in fields:
            fields["result"] = self._result(fields["result"])
        if "remaining" in fields:
            table.bounded("Appended", fields["remaining"])
        return make(width, key[0], **fields)
