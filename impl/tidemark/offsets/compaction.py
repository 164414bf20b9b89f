"""Compaction of a partition of __consumer_offsets (Cleaner): of each key the last record stays.

Records of an open transaction are not touched, those of an aborted one go. Tombstones and markers stay
until they have been there for delete.retention.ms, markers also as long as a record of their transaction does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidemark.groups.offset_records import (
    NO_PRODUCER_ID,
    EndTransactionMarker,
    LogRecord,
    OffsetCommitValue,
    OffsetsGroup,
    OffsetTombstone,
    ProducerId,
)
from tidemark.groups.partitions import TopicPartition
from tidemark.offsets.metadata import ProducerState
from tidemark.offsets.rules import OffsetRules


def may_compact(last: LogRecord, producers: Iterable[ProducerState], rules: OffsetRules) -> bool:
    """Whether a log may be cleaned up to this record, itself included (LogCleanerManager.cleanableOffsets).
    `producers`: the partition's knowledge of each producer."""
    firsts = [known.first_offset for known in producers if known.open]
    return rules.clean_below_unstable(last.position, firsts)


def compact(log: Sequence[LogRecord], count: int, horizon: bool, rules: OffsetRules) -> list[LogRecord]:
    """The log after its first `count` records were cleaned. `horizon`: delete.retention.ms has passed."""
    aborted = _aborted(log)
    last: dict[TopicPartition, int] = {}
    last_group = -1
    for one in log[:count]:
        record = one.record
        if isinstance(record, OffsetCommitValue) and one.position not in aborted:
            last[record.partition] = one.position
        elif isinstance(record, OffsetTombstone):
            last.update(dict.fromkeys(record.partitions, one.position))
            last_group = one.position if record.group else last_group
        elif isinstance(record, OffsetsGroup):
            last_group = one.position
    kept: list[LogRecord] = []
    with_data: set[ProducerId] = set()
    for one in log[:count]:
        record = one.record
        if isinstance(record, OffsetCommitValue):
            if one.position not in aborted and last[record.partition] == one.position:
                kept.append(one)
                with_data.add(record.producer_id)
        elif isinstance(record, OffsetsGroup):
            if last_group == one.position:
                kept.append(one)
        elif isinstance(record, OffsetTombstone):
            if not horizon:
                kept += _rest(one, record, last, last_group)
        elif not horizon or rules.marker_outlives_its_data(record.producer_id in with_data):
            kept.append(one)
    return kept + list(log[count:])


def _rest(one: LogRecord, record: OffsetTombstone, last: dict[TopicPartition, int], last_group: int) -> list[LogRecord]:
    """The rest of a tombstone after compaction: the keys of which it is the last record."""
    partitions = tuple([partition for partition in record.partitions if last[partition] == one.position])
    group = record.group and last_group == one.position
    if not partitions and not group:
        return []
    return [LogRecord(one.position, OffsetTombstone(record.cause, partitions, group))]


def _aborted(log: Sequence[LogRecord]) -> set[int]:
    """The positions of records whose transaction was aborted."""
    found: set[int] = set()
    open_records: dict[ProducerId, list[int]] = {}
    for one in log:
        record = one.record
        if isinstance(record, OffsetCommitValue) and record.producer_id != NO_PRODUCER_ID:
            open_records.setdefault(record.producer_id, []).append(one.position)
        elif isinstance(record, EndTransactionMarker):
            ended = open_records.pop(record.producer_id, [])
            if not record.commit:
                found.update(ended)
    return found
