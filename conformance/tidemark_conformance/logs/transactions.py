"""`__transaction_state` as traces of `spec/logs/TransactionLog.tla`: a trace a transactional id.

A step is a record of the id. Behind a decision come the markers that the logs of its partitions have of it, where they
are given. Nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tidemark.log.formats import compression, control, internal, records
from tidemark.log.formats.errors import Malformed
from tidemark.log.formats.schema import Values

from tidemark_conformance.logs.brokers import Unread
from tidemark_conformance.logs.replicas import Replica
from tidemark_conformance.logs.slices import without_library
from tidemark_conformance.logs.traces import Place, Step, Trace

TRANSACTION = "TransactionLog"
STATUSES = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort"),
    *("CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"),
)
"""By the numbers in records."""
PREPARED = ("PrepareCommit", "PrepareAbort")
COMPLETED = ("CompleteCommit", "CompleteAbort")
LATER = 60_000
"""Milliseconds: a control batch so much later than a decision was written after it, whatever the brokers' clocks."""
_NOTHING: Step = {"type": "record", "status": "Dead", "pid": -1, "epoch": -1, "hole": True, "lost": False}
Key = tuple[str, int]
Entry = tuple[Step, tuple[Place, ...]]


@dataclass
class Ends:
    """The records of one producer's transactions in one partition, in the order of its log.

    `markers`: by producer epoch. `open`: places of records without a marker, each with their epoch, and whether the
    producer wrote on behind them in a later epoch.
    """

    markers: dict[int, list[tuple[str, Place]]] = field(default_factory=dict)
    open: list[tuple[int, Place, bool]] = field(default_factory=list)


@dataclass
class Markers:
    """The ends of transactions in one partition. `last`: the largest timestamp of a control batch."""

    stopped: bool
    producers: dict[int, Ends] = field(default_factory=dict)
    last: int = -1
    decided: set[tuple[int, int]] = field(default_factory=set)
    """Producer ids and epochs whose decisions are in the log; known after the `traces` of all logs."""

    @classmethod
    def of(cls, replica: Replica) -> Markers:
        """Those of a replica's log."""
        found = cls(replica.directory.stopped and replica.slices.fault is None)
        for place, batch in replica.slices.places():
            header = batch.header
            if not header.transactional or header.producer_id < 0:
                continue
            ends = found.producers.setdefault(header.producer_id, Ends())
            if not header.control:
                ends.open = [(epoch, at, on or epoch < header.producer_epoch) for epoch, at, on in ends.open]
                if not any(epoch == header.producer_epoch for epoch, _, _ in ends.open):
                    ends.open.append((header.producer_epoch, place, False))
                continue
            found.last = max(found.last, header.max_timestamp)
            ends.open = [one for one in ends.open if one[2]]
            for one in records.records(batch):
                marker = (control.read(one).type.name, place)
                ends.markers.setdefault(header.producer_epoch, []).append(marker)
        return found

    @property
    def without_decision(self) -> int:
        """The markers whose decisions are not in the log."""
        return sum(
            len(some)
            for pid, ends in self.producers.items()
            for epoch, some in ends.markers.items()
            if (pid, epoch) not in self.decided
        )

    def of_decision(self, pid: int, epoch: int, completed: int) -> list[tuple[str, Place]]:
        """The outcomes that stand here of the decision of a producer's epoch. "none": its records are here, and the log
        goes on behind them. Empty where the log does not show it. `completed`: when it was complete, -1 never."""
        ends = self.producers.get(pid, Ends())
        if found := ends.markers.get(epoch):
            return found
        later = self.stopped or self.last > completed + LATER
        return [("none", at) for one, at, on in ends.open if one in (epoch, epoch - 1) and (on or later)][:1]


@dataclass
class _Id:
    """A transactional id while its records are read. `seen`: the number of holes in the log at its last record."""

    seen: int = -1
    partitions: frozenset[Key] = frozenset()
    entries: list[tuple[Step, Place, Values | None]] = field(default_factory=list)


