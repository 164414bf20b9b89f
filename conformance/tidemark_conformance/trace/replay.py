"""A delta stream as states: every record, with the values of all variables that traces carry after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.kernels.stream import End, Malformed, Record
from tidemark_conformance.tla.types import Misfit, decode
from tidemark_conformance.tla.values import ModelValue, Value
from tidemark_conformance.trace.beyond import Beyond, of_record
from tidemark_conformance.trace.observing import Observing, Told
from tidemark_conformance.trace.schema import Schema

UNKNOWN = ModelValue("?")
"""Stands for a parameter's value that a stream does not keep."""


@dataclass(frozen=True, slots=True)
class Event:
    """One record: `kind` as in `kernels.stream`, `action` None where it has none, `state` after it, as far as traces
    carry it. `told`: its observations."""

    kind: int
    action: str | None
    params: tuple[Value, ...]
    node: int
    state: dict[str, Value]
    told: tuple[Told, ...] = ()


class BeyondLimit(Exception):
    """A record brings a value beyond a limit: `beyond` names it; `event` is the record, with the state before it."""

    def __init__(self, beyond: Beyond, event: Event) -> None:
        super().__init__(beyond.what)
        self.beyond, self.event = beyond, event


def events(stream: bytes, schema: Schema) -> Iterator[Event]:
    """The records of a stream that is whole, the initial state first, the end record left out.

    Raises Unusable for a stream that is none of the schema's.
    """
    step = 0
    try:
        for event in replayed(stream, schema):
            if isinstance(event, End):
                return
            yield event
            step += 1
    except (Malformed, Misfit, BeyondLimit) as problem:
        raise Unusable(f"step {step} of a trace means nothing under {schema.header.spec} ({problem})") from None


def beyond_limit(stream: bytes, schema: Schema) -> Beyond | None:
    """The first value of a stream beyond a limit; None where there is none, or damage comes before it."""
    try:
        for _ in replayed(stream, schema):
            pass
    except BeyondLimit as problem:
        return problem.beyond
    except (Malformed, Misfit):
        pass
    return None


def beyond_at(stream: bytes, schema: Schema, step: int) -> Beyond | None:
    """The value beyond a limit that the record of this step brings; None where it brings none, or no record is there.

    The states before it are not looked at, so a long trace costs little.
    """
    cells = [0] * schema.layout.base_cells
    try:
        for at, record in enumerate(schema.records(stream)):
            if isinstance(record, End) or at > step:
                return None
            for cell, value in record.delta:
                cells[cell] = value
            if at == step:
                return of_record(record, step, cells, schema)
    except Malformed:
        pass
    return None


def replayed(stream: bytes, schema: Schema) -> Iterator[Event | End]:
    """The records of any stream as far as they mean something, the initial state first, the End last.

    Raises Malformed where the bytes are no stream of the schema's. Raises BeyondLimit for a value that TypeOK does not
    allow, or a parameter outside its domain. Raises Misfit for cells that encode no value.
    """
    layout = schema.layout
    variables = [(place, variable) for place, variable in enumerate(layout.variables) if variable.carried]
    observing = Observing(schema.observables) if schema.observables is not None else None
    cells = [0] * layout.base_cells
    state: dict[str, Value] = {}
    for step, record in enumerate(schema.records(stream)):
        if isinstance(record, End):
            yield record
            return
        for cell, value in record.delta:
            cells[cell] = value
        beyond = of_record(record, step, cells, schema)
        if beyond is not None:
            raise BeyondLimit(beyond, _event(record, state, schema, ()))
        touched = {layout.variable_of[cell] for cell, _ in record.delta}
        state = {
            variable.name: decode(variable.type, cells, variable.offset)
            if not state or place in touched
            else state[variable.name]
            for place, variable in variables
        }
        told = tuple(observing.told(record.told)) if observing is not None else ()
        yield _event(record, state, schema, told)


def _event(record: Record, state: dict[str, Value], schema: Schema, told: tuple[Told, ...]) -> Event:
    if record.action < 0:
        return Event(record.kind, None, (), record.node, state, told)
    name = schema.actions[record.action]
    domains = schema.parameters[name].domains
    params = tuple(
        domain[place] if place < len(domain) else UNKNOWN for place, domain in zip(record.params, domains, strict=True)
    )
    return Event(record.kind, name, params, record.node, state, told)
