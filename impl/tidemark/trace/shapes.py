"""Cells of any value, by a trace header's types: for recorders that bring keys and no layout of their own.

A key mirrors its type. A number or a bool is itself; an atom is its name (or an Enum of that value, or its number); a
set is its mask over the sorted names. A record's key has its fields in the order of their names, a function's its
values in the order of its domain. A union's has the tag, then that tag's fields by name; a sequence's is the tuple of
its items. None stands for cells that are 0.

A number beyond its bounds is written as it is, and a sequence with too many items with its length and those that have
cells. The auditor says whether the bound was a capacity, or whether it means something and the trace fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidemark.trace.cells import Cells
from tidemark.trace.units import Choice, Items, Kind, Leaf, Parts

WIDEST = 24
"""So many cells are looked at together; of what is wider the parts are looked at one by one."""

Encoder = Callable[[Any], Cells]


def kind_of(what: Any) -> Kind:
    """The kind of a unit of that type; equal types below it share their known differences."""
    return _Shapes().kind(what)


class _Shapes:
    """Leaves by type, so that equal types have one."""

    def __init__(self) -> None:
        self._leaves: dict[str, Leaf] = {}

    def kind(self, what: Any) -> Kind:
        """See `kind_of`."""
        if width_of(what) > WIDEST and isinstance(what, Mapping):
            if "record" in what:
                return self._row([what["record"][name] for name in sorted(what["record"])])
            if "function" in what:
                return self._row([what["function"]] * len(what["domain"]))
            if "sequence" in what:
                return Items(width_of(what["sequence"]), what["capacity"], self.kind(what["sequence"]))
            return self._choice(what)
        return self._leaf(what)

    def _choice(self, what: Any) -> Choice:
        """A union part by part."""
        fields = {name: one for variant in what["union"] for name, one in variant["fields"].items()}
        tags = {tag: sorted(variant["fields"]) for variant in what["union"] for tag in variant["tags"]}
        parts = [(0, self.kind({"atom": sorted(tags)}))]
        parts += [(int(place), self.kind(fields[name])) for name, place, _ in what["slots"]]
        order = {
            tag: (0, *[1 + names.index(name) if tag in having else -1 for name, _, having in what["slots"]])
            for tag, names in tags.items()
        }
        return Choice(width_of(what), parts, order)

    def _row(self, parts: list[Any]) -> Parts:
        places = [0]
        for one in parts:
            places.append(places[-1] + width_of(one))
        return Parts(places[-1], [(place, self.kind(one)) for place, one in zip(places, parts, strict=False)])

    def _leaf(self, what: Any) -> Leaf:
        name = repr(what)
        if name not in self._leaves:
            self._leaves[name] = Leaf(encoder(what))
        return self._leaves[name]


def width_of(what: Any) -> int:
    """How many cells a value has."""
    if what == "boolean" or "int" in what or "atom" in what or "set" in what:
        return 1
    if "record" in what:
        return sum(width_of(one) for one in what["record"].values())
    if "function" in what:
        return width_of(what["function"]) * len(what["domain"])
    if "sequence" in what:
        return 1 + width_of(what["sequence"]) * int(what["capacity"])
    fields = {name: one for variant in what["union"] for name, one in variant["fields"].items()}
    return max([1, *(int(place) + width_of(fields[name]) for name, place, _ in what["slots"])])


def encoder(what: Any) -> Encoder:
    """From keys to cells."""
    width = width_of(what)
    made = _encoder(what)

    def encode(key: Any) -> Cells:
        return (0,) * width if key is None else made(key)

    return encode


def _encoder(what: Any) -> Encoder:
    if what == "boolean":
        return lambda key: (int(key),)
    if "set" in what:
        return lambda key: (key,)
    if "int" in what:
        return lambda key: (key,)
    if "atom" in what:
        names: dict[Any, int] = {name: number for number, name in enumerate(what["atom"])}
        return lambda key: (key if isinstance(key, int) else names[getattr(key, "value", key)],)
    if "record" in what:
        return _row_encoder([encoder(what["record"][name]) for name in sorted(what["record"])])
    if "function" in what:
        one = what["function"]
        if one == "boolean" or "set" in one or "int" in one:
            return tuple
        return _row_encoder([encoder(one)] * len(what["domain"]))
    if "sequence" in what:
        return _sequence_encoder(encoder(what["sequence"]), width_of(what["sequence"]), int(what["capacity"]))
    return _union_encoder(what)


def _row_encoder(parts: list[Encoder]) -> Encoder:
    def encode(key: Any) -> Cells:
        if len(key) != len(parts):
            raise ValueError(f"{len(key)} parts are no key of {len(parts)}")
        cells: list[int] = []
        for number, one in enumerate(key):
            cells.extend(parts[number](one))
        return tuple(cells)

    return encode


def _sequence_encoder(item: Encoder, width: int, capacity: int) -> Encoder:
    def encode(key: Any) -> Cells:
        cells = [cell for one in key[:capacity] for cell in item(one)]
        return (len(key), *cells, *[0] * (width * (capacity - len(key))))

    return encode


def _union_encoder(what: Any) -> Encoder:
    width = width_of(what)
    tags = sorted(tag for variant in what["union"] for tag in variant["tags"])
    places = {(tag, name): place for name, place, having in what["slots"] for tag in having}
    fields = {
        tag: [(places[tag, name], encoder(variant["fields"][name])) for name in sorted(variant["fields"])]
        for variant in what["union"]
        for tag in variant["tags"]
    }

    def encode(key: Any) -> Cells:
        tag, *values = key
        cells = [0] * width
        cells[0] = tags.index(tag)
        for (place, part), one in zip(fields[tag], values, strict=True):
            made = part(one)
            cells[place : place + len(made)] = made
        return tuple(cells)

    return encode