class Transactions:
    """The transactional ids of a partition of `__transaction_state`."""

    def __init__(self, replica: Replica) -> None:
        self.name = replica.slices.name
        self.fault: Unread | None = None
        self.not_shown = 0
        """Outcomes in partitions whose logs are not given, or do not show them; known after `traces`."""
        self._ids: dict[str, _Id] = {}
        holes, end = 0, None
        for place, batch in replica.slices.places():
            try:
                for record in [] if batch.header.control else records.records(batch):
                    holes += end not in (None, record.offset)
                    end = record.offset + 1
                    self._add(place, record, holes)
            except Malformed as problem:
                self.fault = Unread(place.file.path, problem.moved(place.position, "a record of the batch"))
                return
            except compression.LibraryAbsent:
                raise without_library(place) from None

    def _add(self, place: Place, record: records.Record, holes: int) -> None:
        message = internal.read(internal.TRANSACTIONS, record)
        if message is None or message.key is None:
            return
        known = self._ids.setdefault(message.key["transactionalId"], _Id())
        value = message.value
        status = "Dead" if value is None else _status(value["transactionStatus"])
        partitions = _partitions(value)
        step: Step = {
            **_NOTHING,
            "status": status,
            "pid": -1 if value is None else value["producerId"],
            "epoch": -1 if value is None else value["producerEpoch"],
            "hole": known.seen != holes,
            "lost": not known.partitions <= partitions,
        }
        known.entries.append((step, replace(place, offset=record.offset), value))
        known.seen, known.partitions = holes, partitions

    @property
    def partitions(self) -> set[Key]:
        """The partitions of all transactions that are decided."""
        entries = (entry for known in self._ids.values() for entry in known.entries)
        return {key for step, _, value in entries if step["status"] in PREPARED for key in _partitions(value)}

    def traces(self, markers: dict[Key, Markers]) -> Iterator[Trace]:
        """A trace an id. `markers`: of the partitions whose logs are given."""
        for name, known in sorted(self._ids.items()):
            entries = list(self._entries(known, markers))
            steps, places = partial(_steps, entries), partial(_places, entries)
            yield Trace(TRANSACTION, f"{self.name} {name}", "entry", {"entry": _NOTHING}, steps, places)

    def _entries(self, known: _Id, markers: dict[Key, Markers]) -> Iterator[Entry]:
        """The steps of an id with their places. The record before stands beside a record, the decision beside a
        marker."""
        before: tuple[Place, ...] = ()
        decisions = _decisions(known)
        for number, (step, place, value) in enumerate(known.entries):
            yield step, (place, *before)
            before = (place,)
            if step["status"] not in PREPARED:
                continue
            after, _, later = known.entries[number + 1] if number + 1 < len(known.entries) else (_NOTHING, place, None)
            completed = after["status"] in COMPLETED and not after["hole"]
            when = (later or {}).get("transactionLastUpdateTimestampMs", -1) if completed else -1
            for key in sorted(_partitions(value)):
                alike = decisions.pop((step["pid"], step["epoch"], key), {step["status"]})
                there = markers.get(key)
                if there is not None:
                    there.decided.add((step["pid"], step["epoch"]))
                found = there.of_decision(step["pid"], step["epoch"], when) if there and len(alike) == 1 else []
                self.not_shown += not found
                for result, at in found:
                    yield {"type": "marker", "result": result, "completed": completed}, (at, place)


def _status(number: int) -> str:
    if not 0 <= number < len(STATUSES):
        raise Malformed(0, f"the transaction's status {number} is not known")
    return STATUSES[number]


def _partitions(value: Values | None) -> frozenset[Key]:
    topics = (value or {}).get("transactionPartitions") or ()
    return frozenset((one["topic"], number) for one in topics for number in one["partitionIds"])


def _decisions(known: _Id) -> dict[tuple[int, int, Key], set[str]]:
    """The kinds of decisions of each producer id, epoch and partition. Before KIP-890 an epoch has many, and only where
    they are alike it is known of its markers whose they are."""
    found: dict[tuple[int, int, Key], set[str]] = {}
    for step, _, value in known.entries:
        if step["status"] in PREPARED:
            for key in _partitions(value):
                found.setdefault((step["pid"], step["epoch"], key), set()).add(step["status"])
    return found


def _steps(entries: Sequence[Entry]) -> Iterator[Step]:
    for step, _ in entries:
        yield step


def _places(entries: Sequence[Entry], number: int) -> tuple[Place, ...]:
    return entries[number - 1][1]


def transactions(some: Sequence[Replica]) -> tuple[list[Transactions], dict[Key, Markers]]:
    """The transaction logs, each of the replica that goes furthest, and the markers of all other partitions there.

    Without a transaction log no markers are read.
    """
    longest: dict[Key, Replica] = {}
    for one in some:
        if one.key not in longest or one.slices.end > longest[one.key].slices.end:
            longest[one.key] = one
    logs = [Transactions(one) for key, one in longest.items() if key[0] == internal.TRANSACTIONS]
    wanted = {key for log in logs for key in log.partitions}
    wanted |= {key for key, one in longest.items() if logs and one.slices.marked}
    return logs, {key: Markers.of(one) for key, one in longest.items() if key in wanted}
