"""Comparing symbolic values structurally."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from tidemark_conformance.tla.kernels import compound, iteration, membership, segments, storing, universes, values
from tidemark_conformance.tla.kernels.context import Context, both, conjunction, negated
from tidemark_conformance.tla.kernels.symbols import (
    Address,
    Atom,
    Bool,
    Choice,
    Gen,
    Int,
    Item,
    Literal,
    Place,
    Range,
    Run,
    Symbol,
    Tup,
    Update,
    is_set,
    scaled,
)
from tidemark_conformance.tla.layout import MAX_UNITS
from tidemark_conformance.tla.types import (
    TFun,
    TInt,
    TSeq,
    TSet,
    TTuple,
    TUnion,
    size,
)


def equal(c: Context, a: Symbol, b: Symbol, must: bool = False) -> str:
    """The text of a = b (`must` as in `conjunction`). Values of unlike kinds are refused."""
    match a, b:
        case Int(), Int():
            return _equal_integers(a, b)
        case Bool(), Bool():
            if "True" in (a.code, b.code):
                return b.code if a.code == "True" else a.code
            return f"({a.code} == {b.code})"
        case Atom(), Atom():
            return _equal_atoms(c, a, b)
    if is_set(a) and is_set(b):
        return membership.equal_sets(c, a, b)
    if isinstance(a, Choice) or isinstance(b, Choice):
        return _equal_choice(c, a, b, must)
    scalar = (Int, Bool, Atom)
    if isinstance(a, scalar) or isinstance(b, scalar) or is_set(a) or is_set(b):
        raise c.unsupported(f"a {values.kind_name(a)} is compared with a {values.kind_name(b)}")
    if isinstance(b, Place) and not isinstance(a, Place):
        a, b = b, a
    if isinstance(a, Place) and isinstance(b, Place):
        return _equal_places(c, a, b, must)
    return _equal_virtual(c, a, b, must)


def _equal_integers(a: Int, b: Int) -> str:
    if a.code == b.code:
        return "True"
    if a.code.lstrip("-").isdigit() and b.code.lstrip("-").isdigit():
        return str(int(a.code) == int(b.code))
    return f"({a.code} == {b.code})"


def _equal_atoms(c: Context, a: Atom, b: Atom) -> str:
    if b.code.isdigit() and not a.code.isdigit():
        a, b = b, a
    code, _ = values.atom_index(c, a, b.members)
    if code == "-1":
        return "False"
    if code == b.code:
        return "True"
    if code.isdigit() and b.code.isdigit():
        return "False"
    return f"({code} == {b.code})"


def _equal_choice(c: Context, a: Symbol, b: Symbol, must: bool) -> str:
    if not isinstance(a, Choice):
        a, b = b, a
    pick = cast(Choice, a)
    return values.truth(
        c,
        values.choice(
            c,
            pick.condition,
            lambda: Bool(equal(c, pick.then, b, must)),
            lambda: Bool(equal(c, pick.orelse, b, must)),
        ),
    )


def _equal_places(c: Context, a: Place, b: Place, must: bool) -> str:
    x, y = a.origin, b.origin
    if x is not None and y is not None and x.variable == y.variable and x.primed != y.primed and x.unit == y.unit:
        return unchanged(c, x.variable, x.unit)
    if a.base == b.base and a.kind == b.kind:
        return "True"
    if a.kind == b.kind:
        if isinstance(a.kind, TSeq):
            width = size(a.kind.elem)
            count = f"p[{a.base}]" if width == 1 else f"p[{a.base}] * {width}"
            return both(f"(p[{a.base}] == p[{b.base}])", values.run_equal(c, a.base.plus(1), b.base.plus(1), count))
        return values.run_equal(c, a.base, b.base, str(size(a.kind)))
    return _equal_virtual(c, a, b, must)


def unchanged(c: Context, variable: int, unit: str | None) -> str:
    """Whether a variable (or one unit of it) is the same in both states, by the dirty masks."""
    cell = f"p[{c.memory.dirty + variable}]"
    if unit is None or c.layout.variables[variable].units > MAX_UNITS:
        if unit is not None:
            place = c.layout.variables[variable]
            offset, term = scaled(unit, place.unit_size)
            old = Address(c.memory.current + place.offset).plus(offset, term)
            new = Address(c.memory.next + place.offset).plus(offset, term)
            return f"({cell} == 0 or {values.run_equal(c, old, new, str(place.unit_size))})"
        return f"({cell} == 0)"
    return f"(({cell} >> {unit}) & 1 == 0)"


def _equal_virtual(c: Context, a: Symbol, b: Symbol, must: bool) -> str:
    """Two compound values part by part; `a` is the place if there is one."""
    if isinstance(b, Update):
        special = _equal_update(c, a, b, must)
        if special is not None:
            return special
    if compound.is_record(a) or compound.is_record(b):
        return _equal_records(c, a, b, must)
    kinds = [v.kind for v in (a, b) if isinstance(v, Place)]
    if kinds and isinstance(kinds[0], TTuple):
        return _equal_tuples(c, kinds[0], a, b)
    domain = next((kind for kind in kinds if isinstance(kind, TFun)), None) or _function_kind(a, b)
    if domain is not None:
        return _equal_functions(c, domain, a, b, must)
    if _is_function(a) or _is_function(b):
        return _equal_literals(c, a, b)
    return _equal_sequences(c, a, b, must)


def _function_kind(a: Symbol, b: Symbol) -> TFun | None:
    """The type of the function in the memory that is one of two values, or the base of one."""
    for value in (a, b):
        while isinstance(value, Update):
            value = value.base
        if isinstance(value, Place) and isinstance(value.kind, TFun):
            return value.kind
    return None


def _is_function(value: Symbol) -> bool:
    while isinstance(value, Update):
        value = value.base
    return isinstance(value, Literal) and not isinstance(value.domain, Range)


def _equal_literals(c: Context, a: Symbol, b: Symbol) -> str:
    """Two functions of which none is in the memory: equal domains, and equal values on them."""
    domain = compound.domain_of(c, a)
    return conjunction(
        c,
        [
            lambda: membership.equal_sets(c, domain, compound.domain_of(c, b)),
            lambda: iteration.exists(
                c, domain, lambda key: equal(c, compound.apply(c, a, key), compound.apply(c, b, key)), wanted=False
            ),
        ],
    )


def _equal_records(c: Context, a: Symbol, b: Symbol, must: bool) -> str:
    names_a, names_b = compound.field_names(a), compound.field_names(b)
    if names_a is not None and names_b is not None:
        if names_a != names_b:
            return "False"
        return conjunction(c, [_same_field(c, a, b, name, must) for name in names_a], must=must)
    union, other = (a, b) if names_a is None else (b, a)
    if isinstance(union, Place) and isinstance(union.kind, TUnion):
        return _equal_union(c, union, other)
    names = names_a or names_b
    if names is not None and (_is_function(union) or _function_kind(union, union) is not None):
        return _equal_to_function(c, other, names, union, must)
    raise c.unsupported("records of unlike kinds are compared")


def _equal_to_function(c: Context, record: Symbol, names: list[str], function: Symbol, must: bool) -> str:
    """A record is a function on its fields' names; one on the same strings may be in the memory as a function."""
    kind = _function_kind(function, function)
    if kind is not None and set(kind.domain) != set(names):
        return "False"
    fields = [_same_field(c, function, record, name, must) for name in names]
    if kind is not None:
        return conjunction(c, fields, must=must)
    own = values.literal(c, frozenset(names))
    return conjunction(c, [lambda: membership.equal_sets(c, own, compound.domain_of(c, function)), *fields], must=must)


