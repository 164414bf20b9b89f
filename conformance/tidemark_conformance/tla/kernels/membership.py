"""Membership, inclusion, equality and size of sets, and their combinations."""

from __future__ import annotations

from collections.abc import Callable

from tidemark_conformance.tla.ir import Expr, Var
from tidemark_conformance.tla.kernels import compound, iteration, listing, sets, universes, values
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
    Records,
    Sequences,
    Subsets,
    Symbol,
    is_set,
)
from tidemark_conformance.tla.typeok import exact, strip, type_of_set
from tidemark_conformance.tla.types import (
    TUnion,
)
from tidemark_conformance.tla.walk import mentioned


def finite(value: Symbol) -> bool:
    """IsFiniteSet(value)."""
    match value:
        case Infinite() | Sequences(_, None):
            return False
        case Subsets(source) | Filter(source, _):
            return finite(source)
        case Functions(_, target):
            return finite(target)
        case Records(fields):
            return all(map(finite, fields.values()))
        case Product(parts):
            return all(map(finite, parts))
        case Join(left, right):
            return finite(left) and finite(right)
    return True


def count(c: Context, value: Symbol) -> Int:
    """Cardinality(value)."""
    if isinstance(value, Enum) and len(value.items) <= 1:
        return Int(str(len(value.items)), 0, 1)
    if isinstance(value, Range):
        low, high = value.lo, value.hi
        most = None if low.lo is None or high.hi is None else max(0, high.hi - low.lo + 1)
        if most is not None and most <= values.GREATEST:
            return Int(f"({high.code} - {low.code} + 1 if {high.code} >= {low.code} else 0)", 0, most)
        size = f"plus(p, minus(p, {high.code}, {low.code}), 1)"
        return Int(c.check(f"({size} if {high.code} >= {low.code} else 0)"), 0, values.GREATEST)
    if isinstance(value, Filter) and isinstance(value.source, Mask | Range | Subsets | Product):
        total = c.name("n")
        c.line(f"{total} = 0")
        iteration.iterate(c, value, lambda element: c.line(f"{total} += 1"), None)
        return Int(total, 0, listing.most_elements(c, value.source))
    mask = sets.as_mask(c, value)
    if mask is None:
        place = listing.listing(c, value)
        if place is None:
            raise c.unsupported("Cardinality of a set that may have too many elements")
        return compound.length(c, place)
    return Int(f"popcount({mask.code})", 0, len(mask.kind.members))


def member(c: Context, value: Symbol, container: Symbol) -> str:
    """The text of value \\in container."""
    match container:
        case Mask(code, kind):
            place, total = compound.position(c, value, kind.members, kind.elem)
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
            return iteration.exists(c, container, lambda element: c.equal(kept2, element))
        case Join(left, right):
            kept3 = values.keep(c, value)
            return conjunction(c, [lambda: member(c, kept3, left), lambda: member(c, kept3, right)], "or")
        case Flat(inner):
            kept4 = values.keep(c, value)
            return iteration.exists(c, inner, lambda element: member(c, kept4, element))
        case Subsets(source2):
            return subset(c, value, source2)
        case Choice(condition, then, orelse):
            kept5 = values.keep(c, value)
            chosen = values.choice(
                c, condition, lambda: Bool(member(c, kept5, then)), lambda: Bool(member(c, kept5, orelse))
            )
            return values.truth(c, chosen)
    return _member_of_structure(c, value, container)


def _equals(c: Context, a: Symbol, b: Symbol) -> Callable[[], str]:
    return lambda: c.equal(a, b)


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
            total = compound.length(c, value)
            checks: list[Callable[[], str]] = [lambda: c.equal(total, Int(str(len(parts))))]
            for key, part in zip(keys, parts, strict=True):
                checks.append(lambda key=key, part=part: member(c, compound.apply(c, value, key), part))  # type: ignore[misc]
            return conjunction(c, checks)
        case Records(fields):
            return _member_of_records(c, value, fields)
        case Functions(domain, target):
            own = compound.domain_of(c, value)
            return conjunction(
                c,
                [
                    lambda: equal_sets(c, own, domain),
                    lambda: iteration.exists(
                        c, own, lambda key: member(c, compound.apply(c, value, key), target), wanted=False
                    ),
                ],
            )
        case Sequences(elem, cap):
            total = compound.length(c, value)
            least = "True" if cap is None or _at_most(total, cap) else f"({total.code} <= {cap.code})"
            return conjunction(
                c,
                [
                    lambda: least,
                    lambda: iteration.loop(
                        c, c.keep(total.code, "n"), lambda i: member(c, compound.element(c, value, i), elem)
                    ),
                ],
            )
        case Infinite(name):
            if name == "nat":
                return f"({values.integer(c, value).code} >= 0)"
            return "True"
    raise c.unsupported("membership in a set of this form")


