"""A recorder for any protocol: the state is a row of units, and every step says which of them it may have changed.

A protocol brings its `Unit`s (how the key of each is read off the implementation, and of what kind it is), and for
every step the units to look at. A kind says what cells a key stands for: a `Leaf` computes them; `Parts` is a row of
kinds, and its keys are tuples of theirs, so that of a large unit only what has changed is looked at. What leads from
one key of a leaf to another is kept, for all units of the kind in all runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import compress
from operator import ne
from typing import Any, NamedTuple

from tidemark.cells import CapacityExceeded, Cells
from tidemark.sim.stream import BLOCKED, STEP, STUTTER, VARINT, ZIGZAG, Difference, difference, finished

MOST_KNOWN = 100_000
"""So many differences of a leaf are kept before they are forgotten."""

Key = Hashable
"""What cells depend on."""


class Leaf(dict[tuple[Any, Any], Difference]):
    """Cells that are computed together: what leads from one key to another, each made once.

    Places count from the leaf's first cell. `cells`: from a key to its cells; raises CapacityExceeded.
    """

    def __init__(self, cells: Callable[[Any], Cells]) -> None:
        super().__init__()
        self.cells = cells

    def __missing__(self, keys: tuple[Any, Any]) -> Difference:
        if len(self) >= MOST_KNOWN:
            self.clear()
        old, new = keys
        found = self[keys] = difference(self.cells(old), self.cells(new), 0)
        return found

    def differences(self, place: int, old: Any, new: Any, found: list[Difference]) -> None:
        """Add what leads from one key to another, of a leaf whose first cell is number `place`, if any cell differs."""
        changed, first, ending, end = self[old, new]
        if changed:
            found.append((changed, place + first, ending, place + end))

    def all_cells(self, key: Any) -> Cells:
        """The cells of a key."""
        return self.cells(key)


class Parts:
    """A row of kinds, each with the place of its first cell in the whole, in ascending order; a key is the tuple of
    theirs."""

    __slots__ = ("numbers", "parts", "width")

    def __init__(self, width: int, parts: Sequence[tuple[int, Kind]]) -> None:
        self.width = width
        self.parts = tuple(parts)
        self.numbers = range(len(self.parts))

    def differences(self, place: int, old: Any, new: Any, found: list[Difference]) -> None:
        """As a leaf's."""
        for number in compress(self.numbers, map(ne, old, new)):
            offset, kind = self.parts[number]
            if type(kind) is Leaf:  # most are, and a call less counts here
                changed, first, ending, end = kind[old[number], new[number]]
                if changed:
                    offset += place
                    found.append((changed, offset + first, ending, offset + end))
            else:
                kind.differences(place + offset, old[number], new[number], found)

    def all_cells(self, key: Any) -> Cells:
        """The cells of a key; those of no part are 0."""
        cells = [0] * self.width
        for (offset, kind), one in zip(self.parts, key, strict=True):
            part = kind.all_cells(one)
            cells[offset : offset + len(part)] = part
        return tuple(cells)


Kind = Leaf | Parts


class Unit(NamedTuple):
    """`first`: its first cell; `kind`: what its keys stand for."""

    first: int
    kind: Kind


