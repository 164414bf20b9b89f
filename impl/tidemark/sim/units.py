"""A recorder for any protocol: the state is a row of units, and every step says which of them it may have changed.

A protocol brings the kind of each variable's units, what reads their keys off the implementation, and which of them
each action may have changed. A kind says what cells a key stands for: a `Leaf` computes them; `Parts` is a row of
kinds, and its keys are tuples of theirs, so that of a large unit only what has changed is looked at. What leads from
one key of a leaf to another is kept, for all units of the kind in all runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import compress, product
from operator import ne
from typing import Any, NamedTuple

from tidemark.cells import CapacityExceeded, Cells
from tidemark.sim.stream import BLOCKED, STEP, STUTTER, VARINT, ZIGZAG, Difference, difference, finished

MOST_KNOWN = 20_000
"""So many differences of a leaf are kept before they are forgotten; more are slower to find than to make."""

Key = Hashable
"""What cells depend on."""


class Leaf(dict[tuple[Any, Any], Difference]):
    """Cells that are computed together: what leads from one key to another, each made once, and so are the cells of a
    key, which is new first and then old.

    Places count from the leaf's first cell. `cells`: from a key to its cells; raises CapacityExceeded.
    """

    def __init__(self, cells: Callable[[Any], Cells]) -> None:
        super().__init__()
        self.cells = cells
        self._made: dict[Any, Cells] = {}

    def __missing__(self, keys: tuple[Any, Any]) -> Difference:
        if len(self) >= MOST_KNOWN:
            self.clear()
            self._made.clear()
        made = self._made
        old, new = map(made.get, keys)
        if old is None:
            old = made[keys[0]] = self.cells(keys[0])
        if new is None:
            new = made[keys[1]] = self.cells(keys[1])
        found = self[keys] = difference(old, new, 0)
        return found

    def all_cells(self, key: Any) -> Cells:
        """The cells of a key."""
        return self.cells(key)


class Parts:
    """A row of kinds, each with the place of its first cell in the whole, in ascending order; a key is the tuple of
    theirs, or None: they all are. `parts[old, new]` is what leads from one key to another, as a leaf's."""

    __slots__ = ("_nothing", "_numbers", "parts", "width")

    def __init__(self, width: int, parts: Sequence[tuple[int, Kind]]) -> None:
        self.width = width
        self.parts = tuple(parts)
        self._numbers = range(len(self.parts))
        self._nothing = (None,) * len(self.parts)

    def __getitem__(self, keys: tuple[Any, Any]) -> Difference:
        old, new = keys
        if old is None:
            old = self._nothing
        if new is None:
            new = self._nothing
        parts = self.parts
        delta = b""
        count = behind = begin = 0
        for number in compress(self._numbers, map(ne, old, new)):
            place, kind = parts[number]
            changed, first, ending, end = kind[old[number], new[number]]
            if changed:
                if count:
                    delta += VARINT[place + first - behind] + ending
                else:
                    delta, begin = ending, place + first
                count += changed
                behind = place + end
        return count, begin, delta, behind

    def all_cells(self, key: Any) -> Cells:
        """The cells of a key; those of no part are 0."""
        cells = [0] * self.width
        for (offset, kind), one in zip(self.parts, self._nothing if key is None else key, strict=True):
            part = kind.all_cells(one)
            cells[offset : offset + len(part)] = part
        return tuple(cells)


