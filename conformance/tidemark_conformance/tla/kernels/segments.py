"""The parts of a sequence: where each starts, and its elements."""

from __future__ import annotations

from tidemark_conformance.tla.kernels import compound, values
from tidemark_conformance.tla.kernels.context import Context
from tidemark_conformance.tla.kernels.symbols import Address, Gen, Item, Place, Run, Symbol, scaled
from tidemark_conformance.tla.types import TSeq, size


def advance(at: str, part: Run | Item | Gen) -> str:
    """The index behind a part that starts at index `at`."""
    count = "1" if isinstance(part, Item) else part.count
    if at == "0":
        return count
    return values.fold(f"({at} + {count})")


def run_base(place: Place, start: str) -> Address:
    """The cells of a sequence in the memory from a 0-based index on."""
    offset, term = scaled(start, size(values.element_type(place.kind)))
    return place.base.plus((1 if isinstance(place.kind, TSeq) else 0) + offset, term)


def element(c: Context, place: Place, first: str, index: str) -> Symbol:
    """The element of a sequence in the memory at an index from `first` on."""
    return compound.element_at(c, place, index if first == "0" else f"({first} + {index})")


def part_element(c: Context, part: Run | Gen, index: str) -> Symbol:
    """The element of a sequence's part at an index within it."""
    if isinstance(part, Run):
        return element(c, part.place, part.start, index)
    return part.element(index)
