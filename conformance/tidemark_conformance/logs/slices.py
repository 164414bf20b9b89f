"""A partition's log as traces of the specifications in `spec/logs`: its batches, sliced by partition and by producer.

A step is a batch and carries what stands in its header. Nothing is judged here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crc32c import crc32c
from tidemark.log.formats import batch, control, records
from tidemark.log.formats.errors import Malformed, Torn
from tidemark.log.formats.internal import OFFSETS
from tidemark.log.formats.names import Kind, Status

from tidemark_conformance.errors import Unusable
from tidemark_conformance.logs.files import LogFile, Opened, printable

PARTITION, PRODUCER = "PartitionLog", "ProducerLog"
"""The specifications, by the names of their modules."""
Step = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """A batch where it stands."""

    file: LogFile
    position: int
    header: batch.BatchHeader


@dataclass(frozen=True)
class Fault:
    """Bytes that cannot be read, after which the rest of the partition is not judged. `tail`: the log ends within its
    last batch, as a copy of a running broker's may."""

    file: LogFile
    problem: Malformed
    tail: bool


class Slices:
    """The slices of one partition's folder. Steps stand in the order of the log."""

    def __init__(self, folder: Path, files: Sequence[LogFile]) -> None:
        kept = [one for one in files if one.name.kind is Kind.SEGMENT and one.name.status is Status.NORMAL]
        self.name = printable(folder)
        self._files = sorted(kept, key=lambda one: one.name.number or 0)
        self.size = 0
        """Bytes that were read."""
        self.fault: Fault | None = None
        self.partition: list[Step] = []
        self.producers: dict[int, list[Step]] = {}
        self.sequenced = not (self._files and self._files[0].topic == OFFSETS)
        self._holes = 0
        self._seen: dict[int, int] = {}
        end: int | None = None
        for place, found in self._places():
            try:
                end = self._add(found, end)
            except Malformed as problem:
                self.fault = Fault(place.file, problem.moved(place.position, "the marker"), False)
                break

    def _places(self) -> Iterator[tuple[Place, batch.Batch]]:
        """The batches up to the first fault, which is kept."""
        for number, one in enumerate(self._files, 1):
            try:
                with one.path.open("rb") as file:
                    for found in batch.batches(Opened(file)):
                        found.check()
                        yield Place(one, found.position, found.header), found
            except Malformed as problem:
                self.fault = Fault(one, problem, isinstance(problem, Torn) and number == len(self._files))
                return
            except OSError as problem:
                raise Unusable(f"{one.shown} cannot be read ({problem.strerror or problem})") from problem

    def _add(self, found: batch.Batch, end: int | None) -> int:
        """One more batch; returns the offset after it. Offsets that are missing before it are a hole."""
        header = found.header
        self.size += header.size
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

    def traces(self, specification: str) -> Iterator[tuple[str, list[Step]]]:
        """The traces of a specification, by the names that `place` takes."""
        if specification == PARTITION:
            if self.partition:
                yield self.name, self.partition
        else:
            for producer, steps in sorted(self.producers.items()):
                yield f"{self.name} producer {producer}", steps

    def place(self, trace: str, step: int) -> Place:
        """The batch that is a step of a trace."""
        producer = int(trace.rpartition(" producer ")[2]) if " producer " in trace[len(self.name) :] else None
        count = 0
        for place, _ in self._places():
            count += producer in (None, place.header.producer_id)
            if count == step:
                return place
        raise Unusable(f"{self.name} has changed while it was read; copy it, and audit the copy")

    def initial(self, specification: str) -> dict[str, Any]:
        """The state of a trace before its first step."""
        if specification == PARTITION:
            return {"batch": {"first": 0, "last": 0, "epoch": -1}}
        nothing = {"type": "marker", "epoch": -1, "coordinator": -1, "time": -1}
        return {"sequenced": self.sequenced, "batch": nothing}


def lines(trace: str, initial: dict[str, Any], steps: Sequence[Step]) -> Iterator[str]:
    """A trace in NDJSON."""
    crc = 0
    events: list[dict[str, Any]] = [{"trace": trace, "step": 0, "state": initial}]
    events += [
        {"trace": trace, "step": number, "action": "Next", "delta": {"batch": step}}
        for number, step in enumerate(steps, 1)
    ]
    for event in events:
        line = json.dumps(event, separators=(",", ":")) + "\n"
        crc = crc32c(line.encode(), crc)
        yield line
    yield json.dumps({"trace": trace, "end": {"steps": len(steps)}, "crc32c": f"{crc:08x}"}) + "\n"
