"""The output of abstraction functions: cells, the integers of a trace's layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Cells = tuple[int, ...]


class CapacityExceeded(Exception):
    """A value that the layout cannot hold: the trace ends before the step that made it."""


class Abstract:
    """An abstraction function of one run. It may keep its readings of objects that do not change."""

    __slots__ = ()

    def forget(self) -> None:
        """Everything is read again, as if nothing had been seen."""


class SequenceKeys:
    """The keys of a sequence's items, of which each is made once: mostly a sequence grows or shrinks at its end. Items
    do not change. `of` should not know the sequence: of two that know each other only the garbage collector can tell
    that nobody needs them."""

    __slots__ = ("_items", "_keys", "_of")

    def __init__(self, of: Callable[[Any], Any]) -> None:
        self._of = of
        self._items: list[Any] = []
        self._keys: tuple[Any, ...] = ()

    def __call__(self, items: list[Any]) -> tuple[Any, ...]:
        """The keys of all items. It is the same tuple as long as they are the same objects, or equal ones."""
        seen = self._items
        size = len(seen)
        if len(items) == size:
            if items == seen:
                return self._keys
            size -= 1
        while size > len(items) or items[:size] != seen[:size]:
            size -= 1
        self._items = items[:]
        self._keys = (*self._keys[:size], *map(self._of, items[size:]))
        return self._keys

    def forget(self) -> None:
        """All keys are made again."""
        self._items, self._keys = [], ()
