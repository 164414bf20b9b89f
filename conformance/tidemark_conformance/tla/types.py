"""The types that `TypeOK` gives to variables, and the cells that each of them needs of a state vector.

A type is a finite set of values with one representation. `TInt`, `TBool`, `TAtom` and `TSet` are one cell (int64), the
others are runs of cells (docs/reference/delta-stream.md). Values are in canonical order (`values.in_order`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TypeAlias

from tidemark_conformance.errors import Unsupported
from tidemark_conformance.tla.ir import (
    Expr,
    Loc,
)
from tidemark_conformance.tla.values import Fn, ModelValue, Value, function, in_order

MAX_SET = 62
"""The most elements that a set's element type may have: a set is one bit mask in one int64."""


@dataclass(frozen=True, slots=True)
class TInt:
    """Integers lo..hi; a bound that is None is unknown (expressions only, never a variable)."""

    lo: int | None
    hi: int | None


@dataclass(frozen=True, slots=True)
class TBool:
    """FALSE and TRUE: 0 and 1."""


@dataclass(frozen=True, slots=True)
class TAtom:
    """Strings or model values, sorted by name: an atom is its index here."""

    members: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class TSet:
    """Sets of `members` (values of type `elem` in canonical order): bit i stands for members[i]."""

    elem: Type
    members: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class TSeq:
    """Sequences of at most `cap` elements: the length, then `cap` elements, unused ones all zero."""

    elem: Type
    cap: int


@dataclass(frozen=True, slots=True)
class TFun:
    """Functions with the fixed `domain` (values of type `key` in canonical order): one run per domain element."""

    domain: tuple[Value, ...]
    key: Type
    range: Type


@dataclass(frozen=True, slots=True)
class TRec:
    """Records with exactly these fields, in name order."""

    fields: tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True)
class TUnion:
    """Records told apart by their field `type`: a tag cell, then the merged fields of all variants.

    Each variant is (its tags, its other fields in name order); tags are disjoint.
    """

    variants: tuple[tuple[tuple[str, ...], tuple[tuple[str, Type], ...]], ...]

    @property
    def tags(self) -> TAtom:
        """The type of the tag cell: the tags of all variants."""
        return TAtom(tuple(sorted(tag for tags, _ in self.variants for tag in tags)))


@dataclass(frozen=True, slots=True)
class TTuple:
    """Tuples of fixed length, part by part."""

    parts: tuple[Type, ...]


Type: TypeAlias = "TInt | TBool | TAtom | TSet | TSeq | TFun | TRec | TUnion | TTuple"
Evaluate = Callable[[Expr], Value]
"""Evaluates a constant-level expression (PythonChecks.constant)."""


def unsupported(what: str, loc: Loc | None) -> Unsupported:
    """The error for a construct outside the conventions, with its place."""
    return Unsupported(f"{loc or 'specification'}: {what}; see docs/conventions.md for what is supported.")


@dataclass(frozen=True, slots=True)
class Slot:
    """One merged field of a union: `offset` cells behind the tag's cell, present for the tag indices of `tags`."""

    name: str
    type: Type
    offset: int
    tags: frozenset[int]


@cache
def slots(union: TUnion) -> tuple[Slot, ...]:
    """The merged fields of a union, by name; fields of one name and type share their cells."""
    tags = union.tags.members
    merged: dict[tuple[str, Type], set[int]] = {}
    for names, fields in union.variants:
        for name, kind in fields:
            merged.setdefault((name, kind), set()).update(tags.index(tag) for tag in names)
    result, offset = [], 1
    for (name, kind), present in sorted(merged.items(), key=lambda item: item[0][0]):
        result.append(Slot(name, kind, offset, frozenset(present)))
        offset += size(kind)
    return tuple(result)


@cache
def size(kind: Type) -> int:
    """How many cells a value of this type takes."""
    match kind:
        case TSeq(elem, cap):
            return 1 + cap * size(elem)
        case TFun(domain, _, target):
            return len(domain) * size(target)
        case TRec(fields):
            return sum(size(field) for _, field in fields)
        case TUnion():
            return 1 + sum(size(slot.type) for slot in slots(kind))
        case TTuple(parts):
            return sum(size(part) for part in parts)
    return 1


def is_scalar(kind: Type) -> bool:
    """Whether values of this type are one cell (integers, booleans, atoms, sets)."""
    return isinstance(kind, TInt | TBool | TAtom | TSet)


def field_offset(record: TRec, name: str) -> tuple[int, Type] | None:
    """Where a field's cells start in its record, and the field's type; None without such a field."""
    offset = 0
    for field, kind in record.fields:
        if field == name:
            return offset, kind
        offset += size(kind)
    return None


def atom_name(value: Value) -> str:
    """The name of a string or model value."""
    return value.name if isinstance(value, ModelValue) else str(value)


