"""A transactional producer (TransactionManager): its state, its epoch, the transaction that it has open.

Sans-IO: a method that sends returns the request; the caller carries it to a broker, and brings the reply. Batches in
flight are producer.py's affair; here one is in flight per partition.
"""

from __future__ import annotations

from enum import StrEnum

from tidemark.common.errors import Errors
from tidemark.groups.offset_records import ConsumerGroupMetadata, TxnOffsetCommitRequest
from tidemark.groups.partitions import TopicPartition
from tidemark.idempotence.messages import ProduceRequest, ProducerId
from tidemark.transactions.messages import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TRANSACTION_VERSION,
    AddPartitionsToTxnRequest,
    CoordinatorResponse,
    EndTxnRequest,
    InitProducerIdRequest,
    Partition,
)
from tidemark.transactions.rules import Rules


class ProducerState(StrEnum):
    """Where a transactional producer is (TransactionManager.State); each member says what may be called."""

    __hash__ = str.__hash__  # Enum's own is slow

    UNINITIALIZED = "UNINITIALIZED"
    """It has just started: initTransactions."""
    INITIALIZING = "INITIALIZING"
    """It waits for its producer id and epoch."""
    READY = "READY"
    """beginTransaction."""
    IN_TRANSACTION = "IN_TRANSACTION"
    """send, commitTransaction, abortTransaction."""
    COMMITTING_TRANSACTION = "COMMITTING_TRANSACTION"
    """It waits for the reply to EndTxn."""
    ABORTING_TRANSACTION = "ABORTING_TRANSACTION"
    """It waits for the reply to EndTxn."""
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    """A batch failed: abortTransaction, and nothing else."""
    FATAL_ERROR = "FATAL_ERROR"
    """Another process has the transactional id: close."""


FATAL = {
    Errors.PRODUCER_FENCED,
    Errors.INVALID_PRODUCER_ID_MAPPING,
    Errors.INVALID_PRODUCER_EPOCH,
    Errors.INVALID_TXN_STATE,
}
"""Coordinator errors that end the process."""


REFUSED = {Errors.INVALID_PRODUCER_ID_MAPPING, Errors.INVALID_PRODUCER_EPOCH}
"""A partition's errors about the producer itself."""

COMMIT_FAILED = {
    Errors.ILLEGAL_GENERATION,
    Errors.UNKNOWN_MEMBER_ID,
    Errors.FENCED_INSTANCE_ID,
    Errors.TRANSACTION_ABORTABLE,
}
"""TxnOffsetCommit errors after which the transaction can only be aborted."""


