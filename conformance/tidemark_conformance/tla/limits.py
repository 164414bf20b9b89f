r"""The limits of TypeOK: which of them are a trace's capacities, and which of them mean something.

A *capacity* bounds what a trace may hold: `0..MaxLog`. A value beyond it says nothing about the system, and a larger
constant would have held it. Any other limit is part of the specification: the five batches of a producer's window, the
-1 of "no epoch". A value beyond that is wrong.

The operator `Capacities` of a specification is the set of the names of the constants that are capacities. A limit is a
capacity if its text reads one of them. Without the operator every constant is one; a literal never is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tidemark_conformance.tla.ir import Expr, If, Let, Loc, Mark, Module, Op, RecordSet, SetFilter, SetMap, Var
from tidemark_conformance.tla.typeok import bounded_sequences, conjuncts, strip, type_of_set, unfolded
from tidemark_conformance.tla.types import (
    Evaluate,
    Slot,
    TAtom,
    TFun,
    TInt,
    TRec,
    TSeq,
    TSet,
    TTuple,
    TUnion,
    Type,
    size,
    slots,
)
from tidemark_conformance.tla.values import show
from tidemark_conformance.tla.walk import constants_used

NO_NUMBER = -(1 << 63)
"""The value of a limit that is none of numbers."""

LIBRARY = "Bounded"
"""The module of sets of sequences: a limit stands where they are used."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The least or greatest integer, or the most elements of a sequence.

    `capacities`: the constants of the trace's capacities that its text reads, none where the limit means something.
    `place`: where TypeOK states it, None where no text is to be had.
    """

    value: int
    capacities: tuple[str, ...] = ()
    place: Loc | None = None


@dataclass(frozen=True, slots=True)
class Ends:
    """The limits of one cell: an integer's, or a sequence's length; of a set those of its elements."""

    low: Limit
    high: Limit


@dataclass(frozen=True, slots=True)
class Many:
    """Of a function, a sequence or a set: the limits of its elements, and of a sequence's length."""

    element: Tree
    length: Limit | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """Of a record by its fields, of a tagged one by (tag, field), of a tuple by its places: the limits of the parts."""

    parts: Mapping[object, Tree]


Tree: TypeAlias = "Ends | Many | Parts | None"
"""Limits in the shape of a type; None: nothing below it has a limit that could be exceeded."""


class _Reader:
    """Reads the limits of set expressions as `type_of_set` reads their types."""

    def __init__(self, constant: Evaluate, capacities: Callable[[Expr], tuple[str, ...]]) -> None:
        self.constant, self.capacities = constant, capacities

    def limit(self, expr: Expr, loc: Loc | None) -> Limit:
        return Limit(self.constant(expr), self.capacities(expr), loc)

    def tree(self, expr: Expr, loc: Loc | None = None) -> Tree:
        while isinstance(expr, Mark):
            loc, expr = (loc if expr.loc.module == LIBRARY and loc else expr.loc), expr.body
        match expr:
            case Op("range", (low, high)):
                return Ends(self.limit(low, loc), self.limit(high, loc))
            case Op("union", (a, b)):
                return _joined(self.tree(a, loc), self.tree(b, loc))
            case Op("powerset", (inner,)):
                return Many(self.tree(inner, loc))
            case Op("product", parts):
                return Parts({number: self.tree(part, loc) for number, part in enumerate(parts)})
            case Op("function_set", (_, target)):
                return Many(self.tree(target, loc))
            case Op("bigunion", (family,)):
                return self._sequences(strip(family), loc)
            case SetFilter() if (found := bounded_sequences(expr)) is not None:
                return Many(self.tree(found[0], loc), self.limit(found[1], loc))
            case RecordSet(fields):
                kind = type_of_set(expr, self.constant, loc)
                tag = dict(kind.fields).get("type") if isinstance(kind, TRec) else None
                trees: dict[object, Tree] = {name: self.tree(part, loc) for name, part in fields}
                if not isinstance(tag, TAtom):
                    return Parts(trees)
                return Parts({(name, field): tree for name in tag.members for field, tree in trees.items()})
            case If(condition, then, orelse):
                return self.tree(then if self.constant(condition) else orelse, loc)
            case Let():
                return self.tree(unfolded(expr), loc)
        return _plain(type_of_set(expr, self.constant, loc), self.capacities(expr), loc)

    def _sequences(self, family: Expr, loc: Loc | None) -> Tree:
        """Of UNION {[1..m -> S] : m \\in 0..n}."""
        if isinstance(family, SetMap):
            match strip(family.body), strip(family.binders[0].domain):
                case Op("function_set", (_, target)), Op("range", (_, most)):
                    return Many(self.tree(target, loc), self.limit(most, loc))
        return None


def _plain(kind: Type, capacities: tuple[str, ...], loc: Loc | None) -> Tree:
    """The limits of values that are listed, or computed."""
    match kind:
        case TInt(int() as low, int() as high):
            return Ends(Limit(low, capacities, loc), Limit(high, capacities, loc))
        case TSeq(elem, cap):
            return Many(_plain(elem, capacities, loc), Limit(cap, capacities, loc))
        case TFun(_, _, target):
            return Many(_plain(target, capacities, loc))
        case TSet(elem, _):
            return Many(_plain(elem, capacities, loc))
        case TRec(fields):
            return Parts({name: _plain(part, capacities, loc) for name, part in fields})
        case TTuple(parts):
            return Parts({number: _plain(part, capacities, loc) for number, part in enumerate(parts)})
        case TUnion(variants):
            return Parts(
                {
                    (tag, name): _plain(part, capacities, loc)
                    for tags, fields in variants
                    for tag in tags
                    for name, part in fields
                }
            )
    return None


