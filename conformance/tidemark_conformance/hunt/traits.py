"""The traits of a flaw at work, by which a corpus tells its beginnings apart.

A flaw is a record of a run that is no step under all rules. Its fate is its action, and the action that next changes
what it wrote. A trait is the order of two numbers of the same range: one that it wrote and one beside it, or one of
these and one elsewhere. Or it is that of two sequences at its nodes: which one begins the other. Or it is two such
orders at once, but not two of numbers elsewhere: they are too many. Ranges are the same where the same capacities bound
them: an epoch is not compared with an offset. A flaw has many traits; the rarest so far stands for it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from tidemark_conformance.tla.kernels import stream as delta
from tidemark_conformance.tla.layout import variable_types
from tidemark_conformance.tla.python.checks import evaluate_constant
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.types import TAtom, TFun, TInt, TRec, TSeq, TTuple, TUnion, Type, atom_name, size, slots
from tidemark_conformance.tla.values import Value
from tidemark_conformance.trace.schema import schema_of

NODE = "@"
"""Before a function's argument in a path, if that is an atom: a broker, a client."""
EMPTY = -2
"""In the place of the last element of an empty sequence: below every number."""
MOST_PAIRS = 5_000
"""Pairs of orders at a home, at most."""
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the state, of a sequence's elements the last one's. `cell`: its place; of a last element the place
    that it would have in an empty sequence. `most`: the greatest number of its range. `length`: the place of the
    sequence's length, -1 for others; `wide`: the cells of an element; `room`: the most elements."""

    path: Path
    cell: int
    most: int
    length: int = -1
    wide: int = 0
    room: int = 0

    @property
    def cells(self) -> range:
        """The cells on which it depends."""
        first = self.cell if self.length < 0 else self.length
        return range(first, self.cell + 1 + self.wide * self.room)

    def value(self, cells: list[int]) -> int:
        """Its value in a state."""
        if self.length < 0:
            return cells[self.cell]
        return cells[self.cell + cells[self.length] * self.wide] if cells[self.length] else EMPTY


@dataclass(frozen=True, slots=True)
class Sequence:
    """A sequence of the state. `length`: the place of its length; `wide`: the cells of an element; `kind`: its type."""

    path: Path
    length: int
    wide: int
    kind: TSeq

    def order(self, other: Sequence, cells: list[int]) -> str:
        """Whether it begins the other one of its kind, is equal or longer, or is none of these (" /")."""
        mine, its = cells[self.length] * self.wide, cells[other.length] * self.wide
        left, right, both = self.length + 1, other.length + 1, min(mine, its)
        same = cells[left : left + both] == cells[right : right + both]
        return _order(mine, its) if same else " /"


@dataclass(frozen=True, slots=True)
class Home:
    """All comparisons at a home. `numbers`: each number with those of its home, and with those elsewhere; `sequences`:
    pairs. Every comparison has a name."""

    numbers: list[tuple[Number, list[tuple[Number, str]], list[tuple[Number, str]]]]
    sequences: list[tuple[Sequence, Sequence, str]]

    @property
    def pairs(self) -> int:
        """How many pairs of orders there are at most."""
        near, far = sum(len(one[1]) for one in self.numbers), sum(len(one[2]) for one in self.numbers)
        return near * (len(self.sequences) + far) + len(self.sequences) * far


def numbers(kind: Type, at: int, path: Path) -> list[Number]:
    """The numbers of a type whose cells begin at `at`: those of ranges of three and more."""
    match kind:
        case TInt(lo, hi):
            return [Number(path, at, hi)] if lo is not None and hi is not None and hi - lo > 1 else []
        case TFun(domain, key, target):
            parts = [(f"{NODE if isinstance(key, TAtom) else ''}{atom_name(one)}", target) for one in domain]
            return _parts(parts, at, path)
        case TSeq(elem, room):
            wide = size(elem)
            last = numbers(elem, at + 1 - wide, (*path, "last"))
            return [Number(one.path, one.cell, one.most, at, wide, room) for one in last if one.length < 0]
        case TRec(fields):
            return _parts(fields, at, path)
        case TTuple(parts):
            return _parts([(str(place), part) for place, part in enumerate(parts)], at, path)
        case TUnion():
            return [one for slot in slots(kind) for one in numbers(slot.type, at + slot.offset, (*path, slot.name))]
    return []