class UnitPlan:
    """What the recorders of a trace header share: `units` in the order of their cells.

    `nodes_of`: formal name of an action's first parameter -> the number of the node that each of its values is; other
    actions happen nowhere. Parameters are given as numbers: of a name its place in the sorted domain, of a set the mask
    over the sorted names, of a function the tuple of its values.
    """

    def __init__(
        self,
        header: Mapping[str, Any],
        units: Sequence[Unit],
        nodes_of: Mapping[str, Sequence[int]],
        nowhere: Callable[[str], bool],
    ) -> None:
        self.units = tuple(units)
        self.steps: dict[tuple[Any, ...], bytes] = {}
        self.refusals: dict[tuple[Any, ...], bytes] = {}
        self._beginnings: dict[tuple[Any, ...], bytes] = {}
        self._actions = {action["name"]: (number, action["params"]) for number, action in enumerate(header["actions"])}
        self._domains: dict[tuple[str, str], dict[Any, int]] = {}
        self._nodes_of = nodes_of
        self._nowhere = nowhere

    def beginning(self, keys: tuple[Any, ...]) -> bytes:
        """The first record of a trace, by the keys of all units."""
        found = self._beginnings.get(keys)
        if found is None:
            cells = [cell for unit, key in zip(self.units, keys, strict=True) for cell in unit.kind.all_cells(key)]
            out = bytearray([STUTTER, 0]) + VARINT[sum(1 for cell in cells if cell)]
            behind = 0
            for index, cell in enumerate(cells):
                if cell:
                    out += VARINT[index - behind] + ZIGZAG[cell]
                    behind = index + 1
            found = self._beginnings[keys] = bytes(out)
        return found

    def step(self, what: tuple[Any, ...]) -> bytes:
        """The bytes of a step, without its delta. Raises CapacityExceeded for a parameter outside its domain, and
        ValueError for an action that the header has not."""
        found = self.steps[what] = self._encode(STEP, what)
        return found

    def refusal(self, what: tuple[Any, ...]) -> bytes:
        """The bytes of a blocked attempt, its empty delta included. Raises as `step` does."""
        found = self.refusals[what] = self._encode(BLOCKED, what) + b"\0"
        return found

    def _encode(self, kind: int, what: tuple[Any, ...]) -> bytes:
        name, *values = what
        number, params = self._actions.get(name, (0, None))
        if params is None or len(params) != len(values):
            raise ValueError(f"the header has no action {name} with {len(values)} parameters")
        first = next(iter(params), "")
        node = 0 if self._nowhere(name) or first not in self._nodes_of else self._nodes_of[first][values[0]] + 1
        out = bytearray(VARINT[kind + 4 * (number + 1)] + VARINT[node])
        for (formal, domain), value in zip(params.items(), values, strict=True):
            places = self._domains.get((name, formal))
            if places is None:
                places = self._domains[name, formal] = _places(domain)
            if value not in places:
                raise CapacityExceeded(f"parameter {formal} of {name}: {value}")
            out += VARINT[places[value]]
        return bytes(out)


class UnitRecorder:
    """Writes one trace. `keys`: per unit what reads its key. `records` counts what was written, the initial state
    included; `changing` the steps that changed something."""

    __slots__ = ("_kept", "_keys", "_out", "_plan", "changing", "records")

    def __init__(self, plan: UnitPlan, keys: Sequence[Callable[[], Any]]) -> None:
        self.records = 0
        self.changing = 0
        self._plan = plan
        self._keys = keys
        self._out = bytearray()
        self._kept: list[Any] = []

    def begin(self) -> None:
        """The first record: the whole state as it is."""
        self._kept = [key() for key in self._keys]
        self._out = bytearray(self._plan.beginning(tuple(self._kept)))
        self.records = 1

    def step(self, units: Sequence[int], what: tuple[Any, ...]) -> None:
        """A handler has run: `what` is its action and the parameters' values, `units` what it may have changed, in
        ascending order. Raises CapacityExceeded, and then the trace must end as it was before."""
        out, kept, keys, plan = self._out, self._kept, self._keys, self._plan
        found: list[Difference] = []
        for number in units:
            key = keys[number]()
            before = kept[number]
            if key != before:
                first, kind = plan.units[number]
                kind.differences(first, before, key, found)
                kept[number] = key
        out += plan.steps.get(what) or plan.step(what)
        self.records += 1
        if found:
            self.changing += 1
            count = behind = 0
            delta = b""
            for changed, start, ending, end in found:
                delta += VARINT[start - behind] + ending
                behind = end
                count += changed
            out += VARINT[count]
            out += delta
        else:
            out.append(0)

    def blocked(self, *what: Any) -> None:
        """A rule refused an action; nothing has changed yet."""
        self._out += self._plan.refusals.get(what) or self._plan.refusal(what)
        self.records += 1

    def end(self, quiescent: bool, capacity: bool) -> bytes:
        """The end record; returns the whole stream."""
        return finished(self._out, self.records, quiescent, capacity)

    def full_state(self) -> list[int]:
        """Every cell, computed afresh: what a test compares the written deltas with."""
        return [
            cell for unit, key in zip(self._plan.units, self._keys, strict=True) for cell in unit.kind.all_cells(key())
        ]


def _places(domain: Sequence[Any]) -> dict[Any, int]:
    """The number of each value of a sorted domain, by what `UnitPlan` says that values are given as."""
    first = domain[0]
    if isinstance(first, str):
        return {place: place for place in range(len(domain))}
    if isinstance(first, list):
        names = sorted({name for one in domain for name in one})
        return {sum(1 << names.index(name) for name in one): place for place, one in enumerate(domain)}
    if isinstance(first, dict):
        return {tuple(one[name] for name in sorted(one)): place for place, one in enumerate(domain)}
    return {one: place for place, one in enumerate(domain)}
