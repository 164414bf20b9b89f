"""The functions that generated Python calls: TLA+'s operators on the values of `tla.values`, and sets that are not
enumerated.

Operators raise `EvaluationError` where TLC reports an error. A set that is only asked for members or iterated (`SUBSET
S`, `[S -> T]`, `a..b`, ...) stays a description (`Described`). `freeze` makes a `frozenset` of it.

Sets are iterated in canonical order (`ordered`). The order decides whether a quantifier meets an error before it is
decided, and which error is reported. It also decides the result of a fold of a lopsided operator.
"""

from __future__ import annotations

import itertools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tidemark_conformance.tla.values import Fn, ModelValue, Value, function, in_order, show


class EvaluationError(Exception):
    """An expression without a value, where TLC would report an error; `operator` and `place` say where, if known."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.operator = ""
        self.place = ""

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.message}" + (f" (in {self.operator})" if self.operator else "")


class Lazy:
    """A LET definition: evaluated at its first use, then kept."""

    __slots__ = ("_compute", "_value")

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute: Callable[[], Value] | None = compute
        self._value: Value = None

    def __call__(self) -> Value:
        if self._compute is not None:
            self._value = self._compute()
            self._compute = None
        return self._value


# Sets in order


_SORTED_BY_PYTHON = (int, bool, str)
_name = operator.attrgetter("name")


def ordered(values: SetLike) -> Iterable[Value]:
    """The elements of a set in canonical order (`tla.values.in_order`); a description iterates so by itself."""
    if type(values) is not frozenset or len(values) < 2:
        return values  # type: ignore[no-any-return]
    kinds = set(map(type, values))
    if len(kinds) == 1:
        kind = kinds.pop()
        if kind in _SORTED_BY_PYTHON:
            return sorted(values)
        if kind is ModelValue:
            return sorted(values, key=_name)
    return in_order(values)


# Sets by description


class Described(ABC):
    """A set that knows its members without listing them; it iterates over them in canonical order."""

    __slots__: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = ", ".join(f"{getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({parts})"

    @abstractmethod
    def __contains__(self, value: Value) -> bool:
        """Whether a value belongs to it."""

    def __iter__(self) -> Iterator[Value]:
        raise EvaluationError("an infinite set is enumerated")


SetLike = Any
"""A `frozenset` or a `Described`."""


class Range(Described):
    """a..b"""

    __slots__ = ("high", "low")

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def __contains__(self, value: Value) -> bool:
        return type(value) is int and self.low <= value <= self.high

    def __iter__(self) -> Iterator[Value]:
        return iter(range(self.low, self.high + 1))


class Powerset(Described):
    """SUBSET base"""

    __slots__ = ("base",)

    def __init__(self, base: SetLike) -> None:
        self.base = base

    def __contains__(self, value: Value) -> bool:
        return isinstance(value, frozenset) and subset(value, self.base)

    def __iter__(self) -> Iterator[Value]:
        items = list(ordered(self.base))
        for mask in range(1 << len(items)):
            yield frozenset(item for place, item in enumerate(items) if mask >> place & 1)


class Functions(Described):
    """[source -> target]"""

    __slots__ = ("source", "target")

    def __init__(self, source: SetLike, target: SetLike) -> None:
        self.source, self.target = freeze(source), target

    def __contains__(self, value: Value) -> bool:
        if not isinstance(value, (tuple, Fn)) or domain(value) != self.source:
            return False
        if isinstance(value, tuple):
            return all(item in self.target for item in value)
        return all(value[key] in self.target for key in ordered(self.source))

    def __iter__(self) -> Iterator[Value]:
        keys = list(ordered(self.source))
        for values in itertools.product(list(ordered(self.target)), repeat=len(keys)):
            yield function(dict(zip(keys, values, strict=True)))


class Records(Described):
    """[a : S, b : T]"""

    __slots__ = ("fields",)

    def __init__(self, fields: dict[str, SetLike]) -> None:
        self.fields = fields

    def __contains__(self, value: Value) -> bool:
        if not isinstance(value, Fn) or value.keys() != self.fields.keys():
            return False
        return all(value[name] in values for name, values in self.fields.items())

    def __iter__(self) -> Iterator[Value]:
        names = sorted(self.fields)
        for values in itertools.product(*(list(ordered(self.fields[name])) for name in names)):
            yield Fn(dict(zip(names, values, strict=True)))


class Product(Described):
    r"""S \X T"""

    __slots__ = ("factors",)

    def __init__(self, *factors: SetLike) -> None:
        self.factors = factors

    def __contains__(self, value: Value) -> bool:
        if not isinstance(value, tuple) or len(value) != len(self.factors):
            return False
        return all(item in factor for item, factor in zip(value, self.factors, strict=True))

    def __iter__(self) -> Iterator[Value]:
        return itertools.product(*(list(ordered(factor)) for factor in self.factors))


class UnionOf(Described):
    r"""The union of sets: S \cup T, UNION {S, ...}."""

    __slots__ = ("parts",)

    def __init__(self, parts: Iterable[SetLike]) -> None:
        self.parts = tuple(parts)

    def __contains__(self, value: Value) -> bool:
        return any(value in part for part in self.parts)

    def __iter__(self) -> Iterator[Value]:
        return iter(ordered(frozenset(itertools.chain.from_iterable(map(ordered, self.parts)))))


class Filtered(Described):
    r"""{x \in base : test(x)}, for membership."""

    __slots__ = ("base", "test")

    def __init__(self, base: SetLike, test: Callable[[Value], bool]) -> None:
        self.base, self.test = base, test

    def __contains__(self, value: Value) -> bool:
        return value in self.base and self.test(value)

    def __iter__(self) -> Iterator[Value]:
        return (item for item in ordered(self.base) if self.test(item))


class Sequences(Described):
    """Seq(base)"""

    __slots__ = ("base",)

    def __init__(self, base: SetLike) -> None:
        self.base = base

    def __contains__(self, value: Value) -> bool:
        return isinstance(value, tuple) and all(item in self.base for item in value)


class Kind(Described):
    """Nat, Int, STRING: the values that pass a test."""

    __slots__ = ("test",)

    def __init__(self, test: Callable[[Value], bool]) -> None:
        self.test = test

    def __contains__(self, value: Value) -> bool:
        return self.test(value)


NAT = Kind(lambda value: type(value) is int and value >= 0)
INT = Kind(lambda value: type(value) is int)
STRING = Kind(lambda value: type(value) is str)
BOOLEAN = frozenset({False, True})


def finite(values: SetLike) -> bool:
    """IsFiniteSet(values)"""
    match values:
        case Kind() | Sequences():
            return False
        case Powerset() | Filtered():
            return finite(values.base)
        case Functions():
            return finite(values.target)
        case Records():
            return all(map(finite, values.fields.values()))
        case Product():
            return all(map(finite, values.factors))
        case UnionOf():
            return all(map(finite, values.parts))
    return True


def freeze(values: SetLike) -> frozenset[Value]:
    """The set as a value."""
    if type(values) is frozenset:
        return values
    if isinstance(values, Described):
        return frozenset(values)
    raise EvaluationError(f"{show(values)} is no set")


def big_union(sets: SetLike) -> frozenset[Value]:
    """UNION sets"""
    return frozenset().union(*(freeze(part) for part in ordered(sets)))


def subset(left: SetLike, right: SetLike) -> bool:
    r"""left \subseteq right"""
    if type(left) is frozenset and type(right) is frozenset:
        return left <= right
    return all(item in right for item in ordered(left))


def difference(left: SetLike, right: SetLike) -> frozenset[Value]:
    r"""left \ right"""
    if type(left) is frozenset and type(right) is frozenset:
        return left - right
    return frozenset(item for item in ordered(left) if item not in right)


def intersection(left: SetLike, right: SetLike) -> frozenset[Value]:
    r"""left \cap right"""
    if type(left) is frozenset and type(right) is frozenset:
        return left & right
    return frozenset(item for item in ordered(left) if item in right)


def cardinality(values: SetLike) -> int:
    return len(freeze(values))


def choose(witnesses: Iterable[Value]) -> Value:
    """CHOOSE: the one witness."""
    found = list(itertools.islice(witnesses, 2))
    if len(found) == 1:
        return found[0]
    if not found:
        raise EvaluationError("CHOOSE finds no element that satisfies its predicate")
    raise EvaluationError(f"CHOOSE has more than one witness ({show(found[0])} and {show(found[1])})")


def nonempty(values: SetLike) -> bool:
    return any(True for _ in values)


# Equality


def equal(left: Value, right: Value) -> bool:
    """left = right; values of unlike kinds cannot be compared, except model values, which equal only themselves."""
    kind = type(left)
    if kind is type(right):
        return bool(left == right)
    if kind is ModelValue or type(right) is ModelValue:
        return False
    if kind in (tuple, Fn) and type(right) in (tuple, Fn):
        return False
    if isinstance(left, Described) or isinstance(right, Described):
        return freeze(left) == freeze(right)
    raise EvaluationError(f"{show(left)} and {show(right)} cannot be compared")


def truth(value: Value) -> bool:
    if type(value) is not bool:
        raise EvaluationError(f"{show(value)} stands where TRUE or FALSE is needed")
    return value


# Integers


def divide(left: int, right: int) -> int:
    r"""left \div right, rounded down."""
    if right == 0:
        raise EvaluationError(f"{left} \\div 0")
    return left // right


def modulo(left: int, right: int) -> int:
    """left % right; right is positive."""
    if right <= 0:
        raise EvaluationError(f"{left} % {right}: the second operand of % is positive")
    return left % right


# Functions, records, sequences


def domain(mapping: Value) -> frozenset[Value]:
    if type(mapping) is tuple:
        return frozenset(range(1, len(mapping) + 1))
    if type(mapping) is Fn:
        return frozenset(mapping)
    raise EvaluationError(f"{show(mapping)} is no function, so it has no DOMAIN")


class Applied:
    r"""[x \in source |-> value(x)], of which nothing but some arguments' values are asked for."""

    __slots__ = ("known", "source", "value")

    def __init__(self, source: SetLike, value: Callable[[Value], Any]) -> None:
        self.source, self.value = source, value
        self.known: dict[Value, Any] = {}

    def __getitem__(self, argument: Value) -> Any:
        if argument not in self.known:
            if argument not in self.source:
                raise KeyError
            self.known[argument] = self.value(argument)
        return self.known[argument]


