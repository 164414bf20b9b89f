"""Slices of logs as traces of the specifications in `spec/logs`, and the batches where their steps stand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from crc32c import crc32c
from tidemark.log.formats.batch import BatchHeader

from tidemark_conformance.errors import Unusable
from tidemark_conformance.logs.files import LogFile

Step = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """A batch where it stands. `header`: None of a place at which a batch is missing. `broker`: whose file it is.
    `offset`: of a record in it."""

    file: LogFile
    position: int
    header: BatchHeader | None
    broker: str = ""
    offset: int | None = None


@dataclass(frozen=True)
class Trace:
    """A trace of the specification's module. `initial`: the variables that the first state carries.

    `steps`: makes the values that each step gives to `variable`, in order. `places`: where a step stands, by its number
    from 1 on: the batch that is judged first, then those that it is held against.
    """

    specification: str
    name: str
    variable: str
    initial: dict[str, Any]
    steps: Callable[[], Iterable[Step]]
    places: Callable[[int], tuple[Place, ...]]

    def lines(self) -> Iterator[str]:
        """The trace in NDJSON."""
        crc, count = 0, 0
        for event in self._events():
            line = json.dumps(event, separators=(",", ":")) + "\n"
            crc = crc32c(line.encode(), crc)
            count += 1
            yield line
        yield json.dumps({"trace": self.name, "end": {"steps": count - 1}, "crc32c": f"{crc:08x}"}) + "\n"

    def _events(self) -> Iterator[dict[str, Any]]:
        yield {"trace": self.name, "step": 0, "state": self.initial}
        for number, step in enumerate(self.steps(), 1):
            yield {"trace": self.name, "step": number, "action": "Next", "delta": {self.variable: step}}


def changed(name: str) -> Unusable:
    """The error where a log is no longer what was read first."""
    return Unusable(f"{name} has changed while it was read; copy it, and audit the copy")
