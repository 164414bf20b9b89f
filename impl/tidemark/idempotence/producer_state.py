"""What a leader remembers of producers (ProducerStateManager, ProducerStateEntry, ProducerAppendInfo).

Of each producer: its epoch, and its last few batches with their offsets. It follows from the log: a broker that starts
loads a snapshot and replays what the log has behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tidemark.common.errors import Errors
from tidemark.idempotence.messages import NO_EPOCH, ProduceRequest, ProducerId
from tidemark.idempotence.rules import Rules


class BatchMetadata(NamedTuple):
    """One batch: its sequence, and where it is."""

    sequence: int
    offset: int


class ProducerStateEntry(NamedTuple):
    """What is remembered of a producer; `batches` are those of `epoch`, oldest first."""

    epoch: int
    batches: tuple[BatchMetadata, ...]


NO_ENTRY = ProducerStateEntry(NO_EPOCH, ())

Snapshot = Mapping[ProducerId, ProducerStateEntry]
"""A snapshot file: producer id -> what it keeps."""


class ProducerStateManager:
    """The producers of one partition. `window`: how many batches of each are remembered; `max_sequence`: the last
    sequence before 0."""

    __slots__ = ("_max_sequence", "_rules", "_window", "entries")

    def __init__(self, rules: Rules, window: int, max_sequence: int) -> None:
        self._rules = rules
        self._window = window
        self._max_sequence = max_sequence
        self.entries: dict[ProducerId, ProducerStateEntry] = {}

    def duplicate_of(self, batch: ProduceRequest) -> BatchMetadata | None:
        """The batch that this one repeats, if it is remembered."""
        entry = self.entries.get(batch.producer_id)
        if entry is None or entry.epoch != batch.producer_epoch:
            return None
        if not self._rules.recognize_duplicate(batch.sequence, [one.sequence for one in entry.batches]):
            return None
        return next(one for one in entry.batches if one.sequence == batch.sequence)

    def validate(self, batch: ProduceRequest) -> Errors:
        """Whether a batch that is no duplicate may be appended: NONE, INVALID_PRODUCER_EPOCH or
        OUT_OF_ORDER_SEQUENCE_NUMBER."""
        rules, entry = self._rules, self.entries.get(batch.producer_id)
        if entry is None:
            good = rules.first_sequence_is_zero(batch.sequence)
        elif not rules.fence_older_epoch(batch.producer_epoch, entry.epoch):
            return Errors.INVALID_PRODUCER_EPOCH
        elif batch.producer_epoch != entry.epoch:
            good = rules.new_epoch_starts_at_zero(batch.sequence)
        else:
            good = rules.in_sequence(batch.sequence, self._expected(entry))
        return Errors.NONE if good else Errors.OUT_OF_ORDER_SEQUENCE_NUMBER

    def _expected(self, entry: ProducerStateEntry) -> int:
        if not entry.batches:  # a marker has begun the epoch
            return 0
        last = entry.batches[-1].sequence
        return 0 if last == self._max_sequence else last + 1

    def update(self, batch: ProduceRequest, offset: int) -> None:
        """Remember a batch at its offset."""
        entry = self.entries.get(batch.producer_id, NO_ENTRY)
        epoch = batch.producer_epoch
        before = entry.batches if self._rules.remember_window(entry.epoch, epoch) else ()
        batches = (*before, BatchMetadata(batch.sequence, offset))
        self.entries[batch.producer_id] = ProducerStateEntry(epoch, batches[-self._window :])

    def expire(self, producer_id: ProducerId) -> None:
        """Forget a producer of which nothing was heard for long."""
        self.entries.pop(producer_id, None)

    def take_snapshot(self) -> Snapshot:
        """What a snapshot file keeps."""
        keeps = self._rules.snapshot_keeps_window
        return {
            producer_id: entry if keeps(len(entry.batches)) else ProducerStateEntry(entry.epoch, entry.batches[-1:])
            for producer_id, entry in self.entries.items()
        }

    def load(self, batches: Sequence[ProduceRequest], snapshot_offset: int) -> None:
        """Start anew from a snapshot that was taken at an offset of this log, and the batches behind it."""
        self.entries = {}
        for offset, batch in enumerate(batches[:snapshot_offset]):
            self.update(batch, offset)
        self.entries = dict(self.take_snapshot())
        for offset, batch in enumerate(batches[snapshot_offset:], snapshot_offset):
            self.update(batch, offset)