def _parts(parts: Iterable[tuple[str, Type]], at: int, path: Path) -> list[Number]:
    found = list[Number]()
    for name, part in parts:
        found += numbers(part, at, (*path, name))
        at += size(part)
    return found


def sequences(kind: Type, at: int, path: Path) -> list[Sequence]:
    """The sequences of a type whose cells begin at `at`, but for those in sequences and unions."""
    match kind:
        case TFun(domain, key, target):
            parts = [(f"{NODE if isinstance(key, TAtom) else ''}{atom_name(one)}", target) for one in domain]
        case TRec(fields):
            parts = list(fields)
        case TSeq(elem):
            return [Sequence(path, at, size(elem), kind)]
        case _:
            return []
    found = list[Sequence]()
    for name, part in parts:
        found += sequences(part, at, (*path, name))
        at += size(part)
    return found


def homes(kind: Type, path: Path) -> list[Path]:
    """Of every cell of a type the variable with the arguments of functions that it stands under."""
    if isinstance(kind, TFun):
        marked = NODE if isinstance(kind.key, TAtom) else ""
        return [home for one in kind.domain for home in homes(kind.range, (*path, f"{marked}{atom_name(one)}"))]
    return [path] * size(kind)


def ranges(specification: Specification) -> dict[Path, frozenset[str]]:
    """Of every number of a state the capacities on which the end of its range depends."""

    def ends(constants: Mapping[str, Value]) -> dict[Path, int]:
        kinds = variable_types(specification.module, lambda one: evaluate_constant(one, constants))
        return {one.path: one.most for name, kind in kinds.items() for one in numbers(kind, 0, (name,))}

    constants = specification.constants
    known = ends(constants)
    larger = {name: ends({**constants, name: constants[name] + 1}) for name in sorted(specification.capacities or ())}
    return {
        path: frozenset(name for name, other in larger.items() if other[path] != end) for path, end in known.items()
    }


_known: dict[str, dict[Path, frozenset[str]]] = {}
"""The ranges by trace header: every round begins with new traits, and they take longer than a short round."""


