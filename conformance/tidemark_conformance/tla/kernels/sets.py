"""Sets: membership, inclusion, iteration, bit masks, and the universes that masks are over."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from tidemark_conformance.tla.kernels import equality, values
from tidemark_conformance.tla.kernels.context import Context, conjunction, negated
from tidemark_conformance.tla.kernels.symbols import (
    Atom,
    Bool,
    Choice,
    Enum,
    Filter,
    Flat,
    Functions,
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
    Sequences,
    Subsets,
    Symbol,
    Tup,
    is_set,
)
from tidemark_conformance.tla.types import (
    TFun,
    TInt,
    TRec,
    TSeq,
    TSet,
    TTuple,
    TUnion,
    Type,
    bounds,
    encode,
    enumerate_type,
    is_scalar,
    join,
    size,
)

OUTSIDE = 62
"""The bit of a mask that says: and something that the universe does not have."""


def full(kind: TSet) -> Mask:
    """The set of all members of a universe."""
    return Mask(str((1 << len(kind.members)) - 1), kind)


# --- universes ------------------------------------------------------------------------------------------------------


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
            return _finite(_type_of_image(c, value))
        case Flat(inner):
            kind = universe(c, inner)
            if kind is not None and isinstance(kind.elem, TSet):
                return kind.elem
            return _universe_of_elements(c, inner)
        case Subsets(source):
            kind = universe(c, source)
            return None if kind is None else _finite(TSet(kind.elem, kind.members))
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


def _universe_of_elements(c: Context, inner: Symbol) -> TSet | None:
    """The universe of UNION of an enumeration or image of sets, from its element sets."""
    found: list[TSet | None] = []
    with c.captured() as buffer:
        iterate(c, inner, lambda element: found.append(universe(c, element)), None)
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


def _type_of_image(c: Context, value: Image) -> Type:
    kinds: list[Type] = []
    with c.captured() as buffer:
        iterate(c, value, lambda element: kinds.append(values.type_of(c, element)), None)
    c.drop(buffer)
    result = kinds[0]
    for kind in kinds[1:]:
        result = join(result, kind, c.loc)
    return result


# --- masks ----------------------------------------------------------------------------------------------------------


def bit_of(c: Context, value: Symbol, kind: TSet) -> str:
    """1 shifted to a value's place in a universe; the bit OUTSIDE if it has none."""
    code, total = values.position(c, value, kind.members, kind.elem)
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
    iterate(c, value, lambda element: c.line(f"{mask} |= {bits(element)}"), None)
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
        raise c.unsupported(f"elements of a set (or keys of a function) range over {span} combinations, more than 65536")
    cells = cells_of(c, value, elem)
    if cells is None:
        return "-1", False
    if elem == values.type_of(c, value) if isinstance(value, Place) else False:
        total = span == len(members)
    else:
        total = False
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
    name = f"rank{place.split()[-1]}_{len(limits)}_{span}"

    def text() -> str:
        names = [f"c{i}" for i in range(len(limits))]
        lines = [f'def {name}(p: "I64", {", ".join(names)}):']
        code = "0"
        for cell, (lo, hi) in zip(names, limits, strict=True):
            lines += [f"    if {cell} < {lo} or {cell} > {hi}:", "        return -1"]
            code = f"({code} * {hi - lo + 1} + {cell} - {lo})" if code != "0" else f"({cell} - {lo})"
        lines.append(f"    return p[{place} + {code}]")
        return "\n".join(lines)

    return c.helper(name, text)


def cells_of(c: Context, value: Symbol, kind: Type) -> list[str] | None:
    """The cells of a value in a type, without storing it; None if it certainly is no value of the type."""
    if is_scalar(kind):
        return [c.keep(equality.scalar_code(c, kind, value))]
    if isinstance(value, Place) and value.kind == kind:
        return [f"p[{value.base.plus(i)}]" for i in range(size(kind))]
    if isinstance(value, Choice):
        place = equality.materialize(c, value)
        if place.kind == kind:
            return cells_of(c, place, kind)
    parts: list[list[str] | None] = []
    match kind:
        case TRec(fields):
            names = values.field_names(value)
            if names is not None and names != [name for name, _ in fields]:
                return None
            parts = [cells_of(c, values.field(c, value, name), field) for name, field in fields]
        case TTuple(kinds):
            indices = [Int(str(i + 1), i + 1, i + 1) for i in range(len(kinds))]
            parts = [cells_of(c, values.apply(c, value, i), k) for i, k in zip(indices, kinds, strict=True)]
        case TUnion() if isinstance(value, Rec | Place):
            cases = equality.variants_for(c, kind, value)
            if not cases:
                return None
            if len(cases) == 1 and cases[0][1] == "True":
                cells = [str(cases[0][0])] + ["0"] * (size(kind) - 1)
                for slot in cases[0][2]:
                    own = cells_of(c, values.field(c, value, slot.name), slot.type)
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


