"""Sets as bit masks, and the universes that masks are over."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from tidemark_conformance.tla.kernels import compound, equality, iteration, storing, values
from tidemark_conformance.tla.kernels.context import Context
from tidemark_conformance.tla.kernels.symbols import (
    Atom,
    Choice,
    Enum,
    Filter,
    Flat,
    Image,
    Infinite,
    Int,
    Join,
    Mask,
    Place,
    Product,
    Range,
    Rec,
    Records,
    Subsets,
    Symbol,
)
from tidemark_conformance.tla.typeok import join
from tidemark_conformance.tla.types import (
    TFun,
    TInt,
    TRec,
    TSet,
    TTuple,
    TUnion,
    Type,
    bounds,
    encode,
    enumerate_type,
    is_scalar,
    size,
)

OUTSIDE = 62


"""The bit of a mask that says: and something that the universe does not have."""


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
            return _union_of(c, [_finite(values.type_of(c, item)) for item in items])
        case Filter(source, _):
            return universe(c, source)
        case Join(left, right):
            return _union_of(c, [universe(c, left), universe(c, right)])
        case Choice(_, then, orelse):
            with c.captured() as buffer:
                both = [universe(c, then()), universe(c, orelse())]
            c.drop(buffer)
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
    with c.captured() as buffer:
        iteration.iterate(c, inner, lambda element: found.append(universe(c, element)), None)
    c.drop(buffer)
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
    with c.captured() as buffer:
        iteration.iterate(c, value, lambda element: kinds.append(values.type_of(c, element)), None)
    c.drop(buffer)
    if not kinds:
        return TSet(TInt(0, 0), ())
    result = kinds[0]
    for kind in kinds[1:]:
        result = join(result, kind, c.loc)
    return _finite(result)


def bit_of(c: Context, value: Symbol, kind: TSet) -> str:
    """1 shifted to a value's place in a universe; the bit OUTSIDE if it has none."""
    code, total = compound.position(c, value, kind.members, kind.elem)
    if code.isdigit():
        return str(1 << int(code))
    return f"(1 << {code})" if total else f"shl1({code})"


def to_mask(c: Context, value: Symbol, kind: TSet) -> str:
    """A set as a mask over a universe; elements that the universe does not have set the bit OUTSIDE."""
    match value:
        case Mask(code, own):
            return code if own == kind else _remapped(c, code, own, kind)
        case Enum(items):
            return " | ".join(bit_of(c, item, kind) for item in items).join("()") if items else "0"
        case Range(lo, hi) if values.contiguous(kind.members):
            low = kind.members[0]
            return f"rangemask({lo.code} - {low}, {hi.code} - {low}, {len(kind.members)})"
        case Join(left, right):
            return f"({to_mask(c, left, kind)} | {to_mask(c, right, kind)})"
        case Choice(condition, then, orelse):
            merged = values.choice(
                c, condition, lambda: Int(to_mask(c, then(), kind)), lambda: Int(to_mask(c, orelse(), kind))
            )
            return cast(Int, merged).code
        case Flat(inner):
            return _collect(c, inner, lambda element: to_mask(c, element, kind))
        case Infinite():
            raise c.unsupported("an infinite set is used as a value")
    return _collect(c, value, lambda element: bit_of(c, element, kind))


def _remapped(c: Context, code: str, own: TSet, kind: TSet) -> str:
    if not own.members:
        return "0"
    positions = {member: i for i, member in enumerate(kind.members)}
    mapping = [positions.get(member, -1) for member in own.members]
    shift = mapping[0]
    if shift >= 0 and mapping == list(range(shift, shift + len(mapping))):
        return f"({code} << {shift})" if shift else code
    return f"remap(p, {code}, {c.memory.table(mapping)})"


def _collect(c: Context, value: Symbol, bits: Callable[[Symbol], str]) -> str:
    mask = c.name("m")
    c.line(f"{mask} = 0")
    iteration.iterate(c, value, lambda element: c.line(f"{mask} |= {bits(element)}"), None)
    return mask


def as_mask(c: Context, value: Symbol) -> Mask | None:
    """A set as a mask over a universe of its own, None if it has none."""
    if isinstance(value, Mask):
        return value
    kind = universe(c, value)
    return None if kind is None else Mask(to_mask(c, value, kind), kind)


