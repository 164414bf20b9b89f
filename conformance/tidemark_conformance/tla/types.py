"""The types that `TypeOK` gives to variables, and what each of them needs of a state vector.

A type is a finite set of values with one representation: `TInt`, `TBool`, `TAtom` and `TSet` are one cell (int64),
the others are runs of cells (ARCHITECTURE.md, "Layout"). Values are in canonical order (`values.in_order`) everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TypeAlias


from tidemark_conformance.errors import Unsupported
from tidemark_conformance.tla.ir import (
    Case,
    Const,
    Expr,
    If,
    Let,
    Lit,
    Loc,
    Local,
    Mark,
    Op,
    RecordSet,
    SetEnum,
    SetFilter,
    SetMap,
)
from tidemark_conformance.tla.walk import map_children
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


def canonical(values: Iterable[Value], loc: Loc | None = None) -> tuple[tuple[Value, ...], Type]:
    """Values in canonical order, with the least type that holds them all."""
    distinct = set(values)
    kind = type_of_values(distinct, loc)
    return tuple(in_order(distinct)), kind


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


# --- joins and types of values ------------------------------------------------------------------------------------


def join(a: Type, b: Type, loc: Loc | None = None) -> Type:
    """The least type that holds the values of both; unlike representations raise Unsupported."""
    if a == b:
        return a
    match a, b:
        case TInt(), TInt():
            return TInt(_least(a.lo, b.lo, min), _least(a.hi, b.hi, max))
        case TAtom(), TAtom():
            return TAtom(tuple(sorted({*a.members, *b.members}, key=atom_name)))
        case TSet(), TSet():
            if not a.members or not b.members:
                return a if a.members else b
            members, kind = canonical({*a.members, *b.members}, loc)
            return TSet(kind, members)
        case TSeq(), TSeq():
            if a.cap == 0 or b.cap == 0:
                return a if b.cap == 0 else b
            return TSeq(join(a.elem, b.elem, loc), max(a.cap, b.cap))
        case TFun(), TFun() if a.domain == b.domain:
            return TFun(a.domain, a.key, join(a.range, b.range, loc))
        case TTuple(), TTuple() if len(a.parts) == len(b.parts):
            return TTuple(tuple(join(x, y, loc) for x, y in zip(a.parts, b.parts, strict=True)))
        case (TSeq(), TTuple()) | (TTuple(), TSeq()):
            seq, tup = (a, b) if isinstance(a, TSeq) else (b, a)
            return join(seq, _as_sequence(tup, loc), loc)  # type: ignore[arg-type]
        case ((TRec() | TUnion()), (TRec() | TUnion())):
            return _join_records(a, b, loc)
    raise unsupported(f"values of unlike kinds meet ({describe(a)} and {describe(b)})", loc)


def _least(x: int | None, y: int | None, pick: Callable[[int, int], int]) -> int | None:
    return None if x is None or y is None else pick(x, y)


def _as_sequence(kind: TTuple, loc: Loc | None) -> TSeq:
    elem = kind.parts[0]
    for part in kind.parts[1:]:
        elem = join(elem, part, loc)
    return TSeq(elem, len(kind.parts))


def _variants(kind: TRec | TUnion) -> tuple[tuple[tuple[str, ...], tuple[tuple[str, Type], ...]], ...]:
    if isinstance(kind, TUnion):
        return kind.variants
    tag = dict(kind.fields).get("type")
    if not isinstance(tag, TAtom):
        return ()
    return ((tag.members, tuple((name, field) for name, field in kind.fields if name != "type")),)


def _join_records(a: TRec | TUnion, b: TRec | TUnion, loc: Loc | None) -> Type:
    if isinstance(a, TRec) and isinstance(b, TRec) and [n for n, _ in a.fields] == [n for n, _ in b.fields]:
        return TRec(tuple((n, join(x, y, loc)) for (n, x), (_, y) in zip(a.fields, b.fields, strict=True)))
    merged: list[tuple[tuple[str, ...], tuple[tuple[str, Type], ...]]] = []
    for tags, fields in (*_variants(a), *_variants(b)):
        same = next((i for i, (known, _) in enumerate(merged) if set(known) & set(tags)), None)
        if same is None:
            merged.append((tags, fields))
            continue
        known_tags, known_fields = merged[same]
        joined = join(TRec(known_fields), TRec(fields), loc)
        if not isinstance(joined, TRec):
            raise unsupported("two records with one `type` have different fields", loc)
        merged[same] = (tuple(sorted({*known_tags, *tags})), joined.fields)
    if not _variants(a) or not _variants(b):
        raise unsupported(f"records of unlike kinds meet without a field `type` ({describe(a)}; {describe(b)})", loc)
    return TUnion(tuple(sorted(merged, key=lambda variant: variant[0])))


def type_of_values(values: Iterable[Value], loc: Loc | None = None) -> Type:
    """The least type that holds all these values (at least one)."""
    kind: Type | None = None
    for value in values:
        own = type_of_value(value, loc)
        kind = own if kind is None else join(kind, own, loc)
    if kind is None:
        return TAtom(())
    return kind


def type_of_value(value: Value, loc: Loc | None = None) -> Type:
    """The least type that holds this value."""
    match value:
        case bool():
            return TBool()
        case int():
            return TInt(value, value)
        case str() | ModelValue():
            return TAtom((value,))
        case frozenset():
            members, kind = canonical(value, loc)
            if len(members) > MAX_SET:
                raise unsupported(f"a set of {len(members)} elements, more than {MAX_SET}", loc)
            return TSet(kind, members)
        case tuple():
            return TTuple(tuple(type_of_value(part, loc) for part in value)) if value else TSeq(TBool(), 0)
        case Fn():
            if all(isinstance(key, str) for key in value):
                return TRec(tuple(sorted((key, type_of_value(part, loc)) for key, part in value.items())))
            domain, key = canonical(value, loc)
            return TFun(domain, key, type_of_values(value.values(), loc))
    raise unsupported(f"a value of an unknown kind ({value!r})", loc)


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


# --- types of TypeOK's sets ---------------------------------------------------------------------------------------


def conjuncts(expr: Expr, loc: Loc | None = None) -> list[tuple[Expr, Loc | None]]:
    """The top-level conjuncts of a predicate each with its innermost marked place."""
    if isinstance(expr, Mark):
        return conjuncts(expr.body, expr.loc)
    if isinstance(expr, Op) and expr.name == "and":
        return [item for arg in expr.args for item in conjuncts(arg, loc)]
    return [(expr, loc)]


def strip(expr: Expr) -> Expr:
    """The expression under its marks."""
    while isinstance(expr, Mark):
        expr = expr.body
    return expr


def type_of_set(expr: Expr, constant: Evaluate, loc: Loc | None = None) -> Type:
    """The type whose values are the elements of a constant-level set expression of TypeOK."""
    while isinstance(expr, Mark):
        loc = expr.loc
        expr = expr.body
    match expr:
        case Op("boolean", ()):
            return TBool()
        case Op("range", (low, high)):
            return TInt(constant(low), constant(high))
        case Op("union", (a, b)):
            return join(type_of_set(a, constant, loc), type_of_set(b, constant, loc), loc)
        case Op("powerset", (inner,)):
            elem = type_of_set(inner, constant, loc)
            members, elem = _members(inner, elem, constant, loc)
            if len(members) > MAX_SET:
                raise unsupported(f"SUBSET of a set of {len(members)} elements, more than {MAX_SET}", loc)
            return TSet(elem, members)
        case Op("product", parts):
            return TTuple(tuple(type_of_set(part, constant, loc) for part in parts))
        case Op("function_set", (domain, target)):
            keys, key = canonical(constant(domain), loc)
            return TFun(keys, key, type_of_set(target, constant, loc))
        case Op("bigunion", (SetMap() as family,)) | Op("bigunion", (Mark(body=SetMap() as family),)):
            return _bounded_sequence(family, constant, loc)
        case SetFilter() if (found := bounded_sequences(expr)) is not None:
            return TSeq(type_of_set(found[0], constant, loc), constant(found[1]))
        case RecordSet(fields):
            return TRec(tuple(sorted((name, type_of_set(part, constant, loc)) for name, part in fields)))
        case If(condition, then, orelse):
            return type_of_set(then if constant(condition) else orelse, constant, loc)
        case Op("int" | "nat" | "string" | "seq", _):
            raise unsupported("TypeOK uses an infinite set (Int, Nat, Seq or STRING)", loc)
        case Let():
            return type_of_set(unfolded(expr), constant, loc)
        case SetEnum() | Const() | Op() | SetFilter() | SetMap() | Lit() | Local() | Case():
            return type_of_values(constant(expr), loc)
    raise unsupported("TypeOK uses a set of an unknown form", loc)


def _members(expr: Expr, elem: Type, constant: Evaluate, loc: Loc | None) -> tuple[tuple[Value, ...], Type]:
    """The values of a set expression (all values of its type if that is what the set is), in canonical order."""
    listed = enumerate_type(elem)
    if listed is not None and not isinstance(elem, TInt | TAtom):
        return tuple(listed), elem
    return canonical(constant(expr), loc)


def unfolded(definition: Let) -> Expr:
    """The body of a LET with the definition put in for its name."""

    def put(expr: Expr) -> Expr:
        if isinstance(expr, Local) and expr.uid == definition.uid:
            return definition.value
        return map_children(expr, put)

    return put(definition.body)


def bounded_sequences(expr: SetFilter) -> tuple[Expr, Expr] | None:
    """S and n of {s \\in Seq(S) : Len(s) <= n}, None for another set."""
    match strip(expr.binder.domain), strip(expr.body):
        case Op("seq", (elem,)), Op("le", (Op("len", (Local(uid, _),)), cap)) if uid == expr.binder.uid:
            return elem, cap
    return None


def _bounded_sequence(family: SetMap, constant: Evaluate, loc: Loc | None) -> Type:
    """UNION {[1..m -> S] : m \\in 0..n}."""
    if len(family.binders) == 1:
        binder = family.binders[0]
        match strip(family.body), strip(binder.domain):
            case Op("function_set", (domain, target)), Op("range", (low, high)):
                match strip(domain):
                    case Op("range", (one, Local(uid, _))) if uid == binder.uid and constant(one) == 1:
                        if constant(low) == 0:
                            return TSeq(type_of_set(target, constant, loc), constant(high))
    raise unsupported("a UNION in TypeOK that is not UNION {[1..m -> S] : m \\in 0..n}", loc)


def exact(expr: Expr, constant: Evaluate) -> bool:
    """Whether a set of TypeOK holds every value that has cells in its type (so that the layout guarantees it)."""
    match strip(expr):
        case Let() as definition:
            return exact(unfolded(definition), constant)
        case Op("boolean" | "range", _):
            return True
        case Op("powerset", (inner,)):
            return isinstance(constant(inner), frozenset)
        case Op("union", (a, b)):
            kind = type_of_set(expr, constant)
            return exact(a, constant) and exact(b, constant) and isinstance(kind, TAtom | TUnion)
        case Op("product", parts):
            return all(exact(part, constant) for part in parts)
        case Op("function_set", (_, target)):
            return exact(target, constant)
        case Op("bigunion", (family,)):
            body = strip(family)
            match strip(body.body) if isinstance(body, SetMap) else None:
                case Op("function_set", (_, target)):
                    return exact(target, constant)
            return False
        case SetFilter() as filtered if (found := bounded_sequences(filtered)) is not None:
            return exact(found[0], constant)
        case RecordSet(fields):
            return all(exact(part, constant) for _, part in fields)
        case If(condition, then, orelse):
            return exact(then if constant(condition) else orelse, constant)
        case SetEnum() | Const() | Op():
            values = constant(expr)
            kind = type_of_values(values)
            return isinstance(kind, TAtom) or (
                isinstance(kind, TInt) and kind.lo is not None and kind.hi == kind.lo + len(values) - 1
            )
    return False