def _member_of_records(c: Context, value: Symbol, fields: dict[str, Symbol]) -> str:
    names = compound.field_names(value)
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
                        part = compound.unchecked_field(base, kind, index, name)
                        checks.append(lambda part=part, name=name: member(c, part, fields[name]))  # type: ignore[misc]
                return conjunction(c, checks)

            alternatives.append(matches)
    return conjunction(c, alternatives, "or")


def _field_in(c: Context, value: Symbol, name: str, container: Symbol) -> Callable[[], str]:
    return lambda: member(c, compound.field(c, value, name), container)


def subset(c: Context, a: Symbol, b: Symbol) -> str:
    """The text of a \\subseteq b."""
    if isinstance(b, Mask) and b.code == universes.full(b.kind).code and isinstance(a, Mask) and a.kind == b.kind:
        return "True"
    if isinstance(a, Mask) and isinstance(b, Mask | Enum | Range | Join | Filter | Image | Choice):
        return f"({a.code} & ~{sets.to_mask(c, b, a.kind)} == 0)"
    if isinstance(b, Mask):
        return f"({sets.to_mask(c, a, b.kind)} & ~{b.code} == 0)"
    return iteration.exists(c, a, lambda element: member(c, element, b), wanted=False)


def equal_sets(c: Context, a: Symbol, b: Symbol) -> str:
    """The text of a = b for two sets."""
    if isinstance(b, Mask) and not isinstance(a, Mask):
        a, b = b, a
    if isinstance(a, Mask):
        if isinstance(b, Mask) and set(a.kind.members) < set(b.kind.members):
            a, b = b, a
        code = sets.to_mask(c, b, a.kind)
        return "True" if code == a.code else f"({a.code} == {code})"
    for value, other in ((a, b), (b, a)):
        if isinstance(value, Enum) and not value.items:
            return negated(iteration.exists(c, other, lambda element: "True"))
    if isinstance(a, Range) and isinstance(b, Range):
        same = f"({a.lo.code} == {b.lo.code} and {a.hi.code} == {b.hi.code})"
        if a.lo.code == b.lo.code and a.hi.code == b.hi.code:
            return "True"
        return f"({same} or ({a.hi.code} < {a.lo.code} and {b.hi.code} < {b.lo.code}))"
    kind = universes.universe(c, a) or universes.universe(c, b)
    if kind is not None:
        return f"({sets.to_mask(c, a, kind)} == {sets.to_mask(c, b, kind)})"
    return conjunction(c, [lambda: subset(c, a, b), lambda: subset(c, b, a)])


def intersection(c: Context, a: Symbol, b: Symbol) -> Symbol:
    """a \\cap b."""
    if isinstance(b, Mask) and not isinstance(a, Mask):
        a, b = b, a
    if isinstance(a, Mask):
        return Mask(f"({a.code} & {sets.to_mask(c, b, a.kind)})", a.kind)
    return Filter(a, lambda element: member(c, element, b))


def difference(c: Context, a: Symbol, b: Symbol) -> Symbol:
    """a \\ b."""
    listed = is_set(b) and not isinstance(b, Infinite | Subsets | Product | Records | Functions | Sequences)
    if isinstance(a, Mask) and listed:
        return Mask(f"({a.code} & ~{sets.to_mask(c, b, a.kind)})", a.kind)
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


def by_layout(c: Context, args: tuple[Expr, ...]) -> bool:
    """Whether `v \\in S` is what the layout guarantees for v already: S is the set that gave v its type."""
    variable = strip(args[0])
    if not isinstance(variable, Var) or not mentioned(args[1]).constant:
        return False
    kind = c.layout.by_name[variable.name].type
    try:
        return type_of_set(args[1], c.constant, c.loc) == kind and exact(args[1], c.constant)
    except Exception:
        return False
