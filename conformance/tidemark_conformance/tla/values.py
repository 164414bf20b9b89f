"""TLA+ values as Python values.

| TLA+                                   | Python                            |
|----------------------------------------|-----------------------------------|
| integer, boolean, string               | `int`, `bool`, `str`              |
| model value                            | `ModelValue` (interned by name)   |
| set                                    | `frozenset`                       |
| sequence, tuple, function on `1..n`    | `tuple`                           |
| any other function, record             | `Fn` (a record's keys are `str`)  |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

Value = Any
"""A TLA+ value in the representation of this module."""


class ModelValue:
    """An uninterpreted constant of TLC; two model values are equal only if they are the same object."""

    __slots__ = ("name",)
    _interned: ClassVar[dict[str, ModelValue]] = {}
    name: str

    def __new__(cls, name: str) -> ModelValue:
        known = cls._interned.get(name)
        if known is None:
            known = super().__new__(cls)
            known.name = name
            cls._interned[name] = known
        return known

    def __repr__(self) -> str:
        return self.name

    def __lt__(self, other: ModelValue) -> bool:
        return self.name < other.name

    def __reduce__(self) -> tuple[type[ModelValue], tuple[str]]:
        return ModelValue, (self.name,)


class Fn(Mapping[Value, Value]):
    """A function (or record) whose domain is not `1..n`: an immutable, hashable mapping."""

    __slots__ = ("_hash", "_map")

    def __init__(self, mapping: Mapping[Value, Value]) -> None:
        self._map = dict(mapping)
        self._hash: int | None = None

    def __getitem__(self, key: Value) -> Value:
        return self._map[key]

    def __contains__(self, key: object) -> bool:
        return key in self._map

    def __iter__(self) -> Iterator[Value]:
        return iter(self._map)

    def __len__(self) -> int:
        return len(self._map)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fn) and self._map == other._map

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._map.items()))
        return self._hash

    def __repr__(self) -> str:
        return "Fn({" + ", ".join(f"{k!r}: {v!r}" for k, v in self._map.items()) + "})"

    def __reduce__(self) -> tuple[type[Fn], tuple[dict[Value, Value]]]:
        return Fn, (self._map,)


def function(mapping: Mapping[Value, Value]) -> Value:
    """The canonical value of a function: a `tuple` when its domain is `1..n` (n >= 0), an `Fn` otherwise."""
    size = len(mapping)
    if all(type(k) is int for k in mapping) and all(i in mapping for i in range(1, size + 1)):
        return tuple(mapping[i] for i in range(1, size + 1))
    return Fn(mapping)


def show(value: Value) -> str:
    """The value as TLA+ text, sets and domains in canonical order."""
    if type(value) is bool:
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, frozenset):
        return "{" + ", ".join(map(show, in_order(value))) + "}"
    if isinstance(value, tuple):
        return "<<" + ", ".join(map(show, value)) + ">>"
    if isinstance(value, Fn):
        if value and all(isinstance(key, str) for key in value):
            return "[" + ", ".join(f"{key} |-> {show(value[key])}" for key in sorted(value)) + "]"
        return "(" + " @@ ".join(f"{show(key)} :> {show(value[key])}" for key in in_order(value)) + ")"
    return str(value)


def in_order(values: Iterable[Value]) -> list[Value]:
    """The values in canonical order: integers by value, strings and model values by name, the others part by part.

    Sets are ordered as the bit masks over their sorted elements are: by their largest elements first.
    """
    return sorted(values, key=_order)


def _order(value: Value) -> tuple[Any, ...]:
    if isinstance(value, int):
        return (0, int(value))
    if isinstance(value, (str, ModelValue)):
        return (1, value if isinstance(value, str) else value.name)
    if isinstance(value, tuple):
        return (2, len(value), *map(_order, value))
    if isinstance(value, frozenset):
        return (3, *sorted(map(_order, value), reverse=True))
    if isinstance(value, Fn):
        keys = in_order(value)
        return (4, *((_order(key), _order(value[key])) for key in keys))
    return (5, repr(value))
