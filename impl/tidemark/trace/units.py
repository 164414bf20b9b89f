"""A recorder for any protocol: the state is a row of units, and every step says which of them it may have changed.

A protocol brings the kind of each variable's units, what reads their keys off the implementation, and which of them
each action may have changed. A kind says what cells a key stands for: a `Leaf` computes them; `Parts` is a row of
kinds, and its keys are tuples of theirs, so that of a large unit only what has changed is looked at. What leads from
one key of a leaf to another is kept, for all units of the kind in all runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Sized
from itertools import product
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tidemark.trace.cells import CapacityExceeded, Cells
from tidemark.trace.recording import Recorder, undeclared
from tidemark.trace.stream import BLOCKED, STEP, STUTTER, VARINT, ZIGZAG, difference, finished, outside

MOST_KNOWN = 60_000
"""So many differences of a leaf are kept before they are forgotten; more are slower to find than to make."""

MOST_BEGINNINGS = 500
"""So many keys of a row are kept with how its parts stand."""

Key = Hashable
"""What cells depend on."""

TOUCH = re.compile(r"(?:(\S+):)?(\w+)(?:\.(\S+))?")
"""Something that an action may change: under what condition, a variable, its unit of whom."""


Move = tuple[int, int, bytes, int, "At"]
"""What leads from one key to another: a difference whose places count from the kind's first cell, and how it stands
then."""


class At(Protocol):
    """How cells stand that a recorder has written."""

    def __getitem__(self, key: Any, /) -> Move | None:
        """It goes on to this key; None: no cell changes. Raises CapacityExceeded, and stands for nothing then."""


class Standing(dict[Any, Move | None]):
    """How the cells of a leaf stand, with every move that has led on from there, by its key."""

    __slots__ = ("_leaf", "cells")

    def __init__(self, leaf: Leaf, cells: Cells) -> None:
        self._leaf = leaf
        self.cells = cells

    def __missing__(self, key: Any) -> Move | None:
        to = self._leaf.learn(key)
        changed, first, ending, end = difference(self.cells, to.cells, 0)
        found = self[key] = (changed, first, ending, end, to) if changed else None
        return found


class Leaf:
    """Cells that are computed together. `all_cells`: from a key to its cells; raises CapacityExceeded."""

    __slots__ = ("_moves", "_standings", "all_cells")

    def __init__(self, cells: Callable[[Any], Cells]) -> None:
        self.all_cells = cells
        self._standings: dict[Any, Standing] = {}
        self._moves = 0

    def at(self, key: Any) -> Standing:
        """How the cells of a key stand; all recorders share it."""
        found = self._standings.get(key)
        if found is None:
            found = self._standings[key] = Standing(self, self.all_cells(key))
        return found

    def learn(self, key: Any) -> Standing:
        """The same, for a move that is not known yet. When there are too many they are forgotten."""
        self._moves += 1
        if self._moves > MOST_KNOWN:
            self._moves = 0
            for standing in self._standings.values():
                standing.clear()
            self._standings.clear()
        return self.at(key)


class Parts:
    """A row of kinds, each with the place of its first cell in the whole, in ascending order; a key is the tuple of
    theirs, or None: they all are."""

    __slots__ = ("_unmoved", "nothing", "numbers", "parts", "width")

    def __init__(self, width: int, parts: Sequence[tuple[int, Kind]]) -> None:
        self.width = width
        self.parts = tuple(parts)
        self.numbers = range(len(self.parts))
        self.nothing = (None,) * len(self.parts)
        self._unmoved: dict[tuple[Any, ...], list[At | None]] = {}

    def at(self, key: Any) -> Row[Any]:
        """How the cells of a key stand."""
        key = self.nothing if key is None else key
        return Row(self, key, self._standing(key))

    def _standing(self, key: tuple[Any, ...]) -> list[At | None]:
        """How the parts of a key stand, as far as they are leaves; what stands for one recorder alone is made when it
        moves. Few keys are what a row begins with, or what it comes back to."""
        found = self._unmoved.get(key)
        if found is None:
            if len(self._unmoved) >= MOST_BEGINNINGS:
                self._unmoved.clear()
            found = self._unmoved[key] = [
                part.at(one) if isinstance(part, Leaf) else None
                for (_, part), one in zip(self.parts, key, strict=False)
            ]
        return found[:]

    def all_cells(self, key: Any) -> Cells:
        """The cells of a key; those of no part are 0."""
        cells = [0] * self.width
        for (offset, kind), one in zip(self.parts, self.nothing if key is None else key, strict=True):
            part = kind.all_cells(one)
            cells[offset : offset + len(part)] = part
        return tuple(cells)


K = TypeVar("K", bound=Parts)


class Row(Generic[K]):
    """How parts stand, for one recorder: it is this object that goes on."""

    __slots__ = ("_at", "_key", "kind")

    def __init__(self, kind: K, key: tuple[Any, ...], at: list[At | None]) -> None:
        self.kind = kind
        self._key = key
        self._at = at

    def __getitem__(self, key: Any) -> Move | None:
        kind, standings, before = self.kind, self._at, self._key
        if key is None:
            key = kind.nothing
        self._key = key
        parts = kind.parts
        delta = b""
        count = behind = begin = 0
        for number, was in enumerate(before):
            now = key[number]
            if now is was or now == was:
                continue
            place, part = parts[number]
            standing = standings[number]
            if standing is None:
                standing = part.at(was)
            move = standing[now]
            if move is not None:
                changed, first, ending, end, standings[number] = move
                if count:
                    delta += VARINT[place + first - behind] + ending
                else:
                    delta, begin = ending, place + first
                count += changed
                behind = place + end
        return (count, begin, delta, behind, self) if count else None


class Items(Parts):
    """A bounded sequence: its length, then items of one kind, `width` cells each. A key is a tuple of theirs; None is
    no item, and it is the key of cells that are 0. The length counts items beyond the `capacity`, which have no
    cells."""

    __slots__ = ("capacity",)

    def __init__(self, width: int, capacity: int, item: Kind) -> None:
        super().__init__(1 + width * capacity, [(1 + width * number, item) for number in range(capacity)])
        self.capacity = capacity

    def at(self, key: Any) -> Line:
        """How the cells of a key stand."""
        items = key or ()
        return Line(self, items, self._standing(self.filled(items)))

    def filled(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        """The items that have cells, and the places without one."""
        return items[: self.capacity] + self.nothing[len(items) :]

    def all_cells(self, key: Any) -> Cells:
        """The cells of a key; those of no item are 0."""
        items = key or ()
        return (len(items), *super().all_cells(self.filled(items))[1:])


class Line(Row[Items]):
    """How a sequence stands, likewise; its key has the items only."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Move | None:
        kind, standings, before = self.kind, self._at, self._key
        items = self._key = key or ()
        length, was = len(items), len(before)
        delta = b""
        count = behind = begin = 0
        if length != was:
            count, delta, behind = 1, ZIGZAG[length], 1
        parts = kind.parts
        for number in range(min(max(length, was), kind.capacity)):
            old = before[number] if number < was else None
            new = items[number] if number < length else None
            if new is old or new == old:
                continue
            place, part = parts[number]
            standing = standings[number]
            if standing is None:
                standing = part.at(old)
            move = standing[new]
            if move is not None:
                changed, first, ending, end, standings[number] = move
                if count:
                    delta += VARINT[place + first - behind] + ending
                else:
                    delta, begin = ending, place + first
                count += changed
                behind = place + end
        return (count, begin, delta, behind, self) if count else None