def _same_field(c: Context, a: Symbol, b: Symbol, name: str, must: bool) -> Callable[[], str]:
    return lambda: equal(c, compound.field(c, a, name), compound.field(c, b, name), must)


def _equal_union(c: Context, union: Place, other: Symbol) -> str:
    kind = cast(TUnion, union.kind)
    tag = compound.field(c, other, "type")
    same_tag = equal(c, values.load(union.base, kind.tags), tag)
    names = compound.field_names(other)
    parts: list[Callable[[], str]] = [lambda: same_tag]
    for tags, fields in kind.variants:
        own = sorted(["type", *(name for name, _ in fields)])
        parts.append(lambda tags=tags, fields=fields, own=own: _equal_variant(c, union, other, tags, own, names))  # type: ignore[misc]
    return conjunction(c, parts)


def _equal_variant(
    c: Context, union: Place, other: Symbol, tags: tuple[str, ...], own: list[str], names: list[str] | None
) -> str:
    """If the tag is one of a variant's (both sides have the same tag), its fields are equal."""
    kind = cast(TUnion, union.kind)
    tag = compound.field(c, other, "type")
    is_one = [equal(c, tag, Atom("0", (name,))) for name in tags]
    if all(code == "False" for code in is_one):
        return "True"
    if names is not None and own != names:
        differs = both("True", " or ".join(code for code in is_one if code != "False"))
        return "False" if "True" in is_one else f"(not ({differs}))"
    index = kind.tags.members.index(tags[0])

    def fields_equal() -> Bool:
        parts: list[Callable[[], str]] = []
        for name in own:
            if name != "type":
                parts.append(
                    lambda name=name: equal(  # type: ignore[misc]
                        c,
                        compound.unchecked_field(union.base, kind, index, name),
                        compound.plain_field(c, other, tags[0], name),
                    )
                )
        return Bool(conjunction(c, parts))

    if "True" in is_one:
        return fields_equal().code
    condition = c.named(" or ".join(code for code in is_one if code != "False"))
    return values.truth(c, values.choice(c, condition, fields_equal, lambda: Bool("True")))