class Items(Parts):
    """A bounded sequence: its length, then items of one kind, `width` cells each. A key is a tuple of theirs; None is
    no item, and it is the key of cells that are 0. Raises CapacityExceeded for more items than `capacity`."""

    __slots__ = ("capacity",)

    def __init__(self, width: int, capacity: int, item: Kind) -> None:
        super().__init__(1 + width * capacity, [(1 + width * number, item) for number in range(capacity)])
        self.capacity = capacity

    def __getitem__(self, keys: tuple[Any, Any]) -> Difference:
        old, new = keys[0] or (), keys[1] or ()
        before, after = len(old), len(new)
        if before == after:
            return Parts.__getitem__(self, (old, new))
        if before < after:
            if after > self.capacity:
                raise CapacityExceeded(f"more than {self.capacity} in a sequence")
            old += self._nothing[before:after]
        else:
            new += self._nothing[after:before]
        count, first, ending, end = Parts.__getitem__(self, (old, new))
        if not count:
            return 1, 0, ZIGZAG[after], 1
        return count + 1, 0, ZIGZAG[after] + VARINT[first - 1] + ending, end

    def all_cells(self, key: Any) -> Cells:
        """The cells of a key; those of no item are 0."""
        items = key or ()
        if len(items) > self.capacity:
            raise CapacityExceeded(f"more than {self.capacity} in a sequence")
        return (len(items), *super().all_cells((*items, *self._nothing[len(items) :]))[1:])


Kind = Leaf | Parts


class Unit(NamedTuple):
    """`first`: its first cell; `kind`: what its keys stand for."""

    first: int
    kind: Kind