def _joined(a: Tree, b: Tree) -> Tree:
    """The limits of a union of two sets."""
    match a, b:
        case Ends(), Ends():
            return Ends(_wider(a.low, b.low, -1), _wider(a.high, b.high, 1))
        case Many(), Many():
            lengths = [one.length for one in (a, b) if one.length is not None]
            length = _wider(lengths[0], lengths[-1], 1) if lengths else None
            return Many(_joined(a.element, b.element), length)
        case Parts(), Parts():
            keys = {**a.parts, **b.parts}
            return Parts({key: _joined(a.parts.get(key), b.parts.get(key)) for key in keys})
    return a if b is None else b


def _wider(a: Limit, b: Limit, sign: int) -> Limit:
    """The limit that lies further out; of equal ones that which is a capacity."""
    if a.value == b.value:
        return a if a.capacities else b
    return a if sign * a.value > sign * b.value else b


def of_domain(domain: Expr, constant: Evaluate, capacities: frozenset[str] | None) -> Ends:
    """The limits of a parameter's domain: of an interval its own; any other set is one limit, for every value outside
    it."""
    read = _reading(capacities)
    found = _Reader(constant, read).tree(domain) if isinstance(strip(domain), Op) else None
    if isinstance(found, Ends):
        return found
    whole = Limit(0, read(domain))
    return Ends(whole, whole)


def _reading(capacities: frozenset[str] | None) -> Callable[[Expr], tuple[str, ...]]:
    """Finds the capacities that an expression reads."""

    def read(expr: Expr) -> tuple[str, ...]:
        used = constants_used(expr)
        return tuple(sorted(used if capacities is None else used & capacities))

    return read


# --- by cell ------------------------------------------------------------------------------------------------------


def trees(module: Module, constant: Evaluate, capacities: frozenset[str] | None) -> dict[str, Tree]:
    """The limits that TypeOK gives each variable. `capacities`: the names of the constants that are; None: all."""
    reader = _Reader(constant, _reading(capacities))
    found: dict[str, Tree] = {}
    loc: Loc | None = None
    for expr, place in conjuncts(module.type_ok):
        loc = place or loc
        match expr:
            case Op("in", (left, right)) if isinstance(variable := strip(left), Var):
                found[variable.name] = reader.tree(right, loc)
    return found


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a variable: its limits (None: it has none of its own), and its place in the value, as TLA+ text.

    `path`: `[b1].offset`, behind the variable's name; `noun`: "" for a value, else "length", "set" or "string".
    """

    ends: Ends | None
    path: str
    noun: str = ""


def cells(kind: Type, tree: Tree, path: str = "") -> Iterator[Cell]:
    """The cells of a type in their order."""
    match kind:
        case TInt():
            yield Cell(tree if isinstance(tree, Ends) else None, path)
        case TAtom(members):
            strings = all(type(member) is str for member in members)
            yield Cell(Ends(Limit(0), Limit(len(members) - 1)) if strings else None, path, "string")
        case TSet():
            yield Cell(of_elements(tree), path, "set")
        case TSeq(elem, cap):
            length = tree.length if isinstance(tree, Many) else None
            inner = element(tree)
            yield Cell(Ends(Limit(0), length) if length else None, path, "length")
            for number in range(cap):
                yield from cells(elem, inner, f"{path}[{number + 1}]")
        case TFun(domain, _, target):
            inner = element(tree)
            for key in domain:
                yield from cells(target, inner, f"{path}[{show(key)}]")
        case TRec(fields):
            for name, part in fields:
                yield from cells(part, within(tree, name), f"{path}.{name}")
        case TTuple(parts):
            for number, part in enumerate(parts):
                yield from cells(part, within(tree, number), f"{path}[{number + 1}]")
        case TUnion():
            yield Cell(None, f"{path}.type")
            for slot in slots(kind):
                yield from cells(slot.type, of_slot(tree, kind, slot), f"{path}.{slot.name}")
        case _:
            yield from (Cell(None, path) for _ in range(size(kind)))


def of_elements(tree: Tree) -> Ends:
    """The limits of a set: those of its elements, or that no other element is possible."""
    return _of_set(element(tree)) or Ends(Limit(0), Limit(NO_NUMBER))


def _of_set(tree: Tree) -> Ends | None:
    """The limits of a set's elements in one: a capacity if any part of an element has one, None if no part has any."""
    if isinstance(tree, Ends):
        return tree
    inner = [tree.element] if isinstance(tree, Many) else list(tree.parts.values()) if isinstance(tree, Parts) else []
    found = [ends for one in inner if (ends := _of_set(one)) is not None]
    both = [limit for ends in found for limit in (ends.low, ends.high)]
    if isinstance(tree, Many) and tree.length is not None:
        both.append(tree.length)
    if not both:
        return None
    capacity = next((limit for limit in both if limit.capacities), both[-1])
    return Ends(capacity, capacity)


def element(tree: Tree) -> Tree:
    """The limits of the elements of a function, sequence or set."""
    return tree.element if isinstance(tree, Many) else None


def of_slot(tree: Tree, kind: TUnion, slot: Slot) -> Tree:
    """The limits of a merged field of a union; where variants share its cells, a capacity of one is one of all."""
    found: Tree = None
    for tag in sorted(slot.tags):
        found = _joined(found, within(tree, (kind.tags.members[tag], slot.name)))
    return found


def within(tree: Tree, key: object) -> Tree:
    """The limits of a part; of a tagged record that is no union, those of any of its tags."""
    if not isinstance(tree, Parts):
        return None
    if key in tree.parts:
        return tree.parts[key]
    return next((one for name, one in tree.parts.items() if isinstance(name, tuple) and name[1] == key), None)
