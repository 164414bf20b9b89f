"""The recorder of every protocol: after each handler it reads the units that may have changed, and writes those that
have.

The state is a row of units: a variable's part of one broker, consumer, partition, or two of them. A protocol brings the
functions that read the key of each unit off the implementation, and names the units that each action may change. The
types in a trace's header tell how variables are divided, and which cells a key stands for. Only differences from the
last written cells are written. A watched run compares with looking at everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from tidemark.trace import recording
from tidemark.trace.cells import Abstract, CapacityExceeded
from tidemark.trace.shapes import encoder, kind_of, width_of
from tidemark.trace.stream import BLOCKED, STEP, STUTTER, VARINT, ZIGZAG, finished, outside
from tidemark.trace.units import At, Kind, Leaf, Parts

TOUCH = re.compile(r"(?:(\S+):)?(\w+)(?:\.(\S+))?")
"""Something that an action may change: under what condition, a variable, its unit of whom."""

Key = Hashable
"""The part of the state that a unit's cells depend on."""

Read = Callable[..., Key]
"""Reads the key of a unit from an abstraction, given that abstraction and the numbers of the unit's parties."""


class Unit(NamedTuple):
    """`first`: its first cell. `kind`: the cells that its keys stand for. `read`: the function that reads them.
    `whose`: the numbers of its parties."""

    first: int
    kind: Kind
    read: Read
    whose: tuple[int, ...]


Looked = tuple[int, int, Read, int, int]
"""A unit to look at: its number, its first cell, what reads its key, and whose it is; -1: there is nobody more."""