def _stored_cells(c: Context, value: Symbol, kind: Type) -> list[str]:
    """A value written to scratch to read its cells; one that does not fit gets a first cell that no value has."""
    base = c.room(kind)
    saved, bad = c.name("o"), c.name("f")
    c.line(f"{saved} = p[1]")
    c.line("p[1] = 0")
    equality.store(c, base, kind, value, checked=True)
    c.line(f"{bad} = p[1] != 0")
    c.line(f"p[1] = {saved}")
    first = c.named(f"(-(1 << 40) if {bad} else p[{base}])")
    return [first, *(f"p[{base.plus(i)}]" for i in range(1, size(kind)))]


# --- iteration ------------------------------------------------------------------------------------------------------


def iterate(c: Context, value: Symbol, body: Callable[[Symbol], None], stop: str | None) -> None:
    """Write a loop over a set's elements in canonical order (an image's or union's elements may come more than once).

    `stop`: a condition that `body` may make true; the loops around end then.
    """
    match value:
        case Mask(code, kind):
            _iterate_mask(c, code, kind, body, stop)
        case Range(lo, hi):
            _iterate_range(c, lo, hi, body, stop)
        case Enum(items):
            _iterate_items(c, items, body, stop)
        case Filter(source, test):

            def tested(element: Symbol) -> None:
                with c.block(f"if {test(element)}:"):
                    body(element)

            iterate(c, source, tested, stop)
        case Image(sources, image):
            _iterate_image(c, sources, image, (), body, stop)
        case Join(left, right):
            mask = as_mask(c, value)
            if mask is not None:
                _iterate_mask(c, c.named(mask.code, "m"), mask.kind, body, stop)
                return
            iterate(c, left, body, stop)
            with c.block(f"if not ({stop}):" if stop else "if True:"):
                iterate(c, right, body, stop)
        case Flat(inner):
            iterate(c, inner, lambda element: iterate(c, element, body, stop), stop)
        case Choice(condition, then, orelse):
            mask = as_mask(c, value)
            if mask is not None:
                _iterate_mask(c, c.named(mask.code, "m"), mask.kind, body, stop)
                return
            for header, part in ((f"if {condition}:", then), ("else:", orelse)):
                with c.block(header):
                    iterate(c, part(), body, stop)
        case Subsets(source):
            _iterate_subsets(c, source, body, stop)
        case Product(parts):
            _iterate_product(c, parts, (), body, stop)
        case Records(fields):
            names = sorted(fields)
            parts2 = tuple(fields[name] for name in names)
            _iterate_product(
                c,
                parts2,
                (),
                lambda element: body(Rec(dict(zip(names, cast("Tup", element).items, strict=True)))),
                stop,
            )
        case _:
            raise c.unsupported("a set that cannot be enumerated is quantified over")


def _stop(c: Context, stop: str | None) -> None:
    if stop:
        c.line(f"if {stop}:")
        c.nest(["break"])


def _iterate_mask(c: Context, code: str, kind: TSet, body: Callable[[Symbol], None], stop: str | None) -> None:
    count = len(kind.members)
    if count == 0 or code == "0":
        return
    index = c.name("i")
    if code == str((1 << count) - 1):
        c.line(f"{index} = 0")
        with c.block(f"while {index} < {count}:"):
            body(values.member_at(c, kind, index))
            _stop(c, stop)
            c.line(f"{index} += 1")
        return
    rest = c.name("m")
    c.line(f"{rest} = {code}")
    with c.block(f"while {rest} != 0:"):
        c.line(f"{index} = ctz({rest})")
        c.line(f"{rest} = {rest} & ({rest} - 1)")
        body(values.member_at(c, kind, index))
        _stop(c, stop)


