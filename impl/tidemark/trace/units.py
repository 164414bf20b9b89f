"""The state of cells that a recorder has written, and the changes from one key of them to another.

A kind defines the cells that a key stands for. A `Leaf` computes them. `Parts` is a row of kinds, and its keys are
tuples of theirs, so that of a large unit only changed parts are looked at. The changes from one key of a leaf to
another are kept, for all units of the kind in all runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from tidemark.trace.cells import Cells
from tidemark.trace.stream import VARINT, ZIGZAG, difference

MOST_KNOWN = 60_000
"""So many differences of a leaf are kept before they are forgotten; more are slower to find than to make."""

MOST_BEGINNINGS = 500
"""So many keys of a row are kept with how its parts stand."""

Move = tuple[int, int, bytes, int, "At"]
"""The step from one key to another: a difference whose places count from the kind's first cell, and the node
reached."""


class At(Protocol):
    """How cells stand that a recorder has written."""

    def __getitem__(self, key: Any, /) -> Move | None:
        """It goes on to this key; None: no cell changes. Raises CapacityExceeded, and stands for nothing then."""

    def again(self) -> At:
        """How they stand, for another recorder."""


class Standing(dict[Any, Move | None]):
    """How the cells of a leaf stand, with every move that has led on from there, by its key."""

    __slots__ = ("_leaf", "cells")

    def __init__(self, leaf: Leaf, cells: Cells) -> None:
        self._leaf = leaf
        self.cells = cells

    def __missing__(self, key: Any) -> Move | None:
        to = self._leaf.learn(key)
        changed, first, ending, end = difference(self.cells, to.cells, 0)
        found = self[key] = (changed, first, ending, end, to) if changed else None
        return found

    def again(self) -> At:
        """All recorders share it."""
        return self


class Leaf:
    """Cells that are computed together. `all_cells`: from a key to its cells; raises CapacityExceeded."""

    __slots__ = ("_moves", "_standings", "all_cells")

    def __init__(self, cells: Callable[[Any], Cells]) -> None:
        self.all_cells = cells
        self._standings: dict[Any, Standing] = {}
        self._moves = 0

    def at(self, key: Any) -> Standing:
        """How the cells of a key stand; all recorders share it."""
        found = self._standings.get(key)
        if found is None:
            found = self._standings[key] = Standing(self, self.all_cells(key))
        return found

    def learn(self, key: Any) -> Standing:
        """The same, for a move that is not known yet. When there are too many they are forgotten."""
        self._moves += 1
        if self._moves > MOST_KNOWN:
            self._moves = 0
            for standing in self._standings.values():
                standing.clear()
            self._standings.clear()
        return self.at(key)


class Parts:
    """A row of kinds, each with the place of its first cell in the whole, in ascending order; a key is the tuple of
    theirs, or None: they all are."""

    __slots__ = ("_unmoved", "nothing", "parts", "width")

    def __init__(self, width: int, parts: Sequence[tuple[int, Kind]]) -> None:
        self.width = width
        self.parts = tuple(parts)
        self.nothing = (None,) * len(self.parts)
        self._unmoved: dict[tuple[Any, ...], list[At | None]] = {}

    def at(self, key: Any) -> Row[Any]:
        """How the cells of a key stand."""
        key = self.row(key)
        return Row(self, key, self._standing(key))

    def _standing(self, key: tuple[Any, ...]) -> list[At | None]:
        """The states of the parts of a key, as far as they are leaves; the state of one recorder alone is made when it
        moves. The keys with which rows begin, or to which they come back, are few."""
        found = self._unmoved.get(key)
        if found is None:
            if len(self._unmoved) >= MOST_BEGINNINGS:
                self._unmoved.clear()
            found = self._unmoved[key] = [
                part.at(one) if isinstance(part, Leaf) else None
                for (_, part), one in zip(self.parts, key, strict=False)
            ]
        return found[:]

    def row(self, key: Any) -> Any:
        """The keys of the parts."""
        return self.nothing if key is None else key

    def all_cells(self, key: Any) -> Cells:
        """The cells of a key; those of no part are 0."""
        cells = [0] * self.width
        for (offset, kind), one in zip(self.parts, self.row(key), strict=True):
            part = kind.all_cells(one)
            cells[offset : offset + len(part)] = part
        return tuple(cells)


class Choice(Parts):
    """A union: its tag, then every field that some tag has; a key is a tag with its fields. `order`: per tag where in
    the key the key of each part stands, -1: the tag has no such field."""

    __slots__ = ("order",)

    def __init__(self, width: int, parts: Sequence[tuple[int, Kind]], order: dict[str, tuple[int, ...]]) -> None:
        super().__init__(width, parts)
        self.order = order

    def row(self, key: Any) -> Any:
        """The keys of the parts."""
        if key is None:
            return self.nothing
        return tuple([None if place < 0 else key[place] for place in self.order[key[0]]])


K = TypeVar("K", bound=Parts)


class Row(Generic[K]):
    """How parts stand, for one recorder: it is this object that goes on."""

    __slots__ = ("_at", "_key", "kind")

    def __init__(self, kind: K, key: tuple[Any, ...], at: list[At | None]) -> None:
        self.kind = kind
        self._key = key
        self._at = at

    def again(self) -> At:
        """How they stand, for another recorder."""
        return Row(self.kind, self._key, self._at[:])

    def __getitem__(self, key: Any) -> Move | None:
        before = self._key
        now = self._key = self.kind.row(key)
        return self._moved(before, now, 0, len(before), 0, b"", 0)

    def _moved(
        self,
        before: tuple[Any, ...],
        after: tuple[Any, ...],
        start: int,
        stop: int,
        count: int,
        delta: bytes,
        behind: int,
    ) -> Move | None:
        """The step from one tuple of the parts' keys to another, of the parts from `start` up to `stop` (excluded); a
        part beyond a tuple has no key there. `count`, `delta`, `behind`: the changed cells before them, their
        difference, and the place behind it."""
        parts, standings = self.kind.parts, self._at
        old, new = len(before), len(after)
        begin = 0
        for number in range(start, stop):
            was = before[number] if number < old else None
            now = after[number] if number < new else None
            if now is was or now == was:
                continue
            place, part = parts[number]
            standing = standings[number]
            if standing is None:
                standing = part.at(was)
            move = standing[now]
            if move is not None:
                changed, first, ending, end, standings[number] = move
                if count:
                    delta += VARINT[place + first - behind] + ending
                else:
                    delta, begin = ending, place + first
                count += changed
                behind = place + end
        return (count, begin, delta, behind, self) if count else None


class Items(Parts):
    """A bounded sequence: its length, then items of one kind, `width` cells each. A key is a tuple of theirs; None is
    no item, and it is the key of cells that are 0. The length counts items beyond the `capacity`, which have no
    cells."""

    __slots__ = ("capacity",)

    def __init__(self, width: int, capacity: int, item: Kind) -> None:
        super().__init__(1 + width * capacity, [(1 + width * number, item) for number in range(capacity)])
        self.capacity = capacity

    def at(self, key: Any) -> Line:
        """How the cells of a key stand."""
        items = key or ()
        return Line(self, items, self._standing(self.filled(items)))

    def filled(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        """The items that have cells, and the places without one."""
        return items[: self.capacity] + self.nothing[len(items) :]

    def all_cells(self, key: Any) -> Cells:
        """The cells of a key; those of no item are 0."""
        items = key or ()
        return (len(items), *super().all_cells(self.filled(items))[1:])


class Line(Row[Items]):
    """How a sequence stands, likewise; its key has the items only."""

    __slots__ = ()

    def again(self) -> At:
        """How it stands, for another recorder."""
        return Line(self.kind, self._key, self._at[:])

    def __getitem__(self, key: Any) -> Move | None:
        kind, before = self.kind, self._key
        items = key or ()
        if items is before:
            return None
        self._key = items
        length, was = len(items), len(before)
        same = min(length, was)  # mostly it grows or shrinks at its end
        if items[:same] != before[:same]:
            same = 0
        stop = min(max(length, was), kind.capacity)
        if length == was:
            return self._moved(before, items, same, stop, 0, b"", 0)
        return self._moved(before, items, same, stop, 1, ZIGZAG[length], 1)


Kind = Leaf | Parts