def rank(c: Context, value: Symbol, members: tuple[object, ...], elem: Type) -> tuple[str, bool]:
    """The index of a compound value (or set) among the members of a universe: -1, and False, where it may be none."""
    limits = bounds(elem)
    if len(limits) > 16:
        raise c.unsupported("an element of a set (or key of a function) has more than 16 cells")
    span = 1
    for lo, hi in limits:
        span *= hi - lo + 1
    if span > 1 << 16:
        raise c.unsupported(
            f"elements of a set (or keys of a function) range over {span} combinations, more than 65536"
        )
    cells = cells_of(c, value, elem)
    if cells is None:
        return "-1", False
    total = isinstance(value, Place) and value.kind == elem and span == len(members)
    return f"{_rank_helper(c, members, elem)}(p, {', '.join(cells)})", total


def _rank_helper(c: Context, members: tuple[object, ...], elem: Type) -> str:
    limits = bounds(elem)
    span = 1
    for lo, hi in limits:
        span *= hi - lo + 1
    table = [-1] * span
    for index, member in enumerate(members):
        code = 0
        for cell, (lo, hi) in zip(encode(elem, member), limits, strict=True):
            code = code * (hi - lo + 1) + cell - lo
        table[code] = index
    place = c.memory.table(table)

    def text(name: str) -> str:
        names = [f"c{i}" for i in range(len(limits))]
        lines = [f'def {name}(p: "I64", {", ".join(names)}):']
        code = "0"
        for cell, (lo, hi) in zip(names, limits, strict=True):
            lines += [f"    if {cell} < {lo} or {cell} > {hi}:", "        return -1"]
            code = f"({code} * {hi - lo + 1} + {cell} - {lo})" if code != "0" else f"({cell} - {lo})"
        lines.append(f"    return p[{place} + {code}]")
        return "\n".join(lines)

    return c.helper("rank", (place, tuple(limits)), text)


def cells_of(c: Context, value: Symbol, kind: Type) -> list[str] | None:
    """The cells of a value in a type, without storing it; None if it certainly is no value of the type."""
    if is_scalar(kind):
        return [c.keep(storing.scalar_code(c, kind, value))]
    if isinstance(value, Place) and value.kind == kind:
        return [f"p[{value.base.plus(i)}]" for i in range(size(kind))]
    if isinstance(value, Choice):
        place = storing.materialize(c, value)
        if place.kind == kind:
            return cells_of(c, place, kind)
    parts: list[list[str] | None] = []
    inside = _on_its_domain(c, value, kind)
    if inside == "False":
        return None
    if inside != "True":
        return _stored_cells(c, value, kind, inside)
    match kind:
        case TRec(fields):
            names = compound.field_names(value)
            if names is not None and names != [name for name, _ in fields]:
                return None
            parts = [cells_of(c, compound.field(c, value, name), field) for name, field in fields]
        case TTuple(kinds):
            indices = [Int(str(i + 1), i + 1, i + 1) for i in range(len(kinds))]
            parts = [cells_of(c, compound.apply(c, value, i), k) for i, k in zip(indices, kinds, strict=True)]
        case TUnion() if isinstance(value, Rec | Place):
            cases = storing.variants_for(c, kind, value)
            if not cases:
                return None
            if len(cases) == 1 and cases[0][1] == "True":
                cells = [str(cases[0][0])] + ["0"] * (size(kind) - 1)
                for slot in cases[0][2]:
                    own = cells_of(c, compound.field(c, value, slot.name), slot.type)
                    if own is None:
                        return None
                    cells[slot.offset : slot.offset + len(own)] = own
                return cells
            return _stored_cells(c, value, kind)
        case _:
            return _stored_cells(c, value, kind)
    if any(part is None for part in parts):
        return None
    return [cell for part in parts for cell in part or []]


def _on_its_domain(c: Context, value: Symbol, kind: Type) -> str:
    """Whether a value has the length of a tuple's type, or the domain of a function's: else it is no value of it."""
    if isinstance(kind, TTuple):
        return equality.equal(c, compound.length(c, value), Int(str(len(kind.parts))))
    if isinstance(kind, TFun):
        return equality.has_domain(c, value, kind)
    return "True"


def _stored_cells(c: Context, value: Symbol, kind: Type, inside: str = "True") -> list[str]:
    """A value written to scratch to read its cells; one that does not fit, or is not `inside`, gets a first cell that
    no value has."""
    base = c.room(kind)
    saved, bad = c.name("o"), c.name("f")
    c.line(f"{bad} = True")
    with c.when(inside):
        c.line(f"{saved} = p[1]")
        c.line("p[1] = 0")
        storing.store(c, base, kind, value, checked=True)
        c.line(f"{bad} = p[1] != 0")
        c.line(f"p[1] = {saved}")
    first = c.named(f"(-(1 << 40) if {bad} else p[{base}])")
    return [first, *(f"p[{base.plus(i)}]" for i in range(1, size(kind)))]
