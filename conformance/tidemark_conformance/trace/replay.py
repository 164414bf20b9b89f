"""A delta stream as states: what every record says, with the values of all variables after it (ghosts apart)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.kernels.stream import End, Malformed, Record, records
from tidemark_conformance.tla.types import Misfit, decode
from tidemark_conformance.tla.values import Value
from tidemark_conformance.trace.schema import Schema


@dataclass(frozen=True, slots=True)
class Event:
    """One record: `kind` as in `kernels.stream`, `action` None where it has none, `state` after it."""

    kind: int
    action: str | None
    params: tuple[Value, ...]
    node: int
    state: dict[str, Value]


def events(stream: bytes, schema: Schema) -> Iterator[Event]:
    """The records of a stream that is whole, the initial state first, the end record left out.

    Raises Unusable for a stream that is none of the schema's.
    """
    layout = schema.layout
    variables = [variable for variable in layout.variables if not variable.ghost]
    cells = [0] * layout.base_cells
    state: dict[str, Value] = {}
    step = 0
    try:
        for record in records(stream, layout.base_cells, schema.arities):
            if isinstance(record, End):
                return
            touched = {layout.variable_of[cell] for cell, _ in record.delta}
            for cell, value in record.delta:
                cells[cell] = value
            state = {
                variable.name: decode(variable.type, cells, variable.offset)
                if step == 0 or place in touched
                else state[variable.name]
                for place, variable in enumerate(variables)
            }
            yield _event(record, state, schema)
            step += 1
    except (Malformed, Misfit, IndexError) as problem:
        raise Unusable(f"step {step} of a trace means nothing under {schema.header.spec} ({problem})") from None


def _event(record: Record, state: dict[str, Value], schema: Schema) -> Event:
    if record.action < 0:
        return Event(record.kind, None, (), record.node, state)
    name = schema.actions[record.action]
    domains = schema.parameters[name].domains
    params = tuple(domain[index] for domain, index in zip(domains, record.params, strict=True))
    return Event(record.kind, name, params, record.node, state)
