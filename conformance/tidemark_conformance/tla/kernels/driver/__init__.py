"""The replay of delta streams, and batches of explicit states: text in the subset of Python that `lower` translates.

It is the same for every specification. The functions that `program` generates (`act`, `ghosts`, `invariants`, ...) and
the constants in capitals (offsets into the memory, numbers of things) differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidemark_conformance.tla.kernels.driver.asking import ASKING
from tidemark_conformance.tla.kernels.driver.judging import JUDGING
from tidemark_conformance.tla.kernels.driver.reaching import REACHING
from tidemark_conformance.tla.kernels.driver.reading import READING
from tidemark_conformance.tla.kernels.driver.replaying import REPLAYING

PASS, FAIL, UNDECIDED = 0, 1, 2
"""Verdicts of a stream."""

REASONS = (
    "",
    "no end record",
    "bad checksum",
    "missing steps",
    "malformed stream",
    "capacity exceeded",
    "not from Init",
    "unknown action",
    "parameter out of its domain",
    "unknown node",
    "hidden variables have no value",
)
"""Why a stream is undecided, by number. (The last one never stands alone: the step is none, which is a failure.)"""
CAPACITY, MALFORMED, WRONG = REASONS.index("capacity exceeded"), REASONS.index("malformed stream"), len(REASONS)
"""The meaning of a value beyond a limit: the limit is a capacity; no value has such a cell; the limit means
something."""
OVERFLOWS = 32
"""From here on: a computed value exceeds the capacity of the variable with the number that is left."""


def reason(code: int, variables: Sequence[str]) -> str:
    """Why a stream is undecided, by number; `variables`: their names in the order of the layout."""
    return f"capacity exceeded by the computed {variables[code - OVERFLOWS]}" if code >= OVERFLOWS else REASONS[code]


DRIVER = "".join((READING, JUDGING, REACHING, REPLAYING, ASKING))
"""The whole text. Each part calls those before it."""
