"""A partition's disk in memory, which the simulator lets fail."""

from __future__ import annotations

from tidemark.idempotence.messages import RecordBatch


class Disk:
    """`fails`: it takes no batch."""

    __slots__ = ("batches", "fails")

    def __init__(self) -> None:
        self.batches: list[RecordBatch] = []
        self.fails = False

    def append(self, batch: RecordBatch) -> None:
        """Write a batch at the end. Raises OSError while it fails."""
        if self.fails:
            raise OSError("the disk fails")
        self.batches.append(batch)

    def truncate_to(self, offset: int) -> None:
        """Keep what is below an offset."""
        del self.batches[offset:]
