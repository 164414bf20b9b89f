"""NDJSON, second half: traces of lines to delta streams and back, by a specification's schema.

Damage goes through unhealed. A trace without an end record becomes a stream without one, a wrong sum a wrong sum. A
trace with missing steps becomes a stream whose record count is wrong. So the kernels judge both forms by one rule.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from crc32c import crc32c

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.kernels.stream import (
    BLOCKED,
    END,
    STUTTER,
    End,
    Malformed,
    Record,
    StreamWriter,
)
from tidemark_conformance.tla.layout import Parameters, Variable
from tidemark_conformance.tla.types import TFun, TInt, Type
from tidemark_conformance.tla.values import Value
from tidemark_conformance.trace.codec import (
    Exceeds,
    WrongKind,
    reader,
    unit_reader,
    unit_writer,
    writer,
)
from tidemark_conformance.trace.header import Json, dumps, shortened
from tidemark_conformance.trace.lines import BAD_SUM, MISSING_STEPS, NO_END, RawTrace
from tidemark_conformance.trace.observing import AFTER, BEFORE, Observing
from tidemark_conformance.trace.schema import Schema, written_domains

FIRST_KEYS = {"trace", "step", "state", "node"}
STEP_KEYS = {"trace", "step", "node", "action", "params", "delta", "blocked"}


MOST_RECORDS = 1 << 62
"""The most records that the end of a delta stream can claim."""


class _Writer(StreamWriter):
    """A writer that also takes records that claim to change nothing but do; the check judges them."""

    def still(
        self, kind: int, action: int, params: Sequence[int], node: int, pairs: list[tuple[int, int]], told: bytes
    ) -> None:
        """A blocked attempt or a stutter, with the (cell, value) pairs that changed all the same."""
        self._record(kind, action, params, node)
        self._delta(sorted(pair for pair in pairs if self._state[pair[0]] != pair[1]))
        self._tell(told)


class LineReader:
    """Turns traces of one NDJSON file into delta streams. `nodes` are those of the file's header, `where` names it,
    `place` makes the number of a trace's line that of a line of the file.

    `detail`: why the last trace's sum is bad, or which capacity it exceeds, in a few words; else empty. `capacity`:
    whether the last trace met a value beyond a capacity, by its own word or by ours.
    """

    def __init__(self, schema: Schema, nodes: Sequence[str], where: str, place: Callable[[int], int] = int) -> None:
        self._schema = schema
        self._where = where
        self._place = place
        self.detail = ""
        self.capacity = False
        self._observing = Observing(schema.observables) if schema.observables is not None else None
        self._nodes = {name: index + 1 for index, name in enumerate(nodes)}
        self._variables = {v.name: _variable_reader(v) for v in schema.layout.variables if v.carried}
        self._first = {v.name: (v.offset, reader(v.type)) for v in schema.layout.variables if v.carried}
        self._computed = {v.name: "history" if v.ghost else "hidden" for v in schema.layout.variables if not v.carried}
        some = self._observing is not None
        self._first_keys = FIRST_KEYS | ({AFTER} if some else set())
        self._step_keys = STEP_KEYS | ({BEFORE, AFTER} if some else set())
        self._actions = {
            name: (index, _parameter_indices(parameters))
            for index, (name, parameters) in enumerate(schema.parameters.items())
        }

    def stream(self, raw: RawTrace) -> tuple[int, bytes]:
        """A trace's number of steps (records after the initial one) and its delta stream, damaged as the trace is.

        Raises Unusable for a line that cannot be meant so (unknown action, parameter out of its domain, ...) in a trace
        whose sum is right. In a trace whose sum is wrong or absent the stream ends before such a line.
        """
        if raw.wrong is not None and raw.damage in (None, MISSING_STEPS):
            number, what = raw.wrong
            raise Unusable(f"{self._where}:{self._place(number)}: {what}; correct the program that wrote the trace")
        out = _Writer(self._schema.layout.base_cells, self._schema.arities, self._observing is not None)
        capacity = False
        self.detail = raw.detail
        for event, number in zip(raw.events, raw.numbers, strict=True):
            try:
                self._append(out, event, first=out.records == 0)
            except Exceeds as problem:
                capacity = True
                self.detail = self.detail or f"step {out.records}: {problem}, by TypeOK"
                break
            except WrongKind as problem:
                if raw.damage in (None, MISSING_STEPS):
                    raise Unusable(
                        f"{self._where}:{self._place(number)}: {problem}; correct the program that wrote the trace"
                    ) from None
                break
        return max(out.records - 1, 0), self._finished(out, raw, capacity)

    def _finished(self, out: _Writer, raw: RawTrace, capacity: bool) -> bytes:
        end = raw.end or {}
        written = out.records
        self.capacity = capacity or bool(end.get("capacity", False))
        whole = out.end(end.get("quiescent", False), self.capacity)
        if raw.damage is None:
            return whole
        body = whole[: len(whole) - _end_size(written)]
        if raw.damage == NO_END:
            return body
        if raw.damage == BAD_SUM:
            return whole[:-4] + bytes(byte ^ 0xFF for byte in whole[-4:])
        claimed = min(end["steps"] + 1, MOST_RECORDS)
        return with_end(body, whole[len(body) + 1], claimed + 1 if claimed == written else claimed)

    def _append(self, out: _Writer, event: dict[str, Json], first: bool) -> None:
        unknown = sorted(event.keys() - (self._first_keys if first else self._step_keys))
        try:
            if unknown:
                raise WrongKind(
                    f"a {'first' if first else 'later'} step has no key {unknown[0][:60]!r}{self._why(unknown)}"
                )
            if first:
                out.initial(self._initial(event), self._told(event))
            else:
                self._step(out, event)
        except WrongKind as problem:
            raise WrongKind(f"step {shortened(event.get('step'))} of trace {event['trace']}: {problem}") from None

    def _why(self, unknown: Sequence[str]) -> str:
        if self._observing is None and unknown[0] in (BEFORE, AFTER):
            return f": {self._schema.header.spec} defines no Observed beside Hidden"
        return ""

    def _told(self, event: dict[str, Json]) -> bytes:
        if self._observing is None:
            return b""
        return self._observing.entries(event.get(BEFORE), event.get(AFTER))

    def _initial(self, event: dict[str, Json]) -> list[int]:
        state = event.get("state", None if self._first else {})
        if type(state) is not dict:
            raise WrongKind("the first step carries no state")
        self._refuse_unknown(state)
        missing = [name for name in self._first if name not in state]
        if missing:
            raise WrongKind(f"the first state lacks the variable {missing[0]}")
        cells: list[int] = []
        for name, (_, read) in self._first.items():
            try:
                read(state[name], cells)
            except WrongKind as problem:
                raise WrongKind(f"variable {name}: {problem}") from None
            except Exceeds as problem:
                raise Exceeds(f"{name}: {problem}") from None
        return cells

    def _refuse_unknown(self, values: Mapping[str, Json]) -> None:
        for name in values:
            if name in self._computed:
                what = self._computed[name]
                raise WrongKind(f"{name} is a {what} variable, which the auditor computes and no trace carries")
            if name not in self._first:
                raise WrongKind(f"{self._schema.header.spec} has no variable {name[:60]}")

    def _step(self, out: _Writer, event: dict[str, Json]) -> None:
        node = self._node(event.get("node"))
        blocked = event.get("blocked", False)
        action = event.get("action")
        pairs = self._delta(event.get("delta", {}))
        told = self._told(event)
        if type(blocked) is not bool:
            raise WrongKind("`blocked` is neither true nor false")
        if action is None:
            if blocked or event.get("params"):
                raise WrongKind("a blocked attempt or parameters, but no action")
            out.still(STUTTER, -1, (), node, pairs, told)
            return
        if type(action) is not str or action not in self._actions:
            raise WrongKind(f"{self._schema.header.spec} has no action {shortened(action)}")
        index, parameters = self._actions[action]
        values = parameters(action, event.get("params", {}))
        if blocked:
            out.still(BLOCKED, index, values, node, pairs, told)
        else:
            out.step(index, values, node, pairs, told)

    def _node(self, name: Json) -> int:
        if name is None:
            return 0
        if type(name) is not str or name not in self._nodes:
            raise WrongKind(f"the header lists no node {shortened(name)}")
        return self._nodes[name]

    def _delta(self, delta: Json) -> list[tuple[int, int]]:
        if type(delta) is not dict:
            raise WrongKind("`delta` is no object")
        self._refuse_unknown(delta)
        pairs: list[tuple[int, int]] = []
        for name, value in delta.items():
            try:
                pairs += self._variables[name](value)
            except WrongKind as problem:
                raise WrongKind(f"variable {name}: {problem}") from None
            except Exceeds as problem:
                raise Exceeds(f"{name}: {problem}") from None
        return pairs


def _variable_reader(variable: Variable) -> Callable[[Json], list[tuple[int, int]]]:
    """Reads a variable's entry in a delta as pairs (cell, value)."""
    offset, width = variable.offset, variable.unit_size
    if isinstance(variable.type, TFun):
        units = unit_reader(variable.type)
        return lambda value: [
            (offset + unit * width + i, cell) for unit, cells in units(value) for i, cell in enumerate(cells)
        ]
    read = reader(variable.type)

    def whole(value: Json) -> list[tuple[int, int]]:
        cells: list[int] = []
        read(value, cells)
        return [(offset + i, cell) for i, cell in enumerate(cells)]

    return whole