class Plan:
    """The plan that the recorders of a trace header share: `units` in the order of their cells.

    `reads`: of each variable the function that reads the keys of its units, which mirror the types in the header
    (shapes.py). `touching`: the variables that each action may change, or their units of those parties that the
    action's formals name ("log.p", "wire.cp"; `*`: of everybody). Behind a formal and a
    colon stand the variables that it changes only if that is true ("late:stray.c"), or is not ("!late:wire.c"). It says
    how a variable is divided, too. `whole`: variables that take few values: their units are looked at in one piece,
    however wide they are. `parties`: formal -> the names that it stands for; those of `nodes` are the trace's nodes, in
    this order. An action happens at its first parameter, if that is a node. Actions whose names begin as `nowhere` says
    do not, and those of `controller` happen at the node behind these. Parameters are given as numbers: a party's name
    by its place among the party's, another name by its place in the sorted domain. A set is the mask over the sorted
    names, a function the tuple of its values. A name may be given as it is, too, and None for the name that the
    constant None has.

    Raises ValueError for a header that is not of `protocol`.
    """

    def __init__(
        self,
        header: Mapping[str, Any],
        protocol: str,
        reads: Mapping[str, Read],
        touching: Mapping[str, str],
        parties: Mapping[str, Sequence[str]],
        nodes: str,
        nowhere: tuple[str, ...],
        controller: Collection[str] = (),
        whole: Collection[str] = (),
    ) -> None:
        variables = header["variables"]
        if set(reads) != set(variables):
            raise ValueError(f"the header has other variables than {protocol}")
        depths: dict[str, int] = {}
        self._touching: dict[str, list[tuple[str, str, str]]] = {}
        for action, touches in touching.items():
            self._touching[action] = TOUCH.findall(touches)
            depths.update({variable: len(which) for _, variable, which in self._touching[action]})
        units: list[Unit] = []
        self.names: list[str] = []
        """The name of every unit in a sentence: its variable and its parties."""
        self._numbers: dict[str, dict[tuple[int, ...], int]] = {}
        for variable in sorted(reads, key=lambda name: int(variables[name]["offset"])):
            entry = variables[variable]
            owners, what = _owners(entry["type"], depths.get(variable, 0))
            if not all(names in map(list, parties.values()) for names in owners):
                raise ValueError(f"the header divides {variable} in another way than {protocol}")
            kind = Leaf(encoder(what)) if variable in whole else kind_of(what)
            places = list(product(*[range(len(names)) for names in owners]))
            first, width = int(entry["offset"]), width_of(what)
            self._numbers[variable] = {place: len(units) + number for number, place in enumerate(places)}
            units += [Unit(first + width * number, kind, reads[variable], one) for number, one in enumerate(places)]
            self.names += [variable + "".join([f"[{name}]" for name in whose]) for whose in product(*owners)]
        self.units = tuple(units)
        self.all = self.looked(range(len(units)))
        self._protocol = protocol
        self.known: dict[tuple[Any, ...], tuple[bytes, tuple[Looked, ...]]] = {}
        """Per action with its parameters the bytes of a step, and the units that it may change."""
        self.refusals: dict[tuple[Any, ...], bytes] = {}
        self.beginnings: dict[Any, tuple[bytes, list[At]]] = {}
        self._rows = [number for number, unit in enumerate(units) if isinstance(unit.kind, Parts)]
        self._actions = {action["name"]: (number, action["params"]) for number, action in enumerate(header["actions"])}
        self._domains: dict[tuple[str, str], dict[Any, int]] = {}
        self._formals = {action["name"]: tuple(action["params"]) for action in header["actions"]}
        self._none = header["constants"].get("None")
        self._parties = [list(names) for names in parties.values()]
        self._nodes_of: dict[str, range] = {}
        before = 0
        for node in nodes:
            for formal, names in parties.items():
                if names == parties[node]:
                    self._nodes_of[formal] = range(before, before + len(names))
            before += len(parties[node])
        self._nowhere = nowhere
        self._controller = dict.fromkeys(controller, before + 1)

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
                for place, number in self._numbers[variable].items()
                if all(one is None or one == here for one, here in zip(wanted, place, strict=True))
            }
        return found

    def learn(self, what: tuple[Any, ...]) -> tuple[bytes, tuple[Looked, ...]]:
        """Makes the entry of `known` for an action that was not seen before. Raises as `step` and `touches` do."""
        units = self.looked(self.touches(what))
        found = self.known[what] = self.step(what), units
        return found

    def looked(self, numbers: Iterable[int]) -> tuple[Looked, ...]:
        """The units of these numbers, in ascending order."""
        return tuple([self._looked(number, self.units[number]) for number in sorted(numbers)])

    @staticmethod
    def _looked(number: int, unit: Unit) -> Looked:
        first, second, *_ = (*unit.whose, -1, -1)
        return number, unit.first, unit.read, first, second

    def beginning(self, keys: tuple[Any, ...], known_by: Key) -> tuple[bytes, list[At]]:
        """The first record of a trace, by the keys of all units and their cells; `known_by`: the values that determine
        it."""
        cells = [cell for unit, key in zip(self.units, keys, strict=True) for cell in unit.kind.all_cells(key)]
        out = bytearray([STUTTER, 0]) + VARINT[sum(1 for cell in cells if cell)]
        behind = 0
        for index, cell in enumerate(cells):
            if cell:
                out += VARINT[index - behind] + ZIGZAG[cell]
                behind = index + 1
        at: list[At] = [unit.kind.at(key) for unit, key in zip(self.units, keys, strict=True)]
        found = self.beginnings[known_by] = bytes(out), at
        return found

    def fresh(self, at: list[At]) -> list[At]:
        """How units stand, for one recorder: rows are its own."""
        at = at[:]
        for number in self._rows:
            at[number] = at[number].again()
        return at

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
        node, first = self._controller.get(name, 0), next(iter(params), "")
        if not node and first in self._nodes_of and not name.startswith(self._nowhere):
            node = self._nodes_of[first][values[0]] + 1
        out = bytearray(VARINT[kind + 4 * (number + 1)] + VARINT[node])
        for (formal, domain), value in zip(params.items(), values, strict=True):
            places = self._domains.get((name, formal))
            if places is None:
                places = self._domains[name, formal] = self._places(domain)
            out += VARINT[places[value] if value in places else outside(domain, value)]
        return bytes(out)

    def _places(self, domain: Sequence[Any]) -> dict[Any, int]:
        """The number of each value of a sorted domain, by the form in which values are given."""
        first = domain[0]
        if isinstance(first, str):
            places: dict[Any, int] = {name: place for place, name in enumerate(domain)}
            party = next((names for names in self._parties if set(names) <= set(domain)), domain)
            if self._none in places:
                places[None] = places[self._none]
            return places | {number: places[name] for number, name in enumerate(party)}
        if isinstance(first, list):
            names = sorted({name for one in domain for name in one})
            return {sum(1 << names.index(name) for name in one): place for place, one in enumerate(domain)}
        if isinstance(first, dict):
            return {tuple(one[name] for name in sorted(one)): place for place, one in enumerate(domain)}
        return {one: place for place, one in enumerate(domain)}


