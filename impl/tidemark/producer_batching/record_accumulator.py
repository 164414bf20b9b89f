"""A producer's queue of batches per partition, in a bounded memory (RecordAccumulator, BufferPool). Batches in flight
are here too; in Kafka they are Sender's.

    append          a record joins its partition's last batch, or begins one; without memory it waits
    admit           memory has come back, or max.block.ms is over: the appends that wait no longer
    ready, drain    the partitions whose first batch is full, has lingered, or is hurried; it goes into flight
    reenqueue       a batch is to be sent again, after a pause
    complete        a batch is answered for good: its memory is free
    expire          delivery.timeout.ms is over, for batches that wait or are in flight

Sans-IO: times are milliseconds of the caller's clock, which does not go back. Sequences are producer.py's affair: it
numbers the batches of a partition as they are drained first, and so does this. A partition has a connection of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain

from tidemark.common.structs import value
from tidemark.producer_batching.record_sizes import RECORD_BATCH_OVERHEAD, batch_size_upper_bound, record_size

Bytes = bytes | None
"""A record's key or value, serialized; None is null."""

JITTER = 0.2
"""RETRY_BACKOFF_JITTER: pauses differ by as much."""
WORD = 2**24
"""Upper bound, exclusive, of the random number for a pause."""


class Refusal(StrEnum):
    """Why a record is not taken, by the exception that the application gets of Kafka's producer."""

    RECORD_TOO_LARGE = "RecordTooLargeException"
    """It alone is more than max.request.size, or than buffer.memory."""
    BUFFER_EXHAUSTED = "BufferExhaustedException"
    """A TimeoutException: it has waited for memory as long as max.block.ms."""
    CLOSED = "KafkaException"
    """The producer is closed."""


@value
class AccumulatorConfig:
    """Kafka's names with `_` for `.`, and its defaults (those of 4.0: `linger_ms` was 0); sizes are bytes."""

    batch_size: int = 16_384
    linger_ms: int = 5
    buffer_memory: int = 32 * 2**20
    max_block_ms: int = 60_000
    max_request_size: int = 2**20
    max_in_flight: int = 5
    enable_idempotence: bool = True
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    delivery_timeout_ms: int = 120_000


@value
class Record:
    """A record with the time at which the application sent it."""

    key: Bytes
    value: Bytes
    timestamp: int


@dataclass(slots=True, eq=False)
class Batch:
    """`memory`: the bytes it occupies, and may not outgrow. `size`: its bytes. `number`: its place among the drained
    batches of its partition, 0 before that. `attempts`: how often it has failed. `retry_at`: when it may be sent again.
    `expired`: nobody waits for it, but its request is still under way."""

    partition: int
    memory: int
    created: int
    records: list[Record] = field(default_factory=list)
    size: int = RECORD_BATCH_OVERHEAD
    closed: bool = False
    number: int = 0
    attempts: int = 0
    retry_at: int = 0
    expired: bool = False

    @property
    def full(self) -> bool:
        """isFull: nothing may be added."""
        return self.closed or self.size >= self.memory

    def try_append(self, record: Record) -> int:
        """Add a record, if there is room: how many bytes it has added, the batch's own with the first; 0 if none."""
        added = record_size(
            len(self.records),
            record.timestamp - self.records[0].timestamp if self.records else 0,
            record.key,
            record.value,
        )
        if self.records and (self.full or self.size + added > self.memory):
            return 0
        overhead = 0 if self.records else self.size
        self.records.append(record)
        self.size += added
        return overhead + added


@value
class Appended:
    """A record is in `batch`, whose size it has increased by `size`. `full`: the partition has a batch to send now, so
    that the sender is to be woken up; `new`: the batch is."""

    batch: Batch
    full: bool
    new: bool
    size: int


@dataclass(slots=True, eq=False)
class Waiting:
    """A record that waits for so much `memory`, till `until` at most: its sender is blocked."""

    partition: int
    record: Record
    memory: int
    until: int


