"""Traces out of a file or a folder, one at a time, without Spark: found by their names, decoded by a schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.run import BLOCKED, CAPACITY, INITIAL, STEP, STUTTER, Event, Run, State
from tidemark_conformance.tla.kernels import stream as delta
from tidemark_conformance.tla.types import Misfit, decode
from tidemark_conformance.tla.values import Value
from tidemark_conformance.trace.files import file_header, file_traces, local_files, one_form
from tidemark_conformance.trace.header import Header
from tidemark_conformance.trace.lines import BAD_SUM, MISSING_STEPS, NO_END
from tidemark_conformance.trace.schema import Schema


@dataclass(frozen=True, slots=True)
class Stored:
    """One trace as it is stored: its id, its delta stream, its file and that file's header; `detail` as its reader says
    it (`trace.files.StoredTrace`)."""

    id: str
    stream: bytes
    source: Path
    header: Header
    detail: str = ""


def files(path: Path) -> list[Path]:
    """The trace files at `path` (a file, or a folder and what is below it), as the audit finds them.

    Raises Unusable if there is none, for a name that says no form, or if a folder mixes forms.
    """
    found = local_files([path])
    one_form([str(file) for file in found], str(path))
    return found


def stored(path: Path, schema: Schema, only: str | None = None) -> Iterator[Stored]:
    """The traces at `path` in order, or only the one with the id `only`.

    Raises Unusable for a file that was written for another specification, or that cannot be read.
    """
    for file in files(path):
        header = file_header(file)
        for trace in file_traces(file, schema, only):
            yield Stored(trace.id, trace.stream, file, header, trace.detail)


def decoded(trace: Stored, schema: Schema) -> Run:
    """The trace as events with their states; damage ends it where it can no longer be believed."""
    reading = _Reading(trace, schema)
    try:
        for record in delta.records(trace.stream, schema.layout.base_cells, schema.arities):
            if isinstance(record, delta.End):
                return reading.finished(record)
            reading.take(record)
    except delta.Malformed as problem:
        return reading.run(False, NO_END if "no end record" in str(problem) else str(problem))
    except Misfit as problem:
        return reading.run(False, f"{CAPACITY} ({problem})")
    return reading.run(False, NO_END)


_KINDS = {delta.STEP: STEP, delta.BLOCKED: BLOCKED, delta.STUTTER: STUTTER}


class _Reading:
    def __init__(self, trace: Stored, schema: Schema) -> None:
        self.trace = trace
        self.schema = schema
        self.cells = [0] * schema.layout.base_cells
        self.state: State = {}
        self.events: list[Event] = []

    def take(self, record: delta.Record) -> None:
        number = len(self.events)
        touched = {self.schema.layout.variable_of[cell] for cell, _ in record.delta}
        for cell, value in record.delta:
            if not self.schema.layout.lows[cell] <= value <= self.schema.layout.highs[cell]:
                variable = self.schema.layout.variables[self.schema.layout.variable_of[cell]]
                low, high = self.schema.layout.lows[cell], self.schema.layout.highs[cell]
                raise Misfit(f"step {number}: a cell of {variable.name} is {value}, TypeOK allows {low}..{high}")
            self.cells[cell] = value
        self.state = dict(self.state)
        for place, variable in enumerate(self.schema.layout.variables):
            if not variable.ghost and (place in touched or number == 0):
                self.state[variable.name] = decode(variable.type, self.cells, variable.offset)
        nodes = self.trace.header.nodes
        if record.node > len(nodes):
            raise Unusable(
                f"step {number} of trace {self.trace.id} in {self.trace.source} is of node {record.node}, and the "
                f"header lists {len(nodes)}; correct the program that wrote it"
            )
        node = nodes[record.node - 1] if record.node else ""
        name, params = "", tuple[Value, ...]()
        if record.action >= 0:
            name = self.schema.actions[record.action]
            params = self.parameters(name, record.params, number)
        kind = INITIAL if number == 0 else _KINDS[record.kind]
        self.events.append(Event(number, kind, node, name, params, self.state))

    def parameters(self, action: str, indices: tuple[int, ...], number: int) -> tuple[Value, ...]:
        domains = self.schema.parameters[action].domains
        for place, domain in zip(indices, domains, strict=True):
            if place >= len(domain):
                raise Unusable(
                    f"step {number} of trace {self.trace.id} in {self.trace.source} has a parameter of {action} "
                    "outside its domain; correct the program that wrote it"
                )
        return tuple(domain[place] for place, domain in zip(indices, domains, strict=True))

    def finished(self, end: delta.End) -> Run:
        damage = None
        if not end.checksum_right:
            damage = BAD_SUM
        elif not end.count_right:
            damage = MISSING_STEPS
        elif end.capacity:
            damage = CAPACITY
        if damage in (BAD_SUM, CAPACITY) and self.trace.detail:
            damage = f"{damage} ({self.trace.detail})"
        return self.run(end.quiescent, damage)

    def run(self, quiescent: bool, damage: str | None) -> Run:
        trace = self.trace
        return Run(trace.id, str(trace.source), trace.header.nodes, tuple(self.events), quiescent, damage)
