"""An idempotent producer's sender (Sender): it carries batches from the accumulator to the brokers and back. It gives
them sequences as they are drained, has them sent again, and reports the finished ones.

Sans-IO: `poll` returns the requests. The caller brings the replies, those of a partition in the order of its
connection, or the news that the connection is gone.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.common.errors import BrokenInvariant, Errors
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse
from tidemark.idempotence.producer import IdempotentProducer
from tidemark.producer_batching.record_accumulator import Batch, RecordAccumulator

Sent = tuple[Batch, ProduceRequest]
"""A request with its batch, whose number is the request's payload."""
Over = list[tuple[Batch, Errors]]
"""Batches of which the application hears, and what: NONE, or why they have failed."""


class Sender:
    """Of one process; both parts know the same partitions."""

    __slots__ = ("_accumulator", "_producer")

    def __init__(self, producer: IdempotentProducer, accumulator: RecordAccumulator) -> None:
        self._producer = producer
        self._accumulator = accumulator

    def poll(self, now: int) -> list[Sent]:
        """The requests to send now: at most one batch of each partition. The caller repeats the call until it returns
        none."""
        producer = self._producer
        for partition in range(len(producer.partitions)):
            producer.resolve_sequences(partition)
        producer.bump_epoch()
        sent = []
        for partition in self._accumulator.ready(now):
            request = self._request(partition)
            if request is not None:
                batch = self._accumulator.drain(partition)
                if batch.number != request.payload:
                    raise BrokenInvariant(f"batch {batch.number} is sent as number {request.payload}")
                sent.append((batch, request))
        return sent

    def _request(self, partition: int) -> ProduceRequest | None:
        producer = self._producer
        if self._accumulator.retries(partition):
            return producer.resend_batch(partition)
        if producer.ready(partition) and producer.allowed(partition):
            return producer.send_batch(partition)
        return None

    def receive(self, sent: Sent, response: ProduceResponse, now: int, word: int) -> Over:
        """A reply; `word`, below 2^24, is the chance in a retry's pause. First it expires late batches."""
        over, (batch, request) = self.expire(now), sent
        if batch.expired:
            self._accumulator.complete(batch)
            return over
        if response.error is Errors.NONE:
            self._producer.receive_ack(batch.partition, request)
        elif self._producer.receive_error(batch.partition, request, response):
            self._accumulator.reenqueue(batch, now, word)
            return over
        self._accumulator.complete(batch)
        return [*over, (batch, response.error)]

    def disconnected(self, batches: Iterable[Batch], now: int, word: int) -> Over:
        """The connection on which these batches were in flight is gone."""
        over = self.expire(now)
        for batch in batches:
            self._producer.disconnected(batch.partition, [batch.number])
            self._accumulator.reenqueue(batch, now, word)
        return over

    def expire(self, now: int) -> Over:
        """The batches whose delivery time is over. The sequence of such a batch becomes unresolved, or is used
        again."""
        late = self._accumulator.expire(now)
        for batch in late:
            if batch.number:
                self._producer.expire_batch(batch.partition)
        return [(batch, Errors.REQUEST_TIMED_OUT) for batch in late]