class RecordAccumulator:
    """Of so many `partitions`. Raises ValueError if the memory does not hold one batch."""

    __slots__ = ("_closed", "_config", "_drained", "_flushing", "_in_flight", "_queues", "_waiting", "available_memory")

    def __init__(self, partitions: int, config: AccumulatorConfig) -> None:
        if config.batch_size > config.buffer_memory:
            raise ValueError(f"batch.size {config.batch_size} is more than buffer.memory {config.buffer_memory}")
        self._config = config
        self.available_memory = config.buffer_memory
        self._queues: list[deque[Batch]] = [deque() for _ in range(partitions)]
        self._in_flight: list[list[Batch]] = [[] for _ in range(partitions)]
        self._drained = [0] * partitions
        self._waiting: deque[Waiting] = deque()
        self._flushing: set[Batch] = set()
        self._closed = False

    # --- records come in --------------------------------------------------------------------------------------------

    def append(self, partition: int, key: Bytes, value: Bytes, now: int) -> Appended | Waiting | Refusal:
        """Take a record. If it has to wait, its sender sends nothing more before `admit` tells of it."""
        bound = batch_size_upper_bound(key, value)
        if self._closed:
            return Refusal.CLOSED
        if bound > min(self._config.max_request_size, self._config.buffer_memory):
            return Refusal.RECORD_TOO_LARGE
        record = Record(key, value, now)
        appended = self._try_append(partition, record)
        if appended is not None:
            return appended
        memory = max(self._config.batch_size, bound)
        if self._waiting or memory > self.available_memory:
            waiting = Waiting(partition, record, memory, now + self._config.max_block_ms)
            self._waiting.append(waiting)
            return waiting
        return self._begin_batch(partition, record, memory, now)

    def admit(self, now: int) -> list[tuple[Waiting, Appended | Refusal]]:
        """The records that stop waiting, each with its result. Those that have waited too long come first. Then memory
        goes to the others in order: a small record that overtook a large one could make the latter wait for ever."""
        late = [one for one in self._waiting if now >= one.until]
        self._waiting = deque(one for one in self._waiting if now < one.until)
        told: list[tuple[Waiting, Appended | Refusal]] = [(one, Refusal.BUFFER_EXHAUSTED) for one in late]
        while self._waiting and self._waiting[0].memory <= self.available_memory:
            one = self._waiting.popleft()
            appended = self._try_append(one.partition, one.record)
            told.append((one, appended or self._begin_batch(one.partition, one.record, one.memory, now)))
        return told

    def _try_append(self, partition: int, record: Record) -> Appended | None:
        """Into the last batch, if there is room; it takes nothing more after one that it has no room for."""
        queue = self._queues[partition]
        if not queue:
            return None
        size = queue[-1].try_append(record)
        if not size:
            queue[-1].closed = True
            return None
        return Appended(queue[-1], len(queue) > 1 or queue[-1].full, False, size)

    def _begin_batch(self, partition: int, record: Record, memory: int, now: int) -> Appended:
        self.available_memory -= memory
        batch, queue = Batch(partition, memory, now), self._queues[partition]
        size = batch.try_append(record)
        queue.append(batch)
        return Appended(batch, len(queue) > 1 or batch.full, True, size)

    def loads(self) -> dict[int, int]:
        """How many batches wait for each partition."""
        return {partition: len(queue) for partition, queue in enumerate(self._queues)}

    # --- batches go out ---------------------------------------------------------------------------------------------

    def ready(self, now: int) -> list[int]:
        """The partitions that a batch may be drained from."""
        return [partition for partition, at in self._sendable() if at <= now]

    def next_ready(self, now: int) -> int | None:
        """When another partition will be ready, if nothing else happens before; None if none will."""
        return min((at for _, at in self._sendable() if at > now), default=None)

    def _sendable(self) -> Iterator[tuple[int, int]]:
        """Partitions, with the time from which their first batch may be sent. Neither hurry nor a full batch shortens a
        pause before a retry."""
        hurried = bool(self._waiting or self._flushing or self._closed)
        for partition, queue in enumerate(self._queues):
            if queue and not self._muted(partition):
                first = queue[0]
                if first.number:
                    yield partition, first.retry_at
                elif hurried or first.full:
                    yield partition, first.created
                else:
                    yield partition, first.created + self._config.linger_ms

    def _muted(self, partition: int) -> bool:
        """Whether the first batch has to wait for a reply. The connection has as many requests as it may, or, with
        idempotence, an older request is under way than the one to be sent again."""
        in_flight, number = self._in_flight[partition], self._queues[partition][0].number
        if len(in_flight) >= self._config.max_in_flight:
            return True
        return self._config.enable_idempotence and any(one.number < number for one in in_flight)

    def retries(self, partition: int) -> bool:
        """Whether the first batch of a partition, if there is one, has been sent before."""
        queue = self._queues[partition]
        return bool(queue) and queue[0].number > 0

    def drain(self, partition: int) -> Batch:
        """The first batch of a partition that is `ready`, which is in flight now."""
        batch = self._queues[partition].popleft()
        batch.closed = True
        if not batch.number:
            self._drained[partition] += 1
            batch.number = self._drained[partition]
        self._in_flight[partition].append(batch)
        return batch

    def flush(self) -> None:
        """Nothing lingers until all that is here now is complete."""
        self._flushing = set(self.incomplete())

    @property
    def flushing(self) -> bool:
        """Whether a flush is not over yet."""
        return bool(self._flushing)

    def incomplete(self) -> list[Batch]:
        """All batches that are waited for, in flight or not yet."""
        return [one for one in chain(*self._in_flight, *self._queues) if not one.expired]

    def close(self) -> list[Waiting]:
        """It takes no more records, those that wait included, and nothing lingers."""
        self._closed = True
        refused, self._waiting = list(self._waiting), deque()
        return refused

    def abort_undrained(self) -> None:
        """abortUndrainedBatches: batches that have not been sent are dropped."""
        for number, queue in enumerate(self._queues):
            self._queues[number] = deque(one for one in queue if one.number)
            for batch in queue:
                if not batch.number:
                    self._release(batch)

    # --- batches come back ------------------------------------------------------------------------------------------

    def complete(self, batch: Batch) -> None:
        """A batch in flight is acknowledged or has failed for good, or its connection is gone with it."""
        self._in_flight[batch.partition].remove(batch)
        self._release(batch)

    def reenqueue(self, batch: Batch, now: int, word: int) -> bool:
        """A batch in flight is to be sent again, after a pause that doubles with each attempt; `word`, below 2^24, is
        its jitter's chance. With idempotence it goes where its number belongs, else before all others. False, and it
        is complete, if delivery.timeout.ms is over for it."""
        if batch.expired or now >= self._deadline(batch):
            self.complete(batch)
            return False
        self._in_flight[batch.partition].remove(batch)
        batch.retry_at = now + self._backoff(batch.attempts, word)
        batch.attempts += 1
        queue = self._queues[batch.partition]
        before = sum(1 for one in queue if 0 < one.number < batch.number) if self._config.enable_idempotence else 0
        queue.insert(before, batch)
        return True

    def _backoff(self, attempts: int, word: int) -> int:
        """ExponentialBackoff."""
        config = self._config
        pause = min(config.retry_backoff_ms << min(attempts, 32), config.retry_backoff_max_ms)
        return min(int(pause * (1 - JITTER + 2 * JITTER * word / WORD)), config.retry_backoff_max_ms)

    def expire(self, now: int) -> list[Batch]:
        """The batches for which delivery.timeout.ms is over, for the application to hear. One in flight keeps its
        memory until its request is over: a connection still reads from there (KAFKA-19012)."""
        expired = []
        for queue in self._queues:
            while queue and now >= self._deadline(queue[0]):
                batch = queue.popleft()
                self._release(batch)
                expired.append(batch)
        for batch in chain(*self._in_flight):
            if not batch.expired and now >= self._deadline(batch):
                batch.expired = True
                self._flushing.discard(batch)
                expired.append(batch)
        return expired

    def _deadline(self, batch: Batch) -> int:
        return batch.created + self._config.delivery_timeout_ms

    def _release(self, batch: Batch) -> None:
        self.available_memory += batch.memory
        self._flushing.discard(batch)
