"""A client that remembers what it was told of committed offsets, and knows nothing of the specification."""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.groups.offset_records import (
    NO_PRODUCER_ID,
    EndTransactionMarker,
    LogRecord,
    OffsetCommitValue,
    OffsetTombstone,
)
from tidemark.groups.partitions import TopicPartition
from tidemark.offsets.metadata import OffsetAndMetadata


class Reader:
    """`acked`: how many plain commits were acknowledged; `safe`: per partition the offset that was acknowledged last,
    as long as nobody has written anything that could change it."""

    __slots__ = ("acked", "safe")

    def __init__(self) -> None:
        self.acked = 0
        self.safe: dict[TopicPartition, int] = {}

    def written(self, one: LogRecord) -> None:
        """Somebody has written this: the offsets that it may change are not known any more."""
        record = one.record
        if isinstance(record, OffsetCommitValue):
            self.safe.pop(record.partition, None)
        elif isinstance(record, OffsetTombstone):
            for partition in record.partitions:
                self.safe.pop(partition, None)
        elif isinstance(record, EndTransactionMarker) and record.commit:
            self.safe.clear()

    def committed(self, one: LogRecord) -> None:
        """This has committed: a plain commit is acknowledged, what else it is may have changed something."""
        record = one.record
        if isinstance(record, OffsetCommitValue) and record.producer_id == NO_PRODUCER_ID:
            self.acked += 1
            self.safe[record.partition] = record.offset
        else:
            self.written(one)

    def lost(self, found: Mapping[TopicPartition, OffsetAndMetadata]) -> int:
        """Of how many partitions the offset that was acknowledged last is not there."""
        return sum(
            partition not in found or found[partition].offset != offset for partition, offset in self.safe.items()
        )
