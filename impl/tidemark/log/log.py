"""A replica's log (UnifiedLog): batches on a storage, the leader-epoch cache and the high watermark.

The high watermark lives here, below the log's end always. The leader computes it from the ISR, and a follower takes it
from its leader. After a start it is the checkpoint file's.

A truncation begins a new segment, so that no file is written again where it was cut. The holder of a slice of an older
segment sees by it whether a truncation has reached the slice.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.log.epoch_cache import NO_EPOCH, EpochEndOffset, LeaderEpochCache
from tidemark.log.storage import Payload, RecordBatch, Storage, read_batches


class Segment:
    """A file of the log from `base_offset` on. `cut_offset`: where the last truncation has cut it, None if none did."""

    __slots__ = ("base_offset", "cut_offset")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.cut_offset: int | None = None

    def lacks(self, end_offset: int) -> bool:
        """Whether a truncation has taken records below `end_offset` that the file had."""
        return self.cut_offset is not None and self.cut_offset < end_offset


class Log:
    """One replica's log, opened on what its disk holds.

    `end_offset`: the offset of the next record; `high_watermark`: records below it are known to be committed.
    `segments`: its files, in order; the last one is appended to.
    """

    __slots__ = ("end_offset", "epoch_cache", "high_watermark", "segments", "storage")

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.end_offset = storage.end_offset
        self.high_watermark = min(storage.high_watermark, storage.end_offset)
        self.epoch_cache = LeaderEpochCache(storage)
        self.epoch_cache.truncate_from_end(storage.end_offset)
        self.segments = [Segment(0)]

    def append_as_leader(self, payloads: tuple[Payload, ...], leader_epoch: int) -> int:
        """Append records as one batch stamped with the leader's epoch; returns the first one's offset."""
        base_offset, cache = self.end_offset, self.epoch_cache
        if leader_epoch != cache.latest_epoch:
            cache.assign(leader_epoch, base_offset)
        self.storage.append(RecordBatch(base_offset, leader_epoch, payloads))
        self.end_offset = base_offset + len(payloads)
        return base_offset

    def append_as_follower(self, batches: Sequence[RecordBatch]) -> None:
        """Append batches as the leader sent them; their epochs go to the cache."""
        storage, cache = self.storage, self.epoch_cache
        for batch in batches:
            if batch.leader_epoch != cache.latest_epoch:
                cache.assign(batch.leader_epoch, batch.base_offset)
            storage.append(batch)
        self.end_offset = storage.end_offset

    def truncate_to(self, offset: int) -> None:
        """Cut the log to end at `offset` (no effect beyond its end), and the epochs that begin there or later.

        The cache is trimmed even when no record goes: a leader's epoch without records must go too (KAFKA-10706).
        """
        if offset < self.end_offset:
            self.storage.truncate_to(offset)
            self.end_offset = self.storage.end_offset
            self._roll()
            if self.high_watermark > self.end_offset:
                self.set_high_watermark(self.end_offset)
        self.epoch_cache.truncate_from_end(offset)

    def _roll(self) -> None:
        """The log was cut at its end: the files that reached beyond are cut or go, and a new one begins there."""
        segments, end = self.segments, self.end_offset
        while segments and segments[-1].base_offset >= end:
            segments.pop().cut_offset = end
        if segments:
            segments[-1].cut_offset = end
        segments.append(Segment(end))

    def segment_of(self, offset: int) -> Segment:
        """The file that has the record at `offset`, or that will have it."""
        for segment in reversed(self.segments):
            if segment.base_offset <= offset:
                return segment
        return self.segments[0]

    def read(self, offset: int, limit: int) -> tuple[RecordBatch, ...]:
        """Whole batches from `offset`, `limit` records at most; none at or beyond the end."""
        return read_batches(self.storage.batches, self.end_offset, offset, limit)

    def tail_epoch(self) -> int:
        """The epoch of the last record, -1 for an empty log."""
        batches = self.storage.batches
        return batches[-1].leader_epoch if batches else NO_EPOCH

    def epoch_at(self, offset: int) -> int:
        """The epoch of the record at an offset, -1 where there is none."""
        found = self.read(offset, 1) if offset < self.end_offset else ()
        return found[0].leader_epoch if found else NO_EPOCH

    def end_offset_for_epoch(self, epoch: int) -> EpochEndOffset:
        """Where an epoch ends in this log; -1, -1 where it cannot tell."""
        return self.epoch_cache.end_offset_for(epoch, self.end_offset)

    def set_high_watermark(self, offset: int) -> None:
        """The high watermark, clamped to the log's end; it may go down on a follower."""
        end = self.end_offset
        if offset > end:
            offset = end
        if offset != self.high_watermark:
            self.high_watermark = offset

    def flush_log(self) -> bool:
        """Everything to disk; False if everything was."""
        if self.storage.flushed_offset == self.end_offset:
            return False
        self.storage.flush()
        return True

    def checkpoint_high_watermark(self) -> bool:
        """Write the high watermark to its checkpoint file; False if it is there already."""
        if self.storage.high_watermark == self.high_watermark:
            return False
        self.storage.high_watermark = self.high_watermark
        return True
