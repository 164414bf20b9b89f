"""Trace files without a judgement: header, types, sums, ids, and the first line of each file that is wrong.

Lint refuses the same input as an audit, and tells why a trace is UNDECIDED. Only the specification's checks can know
two things: whether a trace starts in Init, and whether a computed value exceeds its capacity. A value beyond a limit
that means something is told, too, though an audit fails its trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.kernels.stream import BLOCKED, STUTTER, End, Malformed, Record
from tidemark_conformance.tla.types import TFun, TInt, TRec, TSeq, TTuple, TUnion, Type, slots
from tidemark_conformance.trace.beyond import of_record
from tidemark_conformance.trace.codec import WrongKind
from tidemark_conformance.trace.declared import declared
from tidemark_conformance.trace.files import PARQUET, file_header, one_form
from tidemark_conformance.trace.header import Header
from tidemark_conformance.trace.lines import BAD_SUM, MISSING_STEPS, NO_END
from tidemark_conformance.trace.ndjson import LineReader, damage_of, sum_is_right
from tidemark_conformance.trace.observing import Observing
from tidemark_conformance.trace.ranges import Range
from tidemark_conformance.trace.replay import beyond_limit
from tidemark_conformance.trace.schema import Schema

CAPACITY = "capacity exceeded"
LIMIT = "a value beyond a limit of TypeOK that is no capacity"
BOUNDS = "a value beyond the header's bounds"
"""Of a header alone nobody knows whether the bound is a capacity."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A trace that no audit can decide, or with a value beyond a limit (LIMIT, BOUNDS).

    `line`: its first, 0 where there are no lines; `detail`: may be empty.
    """

    trace: str
    reason: str
    file: str
    line: int
    detail: str


@dataclass(slots=True)
class Linted:
    """The findings of a lint.

    `unusable`: file -> the sentence on the first thing in it that an audit refuses. `undecided`: reason -> how many
    traces, and the first. `steps`: those that traces claim to take.
    """

    files: int = 0
    traces: int = 0
    steps: int = 0
    unusable: dict[str, str] = field(default_factory=dict)
    undecided: dict[str, tuple[int, Damaged]] = field(default_factory=dict)

    def damaged(self, found: Damaged) -> None:
        """Count a trace that cannot be decided."""
        count, first = self.undecided.get(found.reason, (0, found))
        self.undecided[found.reason] = count + 1, first


def lint(files: Sequence[Path], shown: str, expected: Schema | None = None) -> Linted:
    """Look through trace files of one form. `shown` names them all; `expected`: the specification's schema, if there is
    one to compare with; else every file's header must be that of the first.

    Raises Unusable for no files, a name that says no form, and mixed forms.
    """
    form = one_form(map(str, files), shown)
    found = Linted()
    seen: dict[str, str] = {}
    first: tuple[Header, str] | None = None
    for path in files:
        found.files += 1
        try:
            header = file_header(path)
            schema = _schema(header, str(path), expected, first)
            first = first or (header, str(path))
            if form == PARQUET:
                _rows(path, schema, found, seen, first[0].nodes)
            else:
                _lines(path, schema, header, found, seen)
        except Unusable as problem:
            found.unusable[str(path)] = str(problem)
    if not found.unusable and (found.traces == 0 or (found.steps == 0 and not found.undecided)):
        what = "trace" if found.traces == 0 else "step of any trace"
        found.unusable[shown] = f"{shown} holds no {what}; an audit of nothing proves nothing"
    return found


def _schema(header: Header, where: str, expected: Schema | None, first: tuple[Header, str] | None) -> Schema:
    if expected is not None:
        header.require(expected.header, where)
        return expected
    schema = declared(header, where)
    if first is not None:
        try:
            header.require(first[0], where)
        except Unusable:
            raise Unusable(f"{where} has another header than {first[1]}; audit them one after the other") from None
    return schema


def _lines(path: Path, schema: Schema, header: Header, found: Linted, seen: dict[str, str]) -> None:
    reader = LineReader(schema, header.nodes, str(path))
    check = _checker(schema, len(header.nodes))
    for raw in Range(str(path)).traces()[1]:
        found.traces += 1
        found.steps += sum("action" in event and event.get("blocked") is not True for event in raw.events)
        stream = reader.stream(raw)[1]
        reason = raw.damage or _judged(stream, schema, check, f"trace {raw.id} in {path}")[0]
        if reason:
            reason, detail = _named(reason, stream, schema)
            found.damaged(Damaged(raw.id, reason, str(path), raw.first_line, reader.detail or detail))
        _once(raw.id, f"{path}:{raw.first_line}", seen)


def _once(trace: str, where: str, seen: dict[str, str]) -> None:
    before = seen.setdefault(trace, where)
    if before != where:
        raise Unusable(
            f"{where}: trace {trace} stands at {before} already (or its lines are apart); give every trace an id of "
            "its own and keep its lines together"
        )


def _rows(path: Path, schema: Schema, found: Linted, seen: dict[str, str], nodes: Sequence[str]) -> None:
    from tidemark_conformance.trace.parquet import read_header, read_rows

    if read_header(path).nodes != tuple(nodes):
        raise Unusable(f"{path} names other nodes than other parts; audit them one after the other")
    check = _checker(schema, len(nodes))
    for row, (trace, steps, stream) in enumerate(read_rows(path), 1):
        where = f"{path}, row {row}"
        found.traces += 1
        reason, taken, records = _judged(stream, schema, check, f"trace {trace} in {path}")
        found.steps += taken
        if reason:
            reason, detail = _named(reason, stream, schema)
            found.damaged(Damaged(trace, reason, str(path), 0, f"row {row}, {detail}" if detail else f"row {row}"))
        elif steps != records - 1:
            raise Unusable(f"the column `steps` of trace {trace} is not what its stream says; write it again")
        _once(trace, where, seen)


def _named(reason: str, stream: bytes, schema: Schema) -> tuple[str, str]:
    """The reason and a few words on it: of a value beyond a limit, which value and which kind of limit."""
    beyond = beyond_limit(stream, schema) if reason == BOUNDS else None
    if beyond is None:
        return CAPACITY if reason == BOUNDS else reason, ""
    return (BOUNDS if not schema.limits else LIMIT if beyond.wrong else CAPACITY), str(beyond)


def _judged(stream: bytes, schema: Schema, check: Callable[[Record, int], str], where: str) -> tuple[str, int, int]:
    """Why a stream cannot be decided ("": it can; BOUNDS: a value is beyond one), the steps that it claims to take,
    and its records."""
    taken = records = 0
    if not sum_is_right(stream):
        return damage_of(stream, schema) or BAD_SUM, 0, 0
    try:
        for record in schema.records(stream):
            if isinstance(record, End):
                reason = MISSING_STEPS if not record.count_right else CAPACITY if record.capacity else ""
                return reason if records else MISSING_STEPS, taken, records
            reason = check(record, records)
            if reason:
                return reason, taken, records
            taken += record.kind not in (STUTTER, BLOCKED)
            records += 1
    except (Malformed, WrongKind) as problem:
        if "no end record" in str(problem):
            return NO_END, taken, records
        raise Unusable(
            f"{where} has a record that means nothing, though its checksum is right ({problem}); correct the program "
            "that wrote it"
        ) from None
    return NO_END, taken, records


def _checker(schema: Schema, nodes: int) -> Callable[[Record, int], str]:
    """Looks at one record, given with its number: raises Malformed for one without meaning, else returns why the trace
    cannot be decided."""
    lows, highs = schema.layout.lows, schema.layout.highs
    domains = [[len(domain) for domain in one.domains] for one in schema.parameters.values()]
    names = schema.actions
    observing = Observing(schema.observables) if schema.observables is not None else None
    places = schema.layout.variable_of
    hiding = {place for place, variable in enumerate(schema.layout.variables) if _hides(variable.type)}
    cells = [0] * schema.layout.base_cells

    def check(record: Record, number: int) -> str:
        if number == 0 and record.kind != STUTTER:
            raise Malformed("the first record is no state")
        if record.node > nodes:
            raise Malformed(f"record {number} is of node {record.node}, and the header lists {nodes}")
        if record.action >= 0:
            over = [index - size for index, size in zip(record.params, domains[record.action], strict=True)]
            if max(over, default=-1) > 1:  # two places behind the last stand for values that the domain has not
                raise Malformed(f"record {number} has a parameter of {names[record.action]} out of its domain")
            if max(over, default=-1) >= 0:
                return BOUNDS
        if any(not lows[cell] <= value <= highs[cell] for cell, value in record.delta):
            return BOUNDS
        if hiding:
            if number == 0:
                cells[:] = [0] * len(cells)
            for cell, value in record.delta:
                cells[cell] = value
            touched = any(places[cell] in hiding for cell, _ in record.delta)
            if touched and of_record(record, number, cells, schema) is not None:
                return BOUNDS
        if observing is not None:
            observing.told(record.told)
        return ""

    return check


def _hides(kind: Type, padded: bool = False) -> bool:
    """Whether a value holds integers that cannot be 0 where the cells' bounds allow it, because 0 also means unused."""
    match kind:
        case TInt(lo, hi):
            return padded and ((lo or 0) > 0 or (hi or 0) < 0)
        case TSeq(elem, _):
            return _hides(elem, True)
        case TFun(_, _, target):
            return _hides(target, padded)
        case TRec(fields):
            return any(_hides(part, padded) for _, part in fields)
        case TTuple(parts):
            return any(_hides(part, padded) for part in parts)
        case TUnion():
            return any(_hides(slot.type, True) for slot in slots(kind))
    return False


def problems(found: Linted) -> Iterator[str]:
    """A sentence for every finding, the unusable ones first."""
    yield from found.unusable.values()
    for reason, (count, one) in sorted(found.undecided.items()):
        where = f"{one.file}:{one.line}" if one.line else one.file
        more = f"; {count - 1:,} more traces likewise" if count > 1 else ""
        detail = f" ({one.detail})" if one.detail else ""
        said = f"has {reason}" if reason in (LIMIT, BOUNDS) else f"is undecided in every audit: {reason}"
        yield f"{where}: trace {one.trace} {said}{detail}{more}"
