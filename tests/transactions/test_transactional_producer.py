"""A transactional producer: the requests it may send, and the answers that end a transaction, or the process."""

from __future__ import annotations

import pytest
from tidemark.common.errors import Errors
from tidemark.groups.offset_records import ConsumerGroupMetadata, TxnOffsetCommitRequest
from tidemark.groups.partitions import TopicPartition
from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.messages import (
    AddPartitionsToTxnRequest,
    CoordinatorResponse,
    EndTxnRequest,
    InitProducerIdRequest,
)
from tidemark.transactions.protocol import PROTOCOL
from tidemark.transactions.rules import Rules
from tidemark.transactions.sim.state import transaction_version_of
from tidemark.transactions.transactional_producer import ProducerState, TransactionalProducer

TV1 = PROTOCOL.rules_without({"EpochPerTransaction"})
DONE = CoordinatorResponse(Errors.NONE, 1, 4)


def ready(rules: Rules | None = None) -> TransactionalProducer:
    """One that has producer id 1 and epoch 3."""
    rules = rules or Rules()
    one = TransactionalProducer(2, rules, transaction_version=transaction_version_of(rules))
    assert one.send_init_producer_id() == InitProducerIdRequest()
    one.receive_init_producer_id(CoordinatorResponse(Errors.NONE, 1, 3))
    return one


def in_transaction(rules: Rules | None = None) -> TransactionalProducer:
    one = ready(rules)
    assert one.begin_transaction(7)
    return one


def test_it_may_do_nothing_before_it_has_an_id() -> None:
    one = TransactionalProducer(2, Rules())
    assert not one.begin_transaction(1)
    assert one.send_produce(0) is None
    assert one.send_end_txn(False) is None
    assert one.send_init_producer_id() is not None
    one.receive_init_producer_id(CoordinatorResponse(Errors.CONCURRENT_TRANSACTIONS))
    assert one.state is ProducerState.INITIALIZING
    assert one.send_init_producer_id() is not None
    one.receive_init_producer_id(CoordinatorResponse(Errors.PRODUCER_FENCED))
    assert one.state is ProducerState.FATAL_ERROR
    assert one.send_init_producer_id() is None


def test_sequences_count_per_partition_and_anew_in_every_epoch() -> None:
    one = in_transaction()
    assert one.send_produce(1) == ProduceRequest(1, 3, 0, 7)
    assert one.send_produce(1) == ProduceRequest(1, 3, 1, 7)
    assert one.send_produce(0) == ProduceRequest(1, 3, 0, 7)
    assert one.send_end_txn(True) == EndTxnRequest(1, 3, True)
    assert one.receive_end_txn(DONE)
    assert one.begin_transaction(8)
    assert one.send_produce(1) == ProduceRequest(1, 4, 0, 8)


def test_version_1_adds_partitions_first_and_goes_on_counting() -> None:
    one = in_transaction(TV1)
    assert one.send_produce(0) is None
    assert one.send_end_txn(True) is None
    assert one.send_add_partitions(0) == AddPartitionsToTxnRequest(1, 3, 0)
    one.receive_add_partitions(0, CoordinatorResponse(Errors.CONCURRENT_TRANSACTIONS))
    assert one.send_produce(0) is None
    one.receive_add_partitions(0, CoordinatorResponse(Errors.NONE))
    assert one.send_produce(0) == ProduceRequest(1, 3, 0, 7)
    assert one.send_end_txn(True) is not None
    assert one.receive_end_txn(CoordinatorResponse(Errors.NONE))
    assert one.begin_transaction(8)
    one.receive_add_partitions(0, CoordinatorResponse(Errors.NONE))
    assert one.send_produce(0) == ProduceRequest(1, 3, 1, 8)
    assert in_transaction().send_add_partitions(0) is None


def test_an_end_is_said_again_and_never_changed() -> None:
    one = in_transaction()
    one.send_produce(0)
    assert one.send_end_txn(True) == one.send_end_txn(True)
    assert one.send_end_txn(False) is None
    assert not one.receive_end_txn(CoordinatorResponse(Errors.CONCURRENT_TRANSACTIONS))
    assert one.state is ProducerState.COMMITTING_TRANSACTION
    assert not one.receive_end_txn(CoordinatorResponse(Errors.INVALID_TXN_STATE))
    assert one.state is ProducerState.FATAL_ERROR


@pytest.mark.parametrize(
    ("error", "again", "state"),
    [
        (Errors.NONE, False, ProducerState.IN_TRANSACTION),
        (Errors.NOT_LEADER_OR_FOLLOWER, True, ProducerState.IN_TRANSACTION),
        (Errors.CONCURRENT_TRANSACTIONS, True, ProducerState.IN_TRANSACTION),
        (Errors.INVALID_PRODUCER_EPOCH, False, ProducerState.ABORTABLE_ERROR),
        (Errors.TRANSACTION_ABORTABLE, False, ProducerState.ABORTABLE_ERROR),
        (Errors.INVALID_PRODUCER_ID_MAPPING, False, ProducerState.FATAL_ERROR),
    ],
)
def test_answers_to_a_batch(error: Errors, again: bool, state: ProducerState) -> None:
    one = in_transaction()
    one.send_produce(0)
    assert one.receive_produce(error) is again
    assert one.state is state


