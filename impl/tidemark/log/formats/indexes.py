"""The indexes beside a segment: entries of fixed size, and zeros behind them as long as the segment is active."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from tidemark.log.formats.batch import Readable
from tidemark.log.formats.errors import Torn
from tidemark.log.formats.layout import Layout

E = TypeVar("E", bound=tuple[Any, ...])
_AT_ONCE = 1 << 12
"""Entries that are read at once."""


class OffsetEntry(NamedTuple):
    """Of an `.index`: the batch at byte `position` ends at the segment's base offset + `relative_offset`."""

    relative_offset: int
    position: int


class TimeEntry(NamedTuple):
    """Of a `.timeindex`: up to the batch that ends at base offset + `relative_offset` no record is later."""

    timestamp: int
    """Milliseconds."""
    relative_offset: int


class AbortedTransaction(NamedTuple):
    """Of a `.txnindex`: a transaction whose ABORT marker has `last_offset`. The last stable offset is that of then."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


OFFSET_INDEX = Layout(OffsetEntry, "ii")
TIME_INDEX = Layout(TimeEntry, "qi")
TRANSACTION_INDEX = Layout(AbortedTransaction, "hqqqq")


def entries(file: Readable, layout: Layout[E]) -> Iterator[tuple[int, E]]:
    """The entries of an index, each with the byte at which it begins. Zeros at the end are no entries.

    Raises Torn if the file ends within an entry.
    """
    zeros: list[tuple[int, E]] = []
    whole = file.size // layout.size * layout.size
    for begin in range(0, whole, _AT_ONCE * layout.size):
        data = file.read(begin, min(whole - begin, _AT_ONCE * layout.size))
        for number, entry in enumerate(layout.all(data)):
            at = begin + number * layout.size
            if any(entry):
                yield from zeros
                zeros = []
                yield at, entry
            elif len(zeros) < _AT_ONCE:
                zeros.append((at, entry))
    rest = file.read(whole, file.size - whole)
    if any(rest):
        raise Torn(whole, f"an entry has {layout.size} bytes, and the file ends after {len(rest)} of them")


def written(values: Iterable[E], layout: Layout[E]) -> bytes:
    """The bytes of an index, without zeros behind it. Raises Unwritable."""
    return b"".join(map(layout.write, values))
