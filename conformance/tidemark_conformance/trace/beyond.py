"""Values beyond the limits of TypeOK, found in a stream and named: which value, at which step, by which limit.

The kernels say that there is one; here one trace is read again to say which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidemark_conformance.tla import limits
from tidemark_conformance.tla.kernels.stream import Record
from tidemark_conformance.tla.limits import NO_NUMBER, Ends, Limit, Tree
from tidemark_conformance.tla.types import TAtom, TFun, TInt, TRec, TSeq, TSet, TTuple, TUnion, Type, size, slots
from tidemark_conformance.tla.values import show
from tidemark_conformance.trace.schema import Schema


@dataclass(frozen=True, slots=True)
class Beyond:
    """The first value of a trace beyond a limit.

    `wrong`: the limit means something, so that the trace fails; else it is a capacity, and nothing can be said.
    `parameter`: it is an action's, which no step of that action has; `what` names value and limit.
    """

    step: int
    wrong: bool
    parameter: bool
    what: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.what}"


def of_record(record: Record, step: int, cells: Sequence[int], schema: Schema) -> Beyond | None:
    """The value beyond its limit that a record brings, the wrong one of several; `cells`: the state after it."""
    found = list(_parameters(record, step, schema))
    layout = schema.layout
    for place in sorted({layout.variable_of[cell] for cell, _ in record.delta}):
        variable = layout.variables[place]
        tree = schema.limits.get(variable.name)
        for what, limit in _values(variable.type, tree, cells, variable.offset, variable.name):
            found.append(Beyond(step, not limit.capacities, False, f"{what}; {_allows(limit, _by(schema))}"))
    return next((one for one in found if one.wrong), found[0] if found else None)


def _parameters(record: Record, step: int, schema: Schema) -> Iterator[Beyond]:
    if record.action < 0:
        return
    name = schema.actions[record.action]
    parameters = schema.parameters[name]
    ends = schema.domains.get(name) or [Ends(Limit(0), Limit(0))] * len(parameters.names)
    for formal, domain, index, one in zip(parameters.names, parameters.domains, record.params, ends, strict=True):
        if index < len(domain):
            continue
        limit = one.high if index > len(domain) else one.low
        above = f", above {show(domain[-1])}" if index > len(domain) else ""
        what = f"the parameter {formal} of {name} is outside its domain{above}"
        yield Beyond(step, not limit.capacities, True, f"{what}; {_allows(limit, _by(schema), False)}")


def _by(schema: Schema) -> str:
    """The source of limits that are no capacity. A schema made from a header alone has no limits from TypeOK."""
    return "TypeOK" if schema.limits else "the header"


def _allows(limit: Limit, by: str, value: bool = True) -> str:
    if limit.value == NO_NUMBER:
        return f"{by} allows no other"
    most = f" {limit.value}" if value else " no more"
    if limit.capacities:
        return f"the capacity {' and '.join(limit.capacities)} allows{most}{_at(limit)}"
    return f"{by} allows{most}{_at(limit)}" if value else f"the action has no such parameter{_at(limit)}"


def _at(limit: Limit) -> str:
    return f" ({limit.place})" if limit.place else ""


def _values(kind: Type, tree: Tree, cells: Sequence[int], at: int, path: str) -> Iterator[tuple[str, Limit]]:
    """The values beyond a limit in the cells that a value of this type uses, each with the limit."""
    match kind:
        case TInt(lo, hi):
            ends = tree if isinstance(tree, Ends) else Ends(Limit(lo or 0), Limit(hi or 0))
            if lo is not None and cells[at] < lo:
                yield f"{path} is {cells[at]}", ends.low
            elif hi is not None and cells[at] > hi:
                yield f"{path} is {cells[at]}", ends.high
        case TAtom(members) if cells[at] >= len(members):
            names = ", ".join(map(show, members[:8]))
            yield f"{path} is none of {names}{', ...' if len(members) > 8 else ''}", Limit(NO_NUMBER)
        case TSet(_, members):
            if cells[at] >> len(members):
                yield f"{path} holds an element that is not possible", limits.of_elements(tree).high
        case TSeq(elem, cap):
            length = cells[at]
            if length > cap:
                most = tree.length if isinstance(tree, limits.Many) and tree.length else Limit(cap)
                yield f"{path} has {length} elements", most
            for number in range(min(length, cap)):
                where = at + 1 + number * size(elem)
                yield from _values(elem, limits.element(tree), cells, where, f"{path}[{number + 1}]")
        case TFun(domain, _, target):
            for number, key in enumerate(domain):
                where = at + number * size(target)
                yield from _values(target, limits.element(tree), cells, where, f"{path}[{show(key)}]")
        case TRec(fields):
            for name, part in fields:
                yield from _values(part, limits.within(tree, name), cells, at, f"{path}.{name}")
                at += size(part)
        case TTuple(parts):
            for number, part in enumerate(parts):
                yield from _values(part, limits.within(tree, number), cells, at, f"{path}[{number + 1}]")
                at += size(part)
        case TUnion():
            for slot in slots(kind):
                if cells[at] in slot.tags:
                    inner = limits.of_slot(tree, kind, slot)
                    yield from _values(slot.type, inner, cells, at + slot.offset, f"{path}.{slot.name}")
