"""A state for display: the variables that matter, part by part, and the names of the others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tidemark_conformance.explain.record import Shown, Variable
from tidemark_conformance.explain.text import is_record, parts, value_text
from tidemark_conformance.tla.values import Fn, Value

NESTED = 72
"""A function of functions is shown on one line as long as it takes at most so many characters."""


def shown_variables(
    state: Mapping[str, Value], matter: Collection[str], ghosts: Sequence[str], at_least: int = 1
) -> tuple[tuple[Variable, ...], tuple[str, ...]]:
    """The variables that matter with their units (all, if fewer than `at_least` matter), and the names of the rest."""
    chosen = [name for name in state if name in matter]
    if len(chosen) < at_least:
        chosen = list(state)
    shown = tuple(Variable(name, tuple(_units(state[name])), name in ghosts) for name in chosen)
    return shown, tuple(name for name in state if name not in chosen)


def _units(value: Value) -> list[Shown]:
    if not isinstance(value, Fn) or is_record(value):
        return [Shown("", value_text(value))]
    units: list[Shown] = []
    for key, part in parts(value):
        text = value_text(part)
        if isinstance(part, Fn) and not is_record(part) and len(text) > NESTED:
            units += [Shown(f"{value_text(key)}, {value_text(inner)}", value_text(leaf)) for inner, leaf in parts(part)]
        else:
            units.append(Shown(value_text(key), text))
    return units