class UnitPlan:
    """What the recorders of a trace header share: `units` in the order of their cells, and `numbers`, theirs by
    variable and by whose they are.

    `of`: of what kind the units of each variable are. `touching`: what each action may change: a variable, or its unit
    of whom the action's formals name ("log.p", "wire.cp"; `*`: of everybody). It says how a variable is divided, too.
    `parties`: formal -> the names that it stands for; those of `nodes` are the trace's nodes, in this order, and an
    action happens at its first parameter, if that is one and it does not happen `nowhere`. Parameters are given as
    numbers: of a name its place in the sorted domain, of a set the mask over the sorted names, of a function the tuple
    of its values.

    Raises ValueError for a header that is not of `protocol`.
    """

    def __init__(
        self,
        header: Mapping[str, Any],
        protocol: str,
        of: Mapping[str, Kind],
        touching: Mapping[str, str],
        parties: Mapping[str, Sequence[str]],
        nodes: str,
        nowhere: Callable[[str], bool],
    ) -> None:
        variables = header["variables"]
        if set(of) != set(variables):
            raise ValueError(f"the header has other variables than {protocol}")
        depths: dict[str, int] = {}
        self._touching: dict[str, list[tuple[str, str]]] = {}
        for action, touches in touching.items():
            parts = [one.partition(".") for one in touches.split()]
            self._touching[action] = [(variable, which) for variable, _, which in parts]
            depths.update({variable: len(which) for variable, _, which in parts})
        units: list[Unit] = []
        self.numbers: dict[str, dict[tuple[int, ...], int]] = {}
        for variable in sorted(of, key=lambda name: int(variables[name]["offset"])):
            entry = variables[variable]
            owners = _owners(entry["type"], depths.get(variable, 0))
            if not all(names in map(list, parties.values()) for names in owners):
                raise ValueError(f"the header divides {variable} in another way than {protocol}")
            places = list(product(*[range(len(names)) for names in owners]))
            first, width = int(entry["offset"]), int(entry["cells"]) // len(places)
            self.numbers[variable] = {place: len(units) + number for number, place in enumerate(places)}
            units += [Unit(first + width * number, of[variable]) for number in range(len(places))]
        self.units = tuple(units)
        self._protocol = protocol
        self.known: dict[tuple[Any, ...], tuple[bytes, tuple[int, ...]]] = {}
        """Per action with its parameters the bytes of a step, and the units that it may change."""
        self.refusals: dict[tuple[Any, ...], bytes] = {}
        self._beginnings: dict[tuple[Any, ...], bytes] = {}
        self._actions = {action["name"]: (number, action["params"]) for number, action in enumerate(header["actions"])}
        self._domains: dict[tuple[str, str], dict[Any, int]] = {}
        self._formals = {action["name"]: tuple(action["params"]) for action in header["actions"]}
        self._nodes_of: dict[str, range] = {}
        known = 0
        for formal in nodes:
            self._nodes_of[formal] = range(known, known + len(parties[formal]))
            known += len(parties[formal])
        self._nowhere = nowhere

    def touches(self, what: tuple[Any, ...]) -> tuple[int, ...]:
        """The units that an action with these parameters may change, in ascending order. Raises ValueError for an
        unknown action."""
        name, *values = what
        if name not in self._touching or name not in self._formals:
            raise ValueError(f"no action {name} is known of {self._protocol}")
        given = dict(zip(self._formals[name], values, strict=False))
        found: set[int] = set()
        for variable, which in self._touching[name]:
            wanted = [None if one == "*" else given[one] for one in which]
            found |= {
                number
                for place, number in self.numbers[variable].items()
                if all(one is None or one == here for one, here in zip(wanted, place, strict=True))
            }
        return tuple(sorted(found))

    def learn(self, what: tuple[Any, ...]) -> tuple[bytes, tuple[int, ...]]:
        """What `known` has of an action that was not seen before. Raises as `step` and `touches` do."""
        units = self.touches(what)
        found = self.known[what] = self.step(what), units
        return found

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
        return self._encode(STEP, what)

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
    """Writes one trace. `keys`: per variable what reads the key of each of its units. `records` counts what was
    written, the initial state included."""

    __slots__ = ("_idle", "_kept", "_keys", "_out", "_plan", "records")

    def __init__(self, plan: UnitPlan, keys: Mapping[str, Sequence[Callable[[], Any]]]) -> None:
        self.records = 0
        self._idle = 0
        self._plan = plan
        self._keys = [key for variable in plan.numbers for key in keys[variable]]
        self._out = bytearray()
        self._kept: list[Any] = []

    @property
    def changing(self) -> int:
        """How many steps changed something."""
        return self.records - 1 - self._idle

    def begin(self) -> None:
        """The first record: the whole state as it is."""
        self._kept = [key() for key in self._keys]
        self._out = bytearray(self._plan.beginning(tuple(self._kept)))
        self.records = 1

    def did(self, *what: Any) -> None:
        """A handler has run: `what` is its action and the parameters' values. Raises CapacityExceeded, and then the
        trace must end as it was before."""
        step, units = self._plan.known.get(what) or self._plan.learn(what)
        self._write(step, units)

    def _write(self, step: bytes, units: Sequence[int]) -> None:
        """Write a step with what it has changed of these units, in ascending order."""
        kept, keys, of = self._kept, self._keys, self._plan.units
        delta = b""
        count = behind = 0
        for number in units:
            key = keys[number]()
            before = kept[number]
            if key != before:
                place, kind = of[number]
                changed, first, ending, end = kind[before, key]
                if changed:
                    delta += VARINT[place + first - behind] + ending
                    count += changed
                    behind = place + end
                kept[number] = key
        self._out += step + VARINT[count] + delta
        self.records += 1
        if not count:
            self._idle += 1

    def blocked(self, *what: Any) -> None:
        """A rule refused an action; nothing has changed yet."""
        self._out += self._plan.refusals.get(what) or self._plan.refusal(what)
        self.records += 1
        self._idle += 1

    def end(self, quiescent: bool, capacity: bool) -> bytes:
        """The end record; returns the whole stream. What was recorded is let go: it knows the recorder, and of two that
        know each other only the garbage collector can tell that nobody needs them."""
        self._keys = []
        return finished(self._out, self.records, quiescent, capacity)

    def full_state(self) -> list[int]:
        """Every cell, computed afresh: what a test compares the written deltas with."""
        return [
            cell for unit, key in zip(self._plan.units, self._keys, strict=True) for cell in unit.kind.all_cells(key())
        ]


def _owners(what: Any, depth: int) -> list[list[str]]:
    """Whose the values of a function of functions are, so deep: the domains."""
    return [list(what["domain"]), *_owners(what["function"], depth - 1)] if depth else []


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
