"""A partition at a broker, as far as idempotence needs it: the log, the high watermark, producer state, snapshot files.

How the log is replicated is replication's affair: here a follower is given batches, and may be told to truncate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from tidemark.common.errors import Errors
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse, ProducerId, RecordBatch
from tidemark.idempotence.producer_state import PRODUCER_ID_EXPIRATION_MS, ProducerStateManager, Snapshot
from tidemark.idempotence.rules import Rules

Broker = int

MIN_IN_SYNC_REPLICAS = 2
"""min.insync.replicas."""


class Parked(NamedTuple):
    """The batch is in the log at `offset`; the answer waits until it is committed."""

    offset: int
    duplicate: bool


class Storage(Protocol):
    """A partition's log on disk, one offset for each batch."""

    batches: list[RecordBatch]
    """The batches, oldest first; read only, and the same list always."""

    def append(self, batch: RecordBatch) -> None:
        """Write a batch at the end. Raises OSError if the disk fails; then the batch is not there."""

    def truncate_to(self, offset: int) -> None:
        """Keep what is below an offset."""


class Partition:
    """One partition at the broker `leader`, which leads it or is about to.

    `log`: the batches on its storage. `snapshots`: its snapshot files. Until it is told of another ISR, as many
    replicas are in sync as min.insync.replicas asks for.
    """

    __slots__ = (
        "_in_sync_replicas",
        "_rules",
        "_storage",
        "high_watermark",
        "leader",
        "log",
        "producers",
        "snapshots",
    )

    def __init__(
        self,
        rules: Rules,
        window: int,
        max_sequence: int,
        leader: Broker,
        storage: Storage,
        expiration_ms: int = PRODUCER_ID_EXPIRATION_MS,
    ) -> None:
        self._rules = rules
        self._storage = storage
        self._in_sync_replicas = MIN_IN_SYNC_REPLICAS
        self.leader = leader
        self.log = storage.batches
        self.high_watermark = 0
        self.producers = ProducerStateManager(rules, window, max_sequence, expiration_ms)
        self.snapshots: list[Snapshot] = []

    # --- as a leader ------------------------------------------------------------------------------------------------

    def update_isr(self, in_sync_replicas: int) -> None:
        """The leader hears of another ISR, with so many replicas."""
        self._in_sync_replicas = in_sync_replicas

    def append_batch(self, request: ProduceRequest, now: int) -> Parked | ProduceResponse:
        """Handle a produce with acks=all: append it, or say why not. A duplicate is answered with its old offset.

        In Kafka's order: the ISR (Partition.appendRecordsToLeader), then duplicates, epoch and sequence, then the disk.
        `now`: the time in milliseconds.
        """
        if self._in_sync_replicas < MIN_IN_SYNC_REPLICAS:
            return ProduceResponse(Errors.NOT_ENOUGH_REPLICAS)
        duplicate = self.producers.duplicate_of(request)
        if duplicate is not None:
            if self._rules.duplicate_waits_for_commit(duplicate.offset, self.high_watermark):
                return Parked(duplicate.offset, True)
            return ProduceResponse(Errors.NONE, duplicate.offset)
        error = self.producers.validate(request)
        if error is not Errors.NONE:
            return ProduceResponse(error)
        offset = len(self.log)
        appended = self._append(RecordBatch(request, now))
        if self._rules.state_follows_append(appended):
            self.producers.update(request, offset, now)
        return Parked(offset, False) if appended else ProduceResponse(Errors.KAFKA_STORAGE_ERROR)

    def _append(self, batch: RecordBatch) -> bool:
        """Write a batch at the log's end; False if the disk fails."""
        try:
            self._storage.append(batch)
        except OSError:
            return False
        return True

    def advance_high_watermark(self, offset: int) -> bool:
        """The replicas have all below `offset`; False if that is nothing new."""
        if offset <= self.high_watermark or offset > len(self.log):
            return False
        self.high_watermark = offset
        return True

    def expire_producer(self, producer_id: ProducerId, now: int) -> bool:
        """Forget a producer if producer.id.expiration.ms are over for it; whether it is forgotten. `now`: the time in
        milliseconds."""
        return self.producers.remove_expired(producer_id, now)

    # --- as a follower, and at a start ------------------------------------------------------------------------------

    def append_as_follower(self, batches: Iterable[RecordBatch]) -> None:
        """Append what the leader has appended. Raises OSError if the disk fails."""
        for batch in batches:
            offset = len(self.log)
            self._storage.append(batch)
            self.producers.update(batch.request, offset, batch.timestamp)

    def take_snapshot(self) -> None:
        """Write a snapshot file at the end of the log: a segment is full, or the broker stops."""
        self.snapshots.append(self.producers.take_snapshot())

    def restart(self) -> None:
        """The broker has stopped and starts again: log and snapshot files are there, producer state is loaded."""
        self.producers.load(self.log, self.snapshots)

    def truncate_to(self, offset: int) -> None:
        """Keep what is below an offset: the next leader has nothing behind it."""
        self._storage.truncate_to(offset)
        self.snapshots = [one for one in self.snapshots if one.offset <= offset]
        self.producers.truncate_and_reload(self.log, self.snapshots)
