"""A state for display: the parts that matter of the variables that matter, and the names of the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby

from tidemark_conformance.explain.reads import Cell
from tidemark_conformance.explain.record import Shown, Variable
from tidemark_conformance.explain.text import index, is_record, value_text
from tidemark_conformance.tla.values import Fn, Value, in_order

NESTED = 72
"""A function of functions, or a sequence, is shown on one line as long as it takes at most so many characters."""
LONG = 400
"""A record of more characters than this is shown field by field."""


def shown_variables(
    state: Mapping[str, Value], cells: Iterable[Cell], ghosts: Collection[str]
) -> tuple[tuple[Variable, ...], tuple[str, ...]]:
    """The variables that `cells` name, each with the units that they name, and the names of the other variables."""
    wanted: dict[Value, list[Cell]] = {}
    for cell in cells:
        wanted.setdefault(cell[0], []).append(cell[1:])
    shown = []
    for name, value in state.items():
        if name in wanted:
            units = tuple(_units(value, wanted[name], ""))
            shown.append(Variable(name, units, name in ghosts, _folded(value, wanted[name])))
    return tuple(shown), tuple(name for name in state if name not in wanted)


def _units(value: Value, wanted: Sequence[Cell], path: str) -> list[Shown]:
    """The units below `path` that some cell of `wanted` (relative to `value`) names or lies in."""
    record = is_record(value)
    everything = record or any(not cell for cell in wanted)
    named = [
        (key, part, tuple([cell[1:] for cell in wanted if cell and cell[0] == key] + [()] * everything))
        for key, part in _parts(value)
    ]
    units: list[Shown] = []
    for (first, part, inner), last in _runs(named, isinstance(value, tuple)):
        place = index(path, first, record) if first == last else f"{path}[{first}..{last}]"
        if () in inner and len(value_text(part)) <= NESTED:
            units.append(Shown(place, value_text(part)))
        else:
            units += _units(part, inner, place)
    return units or [Shown(path, value_text(value))]


Named = tuple[Value, Value, tuple[Cell, ...]]
"""A part of a value with its key, and what of it is wanted."""


def _runs(named: Iterable[Named], sequence: bool) -> Iterable[tuple[Named, Value]]:
    """The parts of which anything is wanted, and the key of each; equal neighbours in a sequence are one, with the last
    one's key."""
    for _, run in groupby(named, lambda one: one[1:] if sequence else one[0]):
        first, *further = run
        if first[2]:
            yield first, further[-1][0] if further else first[0]


def _parts(value: Value) -> list[tuple[Value, Value]]:
    """The parts that stand on lines of their own: a function's, and those of a long sequence or a long record."""
    if isinstance(value, Fn) and (not is_record(value) or len(value_text(value)) > LONG):
        return [(key, value[key]) for key in in_order(value)]
    if isinstance(value, tuple) and len(value) > 1 and len(value_text(value)) > NESTED:
        return list(enumerate(value, 1))
    return []


def _folded(value: Value, wanted: Sequence[Cell]) -> int:
    """How many of the value's parts no cell names; a record is not shown in part."""
    if is_record(value):
        return 0
    keys = [key for key, _ in _parts(value)]
    named = [key for key in keys if any(not cell or cell[0] == key for cell in wanted)]
    return len(keys) - len(named) if named else 0
