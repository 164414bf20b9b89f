"""The committed offsets that a group's coordinator serves (OffsetMetadataManager)."""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.groups.messages import OffsetCommitRecord
from tidemark.groups.partitions import TopicPartition
from tidemark.groups.purgatory import Appended


class CommittedOffsets:
    """The committed offsets that a coordinator serves, of whatever group."""

    __slots__ = ("committed",)

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, int] = {}
        """The offset of each partition that has one."""

    def replay(self, record: OffsetCommitRecord) -> None:
        """A committed record of the log: the offset counts."""
        self.committed[record.partition] = record.offset

    def written(self, waiting: Iterable[Appended]) -> dict[TopicPartition, int]:
        """The offsets once these batches, oldest first, have committed. A fetch with require_stable reads them."""
        found = dict(self.committed)
        for one in waiting:
            for record in one.batch:
                if isinstance(record, OffsetCommitRecord):
                    found[record.partition] = record.offset
        return found