def _iterate_range(c: Context, lo: Int, hi: Int, body: Callable[[Symbol], None], stop: str | None) -> None:
    index = c.name("i")
    last = c.keep(hi.code)
    c.line(f"{index} = {lo.code}")
    with c.block(f"while {index} <= {last}:"):
        body(Int(index, lo.lo, hi.hi, last))
        _stop(c, stop)
        c.line(f"{index} += 1")


def _iterate_items(c: Context, items: tuple[Symbol, ...], body: Callable[[Symbol], None], stop: str | None) -> None:
    if len(items) <= 1:
        with c.block("while True:"):
            for item in items:
                body(item)
            c.line("break")
        return
    index = c.name("i")
    c.line(f"{index} = 0")
    with c.block(f"while {index} < {len(items)}:"):
        chosen = _pick(c, items, index, 0)
        body(values.keep(c, chosen))
        _stop(c, stop)
        c.line(f"{index} += 1")


def _pick(c: Context, items: tuple[Symbol, ...], index: str, at: int) -> Symbol:
    if at == len(items) - 1:
        return items[at]
    return values.choice(c, f"({index} == {at})", lambda: items[at], lambda: _pick(c, items, index, at + 1))


def _iterate_image(
    c: Context,
    sources: tuple[Callable[[tuple[Symbol, ...]], Symbol], ...],
    image: Callable[[tuple[Symbol, ...]], Symbol],
    chosen: tuple[Symbol, ...],
    body: Callable[[Symbol], None],
    stop: str | None,
) -> None:
    if len(chosen) == len(sources):
        body(image(chosen))
        return
    source = sources[len(chosen)](chosen)
    iterate(c, source, lambda element: _iterate_image(c, sources, image, (*chosen, element), body, stop), stop)


def _iterate_subsets(c: Context, source: Symbol, body: Callable[[Symbol], None], stop: str | None) -> None:
    mask = as_mask(c, source)
    if mask is None:
        raise c.unsupported("SUBSET of a set whose elements are not known to be among 62 values")
    whole, part, more = c.named(mask.code, "m"), c.name("m"), c.name("f")
    c.line(f"{part} = 0")
    c.line(f"{more} = True")
    with c.block(f"while {more}:"):
        body(Mask(part, mask.kind))
        _stop(c, stop)
        c.line(f"{more} = {part} != {whole}")
        c.line(f"{part} = ({part} - {whole}) & {whole}")


def _iterate_product(
    c: Context,
    parts: tuple[Symbol, ...],
    chosen: tuple[Symbol, ...],
    body: Callable[[Symbol], None],
    stop: str | None,
) -> None:
    if len(chosen) == len(parts):
        body(Tup(chosen))
        return
    iterate(
        c, parts[len(chosen)], lambda element: _iterate_product(c, parts, (*chosen, element), body, stop), stop
    )


def exists(c: Context, value: Symbol, test: Callable[[Symbol], str], wanted: bool = True) -> str:
    """Whether some element satisfies `test`; with `wanted` False: whether all do."""
    found = c.name("f")
    c.line(f"{found} = {not wanted}")
    stop = found if wanted else f"not {found}"

    def body(element: Symbol) -> None:
        c.line(f"{found} = {test(element)}")

    iterate(c, value, body, stop)
    return found


def count(c: Context, value: Symbol) -> Int:
    """Cardinality(value)."""
    if isinstance(value, Enum) and len(value.items) <= 1:
        return Int(str(len(value.items)), 0, 1)
    if isinstance(value, Range):
        low, high = value.lo, value.hi
        most = None if low.lo is None or high.hi is None else max(0, high.hi - low.lo + 1)
        return Int(f"({high.code} - {low.code} + 1 if {high.code} >= {low.code} else 0)", 0, most)
    if isinstance(value, Filter) and isinstance(value.source, Mask | Range | Subsets | Product):
        total = c.name("n")
        c.line(f"{total} = 0")
        iterate(c, value, lambda element: c.line(f"{total} += 1"), None)
        return Int(total, 0, _most(value.source))
    mask = as_mask(c, value)
    if mask is None:
        raise c.unsupported("Cardinality of a set whose elements are not known to be among 62 values")
    return Int(f"popcount({mask.code})", 0, len(mask.kind.members))