def _equal_tuples(c: Context, kind: TTuple, a: Symbol, b: Symbol) -> str:
    count = len(kind.parts)
    total = compound.length(c, b)
    if total.code.isdigit() and int(total.code) != count:
        return "False"

    def part(index: int) -> Callable[[], str]:
        key = Int(str(index), index, index)
        return lambda: equal(c, compound.apply(c, a, key), compound.apply(c, b, key))

    return conjunction(c, [lambda: equal(c, total, Int(str(count))), *(part(i + 1) for i in range(count))])


def _equal_functions(c: Context, kind: TFun, a: Symbol, b: Symbol, must: bool) -> str:
    universe = TSet(kind.key, kind.domain)
    parts: list[Callable[[], str]] = [lambda: has_domain(c, a, kind), lambda: has_domain(c, b, kind)]

    def body(index: str) -> str:
        return equal(c, compound.at_index(c, a, universe, index), compound.at_index(c, b, universe, index))

    parts.append(lambda: iteration.loop(c, str(len(kind.domain)), body))
    return conjunction(c, parts, must=must)


def has_domain(c: Context, value: Symbol, kind: TFun) -> str:
    """Whether a function's domain is that of a type."""
    if isinstance(value, Place) and isinstance(value.kind, TFun) and value.kind.domain == kind.domain:
        return "True"
    domain = compound.domain_of(c, value)
    if isinstance(domain, Range) and values.contiguous(kind.domain):
        low, high = (Int(str(bound)) for bound in (kind.domain[0], kind.domain[-1]))
        return both(_equal_integers(domain.lo, low), _equal_integers(domain.hi, high))
    if len(kind.domain) > MAX_UNITS:
        raise c.unsupported("functions on more than 62 elements with unlike domains are compared")
    return membership.equal_sets(c, universes.full(TSet(kind.key, kind.domain)), domain)


def _equal_sequences(c: Context, a: Symbol, b: Symbol, must: bool) -> str:
    if _is_empty(a):
        a, b = b, a
    if isinstance(a, Tup) and isinstance(b, Tup):
        return _equal_items(c, a, b, must)
    if isinstance(a, Tup):
        a, b = b, a
    if not isinstance(a, Place):
        a = storing.materialize(c, a)
        if isinstance(a.kind, TTuple):
            return _equal_tuples(c, a.kind, a, b)
    parts = compound.sequence_parts(c, b)
    total = compound.length(c, b)
    own = compound.length(c, a)
    if _is_empty(a) or _is_empty(b):
        return equal(c, own, total)
    checks: list[Callable[[], str]] = [lambda: equal(c, own, total)]
    if isinstance(a, Place):
        at = "0"
        for part in parts:
            checks.append(lambda part=part, at=at: _equal_part(c, a, at, part))  # type: ignore[misc]
            at = segments.advance(at, part)
    return conjunction(c, checks, must=must)


def _equal_items(c: Context, a: Tup, b: Tup, must: bool) -> str:
    if len(a.items) != len(b.items):
        return "False"
    pairs = zip(a.items, b.items, strict=True)
    return conjunction(c, [lambda one=one, two=two: equal(c, one, two, must) for one, two in pairs], must=must)  # type: ignore[misc]


def _is_empty(value: Symbol) -> bool:
    """Whether a sequence in the memory has room for no element, so that the type of its elements says nothing."""
    return isinstance(value, Place) and isinstance(value.kind, TSeq) and value.kind.cap == 0


