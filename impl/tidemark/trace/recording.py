"""Interfaces for a cluster's events and for the writer of a trace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from tidemark.common.errors import UndeclaredChange

WATCHED = 50
"""Of so many runs one is watched: every step compares the whole state with what is written."""


GOLDEN = 2654435769
"""2**32 over the golden ratio: its multiples lie as evenly as can be, and seeds of every profile are among the
watched."""


def watched(seed: int) -> bool:
    """Whether the run of a seed is watched. That of seed 0 is."""
    return (seed * GOLDEN & 0xFFFFFFFF) * WATCHED < 1 << 32


def undeclared(seed: int, step: int, what: tuple[Any, ...], unit: str) -> UndeclaredChange:
    """The error that ends a watched run. `what`: the action and its parameters; `unit`: the unit that has changed."""
    return UndeclaredChange(
        f"seed {seed}, step {step}: {unit} has changed with {what[0]}, or since the step before it, and the recorder "
        "was not told; name it where the recorder says what the action may change, or mend the handler"
    )


class Recorder(ABC):
    """A listener for a cluster's events."""

    __slots__ = ()

    @abstractmethod
    def did(self, *what: Any) -> None:
        """A handler has run: the action that it is, and its parameters' values."""

    @abstractmethod
    def blocked(self, *what: Any) -> None:
        """A rule refused an action."""


class TraceRecorder(Protocol):
    """Writes one trace. `records`: the number of records so far, the initial state included. `changing`: how many of
    the others changed something."""

    records: int

    @property
    def changing(self) -> int:
        """See above."""

    def begin(self) -> None:
        """The initial state."""

    def watch(self, seed: int) -> None:
        """From now on every step compares the whole state with the written cells, and raises UndeclaredChange."""

    def end(self, quiescent: bool, capacity: bool) -> bytes:
        """The whole stream."""