def _most(value: Symbol) -> int | None:
    """How many elements a set has at most, if that is known."""
    match value:
        case Mask(_, kind):
            return len(kind.members)
        case Range(lo, hi) if lo.lo is not None and hi.hi is not None:
            return max(0, hi.hi - lo.lo + 1)
    return None


# --- membership and inclusion ---------------------------------------------------------------------------------------


def member(c: Context, value: Symbol, container: Symbol) -> str:
    """The text of value \\in container."""
    match container:
        case Mask(code, kind):
            place, total = values.position(c, value, kind.members, kind.elem)
            if place == "-1":
                return "False"
            if total and code == str((1 << len(kind.members)) - 1):
                return "True"
            return f"(({code} >> {place}) & 1 != 0)" if total else f"bit({code}, {place})"
        case Range(lo, hi):
            number = values.integer(c, value)
            low = "True" if _at_least(number, lo) else f"({lo.code} <= {number.code})"
            high = "True" if _at_most(number, hi) else f"({number.code} <= {hi.code})"
            return conjunction(c, [lambda: low, lambda: high])
        case Enum(items):
            return conjunction(c, [_equals(c, value, item) for item in items], "or")
        case Filter(source, test):
            kept = values.keep(c, value)
            return conjunction(c, [lambda: member(c, kept, source), lambda: test(kept)])
        case Image():
            kept2 = values.keep(c, value)
            return exists(c, container, lambda element: equality.equal(c, kept2, element))
        case Join(left, right):
            kept3 = values.keep(c, value)
            return conjunction(c, [lambda: member(c, kept3, left), lambda: member(c, kept3, right)], "or")
        case Flat(inner):
            kept4 = values.keep(c, value)
            return exists(c, inner, lambda element: member(c, kept4, element))
        case Subsets(source2):
            return subset(c, value, source2)
        case Choice(condition, then, orelse):
            kept5 = values.keep(c, value)
            chosen = values.choice(
                c, condition, lambda: Bool(member(c, kept5, then())), lambda: Bool(member(c, kept5, orelse()))
            )
            return values.truth(c, chosen)
    return _member_of_structure(c, value, container)


def _equals(c: Context, a: Symbol, b: Symbol) -> Callable[[], str]:
    return lambda: equality.equal(c, a, b)


def _at_least(number: Int, bound: Int) -> bool:
    return number.lo is not None and bound.code.lstrip("-").isdigit() and number.lo >= int(bound.code)


def _at_most(number: Int, bound: Int) -> bool:
    if number.code == bound.code or number.below == bound.code:
        return True
    return number.hi is not None and bound.code.lstrip("-").isdigit() and number.hi <= int(bound.code)


def _member_of_structure(c: Context, value: Symbol, container: Symbol) -> str:
    match container:
        case Product(parts):
            keys = [Int(str(i + 1), i + 1, i + 1) for i in range(len(parts))]
            total = values.length(c, value)
            checks: list[Callable[[], str]] = [lambda: equality.equal(c, total, Int(str(len(parts))))]
            for key, part in zip(keys, parts, strict=True):
                checks.append(lambda key=key, part=part: member(c, values.apply(c, value, key), part))  # type: ignore[misc]
            return conjunction(c, checks)
        case Records(fields):
            return _member_of_records(c, value, fields)
        case Functions(domain, target):
            own = equality.domain_of(c, value)
            return conjunction(
                c,
                [
                    lambda: equal_sets(c, own, domain),
                    lambda: exists(c, own, lambda key: member(c, values.apply(c, value, key), target), wanted=False),
                ],
            )
        case Sequences(elem, cap):
            total = values.length(c, value)
            least = "True" if cap is None or _at_most(total, cap) else f"({total.code} <= {cap.code})"
            return conjunction(
                c,
                [
                    lambda: least,
                    lambda: equality.loop(
                        c, c.keep(total.code, "n"), lambda i: member(c, values.element(c, value, i), elem)
                    ),
                ],
            )
        case Infinite(name):
            if name == "nat":
                return f"({values.integer(c, value).code} >= 0)"
            return "True"
    raise c.unsupported("membership in a set of this form")