def _parameter_indices(parameters: Parameters) -> Callable[[str, Json], list[int]]:
    """Reads an action's `params` as indices into their domains; the order of keys and of sets' elements is free."""
    tables = {
        name: {dumps(value): index for index, value in enumerate(domain)}
        for name, domain in written_domains(parameters).items()
    }
    kinds = dict(zip(parameters.names, zip(parameters.domains, parameters.types, strict=False), strict=False))
    if not kinds:  # if only a header declares a domain, nothing says which of its values are sets
        loose = {
            name: {_sorted(value): index for index, value in enumerate(domain)}
            for name, domain in written_domains(parameters).items()
        }

    def read(action: str, values: Json) -> list[int]:
        if type(values) is not dict or values.keys() != tables.keys():
            raise WrongKind(f"{action} takes the parameters {', '.join(tables) or '(none)'}, not {shortened(values)}")
        indices = []
        for name, table in tables.items():
            index = table.get(dumps(values[name]))
            if index is None:
                value = values[name]
                if kinds:
                    index = table.get(_canonical(kinds[name][1], value))
                    index = _outside(*kinds[name], value) if index is None else index
                else:
                    index = loose[name].get(_sorted(value))
            if index is None:
                raise WrongKind(f"{action}: parameter {name} = {shortened(values[name])} is outside its domain")
            indices.append(index)
        return indices

    return read