def _equal_part(c: Context, place: Place, at: str, part: Run | Item | Gen) -> str:
    match part:
        case Item(value):
            return equal(c, compound.element_at(c, place, c.keep(at, "i")), value)
        case Run(source, start, count, _):
            elem = values.element_type(place.kind)
            own = values.element_type(source.kind)
            if own == elem or (isinstance(elem, TInt) and isinstance(own, TInt)):
                width = size(elem)
                cells = str(int(count) * width) if count.isdigit() else count if width == 1 else f"({count}) * {width}"
                return values.run_equal(c, segments.run_base(place, at), segments.run_base(source, start), cells)
    first = c.keep(at, "i")
    return iteration.loop(
        c,
        c.keep(part.count, "n"),
        lambda i: equal(c, segments.element(c, place, first, i), segments.part_element(c, part, i)),
    )


def _equal_update(c: Context, a: Symbol, b: Update, must: bool) -> str | None:
    """place = [base EXCEPT ...] where both are functions (or sequences, or records) of one type in the memory."""
    base, updates = compound.chain(b)
    if not isinstance(a, Place) or not isinstance(base, Place) or a.kind != base.kind:
        return None
    if isinstance(a.kind, TFun):
        return _equal_function_update(c, a, base, updates, must)
    if isinstance(a.kind, TSeq) and len(updates) == 1:
        return _equal_sequence_update(c, a, base, updates[0], must)
    return None


def _equal_sequence_update(c: Context, a: Place, base: Place, update: Update, must: bool) -> str:
    kind = cast(TSeq, a.kind)
    key = values.integer(c, cast(Symbol, update.key))
    total = f"p[{base.base}]"
    index = c.named(values.fold(f"({key.code} + -1)"), "i")
    new, old = a.base.plus(1), base.base.plus(1)
    inside = f"({index} < 0 or {index} >= {total})"
    parts: list[Callable[[], str]] = [
        lambda: f"(p[{a.base}] == {total})",
        lambda: f"eqexcept(p, {new}, {old}, {total}, {size(kind.elem)}, {index})",
        lambda: conjunction(
            c, [lambda: inside, lambda: equal(c, compound.element_at(c, a, index), update.value())], "or"
        ),
    ]
    return conjunction(c, parts, must=must)


def _equal_function_update(c: Context, a: Place, base: Place, updates: Sequence[Update], must: bool) -> str:
    kind = cast(TFun, a.kind)
    places = [compound.update_index(c, kind, update) for update in updates]
    parts: list[Callable[[], str]] = [lambda: _others_unchanged(c, a, base, places)]
    for i, update in enumerate(updates):
        later = [index for index, _ in places[:i]]

        def compare(update: Update = update, place: tuple[str, str] = places[i], later: list[str] = later) -> str:
            index, inside = place
            hidden = [] if inside == "True" else [negated(inside)]
            hidden += [code for code in (_equal_integers(Int(index), Int(other)) for other in later) if code != "False"]

            def here() -> str:
                return equal(c, compound.element_at(c, a, index), update.value(), must and not hidden)

            if not hidden:
                return here()
            return conjunction(c, [*((lambda code=code: code) for code in hidden), here], "or")

        parts.append(compare)
    return conjunction(c, parts, must=must)


def _others_unchanged(c: Context, a: Place, base: Place, places: Sequence[tuple[str, str]]) -> str:
    """All elements but those of `indices` are the same in two functions of one type."""
    kind = cast(TFun, a.kind)
    x, y = a.origin, base.origin
    whole = x is not None and y is not None and x.variable == y.variable and x.primed != y.primed
    if whole and x is not None and x.unit is None and len(kind.domain) <= MAX_UNITS:
        bits = dict.fromkeys(f"(1 << {i})" if inside == "True" else f"shl1({i})" for i, inside in places)
        mask = " | ".join(bits)
        return f"(p[{c.memory.dirty + x.variable}] & ~({mask}) == 0)"
    width = size(kind.range)
    distinct = list(dict.fromkeys(index for index, _ in places))
    if len(distinct) == 1:
        return f"eqexcept(p, {a.base}, {base.base}, {len(kind.domain)}, {width}, {distinct[0]})"

    def body(index: str) -> str:
        skipped = " or ".join(f"{index} == {other}" for other in distinct)
        offset, term = scaled(index, width)
        same = values.run_equal(c, a.base.plus(offset, term), base.base.plus(offset, term), str(width))
        return f"({skipped} or {same})"

    return iteration.loop(c, str(len(kind.domain)), body)