@cache
def bounds(kind: Type, padded: bool = False) -> tuple[tuple[int, int], ...]:
    """The least and greatest value of every cell; `padded`: inside a sequence or union, where 0 also means unused."""
    result: Iterable[tuple[int, int]]
    match kind:
        case TInt(lo, hi):
            if lo is None or hi is None:
                raise unsupported("an integer without bounds has no place in a state", None)
            result = [(lo, hi)]
        case TBool():
            result = [(0, 1)]
        case TAtom(members):
            result = [(0, len(members) - 1)]
        case TSet(_, members):
            result = [(0, (1 << len(members)) - 1)]
        case TSeq(elem, cap):
            result = [(0, cap), *bounds(elem, True) * cap]
        case TFun(domain, _, target):
            result = bounds(target, padded) * len(domain)
        case TRec(fields):
            result = [pair for _, field in fields for pair in bounds(field, padded)]
        case TUnion():
            result = [(0, len(kind.tags.members) - 1)]
            result += [pair for slot in slots(kind) for pair in bounds(slot.type, True)]
        case TTuple(parts):
            result = [pair for part in parts for pair in bounds(part, padded)]
    return tuple((min(lo, 0), max(hi, 0)) for lo, hi in result) if padded else tuple(result)


# --- values <-> cells ---------------------------------------------------------------------------------------------


class Misfit(Exception):
    """A value that its type has no cells for; the message says which."""


def encode(kind: Type, value: Value) -> list[int]:
    """The cells of a value. Raises Misfit when the value is none of the type's (a capacity exceeded, another kind)."""
    out: list[int] = []
    _encode(kind, value, out)
    return out


def _encode(kind: Type, value: Value, out: list[int]) -> None:
    match kind:
        case TInt(lo, hi):
            if type(value) is not int or (lo is not None and value < lo) or (hi is not None and value > hi):
                raise Misfit(f"{value!r} is not an integer in {lo}..{hi}")
            out.append(value)
        case TBool():
            if type(value) is not bool:
                raise Misfit(f"{value!r} is not a boolean")
            out.append(int(value))
        case TAtom(members):
            out.append(_position(members, value))
        case TSet(_, members):
            if not isinstance(value, frozenset):
                raise Misfit(f"{value!r} is not a set")
            out.append(sum(1 << _position(members, element) for element in value))
        case TSeq(elem, cap):
            if not isinstance(value, tuple) or len(value) > cap:
                raise Misfit(f"{value!r} is not a sequence of at most {cap} elements")
            out.append(len(value))
            for element in value:
                _encode(elem, element, out)
            out.extend([0] * ((cap - len(value)) * size(elem)))
        case TFun(domain, _, target):
            for key in domain:
                _encode(target, _image(value, key, len(domain)), out)
        case TRec(fields):
            if not isinstance(value, Fn) or len(value) != len(fields):
                raise Misfit(f"{value!r} is not a record with the fields {', '.join(name for name, _ in fields)}")
            for name, field in fields:
                _encode(field, _image(value, name, len(fields)), out)
        case TUnion():
            _encode_union(kind, value, out)
        case TTuple(parts):
            if not isinstance(value, tuple) or len(value) != len(parts):
                raise Misfit(f"{value!r} is not a tuple of {len(parts)} parts")
            for part, element in zip(parts, value, strict=True):
                _encode(part, element, out)


def _encode_union(kind: TUnion, value: Value, out: list[int]) -> None:
    tag = value.get("type") if isinstance(value, Fn) else None
    fields = next((fields for tags, fields in kind.variants if tag in tags), None)
    if fields is None or len(value) != len(fields) + 1:
        raise Misfit(f"{value!r} is none of the records tagged {', '.join(map(str, kind.tags.members))}")
    index = kind.tags.members.index(tag)
    out.append(index)
    for slot in slots(kind):
        if index in slot.tags:
            _encode(slot.type, _image(value, slot.name, len(fields) + 1), out)
        else:
            out.extend([0] * size(slot.type))


@cache
def _positions(members: tuple[Value, ...]) -> dict[tuple[type, Value], int]:
    return {(type(member), member): index for index, member in enumerate(members)}


def _position(members: tuple[Value, ...], value: Value) -> int:
    index = _positions(members).get((type(value), value))
    if index is None:
        raise Misfit(f"{value!r} is not among {', '.join(map(repr, members[:8]))}{'...' if len(members) > 8 else ''}")
    return index


def _image(value: Value, key: Value, count: int) -> Value:
    if isinstance(value, Fn) and len(value) == count and key in value:
        return value[key]
    if isinstance(value, tuple) and len(value) == count and type(key) is int and 1 <= key <= count:
        return value[key - 1]
    raise Misfit(f"{value!r} has not the domain expected ({key!r} among {count} elements)")


