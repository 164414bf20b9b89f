"""An idempotent producer (TransactionManager, RecordAccumulator, Sender): sequences, retries, bumps of the epoch.

Sans-IO: a method that sends returns the request. The caller carries it to a broker, and brings the reply or the news
that there will be none. The application's batches are numbered per partition.
"""

from __future__ import annotations

from collections.abc import Collection

from tidemark.common.errors import Errors
from tidemark.common.structs import value
from tidemark.idempotence.messages import NO_SEQUENCE, ProduceRequest, ProduceResponse, ProducerId
from tidemark.idempotence.rules import Rules
from tidemark.idempotence.sequences import PartitionSequences, ProducerBatch

Topic = int
"""A partition, by number."""

APPENDED = (
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    Errors.REQUEST_TIMED_OUT,
    Errors.KAFKA_STORAGE_ERROR,
)
"""Errors of a batch that may have been appended."""


@value
class ProducerConfig:
    """`max_in_flight`: max.in.flight.requests.per.connection; `window`: how many batches a leader remembers;
    `max_sequence`: the last sequence before 0 (2^31 - 1)."""

    max_in_flight: int = 5
    window: int = 5
    max_sequence: int = 2**31 - 1


class IdempotentProducer:
    """One process. `producer_id` is 0 until it has got one."""

    __slots__ = ("_config", "_rules", "epoch", "partitions", "producer_id")

    def __init__(self, partitions: int, rules: Rules, config: ProducerConfig) -> None:
        self._rules = rules
        self._config = config
        self.producer_id: ProducerId = 0
        self.epoch = 0
        self.partitions = [PartitionSequences() for _ in range(partitions)]

    def get_producer_id(self, producer_id: ProducerId) -> None:
        """The reply to InitProducerId."""
        self.producer_id = producer_id
        self.epoch = 0

    # --- what is sent -----------------------------------------------------------------------------------------------

    def must_bump(self) -> bool:
        """Whether some partition waits for the next epoch."""
        return any(one.rewrite for one in self.partitions)

    def may_bump(self) -> bool:
        """Whether nothing that would get a new sequence is in doubt."""
        return all(
            self._rules.resequence_only_refused(any(batch.sent or batch.in_doubt for batch in one.in_flight))
            for one in self.partitions
            if one.rewrite
        )

    def ready(self, topic: Topic) -> bool:
        """Whether a new batch may be drained, as far as no rule says otherwise. No batch waits to be retried, no
        sequence is unresolved, no batch of an older epoch is in flight, and no bump comes first."""
        sequences = self.partitions[topic]
        return (
            self.producer_id != 0
            and not sequences.rewrite
            and sequences.unresolved == NO_SEQUENCE
            and len(sequences.in_flight) < self._config.max_in_flight
            and all(batch.sent for batch in sequences.in_flight)
            and (sequences.epoch == self.epoch or not sequences.in_flight)
            and not (self.must_bump() and self.may_bump())
        )

    def _next(self, sequences: PartitionSequences) -> int:
        anew = self._rules.restart_sequence_per_partition(sequences.epoch, self.epoch)
        return 0 if anew else sequences.next_sequence

    def allowed(self, topic: Topic) -> bool:
        """Whether the rules let the next sequence be sent now."""
        sequences, config = self.partitions[topic], self._config
        in_flight = sequences.in_flight
        if in_flight:
            span = (sequences.next_sequence - in_flight[0].sequence) % (config.max_sequence + 1)
            if not self._rules.span_within_window(span, config.window):
                return False
        return self._rules.drain_before_wrap(self._next(sequences), len(in_flight))

    def send_batch(self, topic: Topic) -> ProduceRequest:
        """Drain a batch that is `ready` and `allowed`: it gets its sequence."""
        sequences = self.partitions[topic]
        sequence = self._next(sequences)
        if sequences.epoch != self.epoch or self._rules.count_anew_behind_wrap(
            sequence, len(sequences.in_flight), sequences.last_acked
        ):
            sequences.last_acked = NO_SEQUENCE
        sequences.epoch = self.epoch
        sequences.next_sequence = self._successor(sequence)
        sequences.created += 1
        batch = ProducerBatch(sequences.created, self.epoch, sequence)
        sequences.insert(batch)
        return self._request(batch)

    def resend_batch(self, topic: Topic) -> ProduceRequest | None:
        """Send the first batch in flight again, with its sequence; None if it need not be, or may not yet."""
        in_flight = self.partitions[topic].in_flight
        if not in_flight or in_flight[0].sent or (self.must_bump() and self.may_bump()):
            return None
        in_flight[0].sent = True
        return self._request(in_flight[0])

    def bump_epoch(self) -> bool:
        """Take the next epoch (KIP-360), if some partition waits for it and nothing is in doubt."""
        if not self.must_bump() or not self.may_bump():
            return False
        self.epoch += 1
        for sequences in self.partitions:
            if self._rules.rewrite_only_requested(sequences.rewrite):
                if self._rules.resequence_in_order(sequences.in_flight):
                    sequences.in_flight.sort(key=lambda batch: batch.sequence)
                sequences.start_sequences_at_beginning(self.epoch)
        return True

    def _request(self, batch: ProducerBatch) -> ProduceRequest:
        return ProduceRequest(self.producer_id, batch.epoch, batch.sequence, batch.number)

    def _successor(self, sequence: int) -> int:
        return 0 if sequence == self._config.max_sequence else sequence + 1

    # --- what comes back --------------------------------------------------------------------------------------------

    def receive_ack(self, topic: Topic, request: ProduceRequest) -> bool:
        """A batch is written; False if it had expired, so that nobody is told."""
        sequences = self.partitions[topic]
        batch = sequences.batch(request.payload)
        if batch is None:
            return False
        sequences.in_flight.remove(batch)
        sequences.last_acked = max(sequences.last_acked, batch.sequence)
        return True

    def receive_error(self, topic: Topic, request: ProduceRequest, response: ProduceResponse) -> bool:
        """A batch was refused, or is in the log and may be lost: it is retried. A gap that no retry closes asks for the
        next epoch; so does a fenced epoch, which the batch does not survive. False if it is over."""
        sequences = self.partitions[topic]
        batch = sequences.batch(request.payload)
        if batch is None:
            return False
        batch.sent = False
        if response.error is Errors.INVALID_PRODUCER_EPOCH:
            sequences.in_flight.remove(batch)
            sequences.rewrite = True
        elif response.error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER:
            sequences.rewrite = sequences.rewrite or self._is_gap(sequences, batch, request)
        elif response.error in APPENDED:
            batch.in_doubt = True
        return response.error is not Errors.INVALID_PRODUCER_EPOCH

    @staticmethod
    def _is_gap(sequences: PartitionSequences, batch: ProducerBatch, request: ProduceRequest) -> bool:
        """Whether the batches that a leader misses will not come. There is no gap if those before this batch are
        still to come, or if it has got another sequence meanwhile."""
        if sequences.unresolved != NO_SEQUENCE:
            return batch.sequence == sequences.unresolved
        reset = batch.epoch != request.producer_epoch or batch.sequence != request.sequence
        return not reset and sequences.is_next(batch.sequence)

    def disconnected(self, topic: Topic, numbers: Collection[int]) -> None:
        """The connection on which these batches were sent is gone, and their replies with it."""
        for batch in self.partitions[topic].in_flight:
            if batch.sent and batch.number in numbers:
                batch.sent = False
                batch.in_doubt = True

    # --- time -------------------------------------------------------------------------------------------------------

    def expire_batch(self, topic: Topic) -> bool:
        """delivery.timeout.ms is over for the oldest batch in flight; False if there is none."""
        sequences = self.partitions[topic]
        in_flight = sequences.in_flight
        if not in_flight:
            return False
        oldest = min(in_flight, key=lambda batch: batch.number)
        in_flight.remove(oldest)
        sequences.unresolved = self._successor(oldest.sequence)
        return True

    def resolve_sequences(self, topic: Topic) -> bool:
        """Nothing is in flight any more: either what came behind an expired batch was acknowledged, or the epoch must
        be bumped. False if there is nothing to resolve."""
        sequences = self.partitions[topic]
        if sequences.unresolved == NO_SEQUENCE or sequences.in_flight:
            return False
        sequences.unresolved = NO_SEQUENCE
        sequences.rewrite = sequences.rewrite or not sequences.is_next(sequences.next_sequence)
        return True