def _member_of_records(c: Context, value: Symbol, fields: dict[str, Symbol]) -> str:
    names = values.field_names(value)
    if names is not None:
        if names != sorted(fields):
            return "False"
        return conjunction(c, [_field_in(c, value, name, fields[name]) for name in names])
    if not isinstance(value, Place) or not isinstance(value.kind, TUnion):
        raise c.unsupported("membership of a value that is no record in a set of records")
    kind, base = value.kind, value.base
    tags = kind.tags.members
    alternatives: list[Callable[[], str]] = []
    for own_tags, own_fields in kind.variants:
        if sorted(["type", *(name for name, _ in own_fields)]) != sorted(fields):
            continue
        for tag in own_tags:
            index = tags.index(tag)

            def matches(tag: str = tag, index: int = index) -> str:
                checks: list[Callable[[], str]] = [
                    lambda: f"(p[{base}] == {index})",
                    lambda: member(c, Atom("0", (tag,)), fields["type"]),
                ]
                for name in sorted(fields):
                    if name != "type":
                        part = values.unchecked_field(base, kind, index, name)
                        checks.append(lambda part=part, name=name: member(c, part, fields[name]))  # type: ignore[misc]
                return conjunction(c, checks)

            alternatives.append(matches)
    return conjunction(c, alternatives, "or")


def _field_in(c: Context, value: Symbol, name: str, container: Symbol) -> Callable[[], str]:
    return lambda: member(c, values.field(c, value, name), container)


def subset(c: Context, a: Symbol, b: Symbol) -> str:
    """The text of a \\subseteq b."""
    if isinstance(b, Mask) and b.code == full(b.kind).code and isinstance(a, Mask) and a.kind == b.kind:
        return "True"
    if isinstance(a, Mask) and isinstance(b, Mask | Enum | Range | Join | Filter | Image | Choice):
        return f"({a.code} & ~{to_mask(c, b, a.kind)} == 0)"
    if isinstance(b, Mask):
        return f"({to_mask(c, a, b.kind)} & ~{b.code} == 0)"
    return exists(c, a, lambda element: member(c, element, b), wanted=False)


def equal_sets(c: Context, a: Symbol, b: Symbol) -> str:
    """The text of a = b for two sets."""
    if isinstance(b, Mask) and not isinstance(a, Mask):
        a, b = b, a
    if isinstance(a, Mask):
        if isinstance(b, Mask) and set(a.kind.members) < set(b.kind.members):
            a, b = b, a
        code = to_mask(c, b, a.kind)
        return "True" if code == a.code else f"({a.code} == {code})"
    for value, other in ((a, b), (b, a)):
        if isinstance(value, Enum) and not value.items:
            return negated(exists(c, other, lambda element: "True"))
    if isinstance(a, Range) and isinstance(b, Range):
        same = f"({a.lo.code} == {b.lo.code} and {a.hi.code} == {b.hi.code})"
        if a.lo.code == b.lo.code and a.hi.code == b.hi.code:
            return "True"
        return f"({same} or ({a.hi.code} < {a.lo.code} and {b.hi.code} < {b.lo.code}))"
    kind = universe(c, a) or universe(c, b)
    if kind is not None:
        return f"({to_mask(c, a, kind)} == {to_mask(c, b, kind)})"
    return conjunction(c, [lambda: subset(c, a, b), lambda: subset(c, b, a)])


def intersection(c: Context, a: Symbol, b: Symbol) -> Symbol:
    """a \\cap b."""
    if isinstance(b, Mask) and not isinstance(a, Mask):
        a, b = b, a
    if isinstance(a, Mask):
        return Mask(f"({a.code} & {to_mask(c, b, a.kind)})", a.kind)
    return Filter(a, lambda element: member(c, element, b))


def difference(c: Context, a: Symbol, b: Symbol) -> Symbol:
    """a \\ b."""
    if isinstance(a, Mask):
        if is_set(b) and not isinstance(b, Infinite | Subsets | Product | Records | Functions | Sequences):
            return Mask(f"({a.code} & ~{to_mask(c, b, a.kind)})", a.kind)
    return Filter(a, lambda element: negated(member(c, element, b)))


def union(c: Context, a: Symbol, b: Symbol) -> Symbol:
    """a \\cup b."""
    if isinstance(a, Enum) and not a.items:
        return b
    if isinstance(b, Enum) and not b.items:
        return a
    if isinstance(a, Mask) and isinstance(b, Mask) and a.kind == b.kind:
        return Mask(f"({a.code} | {b.code})", a.kind)
    return Join(a, b)


_ = (TFun, TSeq)
