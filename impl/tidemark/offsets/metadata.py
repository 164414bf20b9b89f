"""The state that the records of __consumer_offsets define: committed and pending offsets, the group, the producers.

`replay` is the only way in which an `OffsetMetadata` changes. A coordinator has two: of committed records, which a
plain OffsetFetch reads, and of all written ones, by which it decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tidemark.groups.offset_records import (
    NO_GROUP,
    NO_PRODUCER_ID,
    SIMPLE_GROUP,
    EndTransactionMarker,
    LogRecord,
    OffsetCommitValue,
    OffsetsGroup,
    OffsetsGroupState,
    OffsetTombstone,
    ProducerId,
)
from tidemark.groups.partitions import TopicPartition
from tidemark.offsets.rules import OffsetRules


class OffsetAndMetadata(NamedTuple):
    """An offset, the position of its record, and when (ms) it was committed."""

    offset: int
    record_offset: int
    commit_timestamp_ms: int


Staged = dict[TopicPartition, OffsetAndMetadata]


class OffsetMetadata:
    """`offsets`: the committed ones; `pending`: per producer what its transaction has staged; `group`: the group."""

    __slots__ = ("_rules", "group", "offsets", "pending")

    def __init__(self, rules: OffsetRules) -> None:
        self._rules = rules
        self.group = NO_GROUP
        self.offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        self.pending: dict[ProducerId, Staged] = {}

    def copy(self) -> OffsetMetadata:
        """Another one of the same content."""
        other = OffsetMetadata(self._rules)
        other.group = self.group
        other.offsets = dict(self.offsets)
        other.pending = {producer: dict(staged) for producer, staged in self.pending.items()}
        return other

    def is_staged(self, partition: TopicPartition) -> bool:
        """Whether a transaction that is not decided has an offset of the partition."""
        return any(partition in staged for staged in self.pending.values())

    def has_offset(self, partition: TopicPartition) -> bool:
        """Whether there is anything of the partition to remove."""
        return partition in self.offsets or self.is_staged(partition)

    def partitions(self) -> list[TopicPartition]:
        """The partitions that have a committed or a staged offset, sorted."""
        return sorted({*self.offsets, *(partition for staged in self.pending.values() for partition in staged)})

    def replay(self, one: LogRecord) -> None:
        """A record counts."""
        record = one.record
        if isinstance(record, OffsetCommitValue):
            self._replay_commit(one.position, record)
        elif isinstance(record, OffsetTombstone):
            self._replay_tombstone(record)
        elif isinstance(record, OffsetsGroup):
            self.group = record
        else:
            self._replay_marker(record)

    def _replay_commit(self, position: int, record: OffsetCommitValue) -> None:
        """Committed, or staged. A group that nobody manages exists as long as it has offsets."""
        if self.group.state is OffsetsGroupState.NONE:
            self.group = SIMPLE_GROUP
        committed = OffsetAndMetadata(record.offset, position, record.commit_timestamp_ms)
        if record.producer_id == NO_PRODUCER_ID:
            self.offsets[record.partition] = committed
        else:
            self.pending.setdefault(record.producer_id, {})[record.partition] = committed

    def _replay_tombstone(self, record: OffsetTombstone) -> None:
        for partition in record.partitions:
            self.offsets.pop(partition, None)
            if self._rules.tombstone_clears_staged(partition, record.partitions):
                for staged in self.pending.values():
                    staged.pop(partition, None)
        if record.group:
            self.group = NO_GROUP

    def _replay_marker(self, record: EndTransactionMarker) -> None:
        """On a commit, pending offsets become committed, unless a later record committed that partition. On an abort,
        they are dropped."""
        staged = self.pending.pop(record.producer_id, {})
        if not record.commit:
            return
        for partition, committed in staged.items():
            existing = self.offsets.get(partition)
            before = -1 if existing is None else existing.record_offset
            if not self._rules.keep_later_record(before, committed.record_offset):
                self.offsets[partition] = committed


class ProducerState(NamedTuple):
    """The partition's state of a producer: its epoch and its open transaction's first position, -1 if none is open
    (ProducerStateEntry)."""

    epoch: int = 0
    first_offset: int = -1

    @property
    def open(self) -> bool:
        """Whether a transaction is."""
        return self.first_offset >= 0


UNKNOWN_PRODUCER = ProducerState()
Producers = Mapping[ProducerId, ProducerState]


def produced(producers: dict[ProducerId, ProducerState], one: LogRecord) -> None:
    """The partition has a record more: its state of the record's producer changes."""
    record = one.record
    if isinstance(record, OffsetCommitValue) and record.producer_id != NO_PRODUCER_ID:
        known = producers.get(record.producer_id, UNKNOWN_PRODUCER)
        first = known.first_offset if known.open else one.position
        producers[record.producer_id] = ProducerState(record.producer_epoch, first)
    elif isinstance(record, EndTransactionMarker):
        producers[record.producer_id] = ProducerState(record.producer_epoch)
