"""A transactional producer whose records have keys and go in batches (KafkaProducer). The key's hash chooses the
partition, the accumulator gathers, the sender numbers and carries. A transaction ends when all that it has sent has an
answer.

    send            a record of the open transaction; without memory its application is blocked
    poll            the turn of its sender thread: the requests to be sent now
    receive         a reply to one of them; disconnected: there will be none
    send_end_txn    a commit waits for everything, an abort for batches in flight, and drops the rest

Of several batches in flight one may fail for good: then the transaction can only be aborted, and the next has another
epoch, in which sequences begin anew.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.common.errors import Errors
from tidemark.groups.offset_records import ConsumerGroupMetadata, TxnOffsetCommitRequest
from tidemark.groups.partitions import TopicPartition
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse
from tidemark.idempotence.producer import IdempotentProducer, ProducerConfig, Topic
from tidemark.idempotence.rules import Rules as SequenceRules
from tidemark.producer_batching.partitioner import partition_for_key
from tidemark.producer_batching.record_accumulator import (
    AccumulatorConfig,
    Appended,
    Batch,
    RecordAccumulator,
    Refusal,
    Waiting,
)
from tidemark.producer_batching.sender import Over, Sender, Sent
from tidemark.transactions.messages import TRANSACTION_VERSION, CoordinatorResponse, EndTxnRequest
from tidemark.transactions.rules import Rules
from tidemark.transactions.transactional_producer import ProducerState, TransactionalProducer


class TransactionSequences(IdempotentProducer):
    """The sequences of a producer whose epoch is its transactional id's: where an idempotent producer takes the next
    one, the transaction can only be aborted."""

    __slots__ = ("_transaction",)

    def __init__(
        self, partitions: int, rules: SequenceRules, config: ProducerConfig, transaction: TransactionalProducer
    ) -> None:
        super().__init__(partitions, rules, config)
        self._transaction = transaction

    def start_epoch(self) -> None:
        """The transactional id has another producer id or epoch; nothing is in flight."""
        self.producer_id, self.epoch = self._transaction.producer_id, self._transaction.epoch
        for sequences in self.partitions:
            sequences.start_sequences_at_beginning(self.epoch)

    def ready(self, topic: Topic) -> bool:
        """Also, the transaction has to be open."""
        return self._transaction.may_send(topic) and super().ready(topic)

    def send_batch(self, topic: Topic) -> ProduceRequest:
        """The partition is one of the transaction's now."""
        self._transaction.partitions.add(topic)
        return super().send_batch(topic)

    def bump_epoch(self) -> bool:
        """Before the producer can bump its epoch, it aborts the transaction."""
        if not self.must_bump():
            return False
        for sequences in self.partitions:
            sequences.rewrite = False
        self._transaction.give_up_produce()
        return True

    def receive_error(self, topic: Topic, request: ProduceRequest, response: ProduceResponse) -> bool:
        """Also, an error that is not retriable fails the batch; so does a missing sequence that is not about to
        come."""
        super().receive_error(topic, request, response)
        sequences, transaction = self.partitions[topic], self._transaction
        missing = response.error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
        comes = missing and not sequences.rewrite and transaction.state is ProducerState.IN_TRANSACTION
        if comes or transaction.receive_produce(response.error):
            return True
        sequences.in_flight = [one for one in sequences.in_flight if one.number != request.payload]
        return False


class BatchingProducer(TransactionalProducer):
    """One process. Times are milliseconds of its own clock. `blocked`: its application waits for memory."""

    __slots__ = ("_accumulator", "_sender", "_sequences", "blocked")

    def __init__(
        self,
        partitions: int,
        rules: Rules,
        sequence_rules: SequenceRules,
        config: AccumulatorConfig,
        transaction_version: int = TRANSACTION_VERSION,
    ) -> None:
        super().__init__(partitions, rules, transaction_version=transaction_version)
        window = ProducerConfig(max_in_flight=config.max_in_flight)
        self._accumulator = RecordAccumulator(partitions, config)
        self._sequences = TransactionSequences(partitions, sequence_rules, window, self)
        self._sender = Sender(self._sequences, self._accumulator)
        self.blocked = False

    # --- records ----------------------------------------------------------------------------------------------------

    def send(self, key: bytes, value: bytes, now: int) -> None:
        """A record of the open transaction, which can only be aborted if it is not taken. Its application must not be
        `blocked`."""
        partition = partition_for_key(key, len(self.sequences))
        result = self._accumulator.append(partition, key, value, now)
        self.blocked = isinstance(result, Waiting)
        self._taken(result)

    def _taken(self, result: Appended | Waiting | Refusal) -> None:
        if isinstance(result, Refusal):
            self.give_up_produce()

    # --- the sender -------------------------------------------------------------------------------------------------

    def poll(self, now: int) -> list[Sent]:
        """The batches to send now. After an error, batches without a sequence are dropped."""
        self._hear(self._sender.expire(now))
        for _, result in self._accumulator.admit(now):
            self.blocked = False
            self._taken(result)
        if self.state is ProducerState.ABORTABLE_ERROR:
            self._accumulator.abort_undrained()
        return self._sender.poll(now)

    def receive(self, sent: Sent, response: ProduceResponse, now: int, word: int) -> None:
        """The reply to a batch; `word`, below 2^24, is the chance in a retry's pause."""
        self._hear(self._sender.receive(sent, response, now, word))

    def disconnected(self, batches: Iterable[Batch], now: int, word: int) -> None:
        """The connection on which these batches were in flight is gone."""
        self._hear(self._sender.disconnected(batches, now, word))

    def _hear(self, over: Over) -> None:
        """A batch that is late fails the transaction, wherever it was."""
        if any(error is Errors.REQUEST_TIMED_OUT for _, error in over):
            self.give_up_produce()

    # --- the transaction --------------------------------------------------------------------------------------------

    def send_txn_offset_commit(
        self, partition: TopicPartition, offset: int, group: ConsumerGroupMetadata
    ) -> TxnOffsetCommitRequest | None:
        """Not while it is blocked."""
        return None if self.blocked else super().send_txn_offset_commit(partition, offset, group)

    def send_end_txn(self, committed: bool) -> EndTxnRequest | None:
        """None, too, while batches are waited for: a commit hurries them, an abort drops those without a sequence."""
        if self.blocked:
            return None
        if not committed:
            self._accumulator.abort_undrained()
        elif not self._accumulator.flushing:
            self._accumulator.flush()
        return None if self._accumulator.incomplete() else super().send_end_txn(committed)

    def _take(self, response: CoordinatorResponse) -> None:
        super()._take(response)
        self._sequences.start_epoch()