class TransactionalProducer:
    """One process. `partitions`: those that the transaction has (TV1: that were added; TV2: that were sent to);
    `sequences`: the next sequence per partition; `bump`: TV1's wish for another epoch when the transaction is aborted;
    `offsets_partition`: the partition of __consumer_offsets, numbered behind those that batches are sent to if nothing
    else is said.
    """

    __slots__ = (
        "_rules",
        "_tv2",
        "bump",
        "epoch",
        "offsets_partition",
        "partitions",
        "producer_id",
        "sequences",
        "state",
        "transaction",
    )

    def __init__(
        self,
        partitions: int,
        rules: Rules,
        offsets_partition: Partition | None = None,
        transaction_version: int = TRANSACTION_VERSION,
    ) -> None:
        self._rules = rules
        self._tv2 = transaction_version >= 2
        self.state = ProducerState.UNINITIALIZED
        self.producer_id: ProducerId = NO_PRODUCER_ID
        self.epoch = NO_PRODUCER_EPOCH
        self.transaction = 0
        self.partitions: set[Partition] = set()
        self.sequences = [0] * partitions
        self.bump = False
        self.offsets_partition: Partition = partitions if offsets_partition is None else offsets_partition

    # --- what is sent -----------------------------------------------------------------------------------------------

    def send_init_producer_id(self) -> InitProducerIdRequest | None:
        """Take the transactional id over, or ask for the next epoch; None if there is no reason to."""
        if self.state not in (ProducerState.UNINITIALIZED, ProducerState.INITIALIZING):
            return None
        self.state = ProducerState.INITIALIZING
        return InitProducerIdRequest(self.producer_id, self.epoch) if self.bump else InitProducerIdRequest()

    def begin_transaction(self, number: int) -> bool:
        """The application begins its transaction of that number; False if it may not."""
        if self.state is not ProducerState.READY:
            return False
        self.state = ProducerState.IN_TRANSACTION
        self.transaction = number
        self.partitions = set()
        return True

    def send_add_partitions(self, partition: Partition) -> AddPartitionsToTxnRequest | None:
        """TV1: say that a partition will be sent to; None if there is no need."""
        if self._tv2 or self.state is not ProducerState.IN_TRANSACTION or partition in self.partitions:
            return None
        return AddPartitionsToTxnRequest(self.producer_id, self.epoch, partition)

    def may_send(self, partition: Partition) -> bool:
        """Whether a batch for a partition belongs to the open transaction."""
        return self.state is ProducerState.IN_TRANSACTION and (self._tv2 or partition in self.partitions)

    def send_produce(self, partition: Partition, payload: int | None = None) -> ProduceRequest | None:
        """The application's next batch for a partition (`payload`: the transaction's number, if it does not matter);
        None if it may not send."""
        if not self.may_send(partition):
            return None
        sequence = self.sequences[partition]
        self.sequences[partition] += 1
        self.partitions.add(partition)
        sent = self.transaction if payload is None else payload
        return ProduceRequest(self.producer_id, self.epoch, sequence, sent)

    def send_end_txn(self, committed: bool) -> EndTxnRequest | None:
        """Commit or abort, or say it again; None if it may not. Nothing may be in flight."""
        state = self.state
        ends = {
            ProducerState.IN_TRANSACTION: bool(self.partitions),
            ProducerState.ABORTABLE_ERROR: not committed,
            ProducerState.COMMITTING_TRANSACTION: committed,
            ProducerState.ABORTING_TRANSACTION: not committed,
        }
        if not ends.get(state, False):
            return None
        self.state = ProducerState.COMMITTING_TRANSACTION if committed else ProducerState.ABORTING_TRANSACTION
        return EndTxnRequest(self.producer_id, self.epoch, committed)

    def send_add_offsets(self) -> AddPartitionsToTxnRequest | None:
        """TV1's AddOffsetsToTxn: say that the group's partition will be written to; None if there is no need."""
        return self.send_add_partitions(self.offsets_partition)

    def send_txn_offset_commit(
        self, partition: TopicPartition, offset: int, group: ConsumerGroupMetadata
    ) -> TxnOffsetCommitRequest | None:
        """sendOffsetsToTransaction, of one input partition: the next offset to read; None if it may not. In TV2 the
        group's partition is added on the way."""
        added = self._tv2 or self.offsets_partition in self.partitions
        if self.state is not ProducerState.IN_TRANSACTION or not added:
            return None
        self.partitions.add(self.offsets_partition)
        return TxnOffsetCommitRequest(
            self.producer_id,
            self.epoch,
            group.generation_id,
            partition,
            offset,
            group.member_id,
            group.group_instance_id,
        )

    # --- what comes back --------------------------------------------------------------------------------------------

    def receive_init_producer_id(self, response: CoordinatorResponse) -> None:
        """The reply to InitProducerId."""
        if response.error is Errors.NONE:
            self.state = ProducerState.READY
            self._take(response)
            self.bump = False
        elif response.error in FATAL:
            self.state = ProducerState.FATAL_ERROR

    def receive_add_partitions(self, partition: Partition, response: CoordinatorResponse) -> None:
        """The reply to AddPartitionsToTxn."""
        if response.error is Errors.NONE:
            self.partitions.add(partition)
        elif response.error in FATAL:
            self.state = ProducerState.FATAL_ERROR

    def receive_end_txn(self, response: CoordinatorResponse) -> bool:
        """The reply to EndTxn; whether the application is told that its transaction has ended as it wished."""
        if response.error is Errors.NONE:
            self.bump = self._rules.bump_after_doubt(self.bump) and not self._tv2
            self.state = ProducerState.INITIALIZING if self.bump else ProducerState.READY
            if self._tv2:
                self._take(response)
            self.transaction = 0
            self.partitions = set()
            return True
        if response.error in FATAL:
            self.state = ProducerState.FATAL_ERROR
        return False

    def receive_produce(self, error: Errors) -> bool:
        """The reply to a batch; whether it is to be sent again."""
        if error is Errors.NONE:
            return False
        if error.retriable:
            return self.state is not ProducerState.FATAL_ERROR
        self.give_up_produce()
        if error in REFUSED and not self._rules.abort_on_invalid_epoch(error):
            self.state = ProducerState.FATAL_ERROR
        return False

    def receive_txn_offset_commit(self, error: Errors) -> bool:
        """The reply to TxnOffsetCommit; whether it is to be sent again. A producer that is not the group's any more can
        only abort (CommitFailedException); one that is not the transactional id's is done."""
        if error is Errors.NONE:
            return False
        if error.retriable:
            return self.state is ProducerState.IN_TRANSACTION
        if error in COMMIT_FAILED:
            self.require_abort()
        else:
            self.state = ProducerState.FATAL_ERROR
        return False

    def require_abort(self) -> None:
        """The transaction's input belongs to another consumer now, so it can only be aborted."""
        if self.state is ProducerState.IN_TRANSACTION:
            self.state = ProducerState.ABORTABLE_ERROR

    def give_up_produce(self) -> None:
        """A batch has failed, or delivery.timeout.ms is over for it and nobody knows: the transaction can only be
        aborted."""
        if self.state is not ProducerState.FATAL_ERROR:
            self.state = ProducerState.ABORTABLE_ERROR
        self.bump = True

    def _take(self, response: CoordinatorResponse) -> None:
        self.producer_id, self.epoch = response.producer_id, response.producer_epoch
        self.sequences = [0] * len(self.sequences)
