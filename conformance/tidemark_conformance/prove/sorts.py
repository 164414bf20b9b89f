"""The sorts that TypeOK gives to variables once capacities are lifted, their symbols, and values in and out of them.

A sequence whose greatest length is a lifted capacity is a length and functions of the index; one with another limit has
that many cells. A function over a range that reads a lifted capacity is a function of the index. Everything else is
expanded: functions over constant domains, records, sets as one proposition for each possible element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import z3

from tidemark_conformance.errors import Unsupported
from tidemark_conformance.prove.equality import choice, member, same
from tidemark_conformance.prove.terms import (
    NOTHING,
    Arr,
    Atom,
    Coded,
    Filtered,
    Fun,
    Listed,
    Range,
    Rec,
    Symbolic,
    Term,
    as_code,
    as_int,
    known,
    settled,
)
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tla.ir import Const, Expr, If, Let, Lit, Loc, Mark, Module, Op, RecordSet, SetFilter
from tidemark_conformance.tla.typeok import bounded_sequences, strip, type_of_set, unfolded
from tidemark_conformance.tla.types import (
    Evaluate,
    TAtom,
    TBool,
    TFun,
    TInt,
    TRec,
    TSeq,
    TSet,
    TTuple,
    TUnion,
    Type,
    describe,
)
from tidemark_conformance.tla.values import Fn, ModelValue, Value, function, in_order, show
from tidemark_conformance.tla.walk import constants_used, walk


@dataclass(frozen=True, slots=True)
class SInt:
    """Integers, unbounded."""


@dataclass(frozen=True, slots=True)
class SBool:
    """FALSE and TRUE."""


@dataclass(frozen=True, slots=True)
class SAtom:
    """Strings or model values, each by its code."""

    members: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class SSet:
    """Sets of these values."""

    members: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class SSeq:
    """Sequences; `cap`: their greatest length, None: unbounded."""

    elem: Sort
    cap: int | None


@dataclass(frozen=True, slots=True)
class SMap:
    """Functions over low..high. With `high` None they are over low, low + 1, ... up to the capacity `end` (its name,
    and the addend), which is lifted."""

    low: int
    high: int | None
    image: Sort
    end: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class SFun:
    """Functions over listed keys."""

    keys: tuple[Value, ...]
    image: Sort


@dataclass(frozen=True, slots=True)
class SRec:
    """Records: field -> (its sort, the tags of the records that have it; None: all)."""

    fields: tuple[tuple[str, Sort, tuple[str, ...] | None], ...]


@dataclass(frozen=True, slots=True)
class STuple:
    """Tuples, part by part."""

    parts: tuple[Sort, ...]


Sort: TypeAlias = "SInt | SBool | SAtom | SSet | SSeq | SMap | SFun | SRec | STuple"


def refused(what: str, loc: Loc | None, cure: str) -> Unsupported:
    """The error for what the proof backend has no terms for: one sentence with the place."""
    return Unsupported(f"{loc or 'specification'}: the proof backend cannot express {what}; {cure}.")


@dataclass(frozen=True)
class Reader:
    """Reads sorts off the set expressions of TypeOK.

    `lifted`: the constants whose limits are lifted. `infinite`: they are without end (False: they keep the cfg's
    values, for comparisons with TLC, while the sorts stay the same).
    """

    constant: Evaluate
    lifted: frozenset[str]
    infinite: bool

    def reads(self, expr: Expr) -> bool:
        """Whether the text reads a lifted capacity."""
        return bool(constants_used(expr) & self.lifted)

    def sort(self, expr: Expr, loc: Loc | None = None) -> Sort:
        """The sort of the elements of a set. Raises Unsupported with the place."""
        while isinstance(expr, Mark):
            loc, expr = (loc if expr.loc.module == "Bounded" and loc else expr.loc), expr.body
        if not self.reads(expr):
            return of_type(type_of_set(expr, self.constant, loc), loc)
        match expr:
            case Op("range", _):
                return SInt()
            case Op("union", (a, b)):
                return joined(self.sort(a, loc), self.sort(b, loc), loc)
            case Op("function_set", (domain, target)):
                return self.mapping(domain, target, loc)
            case SetFilter() if (found := bounded_sequences(expr)) is not None:
                cap = None if self.reads(found[1]) else self.constant(found[1])
                return SSeq(self.sort(found[0], loc), cap)
            case RecordSet(fields):
                return _record([(name, self.sort(part, loc)) for name, part in fields])
            case Op("product", parts):
                return STuple(tuple(self.sort(part, loc) for part in parts))
            case If(condition, then, orelse):
                return self.sort(then if self.constant(condition) else orelse, loc)
            case Let():
                return self.sort(unfolded(expr), loc)
            case Op("powerset", _):
                raise refused("sets of numbers without a bound", loc, "keep the capacity bounded (KeptBounds)")
        raise refused("this set of TypeOK", loc, "keep its capacities bounded (KeptBounds)")

    def mapping(self, domain: Expr, target: Expr, loc: Loc | None) -> Sort:
        if not self.reads(domain):
            keys = of_type(type_of_set(Op("function_set", (domain, Op("boolean", ()))), self.constant, loc), loc)
            assert isinstance(keys, SFun)
            return SFun(keys.keys, self.sort(target, loc))
        inner = strip(domain)
        if isinstance(inner, Op) and inner.name == "range" and not self.reads(inner.args[0]):
            low, image = self.constant(inner.args[0]), self.sort(target, loc)
            if not self.infinite:
                return SMap(low, self.constant(inner.args[1]), image)
            match strip(inner.args[1]):
                case Const(name):
                    return SMap(low, None, image, (name, 0))
                case Op("add" | "sub" as sign, (left, right)) if not self.reads(right):
                    capacity = strip(left)
                    if isinstance(capacity, Const):
                        more = self.constant(right)
                        return SMap(low, None, image, (capacity.name, more if sign == "add" else -more))
        raise refused("a function over this set of lifted numbers", loc, "use a range a..Capacity as its domain")


def _record(fields: Iterable[tuple[str, Sort]]) -> Sort:
    listed = sorted(fields)
    tag = dict(listed).get("type")
    tags = tuple(tag.members) if isinstance(tag, SAtom) else None
    return SRec(tuple((name, part, tags if name != "type" else None) for name, part in listed))


def of_type(kind: Type, loc: Loc | None = None) -> Sort:
    """The sort of a type without lifted limits."""
    match kind:
        case TInt():
            return SInt()
        case TBool():
            return SBool()
        case TAtom(members):
            return SAtom(members)
        case TSet(_, members):
            return SSet(members)
        case TSeq(elem, cap):
            return SSeq(of_type(elem, loc), cap)
        case TFun(domain, _, target):
            return SFun(domain, of_type(target, loc))
        case TRec(fields):
            return _record([(name, of_type(part, loc)) for name, part in fields])
        case TTuple(parts):
            return STuple(tuple(of_type(part, loc) for part in parts))
        case TUnion(variants):
            found: Sort | None = None
            for tags, fields in variants:
                one = _record([("type", SAtom(tags)), *((name, of_type(part, loc)) for name, part in fields)])
                found = one if found is None else joined(found, one, loc)
            assert found is not None
            return found
    raise refused(f"the type {describe(kind)}", loc, "use the types of docs/conventions.md")


def joined(a: Sort, b: Sort, loc: Loc | None) -> Sort:
    """The sort that holds the values of both. Raises Unsupported for unlike kinds."""
    if a == b:
        return a
    match a, b:
        case SAtom(), SAtom():
            return SAtom(tuple(dict.fromkeys([*a.members, *b.members])))
        case SSet(), SSet():
            return SSet(tuple(dict.fromkeys([*a.members, *b.members])))
        case SSeq(), SSeq():
            cap = None if a.cap is None or b.cap is None else max(a.cap, b.cap)
            return SSeq(joined(a.elem, b.elem, loc), cap)
        case SMap(), SMap() if (a.low, a.high, a.end) == (b.low, b.high, b.end):
            return SMap(a.low, a.high, joined(a.image, b.image, loc), a.end)
        case SFun(), SFun() if a.keys == b.keys:
            return SFun(a.keys, joined(a.image, b.image, loc))
        case STuple(), STuple() if len(a.parts) == len(b.parts):
            return STuple(tuple(joined(x, y, loc) for x, y in zip(a.parts, b.parts, strict=True)))
        case SRec(), SRec():
            fields = {name: (part, tags) for name, part, tags in a.fields}
            if {*fields} != {name for name, _, _ in b.fields} and (not _tags(a) or not _tags(b) or _tags(a) & _tags(b)):
                raise refused(
                    "records with unlike fields that no tag tells apart", loc, "give each a `type` of its own"
                )
            for name, part, tags in b.fields:
                if name in fields:
                    before, earlier = fields[name]
                    both = None if tags is None or earlier is None else tuple(dict.fromkeys([*earlier, *tags]))
                    fields[name] = (joined(before, part, loc), both)
                else:
                    fields[name] = (part, tags)
            return SRec(tuple((name, part, tags) for name, (part, tags) in sorted(fields.items())))
    raise refused("values of unlike kinds in one variable", loc, "give each its own variable or tag")


def _tags(record: SRec) -> set[Value]:
    """The values of a record's field `type`, none where it has no such field of strings or model values."""
    tag = next((part for name, part, _ in record.fields if name == "type"), None)
    return {*tag.members} if isinstance(tag, SAtom) else set()