Kind = Leaf | Parts


def whole(parts: Parts) -> Leaf:
    """A row that takes so few values, or comes back to so few, that it is looked at in one piece."""
    return Leaf(parts.all_cells)


class Unit(NamedTuple):
    """`first`: its first cell; `kind`: what its keys stand for."""

    first: int
    kind: Kind


Looked = tuple[int, int]
"""A unit to look at: its number, its first cell."""


class UnitPlan:
    """What the recorders of a trace header share: `units` in the order of their cells, and `numbers`, theirs by
    variable and by whose they are.

    `of`: of what kind the units of each variable are. `touching`: what each action may change: a variable, or its unit
    of whom the action's formals name ("log.p", "wire.cp"; `*`: of everybody); behind a formal and a colon what it
    changes only if that is true ("late:stray.c"), or is not ("!late:wire.c"). It says how a variable is divided, too.
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
        self._touching: dict[str, list[tuple[str, str, str]]] = {}
        for action, touches in touching.items():
            self._touching[action] = TOUCH.findall(touches)
            depths.update({variable: len(which) for _, variable, which in self._touching[action]})
        units: list[Unit] = []
        self.names: list[str] = []
        """What every unit is called in a sentence: its variable, and whose it is."""
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
            self.names += [variable + "".join([f"[{name}]" for name in whose]) for whose in product(*owners)]
        self.units = tuple(units)
        self._protocol = protocol
        self.known: dict[tuple[Any, ...], tuple[bytes, tuple[Looked, ...]]] = {}
        """Per action with its parameters the bytes of a step, and the units that it may change."""
        self.widened: dict[tuple[tuple[Any, ...], tuple[int, ...]], tuple[Looked, ...]] = {}
        """The units of an action, and others of these numbers."""
        self.refusals: dict[tuple[Any, ...], bytes] = {}
        self._beginnings: dict[tuple[Any, ...], tuple[bytes, list[At]]] = {}
        self._rows = [(number, unit.kind) for number, unit in enumerate(units) if isinstance(unit.kind, Parts)]
        self._actions = {action["name"]: (number, action["params"]) for number, action in enumerate(header["actions"])}
        self._domains: dict[tuple[str, str], dict[Any, int]] = {}
        self._formals = {action["name"]: tuple(action["params"]) for action in header["actions"]}
        self._nodes_of: dict[str, range] = {}
        known = 0
        for formal in nodes:
            self._nodes_of[formal] = range(known, known + len(parties[formal]))
            known += len(parties[formal])
        self._nowhere = nowhere

    def touches(self, what: tuple[Any, ...]) -> set[int]:
        """The numbers of the units that an action with these parameters may change. Raises ValueError for an
        unknown action."""
        name, *values = what
        if name not in self._touching or name not in self._formals:
            raise ValueError(f"no action {name} is known of {self._protocol}")
        given = dict(zip(self._formals[name], values, strict=False))
        found: set[int] = set()
        for condition, variable, which in self._touching[name]:
            if condition and bool(given[condition.removeprefix("!")]) is condition.startswith("!"):
                continue
            wanted = [None if one == "*" else given[one] for one in which]
            found |= {
                number
                for place, number in self.numbers[variable].items()
                if all(one is None or one == here for one, here in zip(wanted, place, strict=True))
            }
        return found

    def learn(self, what: tuple[Any, ...]) -> tuple[bytes, tuple[Looked, ...]]:
        """What `known` has of an action that was not seen before. Raises as `step` and `touches` do."""
        units = self.looked(self.touches(what))
        found = self.known[what] = self.step(what), units
        return found

    def looked(self, numbers: Iterable[int]) -> tuple[Looked, ...]:
        """The units of these numbers, in ascending order."""
        return tuple([(number, self.units[number].first) for number in sorted(numbers)])

    def beginning(self, keys: tuple[Any, ...]) -> tuple[bytes, list[At]]:
        """The first record of a trace, by the keys of all units, and how they stand."""
        found = self._beginnings.get(keys)
        if found is None:
            cells = [cell for unit, key in zip(self.units, keys, strict=True) for cell in unit.kind.all_cells(key)]
            out = bytearray([STUTTER, 0]) + VARINT[sum(1 for cell in cells if cell)]
            behind = 0
            for index, cell in enumerate(cells):
                if cell:
                    out += VARINT[index - behind] + ZIGZAG[cell]
                    behind = index + 1
            found = self._beginnings[keys] = (
                bytes(out),
                [unit.kind.at(key) for unit, key in zip(self.units, keys, strict=True)],
            )
        record, at = found
        at = at[:]
        for number, kind in self._rows:
            at[number] = kind.at(keys[number])
        return record, at

    def step(self, what: tuple[Any, ...]) -> bytes:
        """The bytes of a step, without its delta; a parameter outside its domain is written as docs/trace-format.md
        says. Raises ValueError for an action that the header has not."""
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
            out += VARINT[places[value] if value in places else outside(domain, value)]
        return bytes(out)


class UnitRecorder(Recorder):
    """Writes one trace. `keys`: per variable what reads the key of each of its units; `marks`: what a step has marked
    beyond what its action says that it may change, for `_take_marked`. `records` counts what was written, the initial
    state included."""

    __slots__ = ("_at", "_idle", "_keys", "_marks", "_out", "_plan", "_watched", "records")

    def __init__(self, plan: UnitPlan, keys: Mapping[str, Sequence[Callable[[], Any]]], marks: Sized = ()) -> None:
        self.records = 0
        self._watched = -1
        self._marks = marks
        self._idle = 0
        self._plan = plan
        self._keys = [key for variable in plan.numbers for key in keys[variable]]
        self._out = bytearray()
        self._at: list[At] = []

    @property
    def changing(self) -> int:
        """How many steps changed something."""
        return self.records - 1 - self._idle

    def begin(self) -> None:
        """The first record: the whole state as it is."""
        record, at = self._plan.beginning(tuple([key() for key in self._keys]))
        self._out = bytearray(record)
        self._at = at
        self.records = 1

    def did(self, *what: Any) -> None:
        """A handler has run: `what` is its action and the parameters' values. Raises CapacityExceeded, and then the
        trace must end as it was before."""
        step, units = self._plan.known.get(what) or self._plan.learn(what)
        if self._marks:
            units = self._with_marked(what)
        at, keys = self._at, self._keys
        delta = b""
        count = behind = 0
        for number, place in units:
            move = at[number][keys[number]()]
            if move is not None:
                changed, first, ending, end, at[number] = move
                delta += VARINT[place + first - behind] + ending
                count += changed
                behind = place + end
        self._out += step + VARINT[count] + delta
        self.records += 1
        if not count:
            self._idle += 1
        if self._watched >= 0:
            self._look_at_all(what)

    def watch(self, seed: int) -> None:
        """From now on every step looks at the whole state, and `did` raises UndeclaredChange for a unit that stands
        otherwise than it is written: it is none that the action may change."""
        self._watched = seed

    def _look_at_all(self, what: tuple[Any, ...]) -> None:
        at = self._at
        self._forget()
        for number, key in enumerate(self._keys):
            try:
                same = at[number][key()] is None
            except CapacityExceeded:
                same = False
            if not same:
                raise undeclared(self._watched, self.records - 1, what, self._plan.names[number])

    def _forget(self) -> None:
        """What was read before of objects that are still there is read again."""

    def _with_marked(self, what: tuple[Any, ...]) -> tuple[Looked, ...]:
        """The units that an action may change, and those that are marked, which are not any more."""
        widened, key = self._plan.widened, (what, self._take_marked())
        found = widened.get(key)
        if found is None:
            found = widened[key] = self._plan.looked(self._plan.touches(what).union(key[1]))
        return found

    def _take_marked(self) -> tuple[int, ...]:
        """The numbers of the units that are marked, which are not any more."""
        return ()

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


def _owners(what: Any, depth: int) -> list[list[Any]]:
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
