"""A delta stream as states: what every record says, with the values of all variables that traces carry after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.kernels.stream import End, Malformed, Record
from tidemark_conformance.tla.types import Misfit, decode
from tidemark_conformance.tla.values import Value
from tidemark_conformance.trace.observing import Observing, Told
from tidemark_conformance.trace.schema import Schema


class OutOfDomain(Exception):
    """A record has a parameter outside its domain; the message is the action's name."""


@dataclass(frozen=True, slots=True)
class Event:
    """One record: `kind` as in `kernels.stream`, `action` None where it has none, `state` after it, as far as traces
    carry it; `told`: what was observed."""

    kind: int
    action: str | None
    params: tuple[Value, ...]
    node: int
    state: dict[str, Value]
    told: tuple[Told, ...] = ()


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
    except (Malformed, Misfit, OutOfDomain) as problem:
        said = f"a parameter of {problem} is outside its domain" if isinstance(problem, OutOfDomain) else problem
        raise Unusable(f"step {step} of a trace means nothing under {schema.header.spec} ({said})") from None


def replayed(stream: bytes, schema: Schema) -> Iterator[Event | End]:
    """The records of any stream as far as they mean something, the initial state first, the End last.

    Raises Malformed where the bytes are no stream of the schema's, Misfit for a value that TypeOK does not allow, and
    OutOfDomain.
    """
    layout = schema.layout
    variables = [(place, variable) for place, variable in enumerate(layout.variables) if variable.carried]
    observing = Observing(schema.observables) if schema.observables is not None else None
    cells = [0] * layout.base_cells
    state: dict[str, Value] = {}
    for record in schema.records(stream):
        if isinstance(record, End):
            yield record
            return
        touched = {layout.variable_of[cell] for cell, _ in record.delta}
        for cell, value in record.delta:
            low, high = layout.lows[cell], layout.highs[cell]
            if not low <= value <= high:
                name = layout.variables[layout.variable_of[cell]].name
                raise Misfit(f"a cell of {name} is {value}, TypeOK allows {low}..{high}")
            cells[cell] = value
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
    if any(place >= len(domain) for place, domain in zip(record.params, domains, strict=True)):
        raise OutOfDomain(name)
    params = tuple(domain[place] for place, domain in zip(record.params, domains, strict=True))
    return Event(record.kind, name, params, record.node, state, told)