def decode(kind: Type, cells: list[int], at: int = 0) -> Value:
    """The value whose cells start at `at`. Raises Misfit for cells that are no value's."""
    match kind:
        case TInt():
            return int(cells[at])
        case TBool():
            return bool(cells[at])
        case TAtom(members):
            return _member(members, int(cells[at]))
        case TSet(_, members):
            mask = int(cells[at])
            if mask >> len(members):
                raise Misfit(f"{mask} is no set of {len(members)} elements")
            return frozenset(member for index, member in enumerate(members) if mask >> index & 1)
        case TSeq(elem, cap):
            length = int(cells[at])
            if not 0 <= length <= cap:
                raise Misfit(f"{length} is no length of a sequence of at most {cap} elements")
            return tuple(decode(elem, cells, at + 1 + i * size(elem)) for i in range(length))
        case TFun(domain, _, target):
            width = size(target)
            return function({key: decode(target, cells, at + i * width) for i, key in enumerate(domain)})
        case TRec(fields):
            mapping = {}
            for name, field in fields:
                mapping[name] = decode(field, cells, at)
                at += size(field)
            return Fn(mapping)
        case TUnion():
            tag = int(cells[at])
            mapping = {"type": _member(kind.tags.members, tag)}
            for slot in slots(kind):
                if tag in slot.tags:
                    mapping[slot.name] = decode(slot.type, cells, at + slot.offset)
            return Fn(mapping)
        case TTuple(parts):
            items = []
            for part in parts:
                items.append(decode(part, cells, at))
                at += size(part)
            return tuple(items)


def _member(members: tuple[Value, ...], index: int) -> Value:
    if not 0 <= index < len(members):
        raise Misfit(f"{index} is no index into {len(members)} values")
    return members[index]


def enumerate_type(kind: Type, limit: int = MAX_SET) -> list[Value] | None:
    """All values of a type in canonical order, or None when there are more than `limit`."""
    match kind:
        case TInt(lo, hi):
            if lo is None or hi is None or hi - lo + 1 > limit:
                return None
            return list(range(lo, hi + 1))
        case TBool():
            return [False, True]
        case TAtom(members):
            return list(members) if len(members) <= limit else None
        case TSet(_, members):
            if 1 << len(members) > limit:
                return None
            return [decode(kind, [mask]) for mask in range(1 << len(members))]
        case TTuple(parts):
            return _combine([enumerate_type(part, limit) for part in parts], limit, lambda row: tuple(row))
        case TRec(fields):
            names = [name for name, _ in fields]
            columns = [enumerate_type(field, limit) for _, field in fields]
            return _combine(columns, limit, lambda row: Fn(dict(zip(names, row, strict=True))))
        case TFun(domain, _, target):
            columns = [enumerate_type(target, limit)] * len(domain)
            return _combine(columns, limit, lambda row: function(dict(zip(domain, row, strict=True))))
        case TSeq(elem, cap):
            found: list[Value] = []
            for length in range(cap + 1):
                rows = _combine([enumerate_type(elem, limit)] * length, limit, lambda row: tuple(row))
                if rows is None or len(found) + len(rows) > limit:
                    return None
                found += rows
            return found
        case TUnion():
            return _enumerate_union(kind, limit)


def _enumerate_union(kind: TUnion, limit: int) -> list[Value] | None:
    found: list[Value] = []
    for tags, fields in kind.variants:
        for tag in tags:
            names = ["type", *(name for name, _ in fields)]
            columns = [[tag], *(enumerate_type(field, limit) for _, field in fields)]
            rows = _combine(columns, limit, lambda row, names=names: Fn(dict(zip(names, row, strict=True))))  # type: ignore[misc]
            if rows is None or len(found) + len(rows) > limit:
                return None
            found += rows
    return in_order(found)


def _combine(
    columns: list[list[Value] | None], limit: int, build: Callable[[tuple[Value, ...]], Value]
) -> list[Value] | None:
    total = 1
    known: list[list[Value]] = []
    for column in columns:
        if column is None:
            return None
        total *= len(column)
        known.append(column)
    if total > limit:
        return None
    return [build(row) for row in product(*known)]


def describe(kind: Type) -> str:
    """A type in TLA+ notation, for messages."""
    match kind:
        case TInt(lo, hi):
            return f"{'-inf' if lo is None else lo}..{'inf' if hi is None else hi}"
        case TBool():
            return "BOOLEAN"
        case TAtom(members):
            return "{" + ", ".join(repr(m) if isinstance(m, str) else m.name for m in members) + "}"
        case TSet(elem, members):
            return f"SUBSET ({describe(elem)}, {len(members)} values)"
        case TSeq(elem, cap):
            return f"BoundedSeq({describe(elem)}, {cap})"
        case TFun(domain, _, target):
            return f"[{len(domain)} keys -> {describe(target)}]"
        case TRec(fields):
            return "[" + ", ".join(f"{name} : {describe(field)}" for name, field in fields) + "]"
        case TUnion(variants):
            return "records tagged " + ", ".join(tag for tags, _ in variants for tag in tags)
        case TTuple(parts):
            return " \\X ".join(map(describe, parts))