def test_after_an_error_it_can_only_abort() -> None:
    one = in_transaction()
    one.send_produce(0)
    one.give_up_produce()
    assert one.send_produce(1) is None
    assert one.send_end_txn(True) is None
    assert one.send_end_txn(False) == EndTxnRequest(1, 3, False)
    assert one.receive_end_txn(DONE)
    assert (one.state, one.bump) == (ProducerState.READY, False)


@pytest.mark.parametrize(("without", "state"), [((), "INITIALIZING"), (("BumpAfterDoubt",), "READY")])
def test_version_1_asks_for_another_epoch_when_a_batch_is_in_doubt(without: tuple[str, ...], state: str) -> None:
    one = in_transaction(PROTOCOL.rules_without({"EpochPerTransaction", *without}))
    one.receive_add_partitions(0, CoordinatorResponse(Errors.NONE))
    one.send_produce(0)
    one.give_up_produce()
    one.send_end_txn(False)
    assert one.receive_end_txn(CoordinatorResponse(Errors.NONE))
    assert one.state == state
    if not without:
        assert one.send_init_producer_id() == InitProducerIdRequest(1, 3)


def test_version_1_asks_once_for_another_epoch() -> None:
    one = in_transaction(TV1)
    one.receive_add_partitions(0, CoordinatorResponse(Errors.NONE, 1, 3))
    one.give_up_produce()
    assert one.send_end_txn(False) is not None
    assert one.receive_end_txn(CoordinatorResponse(Errors.NONE, 1, 3))
    assert one.send_init_producer_id() == InitProducerIdRequest(1, 3)
    one.receive_init_producer_id(DONE)
    assert one.begin_transaction(8)
    one.receive_add_partitions(0, CoordinatorResponse(Errors.NONE, 1, 4))
    assert one.send_end_txn(True) is not None
    assert one.receive_end_txn(CoordinatorResponse(Errors.NONE, 1, 4))
    assert one.state is ProducerState.READY


def test_a_refused_epoch_is_not_the_end_of_the_process() -> None:
    one = in_transaction(PROTOCOL.rules_without({"AbortOnInvalidEpoch"}))
    assert not one.receive_produce(Errors.INVALID_PRODUCER_EPOCH)
    assert one.state is ProducerState.FATAL_ERROR
    one = in_transaction()
    assert not one.receive_produce(Errors.INVALID_PRODUCER_EPOCH)
    assert one.send_end_txn(False) == EndTxnRequest(1, 3, False)


GROUP = ConsumerGroupMetadata("m", 5, "static")
INPUT = TopicPartition("input", 0)


def test_offsets_are_sent_in_a_transaction_and_name_the_member() -> None:
    """In version 2 the group's partition is added on the way, and is reason enough for EndTxn."""
    one = ready()
    assert one.send_txn_offset_commit(INPUT, 4, GROUP) is None
    assert one.begin_transaction(7)
    assert one.send_end_txn(True) is None
    assert one.send_add_offsets() is None
    assert one.send_txn_offset_commit(INPUT, 4, GROUP) == TxnOffsetCommitRequest(1, 3, 5, INPUT, 4, "m", "static")
    assert one.partitions == {one.offsets_partition}
    assert one.send_end_txn(True) == EndTxnRequest(1, 3, True)


def test_in_version_1_the_groups_partition_is_added_first() -> None:
    """AddOffsetsToTxn."""
    one = in_transaction(TV1)
    assert one.send_txn_offset_commit(INPUT, 4, GROUP) is None
    assert one.send_add_offsets() == AddPartitionsToTxnRequest(1, 3, 2)
    one.receive_add_partitions(2, CoordinatorResponse(Errors.NONE))
    assert one.send_add_offsets() is None
    assert one.send_txn_offset_commit(INPUT, 4, GROUP) is not None


@pytest.mark.parametrize(
    ("error", "again", "state"),
    [
        (Errors.NONE, False, ProducerState.IN_TRANSACTION),
        (Errors.CONCURRENT_TRANSACTIONS, True, ProducerState.IN_TRANSACTION),
        (Errors.NOT_COORDINATOR, True, ProducerState.IN_TRANSACTION),
        (Errors.ILLEGAL_GENERATION, False, ProducerState.ABORTABLE_ERROR),
        (Errors.UNKNOWN_MEMBER_ID, False, ProducerState.ABORTABLE_ERROR),
        (Errors.FENCED_INSTANCE_ID, False, ProducerState.ABORTABLE_ERROR),
        (Errors.INVALID_PRODUCER_EPOCH, False, ProducerState.FATAL_ERROR),
        (Errors.PRODUCER_FENCED, False, ProducerState.FATAL_ERROR),
    ],
)
def test_the_reply_to_offsets(error: Errors, again: bool, state: ProducerState) -> None:
    """TxnOffsetCommitHandler: a producer that is not in the group can only abort, one that has lost the transactional
    id is done."""
    one = in_transaction()
    assert one.send_txn_offset_commit(INPUT, 4, GROUP) is not None
    assert one.receive_txn_offset_commit(error) is again
    assert one.state is state


def test_an_application_may_have_to_abort() -> None:
    one = ready()
    one.require_abort()
    assert one.state is ProducerState.READY
    assert one.begin_transaction(7)
    assert one.send_produce(0, 42) == ProduceRequest(1, 3, 0, 42)
    one.require_abort()
    assert one.send_end_txn(True) is None
    assert one.send_end_txn(False) is not None