class Recorder(recording.Recorder):
    """Writes one trace of the states that an abstraction sees. `records` counts the records written, the initial state
    included.

    `begins`: the values that the initial state follows from; None: it is read off, and compared.
    """

    __slots__ = ("_at", "_begins", "_idle", "_out", "_plan", "_see", "_watched", "records")

    def __init__(self, plan: Plan, see: Abstract, begins: Key = None) -> None:
        self.records = 0
        self._watched = -1
        self._idle = 0
        self._plan = plan
        self._see = see
        self._begins = begins
        self._out = bytearray()
        self._at: list[At] = []

    @property
    def changing(self) -> int:
        """How many steps changed something."""
        return self.records - 1 - self._idle

    def begin(self) -> None:
        """The first record: the whole state as it is."""
        plan, known_by = self._plan, self._begins
        if known_by is None:
            known_by = self._keys()
        found = plan.beginnings.get(known_by)
        if found is None:
            found = plan.beginning(self._keys(), known_by)
        record, at = found
        self._out = bytearray(record)
        self._at = plan.fresh(at)
        self.records = 1

    def did(self, *what: Any) -> None:
        """A handler has run: `what` is its action and the parameters' values. Raises CapacityExceeded, and then the
        trace must end as it was before."""
        step, units = self._plan.known.get(what) or self._plan.learn(what)
        at, see = self._at, self._see
        delta = b""
        count = behind = 0
        for number, place, read, first_of, second_of in units:
            if first_of < 0:
                key = read(see)
            elif second_of < 0:
                key = read(see, first_of)
            else:
                key = read(see, first_of, second_of)
            move = at[number][key]
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
        """From now on every step looks at the whole state. `did` raises UndeclaredChange for a unit that differs from
        its written cells although the action may not change it."""
        self._watched = seed

    def _look_at_all(self, what: tuple[Any, ...]) -> None:
        at, units = self._at, self._plan.units
        self._see.forget()
        for number, unit in enumerate(units):
            try:
                same = at[number][unit.read(self._see, *unit.whose)] is None
            except CapacityExceeded:
                same = False
            if not same:
                raise recording.undeclared(self._watched, self.records - 1, what, self._plan.names[number])

    def _keys(self) -> tuple[Any, ...]:
        """The keys of all units."""
        return tuple([unit.read(self._see, *unit.whose) for unit in self._plan.units])

    def blocked(self, *what: Any) -> None:
        """A rule refused an action; nothing has changed yet."""
        self._out += self._plan.refusals.get(what) or self._plan.refusal(what)
        self.records += 1
        self._idle += 1

    def end(self, quiescent: bool, capacity: bool) -> bytes:
        """The end record; returns the whole stream. The recorded abstraction is released. It knows the recorder, and
        only the garbage collector could free two objects that know each other."""
        self._see = Abstract()
        return finished(self._out, self.records, quiescent, capacity)

    def full_state(self) -> list[int]:
        """Every cell, computed afresh: a test compares the written deltas with it."""
        return [
            cell for unit, key in zip(self._plan.units, self._keys(), strict=True) for cell in unit.kind.all_cells(key)
        ]


def _owners(what: Any, depth: int) -> tuple[list[list[Any]], Any]:
    """The domains of a function of functions to this depth, and the type of the values."""
    owners = []
    for _ in range(depth):
        owners.append(list(what["domain"]))
        what = what["function"]
    return owners, what
