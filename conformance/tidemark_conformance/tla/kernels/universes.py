"""The types of symbolic values, and the universes that sets are among."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tidemark_conformance.tla.kernels import compound, values
from tidemark_conformance.tla.kernels.context import Context, Mode
from tidemark_conformance.tla.kernels.symbols import (
    Atom,
    Bool,
    Choice,
    Enum,
    Filter,
    Flat,
    Gen,
    Image,
    Int,
    Item,
    Join,
    Literal,
    Mask,
    Place,
    Product,
    Range,
    Rec,
    Records,
    Run,
    Seg,
    Subsets,
    Symbol,
    Tup,
    Update,
)
from tidemark_conformance.tla.typeok import join
from tidemark_conformance.tla.types import (
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
    enumerate_type,
)

OUTSIDE = 62
"""The bit of a mask that says: and something that the universe does not have."""


def type_of(c: Context, value: Symbol) -> Type:
    """The type that a value certainly has."""
    match value:
        case Int(_, lo, hi):
            return TInt(lo, hi)
        case Bool():
            return TBool()
        case Atom(_, members):
            return TAtom(members)
        case Place(_, kind, _):
            return kind
        case Rec(fields):
            kinds = tuple((name, type_of(c, part)) for name, part in sorted(fields.items()))
            tag = dict(kinds).get("type")
            if isinstance(tag, TAtom) and all(isinstance(m, str) for m in tag.members):
                rest = tuple((name, kind) for name, kind in kinds if name != "type")
                return TUnion(((tag.members, rest),)) if len(tag.members) == 1 else TRec(kinds)
            return TRec(kinds)
        case Tup(items):
            return TTuple(tuple(type_of(c, item) for item in items)) if items else TSeq(TBool(), 0)
        case Update(base, _, _):
            return _type_of_update(c, value, type_of(c, base))
        case Choice(_, then, orelse):
            both: list[Type] = []
            for part in (then, orelse):
                with c.only(Mode.TYPE):
                    both.append(type_of(c, part))
            return join(both[0], both[1], c.loc)
        case Seg() | Literal():
            return _type_of_elements(c, value)
    own = universe(c, value)
    if own is None:
        raise c.unsupported("a set whose elements are not known to be among 62 values is used as a value")
    return own


def _type_of_update(c: Context, value: Update, base: Type) -> Type:
    with c.only(Mode.TYPE):
        new = type_of(c, value.value())
    match base:
        case TFun(domain, key, target):
            return TFun(domain, key, join(target, new, c.loc))
        case TSeq(elem, cap):
            return TSeq(join(elem, new, c.loc), cap)
        case TTuple(parts):  # so is the type of a constant function on 1..n, whatever the key
            lo, hi = (value.key.lo, value.key.hi) if isinstance(value.key, Int) else (None, None)
            return TTuple(
                tuple(
                    join(part, new, c.loc) if (lo is None or lo <= i) and (hi is None or i <= hi) else part
                    for i, part in enumerate(parts, 1)
                )
            )
        case TRec(fields):
            return TRec(_updated_fields(c, value.key, fields, new))
        case TUnion(variants) if isinstance(value.key, str) and value.key != "type":
            return TUnion(tuple((tags, _updated_fields(c, value.key, fields, new)) for tags, fields in variants))
    raise c.unsupported(f"EXCEPT changes {describe(base)} in a way that has no type")


def _updated_fields(
    c: Context, key: Symbol | str, fields: Sequence[tuple[str, Type]], new: Type
) -> tuple[tuple[str, Type], ...]:
    """The fields of a record when one is given a value of type `new`: any of them, where the key is computed."""
    return tuple((n, join(k, new, c.loc) if n == key or not isinstance(key, str) else k) for n, k in fields)


def _type_of_elements(c: Context, value: Seg | Literal) -> Type:
    if isinstance(value, Literal) and not (isinstance(value.domain, Range) and value.domain.lo.code == "1"):
        kind = fixed(c, value.domain)
        if kind is None:
            raise c.unsupported("a function whose domain is no constant set of at most 62 values is used as a value")
        with c.only(Mode.TYPE):
            target = type_of(c, value.body(values.member_at(c, kind, "0")))
        return TFun(kind.members, kind.elem, target)
    cap, elem = 0, cast("Type | None", None)
    for part in compound.sequence_parts(c, value):
        with c.only(Mode.TYPE):
            match part:
                case Run(place, _, _, most):
                    own = values.element_type(place.kind)
                case Item(item):
                    own, most = type_of(c, item), 1
                case Gen(_, element, known):
                    if known is None:
                        raise c.unsupported("a sequence of a length without a known bound is used as a value")
                    own, most = type_of(c, element("0")), known
        cap += most
        elem = own if elem is None else join(elem, own, c.loc)
    return TSeq(elem or TBool(), cap)


def full(kind: TSet) -> Mask:
    """The set of all members of a universe."""
    return Mask(str((1 << len(kind.members)) - 1), kind)


def universe(c: Context, value: Symbol) -> TSet | None:
    """A universe that certainly holds a set's elements, None if none of at most 62 values is known."""
    match value:
        case Mask(_, kind):
            return kind
        case Range(lo, hi):
            return _finite(TInt(lo.lo, hi.hi))
        case Enum(items):
            return _union_of(c, [_finite(type_of(c, item)) for item in items])
        case Filter(source, _):
            return universe(c, source)
        case Join(left, right):
            return _union_of(c, [universe(c, left), universe(c, right)])
        case Choice(_, then, orelse):
            with c.only(Mode.TYPE):
                both = [universe(c, then), universe(c, orelse)]
            return _union_of(c, both)
        case Image():
            return _universe_of_image(c, value)
        case Flat(inner):
            outer = universe(c, inner)
            if outer is not None and isinstance(outer.elem, TSet):
                return outer.elem
            return _universe_of_elements(c, inner)
        case Subsets(source):
            base = universe(c, source)
            return None if base is None else _finite(base)
        case Product(parts):
            kinds = [universe(c, part) for part in parts]
            if any(kind is None for kind in kinds):
                return None
            return _finite(TTuple(tuple(cast(TSet, kind).elem for kind in kinds)))
        case Records(fields):
            named = [(name, universe(c, part)) for name, part in sorted(fields.items())]
            if any(kind is None for _, kind in named):
                return None
            return _finite(TRec(tuple((name, cast(TSet, kind).elem) for name, kind in named)))
    return None