class Codes:
    """The integers that stand for strings and model values in terms: one each, in the order of their names."""

    def __init__(self, values: Iterable[Value]) -> None:
        self._codes: dict[Value, int] = {}
        for value in sorted({*values}, key=lambda one: (type(one).__name__, str(one))):
            self.atom(value)

    def atom(self, value: Value) -> Atom:
        """The atom of a value; one that was not given gets the next code."""
        return Atom(value, self._codes.setdefault(value, len(self._codes)))

    def value(self, code: int) -> Value:
        """The value of a code; None for a code that stands for nothing."""
        return next((value for value, own in self._codes.items() if own == code), None)


def atoms(module: Module, constants: Mapping[str, Value]) -> list[Value]:
    """The strings and model values of a specification."""
    found: set[Value] = set()

    def collect(value: Value) -> None:
        if isinstance(value, str | ModelValue):
            found.add(value)
        elif isinstance(value, frozenset | tuple):
            for item in value:
                collect(item)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                collect(key)
                collect(item)

    for name, value in constants.items():
        if name != WITHOUT:
            collect(value)
    bodies = [module.type_ok, module.init, *(action.body for action in module.actions)]
    for body in bodies:
        for node in walk(body):
            if isinstance(node, Lit) and node.kind == "str":
                found.add(node.value)
    return list(found)


