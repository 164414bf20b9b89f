"""What abstraction functions make of an implementation's state: cells, the integers of a trace's layout."""

from __future__ import annotations

Cells = tuple[int, ...]


class CapacityExceeded(Exception):
    """A value that the layout cannot hold: the trace ends before the step that made it."""