class Traits:
    """The traits of the flaws of a specification's runs, counted. `known`: how many flaws had each before; `counts`:
    how many have it since."""

    def __init__(self, specification: Specification, known: Mapping[str, int]) -> None:
        self._known = known
        self.counts: Counter[str] = Counter()
        self.schema = schema_of(specification)
        carried = [one for one in self.schema.layout.variables if one.carried]
        self._homes = [home for one in carried for home in homes(one.type, (one.name,))]
        self._numbers: dict[Path, list[Number]] = {}
        for variable in carried:
            for one in numbers(variable.type, variable.offset, (variable.name,)):
                self._numbers.setdefault(self._homes[one.cell if one.length < 0 else one.length], []).append(one)
        self._sequences = [
            one for variable in carried for one in sequences(variable.type, variable.offset, (variable.name,))
        ]
        self._compared: dict[Path, Home] = {}
        header = json.dumps(self.schema.header.to_json())
        if header not in _known:
            _known[header] = ranges(specification)
        self._ranges = _known[header]

    def of(self, stream: bytes, record: int) -> tuple[str, str, int]:
        """The fate of the flaw that is a stream's record of this number, its rarest trait so far ("": it has none), and
        how many flaws had that."""
        fate, traits = self.seen(stream, record)
        self.counts.update(traits)
        rarest = min(traits, key=self._count, default="")
        return fate, rarest, self._count(rarest)

    def _count(self, trait: str) -> int:
        return self._known.get(trait, 0) + self.counts[trait]

    def seen(self, stream: bytes, record: int) -> tuple[str, list[str]]:
        """The fate of the flaw that is a stream's record of this number, and all its traits."""
        cells = [0] * len(self._homes)
        action, fate, homes, traits = "", "", list[Path](), list[str]()
        for number, one in enumerate(self.schema.records(stream)):
            if isinstance(one, delta.End):
                break
            touched = dict.fromkeys(self._homes[cell] for cell, _ in one.delta) if number >= record else {}
            if number > record and not touched.keys().isdisjoint(homes):
                fate = self._name(one)
                break
            for cell, value in one.delta:
                cells[cell] = value
            if number == record:
                action, homes = self._name(one), list(touched)
                written = {cell for cell, _ in one.delta}
                traits = [trait for home in homes for trait in self._traits(home, cells, written)]
        return f"{action} {fate}", traits

    def _name(self, one: delta.Record) -> str:
        return self.schema.actions[one.action] if one.action >= 0 else ""

    def _traits(self, home: Path, cells: list[int], written: set[int]) -> list[str]:
        if home not in self._compared:
            self._compared[home] = self.compared(home)
        of = self._compared[home]
        beside, elsewhere = list[str](), list[str]()
        for one, near, far in of.numbers:
            value = one.value(cells)
            if not written.isdisjoint(one.cells):
                beside += [name + _order(value, other.value(cells)) for other, name in near]
            elsewhere += [name + _order(value, other.value(cells)) for other, name in far]
        prefixes = [name + left.order(right, cells) for left, right, name in of.sequences]
        found = [*beside, *prefixes, *elsewhere]
        found += [f"{one}, {other}" for one in beside for other in (*prefixes, *elsewhere)]
        return found + [f"{one}, {other}" for one in prefixes for other in elsewhere]

    def compared(self, home: Path) -> Home:
        """All comparisons at a home: its numbers with each other, and with those that stand under no other nodes, and
        sequences of one type there. Where they would make too many pairs, its numbers with each other alone. In the
        names of the two nodes are numbered in the order in which they come."""
        nodes = {part: f"{NODE}{number}" for number, part in enumerate(dict.fromkeys(_nodes(home)))}

        def within(path: Path) -> bool:
            return nodes.keys() >= set(_nodes(path))

        def named(*paths: Path) -> str:
            return " ".join(".".join(nodes.get(part, part) for part in path) for path in paths)

        def beside(one: Number, others: Iterable[Number]) -> list[tuple[Number, str]]:
            alike = [other for other in others if other is not one and self._same_range(one, other)]
            return [(other, named(one.path, other.path)) for other in alike]

        near = self._numbers.get(home, [])
        elsewhere = [place for place in self._numbers if place != home and within(place) and not _is_list(place)]
        far = [one for place in elsewhere for one in self._numbers[place]]
        there = sorted((one for one in self._sequences if within(one.path)), key=lambda one: named(one.path))
        pairs = [(one, other) for one, other in combinations(there, 2) if one.kind == other.kind]
        found = Home(
            [(one, beside(one, near), beside(one, far)) for one in near],
            [(one, other, named(one.path, other.path)) for one, other in pairs],
        )
        return (
            found if found.pairs <= MOST_PAIRS else Home([(one, several, []) for one, several, _ in found.numbers], [])
        )

    def _same_range(self, one: Number, other: Number) -> bool:
        return one.most == other.most and self._ranges[one.path] == self._ranges[other.path]


def _order(left: int, right: int) -> str:
    if EMPTY in (left, right):
        return " -"
    return " <" if left < right else " =" if left == right else " >"


def _is_list(home: Path) -> bool:
    return any(not part.startswith(NODE) for part in home[1:])


def _nodes(path: Path) -> list[str]:
    return [part for part in path if part.startswith(NODE)]
