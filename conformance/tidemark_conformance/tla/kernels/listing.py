"""Sets of values that are too many for a mask: listed in scratch, each value once."""

from __future__ import annotations

from typing import cast

from tidemark_conformance.tla.kernels import iteration, storing, universes, values
from tidemark_conformance.tla.kernels.context import Context, Mode
from tidemark_conformance.tla.kernels.symbols import (
    Address,
    Choice,
    Enum,
    Filter,
    Flat,
    Image,
    Join,
    Mask,
    Place,
    Product,
    Range,
    Records,
    Subsets,
    Symbol,
    scaled,
)
from tidemark_conformance.tla.typeok import join
from tidemark_conformance.tla.types import TSeq, Type, size

MOST = 1024
"""The most elements that a set may have to be listed."""


def listing(c: Context, value: Symbol) -> Place | None:
    """A sequence in scratch of a set's elements without repetition, None if it may have too many."""
    most = most_elements(c, value)
    kind = element_type(c, value)
    if most is None or most > MOST or kind is None:
        return None
    place = Place(c.room(TSeq(kind, most)), TSeq(kind, most))
    length = f"p[{place.base}]"
    c.line(f"{length} = 0")

    def add(element: Symbol) -> None:
        last = _row(place.base, kind, length)
        storing.store(c, last, kind, element, checked=False)
        index, known = c.name("i"), c.name("f")
        c.line(f"{known} = False")
        c.line(f"{index} = 0")
        with c.block(f"while {index} < {length}:"):
            c.line(f"{known} = {values.run_equal(c, _row(place.base, kind, index), last, str(size(kind)))}")
            c.line(f"if {known}:")
            c.nest(["break"])
            c.line(f"{index} += 1")
        c.line(f"if not {known}:")
        c.nest([f"{length} += 1"])

    iteration.iterate(c, value, add, None)
    return place


def _row(base: Address, kind: Type, index: str) -> Address:
    offset, term = scaled(index, size(kind))
    return base.plus(1 + offset, term)


def element_type(c: Context, value: Symbol) -> Type | None:
    """The joined type of a set's elements, None for the empty set."""
    kinds: list[Type] = []
    with c.only(Mode.TYPE):
        iteration.iterate(c, value, lambda element: kinds.append(universes.type_of(c, element)), None)
    result: Type | None = None
    for kind in kinds:
        result = kind if result is None else join(result, kind, c.loc)
    return result


def most_elements(c: Context, value: Symbol) -> int | None:
    """How many elements a set has at most, None if that is not known."""
    match value:
        case Mask(_, kind):
            return len(kind.members)
        case Range(lo, hi):
            return None if lo.lo is None or hi.hi is None else max(0, hi.hi - lo.lo + 1)
        case Enum(items):
            return len(items)
        case Filter(source, _):
            return most_elements(c, source)
        case Join(left, right):
            return _total([most_elements(c, left), most_elements(c, right)])
        case Choice(_, then, orelse):
            with c.only(Mode.TYPE):
                both = [most_elements(c, then), most_elements(c, orelse)]
            return None if None in both else max(cast("list[int]", both))
        case Subsets(source):
            count = most_elements(c, source)
            return None if count is None or count > 20 else 1 << count
        case Product(parts):
            return _product([most_elements(c, part) for part in parts])
        case Records(fields):
            return _product([most_elements(c, part) for part in fields.values()])
        case Image():
            return _product(_sources(c, value))
        case Flat(inner):
            found: list[int | None] = [most_elements(c, inner)]
            largest: list[int | None] = []
            with c.only(Mode.TYPE):
                iteration.iterate(c, inner, lambda element: largest.append(most_elements(c, element)), None)
            found.append(None if None in largest else max(cast("list[int]", largest), default=0))
            return _product(found)
    return None


def _sources(c: Context, value: Image) -> list[int | None]:
    """How many values each binder of a set constructor takes at most."""
    found: list[int | None] = []

    def walk(chosen: tuple[Symbol, ...]) -> None:
        if len(chosen) == len(value.sources) or len(found) > len(chosen):
            return
        source = value.sources[len(chosen)](chosen)
        found.append(most_elements(c, source))
        iteration.iterate(c, source, lambda element: walk((*chosen, element)), None)

    with c.only(Mode.TYPE):
        walk(())
    return found


def _product(counts: list[int | None]) -> int | None:
    total = 1
    for count in counts:
        if count is None:
            return None
        total *= count
    return total


def _total(counts: list[int | None]) -> int | None:
    return None if None in counts else sum(cast("list[int]", counts))
