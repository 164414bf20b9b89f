"""A replica's disk behind an interface: record batches and three small checkpoint files.

    log segments                     the record batches
    leader-epoch-checkpoint          the leader-epoch cache
    replication-offset-checkpoint    the high watermark
    .kafka_cleanshutdown             the broker epoch of a clean stop; deleted at the next start

Batches reach the disk when they are flushed; until then a machine that fails may lose any suffix of them. The small
files are written through.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Protocol

from tidemark.common.errors import BrokenInvariant
from tidemark.common.structs import value

Payload = int
"""The value that a producer sent; opaque to a broker."""


@value
class RecordBatch:
    """Consecutive records appended together in one leader epoch; the first has offset `base_offset`."""

    base_offset: int
    leader_epoch: int
    records: tuple[Payload, ...]

    @property
    def next_offset(self) -> int:
        """The offset after the last record."""
        return self.base_offset + len(self.records)


@value
class EpochEntry:
    """The first offset that a leader wrote, or would have written, in its epoch."""

    epoch: int
    start_offset: int


class Storage(Protocol):
    """One replica's disk. Offsets count records from 0; a log has no gaps."""

    batches: list[RecordBatch]
    """The batches, oldest first; read only."""
    end_offset: int
    """The offset after the last record."""
    flushed_offset: int
    """Records below it survive a failure of the machine (the recovery point)."""
    epochs: tuple[EpochEntry, ...]
    """The leader-epoch checkpoint."""
    high_watermark: int
    """The high-watermark checkpoint."""
    clean_shutdown_epoch: int | None
    """The broker epoch that stopped cleanly; None after a start or a failure."""

    def append(self, batch: RecordBatch) -> None:
        """Append a batch whose base offset is the end offset."""

    def truncate_to(self, offset: int) -> None:
        """Remove every batch that reaches beyond `offset`; flushed at once."""

    def flush(self) -> None:
        """Everything is on disk."""


class MemoryStorage:
    """A disk in memory with an explicit flush point, for the simulator."""

    __slots__ = ("batches", "clean_shutdown_epoch", "end_offset", "epochs", "flushed_offset", "high_watermark")

    def __init__(self) -> None:
        self.batches: list[RecordBatch] = []
        self.end_offset = 0
        self.flushed_offset = 0
        self.epochs: tuple[EpochEntry, ...] = ()
        self.high_watermark = 0
        self.clean_shutdown_epoch: int | None = None

    def append(self, batch: RecordBatch) -> None:
        if batch.base_offset != self.end_offset:
            raise BrokenInvariant(f"a batch at {batch.base_offset} cannot follow a log that ends at {self.end_offset}")
        self.batches.append(batch)
        self.end_offset += len(batch.records)

    def truncate_to(self, offset: int) -> None:
        batches = self.batches
        while batches and batches[-1].next_offset > offset:
            self.end_offset = batches.pop().base_offset
        if self.flushed_offset > self.end_offset:
            self.flushed_offset = self.end_offset

    def flush(self) -> None:
        self.flushed_offset = self.end_offset

    def fail(self, keep: int) -> None:
        """The machine fails: of the records beyond the flush point only those below `keep` survive."""
        if keep < self.flushed_offset:
            raise BrokenInvariant(f"records below {self.flushed_offset} are flushed; a failure cannot keep only {keep}")
        self.truncate_to(keep)
        self.flushed_offset = self.end_offset


def read_batches(batches: list[RecordBatch], end_offset: int, offset: int, limit: int) -> tuple[RecordBatch, ...]:
    """Whole batches from the one that holds `offset` on, `limit` records at most.

    `offset` is the start of a batch (followers fetch from their end, where a batch of the leader starts too).
    """
    if len(batches) == end_offset:  # one record each: a batch's index is its offset
        return tuple(batches[offset : offset + limit])
    first = max(0, bisect_right(batches, offset, key=_base_offset) - 1)
    chosen: list[RecordBatch] = []
    for batch in batches[first:]:
        limit -= len(batch.records)
        if limit < 0:
            break
        if batch.next_offset > offset:
            chosen.append(batch)
    return tuple(chosen)


def _base_offset(batch: RecordBatch) -> int:
    return batch.base_offset