def _shown(mapping: Any) -> str:
    """A function for a message; one whose values are not all there as what it is."""
    if not isinstance(mapping, Applied):
        return show(mapping)
    try:
        return show(function({argument: mapping[argument] for argument in mapping.source}))
    except EvaluationError:
        return "a function literal"


def apply(mapping: Any, argument: Value) -> Value:
    """mapping[argument], a record's field or a sequence's element."""
    if type(mapping) is tuple:
        if type(argument) is int and 0 < argument <= len(mapping):
            return mapping[argument - 1]
    elif type(mapping) is Fn or type(mapping) is Applied:
        try:
            return mapping[argument]
        except KeyError:
            pass
    else:
        raise EvaluationError(f"{show(mapping)} is applied to {show(argument)}, but it is no function")
    raise EvaluationError(f"{_shown(mapping)} is applied to {show(argument)}, which is outside its domain")


def replace(mapping: Value, path: Sequence[Value], value: Callable[[Value], Value]) -> Value:
    """[mapping EXCEPT ![path] = value(@)]; a path outside the domain changes nothing."""
    key = path[0]
    if type(mapping) is tuple:
        if type(key) is not int or not 0 < key <= len(mapping):
            return mapping
        old = mapping[key - 1]
    elif type(mapping) is Fn:
        if key not in mapping:
            return mapping
        old = mapping[key]
    else:
        raise EvaluationError(f"EXCEPT on {show(mapping)}, which is no function")
    new = value(old) if len(path) == 1 else replace(old, path[1:], value)
    if type(mapping) is tuple:
        return (*mapping[: key - 1], new, *mapping[key:])
    return Fn({**mapping, key: new})


def sequence(value: Value) -> tuple[Value, ...]:
    if type(value) is not tuple:
        raise EvaluationError(f"{show(value)} is no sequence")
    return value


def head(values: Value) -> Value:
    if not sequence(values):
        raise EvaluationError("Head of the empty sequence")
    return values[0]


def tail(values: Value) -> Value:
    if not sequence(values):
        raise EvaluationError("Tail of the empty sequence")
    return values[1:]


def subsequence(values: Value, first: int, last: int) -> Value:
    """SubSeq(values, first, last)"""
    if first > last:
        return sequence(values)[:0]
    if first < 1 or last > len(sequence(values)):
        raise EvaluationError(f"SubSeq({show(values)}, {first}, {last}) reaches outside the sequence")
    return values[first - 1 : last]


def fold(body: Callable[[Value, Value], Value], start: Value, collection: Iterable[Value]) -> Value:
    """body(e, acc) over the collection, from `start`."""
    for element in collection:
        start = body(element, start)
    return start


def no_case() -> Value:
    raise EvaluationError("no arm of CASE applies")