def _sorted(value: Json) -> str:
    """A value's text whatever the order of its keys, empty for one that is nested too deeply."""
    try:
        return json.dumps(value, sort_keys=True)
    except RecursionError:
        return ""


def _canonical(kind: Type, value: Json) -> str:
    """A value's one text by its type, empty for a value of another type."""
    cells: list[int] = []
    try:
        reader(kind)(value, cells)
    except (WrongKind, Exceeds):
        return ""
    return dumps(writer(kind)(cells, 0))


def _outside(domain: Sequence[Value], kind: Type, value: Json) -> int | None:
    """The index that stands for a value which the domain has not; None for a value of another kind than its."""
    try:
        reader(kind)(value, [])
    except (WrongKind, Exceeds):
        return None
    above = isinstance(kind, TInt) and kind.hi is not None and type(value) is int and value > kind.hi
    return len(domain) + above


def _end_size(count: int) -> int:
    """Bytes of an end record that counts `count` records."""
    return 1 + 1 + max(1, (count.bit_length() + 6) // 7) + 4


def with_end(body: bytes, flags: int, count: int) -> bytes:
    """The records `body` with an end record of these flags that claims `count` records, and the right sum."""
    out = bytearray(body)
    out += bytes((END, flags))
    while count > 0x7F:
        out.append(count & 0x7F | 0x80)
        count >>= 7
    out.append(count)
    out += crc32c(bytes(out)).to_bytes(4, "little")
    return bytes(out)


class LineWriter:
    """Turns delta streams into lines of NDJSON, for a file whose header lists `nodes`."""

    def __init__(self, schema: Schema, nodes: Sequence[str]) -> None:
        self._schema = schema
        self._observing = Observing(schema.observables) if schema.observables is not None else None
        self._nodes = nodes
        self._variables = [v for v in schema.layout.variables if v.carried]
        self._whole = [writer(v.type) for v in self._variables]
        self._units = [unit_writer(v.type) if isinstance(v.type, TFun) else None for v in self._variables]
        self._params = [(name, list(written_domains(one).items())) for name, one in schema.parameters.items()]

    def lines(self, trace: str, stream: bytes) -> list[bytes]:
        """The lines of a trace, without line feeds, damaged as the stream is.

        Raises Unusable for a stream that its sum proves whole and that means nothing under this schema.
        """
        lines: list[bytes] = []
        crc = 0
        try:
            for event, end in self._events(trace, stream):
                line = (dumps(event) if end is None else _end_line(trace, end, crc)).encode()
                crc = crc32c(line + b"\n", crc)
                lines.append(line)
        except (Malformed, WrongKind) as problem:
            if sum_is_right(stream):
                raise Unusable(f"trace {trace}: {problem}; correct the program that wrote its stream") from None
        return lines or [dumps({"trace": trace, "unreadable": True}).encode()]

    def _events(self, trace: str, stream: bytes) -> Iterator[tuple[dict[str, Json], End | None]]:
        cells = [0] * self._schema.layout.base_cells
        for step, record in enumerate(self._schema.records(stream)):
            if isinstance(record, End):
                yield {}, record
                return
            for cell, value in record.delta:
                cells[cell] = value
            event: dict[str, Json] = {"trace": trace, "step": step}
            if record.node:
                if record.node > len(self._nodes):
                    raise WrongKind(f"step {step} is of node {record.node}, and the header lists {len(self._nodes)}")
                event["node"] = self._nodes[record.node - 1]
            if step == 0:
                event["state"] = {
                    variable.name: write(cells, variable.offset)
                    for variable, write in zip(self._variables, self._whole, strict=True)
                }
            else:
                self._describe(event, record, cells)
            if self._observing is not None:
                event.update(self._observing.described(record.told))
            yield event, None

    def _describe(self, event: dict[str, Json], record: Record, cells: list[int]) -> None:
        if record.action >= 0:
            name, parameters = self._params[record.action]
            event["action"] = name
            event["params"] = {}
            for (formal, domain), index in zip(parameters, record.params, strict=True):
                if index >= len(domain):
                    raise WrongKind(
                        f"{name} has a value of the parameter {formal} outside its domain, which a stream does not keep"
                    )
                event["params"][formal] = domain[index]
        if record.kind == BLOCKED:
            event["blocked"] = True
        if record.delta:
            event["delta"] = self._delta([cell for cell, _ in record.delta], cells)

    def _delta(self, changed: list[int], cells: list[int]) -> dict[str, Json]:
        owner = self._schema.layout.variable_of
        touched: dict[int, dict[int, None]] = {}
        for cell in changed:
            variable = self._variables[owner[cell]]
            unit = (cell - variable.offset) // variable.unit_size
            touched.setdefault(owner[cell], {})[unit] = None
        delta: dict[str, Json] = {}
        for index, units in touched.items():
            variable, some = self._variables[index], self._units[index]
            if some is None:
                delta[variable.name] = self._whole[index](cells, variable.offset)
            else:
                delta[variable.name] = some(cells, variable.offset, list(units))
        return delta


def _end_line(trace: str, end: End, crc: int) -> str:
    if not end.checksum_right:
        crc ^= 0xFFFFFFFF
    final = {"steps": max(end.records - 1, 0), "quiescent": end.quiescent, "capacity": end.capacity}
    return dumps({"trace": trace, "end": final, "crc32c": format(crc, "08x")})


def sum_is_right(stream: bytes) -> bool:
    """Whether the stream ends in the CRC32C of all before it (so that nobody has damaged it since it was written)."""
    return len(stream) > 4 and crc32c(stream[:-4]) == int.from_bytes(stream[-4:], "little")


def damage_of(stream: bytes, schema: Schema) -> str | None:
    """NO_END, BAD_SUM or MISSING_STEPS, or None for a stream that is whole. (Capacities are the check's matter.)"""
    try:
        for record in schema.records(stream):
            if isinstance(record, End):
                return BAD_SUM if not record.checksum_right else None if record.count_right else MISSING_STEPS
    except Malformed:
        return BAD_SUM if sum_is_right(stream) else NO_END
    return NO_END
