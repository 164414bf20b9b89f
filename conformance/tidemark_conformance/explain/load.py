"""Traces out of a file or a folder, one at a time, without Spark: found by their names, decoded by a schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.run import BLOCKED, CAPACITY, INITIAL, STEP, STUTTER, Event, Run
from tidemark_conformance.tla.kernels import stream as delta
from tidemark_conformance.tla.types import Misfit
from tidemark_conformance.trace.beyond import Beyond
from tidemark_conformance.trace.files import file_header, file_traces, local_files, one_form
from tidemark_conformance.trace.header import Header
from tidemark_conformance.trace.lines import BAD_SUM, MISSING_STEPS, NO_END
from tidemark_conformance.trace.replay import BeyondLimit, replayed
from tidemark_conformance.trace.replay import Event as Recorded
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
    """The trace files at `path` (a file, or a folder with its subfolders), as the audit finds them.

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


_KINDS = {delta.STEP: STEP, delta.BLOCKED: BLOCKED, delta.STUTTER: STUTTER}


def decoded(trace: Stored, schema: Schema) -> Run:
    """The trace as events with their states. Damage ends it where it can no longer be believed, and a value beyond a
    limit where it stands.

    Raises Unusable for a record with a node that there is not.
    """
    found: list[Event] = []

    def run(quiescent: bool, damage: str | None, beyond: Beyond | None = None) -> Run:
        return Run(trace.id, str(trace.source), trace.header.nodes, tuple(found), quiescent, damage, beyond)

    try:
        for record in replayed(trace.stream, schema):
            if isinstance(record, delta.End):
                return run(record.quiescent, _damage(record, trace.detail))
            found.append(_event(len(found), record, trace))
    except delta.Malformed as problem:
        return run(False, NO_END if "no end record" in str(problem) else str(problem))
    except Misfit as problem:
        raise Unusable(f"step {len(found)} of trace {trace.id} in {trace.source} is none ({problem})") from None
    except BeyondLimit as problem:
        if not problem.beyond.wrong or not found:
            return run(False, f"{CAPACITY} ({problem.beyond})")
        found.append(_event(len(found), problem.event, trace))
        return run(False, _rest(trace, schema), problem.beyond)
    return run(False, NO_END)


def _rest(trace: Stored, schema: Schema) -> str | None:
    """The damage of a trace whose records cannot be judged to the end."""
    try:
        *_, end = schema.records(trace.stream)
    except delta.Malformed as problem:
        return NO_END if "no end record" in str(problem) else str(problem)
    damage = _damage(end, trace.detail) if isinstance(end, delta.End) else NO_END
    return None if damage and damage.startswith(CAPACITY) else damage


def _event(number: int, record: Recorded, trace: Stored) -> Event:
    nodes = trace.header.nodes
    if record.node > len(nodes):
        raise Unusable(
            f"step {number} of trace {trace.id} in {trace.source} is of node {record.node}, and the "
            f"header lists {len(nodes)}; correct the program that wrote it"
        )
    node = nodes[record.node - 1] if record.node else ""
    kind = INITIAL if number == 0 else _KINDS[record.kind]
    return Event(number, kind, node, record.action or "", record.params, record.state, record.told)


def _damage(end: delta.End, detail: str) -> str | None:
    """Why a trace with this end record must not be judged; `detail` as in `Stored`."""
    damage = None
    if not end.checksum_right:
        damage = BAD_SUM
    elif not end.count_right:
        damage = MISSING_STEPS
    elif end.capacity:
        damage = CAPACITY
    return f"{damage} ({detail})" if damage in (BAD_SUM, CAPACITY) and detail else damage
