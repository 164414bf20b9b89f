"""A partition's log as traces of the specifications in `spec/logs`: its batches, sliced by partition and by producer.

A step is a batch and carries what stands in its header. Nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tidemark.log.formats import batch, compression, control, records
from tidemark.log.formats.errors import Malformed, Torn
from tidemark.log.formats.internal import OFFSETS
from tidemark.log.formats.names import Kind, Status

from tidemark_conformance import extras
from tidemark_conformance.errors import Unusable
from tidemark_conformance.logs.files import LogFile, Opened, printable
from tidemark_conformance.logs.traces import Place, Step, Trace, changed

PARTITION, PRODUCER = "PartitionLog", "ProducerLog"
"""The specifications, by the names of their modules."""


@dataclass(frozen=True)
class Fault:
    """Bytes that cannot be read, after which the rest of the partition is not judged. `tail`: the log ends within its
    last batch, as a copy of a running broker's may."""

    file: LogFile
    problem: Malformed
    tail: bool


def without_library(place: Place) -> Unusable:
    """The error where the records of this batch need a library that is not installed."""
    what = f"{place.file.shown}: the batch at byte {place.position:,} is compressed, and its records"
    return Unusable(f"{what} need {extras.missing(compression.LIBRARY)}")


class Slices:
    """The slices of one partition's folder. Steps stand in the order of the log."""

    def __init__(self, folder: Path, files: Sequence[LogFile], broker: str = "") -> None:
        kept = [one for one in files if one.name.kind is Kind.SEGMENT and one.name.status is Status.NORMAL]
        self.folder = folder
        self.name = printable(folder)
        self.broker = broker
        self.files = sorted(kept, key=lambda one: one.name.number or 0)
        """The segments, by their base offsets."""
        self.size = 0
        """Bytes that were read."""
        self.fault: Fault | None = None
        self.partition: list[Step] = []
        self.producers: dict[int, list[Step]] = {}
        self.sequenced = not (self.files and self.files[0].topic == OFFSETS)
        self.rewritten = False
        """Whether a batch lacks records that it had: compaction has been there."""
        self._holes = 0
        self._seen: dict[int, int] = {}
        self._end: int | None = None
        for place, found in self._read():
            try:
                self._end = self._add(found, self._end)
            except Malformed as problem:
                self.fault = Fault(place.file, problem.moved(place.position, "the marker"), False)
                break
            except compression.LibraryAbsent:
                raise without_library(place) from None

    @property
    def base(self) -> int:
        """The base offset of the first segment."""
        return self.files[0].name.number or 0 if self.files else 0

    @property
    def end(self) -> int:
        """The offset after the last batch that was read."""
        return self.base if self._end is None else self._end

    @property
    def marked(self) -> bool:
        """Whether a producer's transactions have markers here."""
        return any(step["type"] == "marker" for steps in self.producers.values() for step in steps)

    def places(self) -> Iterator[tuple[Place, batch.Batch]]:
        """The batches that were read, once more, where they stand."""
        stop = len(self.partition)
        for place, found in self._read():
            if stop == 0:
                return
            stop -= 1
            yield place, found

    def _read(self) -> Iterator[tuple[Place, batch.Batch]]:
        """The batches up to the first fault, which is kept."""
        for number, one in enumerate(self.files, 1):
            try:
                with one.path.open("rb") as file:
                    for found in batch.batches(Opened(file)):
                        found.check()
                        yield Place(one, found.position, found.header, self.broker), found
            except Malformed as problem:
                self.fault = Fault(one, problem, isinstance(problem, Torn) and number == len(self.files))
                return
            except OSError as problem:
                raise Unusable(f"{one.shown} cannot be read ({problem.strerror or problem})") from problem

    def _add(self, found: batch.Batch, end: int | None) -> int:
        """One more batch; returns the offset after it. Offsets that are missing before it are a hole."""
        header = found.header
        self.size += header.size
        self.rewritten = self.rewritten or header.record_count != header.last_offset_delta + 1
        if end not in (None, header.base_offset):
            self._holes += 1
        step = {"first": header.base_offset, "last": header.last_offset, "epoch": header.leader_epoch}
        if header.producer_id >= 0:
            hole = self._seen.get(header.producer_id, self._holes) != self._holes
            self.producers.setdefault(header.producer_id, []).append(self._of_producer(found, hole))
            self._seen[header.producer_id] = self._holes
        self.partition.append(step)
        return header.last_offset + 1

    def _of_producer(self, found: batch.Batch, hole: bool) -> Step:
        header = found.header
        shared = {"epoch": header.producer_epoch, "time": header.max_timestamp}
        if header.control:
            epochs = [control.read(one).values.get("coordinatorEpoch", -1) for one in records.records(found)]
            return {"type": "marker", **shared, "coordinator": max(epochs, default=-1)}
        sequences = {"first": max(header.base_sequence, 0), "last": max(header.last_sequence, 0)}
        return {"type": "data", **shared, "transactional": header.transactional, **sequences, "hole": hole}

    def traces(self) -> Iterator[Trace]:
        """The traces of the partition and of its producers."""
        if self.partition:
            nothing: Step = {"first": 0, "last": 0, "epoch": -1}
            yield self._trace(PARTITION, self.name, {"batch": nothing}, self.partition, None)
        nothing = {"type": "marker", "epoch": -1, "coordinator": -1, "time": -1}
        for producer, steps in sorted(self.producers.items()):
            initial = {"sequenced": self.sequenced, "batch": nothing}
            yield self._trace(PRODUCER, f"{self.name} producer {producer}", initial, steps, producer)

    def _trace(self, specification: str, name: str, initial: Step, steps: list[Step], producer: int | None) -> Trace:
        return Trace(specification, name, "batch", initial, lambda: steps, partial(self._places, producer))

    def _places(self, producer: int | None, step: int) -> tuple[Place, ...]:
        """The batch of a step, of the producer or of any, and the one before it."""
        before: tuple[Place, ...] = ()
        count = 0
        for place, found in self.places():
            if producer in (None, found.header.producer_id):
                count += 1
                if count == step:
                    return place, *before
                before = (place,)
        raise changed(self.name)