def fixed(c: Context, value: Symbol) -> TSet | None:
    """The universe of a set that certainly holds all of it, None for other sets."""
    kind = universe(c, value)
    if kind is None:
        return None
    match value:
        case Mask(code, _):
            return kind if code == full(kind).code else None
        case Range(lo, hi):
            return kind if is_number(lo.code) and is_number(hi.code) else None
        case Enum(items):
            known = all(isinstance(item, Int | Atom) and is_number(item.code) for item in items)
            return kind if known and len(kind.members) == len(items) else None
        case Product(parts):
            return kind if all(fixed(c, part) is not None for part in parts) else None
        case Subsets(source):
            return kind if fixed(c, source) is not None else None
    return None


def is_number(code: str) -> bool:
    """Whether a text is a number."""
    return code.lstrip("-").isdigit()


def _universe_of_elements(c: Context, inner: Symbol) -> TSet | None:
    """The universe of UNION of an enumeration or image of sets, from its element sets."""
    found: list[TSet | None] = []
    with c.only(Mode.TYPE):
        c.iterate(inner, lambda element: found.append(universe(c, element)), None)
    return _union_of(c, found)


def _finite(kind: Type) -> TSet | None:
    listed = enumerate_type(kind)
    return None if listed is None else TSet(kind, tuple(listed))


def _union_of(c: Context, kinds: list[TSet | None]) -> TSet | None:
    result: TSet | None = None
    for kind in kinds:
        if kind is None:
            return None
        result = kind if result is None else cast(TSet, join(result, kind, c.loc))
    if result is None:
        return TSet(TInt(0, 0), ())
    return result if len(result.members) <= OUTSIDE else None


def _universe_of_image(c: Context, value: Image) -> TSet | None:
    kinds: list[Type] = []
    with c.only(Mode.TYPE):
        c.iterate(value, lambda element: kinds.append(type_of(c, element)), None)
    if not kinds:
        return TSet(TInt(0, 0), ())
    result = kinds[0]
    for kind in kinds[1:]:
        result = join(result, kind, c.loc)
    return _finite(result)
