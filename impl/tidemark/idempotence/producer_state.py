"""A leader's producer state (ProducerStateManager, ProducerStateEntry, ProducerAppendInfo).

Of each producer: its epoch, its last few batches with their offsets, and when the last one was appended. It follows
from the log: a broker that starts loads its latest snapshot file and replays the log from the snapshot's offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tidemark.common.errors import Errors
from tidemark.idempotence.messages import NO_EPOCH, ProduceRequest, ProducerId, RecordBatch
from tidemark.idempotence.rules import Rules

NO_TIMESTAMP = -1
PRODUCER_ID_EXPIRATION_MS = 86_400_000
"""The default of producer.id.expiration.ms (KIP-854)."""


class BatchMetadata(NamedTuple):
    """One batch: its sequence, and where it is."""

    sequence: int
    offset: int


class ProducerStateEntry(NamedTuple):
    """The state of one producer. `batches`: those of `epoch`, oldest first. `last_timestamp`: the time of its last
    appended batch, in milliseconds."""

    epoch: int
    batches: tuple[BatchMetadata, ...]
    last_timestamp: int


NO_ENTRY = ProducerStateEntry(NO_EPOCH, (), NO_TIMESTAMP)


class Snapshot(NamedTuple):
    """A snapshot file: the producers that were remembered when the log ended at `offset`."""

    offset: int
    entries: Mapping[ProducerId, ProducerStateEntry]


NO_SNAPSHOT = Snapshot(0, {})


class ProducerStateManager:
    """The producers of one partition. `window`: how many batches of each are remembered; `max_sequence`: the last
    sequence before 0; `expiration_ms`: producer.id.expiration.ms. `map_end_offset`: the end of the log that `entries`
    are of."""

    __slots__ = ("_expiration_ms", "_max_sequence", "_rules", "_window", "entries", "map_end_offset")

    def __init__(
        self, rules: Rules, window: int, max_sequence: int, expiration_ms: int = PRODUCER_ID_EXPIRATION_MS
    ) -> None:
        self._rules = rules
        self._window = window
        self._max_sequence = max_sequence
        self._expiration_ms = expiration_ms
        self.entries: dict[ProducerId, ProducerStateEntry] = {}
        self.map_end_offset = 0

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
        elif not rules.epoch_not_older(batch.producer_epoch, entry.epoch):
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

    def update(self, batch: ProduceRequest, offset: int, timestamp: int) -> None:
        """Remember a batch that was appended at its offset, at that time."""
        entry = self.entries.get(batch.producer_id, NO_ENTRY)
        epoch = batch.producer_epoch
        before = entry.batches if self._rules.remember_window(entry.epoch, epoch) else ()
        batches = (*before, BatchMetadata(batch.sequence, offset))
        self.entries[batch.producer_id] = ProducerStateEntry(epoch, batches[-self._window :], timestamp)
        self.map_end_offset = offset + 1

    def expires_at(self, producer_id: ProducerId) -> int | None:
        """When a producer may be forgotten, in milliseconds; None if nothing is known of it."""
        entry = self.entries.get(producer_id)
        return None if entry is None else entry.last_timestamp + self._expiration_ms

    def remove_expired(self, producer_id: ProducerId, now: int) -> bool:
        """Forget a producer if it has expired (removeExpiredProducers goes through all of them)."""
        entry = self.entries.get(producer_id)
        if entry is None or not self._rules.state_outlives_retries(now - entry.last_timestamp, self._expiration_ms):
            return False
        del self.entries[producer_id]
        return True

    def take_snapshot(self) -> Snapshot:
        """A snapshot file of the producers that are remembered now."""
        return Snapshot(self.map_end_offset, dict(self.entries))

    def load(self, log: Sequence[RecordBatch], snapshots: Iterable[Snapshot]) -> None:
        """Start anew from the latest snapshot that is not of a longer log, and replay the log from there
        (rebuildProducerState). A producer that has expired since comes back until somebody looks."""
        within = [one for one in snapshots if one.offset <= len(log)]
        latest = max(within, key=lambda one: one.offset, default=NO_SNAPSHOT)
        self.entries = dict(latest.entries)
        self.map_end_offset = latest.offset
        for offset in range(latest.offset, len(log)):
            self.update(log[offset].request, offset, log[offset].timestamp)

    def truncate_and_reload(self, log: Sequence[RecordBatch], snapshots: Iterable[Snapshot]) -> None:
        """The log was truncated: the state of its producers has to end where it ends."""
        if self._rules.state_follows_truncation(len(log), self.map_end_offset):
            self.load(log, snapshots)
