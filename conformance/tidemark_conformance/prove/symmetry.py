"""Model values that a specification does not tell apart, and the instances of actions up to their exchange."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import z3

from tidemark_conformance.prove.terms import Atom, Symbolic
from tidemark_conformance.tla import ir, walk
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.values import Fn, ModelValue


def exchangeable(spec: Specification, claims: Iterable[ir.Expr]) -> dict[Any, str]:
    """Model value -> the constant whose elements may be exchanged.

    Every constant that a text reads stays the same when two of them change places: the texts of Init, of the actions
    and of `claims`.
    """
    actions = spec.module.actions
    bodies = [spec.module.type_ok, spec.module.init, *spec.module.initial_ghosts.values()]
    bodies += [expr for action in actions for expr in (action.body, *action.ghosts.values())]
    bodies += [param.domain for action in actions for param in action.params]
    bodies += claims
    named = {name for body in bodies for name in walk.constants_used(body)}
    read = [value for name, value in spec.constants.items() if name in named]
    found: dict[Any, str] = {}
    for name, value in spec.constants.items():
        values = value if isinstance(value, frozenset) else frozenset()
        if len(values) < 2 or not all(isinstance(one, ModelValue) for one in values):
            continue
        first = min(value)
        if all(_exchanged(one, first, other) == one for one in read for other in value):
            found.update(dict.fromkeys(value, name))
    return found


def representatives(rows: Iterable[dict[str, Symbolic]], swaps: Mapping[Any, str]) -> list[dict[str, Symbolic]]:
    """One of the parameters that exchanges of these values carry into each other, the first of each."""
    seen: set[tuple[object, ...]] = set()
    found = []
    for params in rows:
        key = _canonical(list(params.values()), swaps)
        if key not in seen:
            seen.add(key)
            found.append(params)
    return found


def _exchanged(value: Any, one: ModelValue, other: ModelValue) -> Any:
    """A value in which two model values have changed places."""
    if isinstance(value, ModelValue):
        return other if value is one else one if value is other else value
    if isinstance(value, frozenset):
        return frozenset(_exchanged(item, one, other) for item in value)
    if isinstance(value, tuple):
        return tuple(_exchanged(item, one, other) for item in value)
    if isinstance(value, Fn):
        return Fn({_exchanged(key, one, other): _exchanged(item, one, other) for key, item in value.items()})
    return value


def _canonical(values: Sequence[Symbolic], swaps: Mapping[Any, str]) -> tuple[object, ...]:
    """The values with exchangeable ones numbered in the order of their first use."""
    numbers: dict[Any, int] = {}
    found: list[object] = []
    for value in values:
        if isinstance(value, Atom) and value.value in swaps:
            home = swaps[value.value]
            numbers.setdefault(value.value, sum(1 for one in numbers if swaps[one] == home))
            found.append((home, numbers[value.value]))
        elif isinstance(value, Atom):
            found.append(value.value)
        elif isinstance(value, bool | int):
            found.append((type(value).__name__, value))
        elif z3.is_expr(value):
            found.append(str(value))
        else:
            found.append(id(value))
    return tuple(found)
