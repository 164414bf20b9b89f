"""Symbolic values: the knowledge that the kernels' generator has of a TLA+ value while it writes the code that uses it.

Scalars carry the text of an expression. Compound values are *places*, runs of cells in the memory, or virtual.
A virtual record, function literal or EXCEPT is kept as its parts, and compared, stored or applied part by part. So most
values of a specification are never built. Closures stand for code that is written where (and if) it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tidemark_conformance.tla.types import TSet, Type
from tidemark_conformance.tla.values import Value


@dataclass(frozen=True, slots=True)
class Address:
    """An index into the memory: a constant plus the texts of terms."""

    constant: int
    terms: tuple[str, ...] = ()

    def plus(self, offset: int, term: str | None = None) -> Address:
        """This address moved by a constant, and by a term."""
        return Address(self.constant + offset, self.terms if term is None else (*self.terms, term))

    def __str__(self) -> str:
        return " + ".join((*self.terms, str(self.constant)))


def scaled(code: str, width: int) -> tuple[int, str | None]:
    """An index times a width, as (constant, term) for Address.plus."""
    if code.lstrip("-").isdigit():
        return int(code) * width, None
    return 0, code if width == 1 else f"({code}) * {width}"


@dataclass(frozen=True, slots=True)
class Origin:
    """The variable (by index) of a place's cells, in state or next state; `unit` is the text of a unit's index."""

    variable: int
    primed: bool
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Int:
    """An integer in lo..hi; `below`: the text of a number that it is known not to exceed (a sequence's length)."""

    code: str
    lo: int | None = None
    hi: int | None = None
    below: str | None = None


@dataclass(frozen=True, slots=True)
class Bool:
    """A boolean."""

    code: str


@dataclass(frozen=True, slots=True)
class Atom:
    """A string or model value, as its index among `members`."""

    code: str
    members: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Mask:
    """A set as a bit mask over the members of `kind`."""

    code: str
    kind: TSet


@dataclass(frozen=True, slots=True)
class Place:
    """A compound value in the memory."""

    base: Address
    kind: Type
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Rec:
    """A record, by its fields."""

    fields: dict[str, Symbol]


@dataclass(frozen=True, slots=True)
class Tup:
    """<<a, b, ...>>."""

    items: tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """[x \\in domain |-> body(x)]."""

    domain: Symbol
    body: Callable[[Symbol], Symbol]


@dataclass(frozen=True, slots=True)
class Update:
    """[base EXCEPT ![key] = value()]; a record's key is the field's name."""

    base: Symbol
    key: Symbol | str
    value: Callable[[], Symbol]


@dataclass(frozen=True, slots=True)
class Run:
    """`count` elements (at most `most`) of a sequence in the memory, from the 0-based `start`."""

    place: Place
    start: str
    count: str
    most: int


@dataclass(frozen=True, slots=True)
class Item:
    """One element."""

    value: Symbol


@dataclass(frozen=True, slots=True)
class Gen:
    """`count` elements (`most` of them, if that is known), each computed from its 0-based index."""

    count: str
    element: Callable[[str], Symbol]
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Seg:
    """A sequence as its parts, one behind the other."""

    parts: tuple[Run | Item | Gen, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """IF condition THEN then ELSE orelse, of compound values; the condition is a name.

    Each branch has its value only where the condition has sent an evaluation through it.
    """

    condition: str
    then: Symbol
    orelse: Symbol


@dataclass(frozen=True, slots=True)
class Range:
    """lo..hi."""

    lo: Int
    hi: Int


@dataclass(frozen=True, slots=True)
class Enum:
    """{a, b, ...}."""

    items: tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """{x \\in source : test(x)}."""

    source: Symbol
    test: Callable[[Symbol], str]


@dataclass(frozen=True, slots=True)
class Image:
    """{value(x, y, ...) : x \\in sources[0](), y \\in sources[1](x), ...}."""

    sources: tuple[Callable[[tuple[Symbol, ...]], Symbol], ...]
    value: Callable[[tuple[Symbol, ...]], Symbol]


@dataclass(frozen=True, slots=True)
class Join:
    """left \\cup right."""

    left: Symbol
    right: Symbol


@dataclass(frozen=True, slots=True)
class Flat:
    """UNION sets."""

    sets: Symbol


@dataclass(frozen=True, slots=True)
class Subsets:
    """SUBSET source."""

    source: Symbol


@dataclass(frozen=True, slots=True)
class Product:
    """A \\X B \\X ..."""

    parts: tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class Records:
    """[a : S, b : T]."""

    fields: dict[str, Symbol]


@dataclass(frozen=True, slots=True)
class Functions:
    """[domain -> range]."""

    domain: Symbol
    range: Symbol


@dataclass(frozen=True, slots=True)
class Sequences:
    """Seq(elem), or the sequences of at most `cap` elements."""

    elem: Symbol
    cap: Int | None


@dataclass(frozen=True, slots=True)
class Infinite:
    """Nat, Int or STRING, by the operator's name."""

    name: str


Scalar: TypeAlias = "Int | Bool | Atom | Mask"
Symbol: TypeAlias = (
    "Int | Bool | Atom | Mask | Place | Rec | Tup | Literal | Update | Seg | Choice | Range | Enum | Filter | Image | "
    "Join | Flat | Subsets | Product | Records | Functions | Sequences | Infinite"
)
SETS = (Mask, Range, Enum, Filter, Image, Join, Flat, Subsets, Product, Records, Functions, Sequences, Infinite)


def is_set(value: Symbol) -> bool:
    """Whether a symbol is a set."""
    return isinstance(value, SETS)