def constant_form(value: Value, codes: Codes) -> Symbolic:
    """A TLA+ value as a symbolic one."""
    if isinstance(value, bool | int):
        return value
    if isinstance(value, str | ModelValue):
        return codes.atom(value)
    if isinstance(value, frozenset):
        return Listed(tuple((True, constant_form(item, codes)) for item in in_order(value)))
    if isinstance(value, tuple):
        items = [constant_form(item, codes) for item in value]
        return sequence(items)
    if isinstance(value, Fn):
        if all(isinstance(key, str) for key in value):
            return Rec({key: (constant_form(part, codes), True) for key, part in sorted(value.items())})
        keys = tuple(value)
        forms = tuple(constant_form(key, codes) for key in keys)
        return Fun(keys, forms, tuple(constant_form(value[key], codes) for key in keys))
    raise refused(f"the value {value!r}", None, "use values of the supported kinds")


def known_value(form: Symbolic) -> Value:
    """The TLA+ value of a symbolic one, NOTHING if not all of it is known."""
    if isinstance(form, Atom):
        return form.value
    if isinstance(form, bool | int):
        return form
    if isinstance(form, Coded):
        return NOTHING
    parts: list[Value]
    if isinstance(form, Arr) and type(form.low) is int and type(form.high) is int:
        parts = [known_value(form.get(i)) for i in range(form.low, form.high + 1)]
        return NOTHING if NOTHING in parts else function(dict(enumerate(parts, form.low)))
    if isinstance(form, Rec) and all(has is True for _, has in form.fields.values()):
        parts = [known_value(value) for value, _ in form.fields.values()]
        return NOTHING if NOTHING in parts else Fn(dict(zip(form.fields, parts, strict=True)))
    if isinstance(form, Listed) and all(guard is True for guard, _ in form.items):
        parts = [known_value(item) for _, item in form.items]
        return NOTHING if NOTHING in parts else frozenset(parts)
    if isinstance(form, Fun):
        parts = [known_value(image) for image in form.images]
        return NOTHING if NOTHING in parts else function(dict(zip(form.keys, parts, strict=True)))
    return NOTHING


def sequence(items: list[Symbolic]) -> Arr:
    """The sequence of these elements."""

    def get(index: Term) -> Symbolic:
        if known(index):
            return items[index - 1] if 1 <= index <= len(items) else (items[-1] if items else NOTHING)
        if not items:
            return NOTHING
        found = items[-1]
        for at in range(len(items) - 1, 0, -1):
            found = choice(same(index, at), items[at - 1], found)
        return found

    return Arr(1, len(items), get, len(items))


@dataclass
class Symbols:
    """Makes the symbols of variables. `caps`: the greatest value of length terms, by the identity of their AST."""

    codes: Codes
    caps: dict[int, int] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    lengths: set[str] = field(default_factory=set)
    """The names of the lengths of sequences."""
    made: int = 0

    def next_name(self, name: str) -> str:
        """A name that no other symbol has."""
        self.made += 1
        return f"{name}?{self.made}"

    def make(self, sort: Sort, name: str, index: tuple[Term, ...] = ()) -> Symbolic:
        """The symbolic value named `name`; with `index`, at these indices of the functions around it."""
        match sort:
            case SInt():
                return self._scalar(name, index, z3.IntSort())
            case SAtom():
                return Coded(self._scalar(name, index, z3.IntSort()))
            case SBool():
                return self._scalar(name, index, z3.BoolSort())
            case SSet(members):
                return Listed(
                    tuple(
                        (
                            self._scalar(f"{name}.{self.label(member)}", index, z3.BoolSort()),
                            constant_form(member, self.codes),
                        )
                        for member in members
                    )
                )
            case SSeq(elem, None):
                self.lengths.add(f"{name}.len")
                length = self._scalar(f"{name}.len", index, z3.IntSort())
                return Arr(1, length, lambda i: self.make(elem, name, (*index, i)), ordered=True)
            case SSeq(elem, int(cap)):
                length = self._scalar(f"{name}.len", index, z3.IntSort())
                self.kept.append(length)
                self.caps[length.get_id()] = max(cap, self.caps.get(length.get_id(), cap))
                cells = sequence([self.make(elem, f"{name}.{at + 1}", index) for at in range(cap)])
                return Arr(1, length, cells.get, cap, ordered=True)
            case SMap(low, high, image, end):
                limit = None if end is None else settled(z3.Int(end[0]) + end[1])
                return Arr(low, high, lambda i: self.make(image, name, (*index, i)), end=limit)
            case SFun(keys, image):
                forms = tuple(constant_form(key, self.codes) for key in keys)
                return Fun(keys, forms, tuple(self.make(image, f"{name}.{self.label(key)}", index) for key in keys))
            case SRec(fields):
                values = {one: self.make(part, f"{name}.{one}", index) for one, part, _ in fields}
                tag = values["type"].term if isinstance(values.get("type"), Coded) else None
                return Rec({one: (values[one], self.tagged(tag, tags, fields)) for one, _, tags in fields})
            case STuple(parts):
                return sequence([self.make(part, f"{name}.{at + 1}", index) for at, part in enumerate(parts)])

    def tagged(self, tag: Term, tags: tuple[str, ...] | None, fields: tuple[Any, ...]) -> Term:
        """Whether a record with this tag has a field of the records with `tags`."""
        if tags is None or tag is None:
            return True
        everything = next(part for one, part, _ in fields if one == "type")
        if set(everything.members) == set(tags):
            return True
        terms = [tag == self.codes.atom(one).code for one in sorted(tags)]
        return terms[0] if len(terms) == 1 else z3.Or(*terms)

    @staticmethod
    def label(value: Value) -> str:
        """A text for a value in a symbol's name."""
        return value.name if isinstance(value, ModelValue) else show(value)

    @staticmethod
    def _scalar(name: str, index: tuple[Term, ...], sort: Any) -> Term:
        if not index:
            return z3.Const(name, sort)
        function_ = z3.Function(name, *([z3.IntSort()] * len(index)), sort)
        return function_(*index)


def read(value: Symbolic, sort: Sort, codes: Codes, settle: Callable[[Term], Term], most: int = 64) -> Value:
    """The TLA+ value of a symbolic one; `settle` turns a term into a Python value. Functions without end are read at
    their first `most` indices."""
    match sort:
        case SInt():
            return settle(as_int(value))
        case SBool():
            return settle(value)
        case SAtom():
            return value.value if isinstance(value, Atom) else codes.value(settle(as_code(value)))
        case SSet(members):
            if isinstance(value, Range | Filtered | Listed):
                return frozenset(one for one in members if settle(member(constant_form(one, codes), value)))
        case SSeq(elem, _) if isinstance(value, Arr):
            length = settle(value.high)
            return tuple(read(value.get(i), elem, codes, settle, most) for i in range(1, min(length, most) + 1))
        case SMap(low, high, image) if isinstance(value, Arr):
            last = low + most - 1 if high is None else high
            return function({i: read(value.get(i), image, codes, settle, most) for i in range(low, last + 1)})
        case SFun(_, image) if isinstance(value, Fun):
            pairs = zip(value.keys, value.images, strict=True)
            return function({key: read(part, image, codes, settle, most) for key, part in pairs})
        case SRec(fields) if isinstance(value, Rec):
            return Fn(
                {
                    name: read(value.fields[name][0], part, codes, settle, most)
                    for name, part, _ in fields
                    if name in value.fields and settle(value.fields[name][1])
                }
            )
        case STuple(parts) if isinstance(value, Arr):
            return tuple(read(value.get(at + 1), part, codes, settle, most) for at, part in enumerate(parts))
    raise refused("a value of another kind than its variable", None, "give the variable one kind of values")
