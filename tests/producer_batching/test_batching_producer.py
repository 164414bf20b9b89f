"""A transactional producer with several batches in flight: the answers that a transaction waits for, and the errors
that end it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tidemark.common.errors import Errors
from tidemark.groups.offset_records import ConsumerGroupMetadata
from tidemark.groups.partitions import TopicPartition
from tidemark.idempotence.messages import ProduceResponse
from tidemark.idempotence.rules import Rules as SequenceRules
from tidemark.producer_batching.batching_producer import BatchingProducer
from tidemark.producer_batching.partitioner import partition_for_key
from tidemark.producer_batching.record_accumulator import AccumulatorConfig
from tidemark.producer_batching.sender import Sent
from tidemark.transactions.messages import TRANSACTION_VERSION, CoordinatorResponse
from tidemark.transactions.rules import Rules
from tidemark.transactions.transactional_producer import ProducerState

FIRST, SECOND = (next(b"%d" % n for n in range(9) if partition_for_key(b"%d" % n, 2) == p) for p in range(2))
"""A key of each partition."""
LINGER = 10
BLOCKS = 30
MOST = 50
"""linger.ms, max.block.ms, delivery.timeout.ms."""
FILLS = b"v" * 100
OFFSET = TopicPartition("input", 0), 1, ConsumerGroupMetadata()
MISSING = ProduceResponse(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER)


def working(transaction_version: int = TRANSACTION_VERSION) -> BatchingProducer:
    """Producer 1 in epoch 3, with a transaction open; a batch has room for one large record, the memory for three."""
    config = AccumulatorConfig(
        batch_size=200,
        buffer_memory=600,
        max_block_ms=BLOCKS,
        linger_ms=LINGER,
        delivery_timeout_ms=MOST,
        retry_backoff_ms=1,
    )
    one = BatchingProducer(2, Rules(), SequenceRules(), config, transaction_version=transaction_version)
    assert one.send_init_producer_id() is not None
    one.receive_init_producer_id(CoordinatorResponse(Errors.NONE, 1, 3))
    assert one.begin_transaction(1)
    return one


def sent(one: BatchingProducer, batches: int, now: int = 0) -> list[Sent]:
    """So many of the first partition, in flight."""
    for _ in range(batches):
        one.send(FIRST, FILLS, now)
    found = [each for _ in range(batches) for each in one.poll(now + LINGER)]
    assert len(found) == batches
    return found


def acknowledge(one: BatchingProducer, all_of_it: list[Sent], now: int) -> None:
    for each in all_of_it:
        one.receive(each, ProduceResponse(Errors.NONE), now, 0)


def next_transaction(one: BatchingProducer) -> Sent:
    """The transaction is aborted; the first batch of the next one."""
    assert one.state is ProducerState.ABORTABLE_ERROR
    assert one.send_end_txn(False) is not None
    assert one.receive_end_txn(CoordinatorResponse(Errors.NONE, 1, 4))
    assert one.begin_transaction(2)
    (found,) = sent(one, 1, 100)
    return found


def test_a_record_goes_where_its_key_says_and_waits_for_more() -> None:
    one = working()
    one.send(FIRST, b"1", 0)
    one.send(SECOND, b"2", 4)
    one.send(FIRST, b"3", 5)
    assert one.poll(LINGER - 1) == []
    assert one.partitions == set()
    ((batch, request),) = one.poll(LINGER)
    assert (batch.partition, [each.value for each in batch.records]) == (0, [b"1", b"3"])
    assert (request.producer_id, request.producer_epoch, request.sequence) == (1, 3, 0)
    ((batch, request),) = one.poll(LINGER + 4)
    assert (batch.partition, request.sequence) == (1, 0)
    assert one.partitions == {0, 1}


def test_a_commit_hurries_what_lingers_and_waits_for_all_of_it() -> None:
    one = working()
    one.send(FIRST, b"1", 0)
    one.send(SECOND, b"2", 0)
    assert one.send_end_txn(True) is None
    first, second = one.poll(0)
    acknowledge(one, [second], 1)
    assert one.send_end_txn(True) is None
    acknowledge(one, [first], 2)
    assert one.send_end_txn(True) is not None
    assert one.state is ProducerState.COMMITTING_TRANSACTION


def test_the_next_transaction_has_its_epoch_and_begins_its_sequences() -> None:
    one = working()
    flight = sent(one, 2)
    assert [request.sequence for _, request in flight] == [0, 1]
    acknowledge(one, flight, 11)
    assert one.send_end_txn(True) is not None
    assert one.receive_end_txn(CoordinatorResponse(Errors.NONE, 1, 4))
    one.send(FIRST, FILLS, 20)
    assert one.poll(20 + LINGER) == []  # no transaction is open
    assert one.begin_transaction(2)
    ((_, request),) = one.poll(20 + LINGER)
    assert (request.producer_epoch, request.sequence) == (4, 0)


def test_an_abort_drops_what_was_not_sent_and_waits_for_what_was() -> None:
    one = working()
    (flight,) = sent(one, 1)
    one.send(FIRST, b"never", LINGER)
    assert one.send_end_txn(False) is None
    acknowledge(one, [flight], 12)
    assert one.send_end_txn(False) is not None
    assert one.poll(100) == []


def test_an_application_without_memory_is_blocked() -> None:
    one = working()
    flight = sent(one, 3)
    one.send(FIRST, FILLS, LINGER)
    assert one.blocked
    assert one.send_txn_offset_commit(*OFFSET) is None
    assert one.send_end_txn(True) is None
    acknowledge(one, flight[:1], 11)
    assert one.poll(11) == []
    assert not one.blocked
    assert one.send_txn_offset_commit(*OFFSET) is not None
    ((_, request),) = one.poll(11 + LINGER)
    assert request.sequence == 3


def test_it_is_not_blocked_for_longer_than_max_block_ms() -> None:
    one = working()
    flight = sent(one, 3)
    one.send(FIRST, FILLS, LINGER)
    assert one.poll(LINGER + BLOCKS) == []
    assert not one.blocked
    acknowledge(one, flight, LINGER + BLOCKS)
    assert next_transaction(one)[1].sequence == 0


def test_what_an_error_drops_is_room_for_who_is_blocked() -> None:
    """Its application can only abort, but it has to come to that."""
    one = working()
    (flight,) = sent(one, 1)
    for value in (FILLS, FILLS, FILLS * 5):
        one.send(FIRST, value, LINGER)
    one.receive(flight, ProduceResponse(Errors.TRANSACTION_ABORTABLE), 11, 0)
    assert [one.poll(now) for now in (11, 12)] == [[], []]
    assert not one.blocked
    assert next_transaction(one)[1].sequence == 0


def test_a_record_that_is_not_taken_fails_its_transaction() -> None:
    one = working()
    one.send(FIRST, b"v" * 601, 0)
    assert one.state is ProducerState.ABORTABLE_ERROR


def test_what_is_behind_a_refused_batch_is_sent_again_in_order() -> None:
    one = working()
    first, second, third = sent(one, 3)
    one.receive(first, ProduceResponse(Errors.NOT_ENOUGH_REPLICAS), 11, 0)
    one.receive(second, MISSING, 11, 0)
    one.receive(third, MISSING, 11, 0)
    for now, (batch, request) in enumerate((first, second, third), 20):
        assert one.poll(now) == [(batch, request)]
        assert one.poll(now) == []
        acknowledge(one, [(batch, request)], now)
    assert one.state is ProducerState.IN_TRANSACTION


def lost(one: BatchingProducer, flight: list[Sent]) -> None:
    """The leader has lost records that it had acknowledged."""
    acknowledge(one, flight[:1], 11)
    one.receive(flight[1], MISSING, 11, 0)


def fenced(one: BatchingProducer, flight: list[Sent]) -> None:
    """Both are of an epoch that is over."""
    for each in flight:
        one.receive(each, ProduceResponse(Errors.INVALID_PRODUCER_EPOCH), 11, 0)


def late(one: BatchingProducer, flight: list[Sent]) -> None:
    """Nobody hears of them any more."""
    one.disconnected([batch for batch, _ in flight], MOST, 0)


def refused_late(one: BatchingProducer, flight: list[Sent]) -> None:
    """They would be sent again, but for the time that it is."""
    for each in flight:
        one.receive(each, ProduceResponse(Errors.NOT_ENOUGH_REPLICAS), MOST, 0)


def refused(one: BatchingProducer, flight: list[Sent]) -> None:
    """The second is behind a batch that will not come."""
    one.receive(flight[0], ProduceResponse(Errors.TRANSACTION_ABORTABLE), 11, 0)
    one.receive(flight[1], MISSING, 11, 0)


@pytest.mark.parametrize("fails", [lost, fenced, late, refused_late, refused])
def test_after_a_batch_that_fails_the_transaction_can_only_be_aborted(
    fails: Callable[[BatchingProducer, list[Sent]], None],
) -> None:
    one = working()
    fails(one, sent(one, 2))
    assert one.poll(MOST - 1) == []  # nothing of it is sent again
    _, request = next_transaction(one)
    assert (request.producer_epoch, request.sequence) == (4, 0)


def test_a_commit_does_not_get_past_what_is_late() -> None:
    """Nor when the application asks before the sender's next turn: nobody waits for the batch any more."""
    one = working()
    flight = sent(one, 1)
    refused_late(one, flight)
    assert one.send_end_txn(True) is None
    assert one.state is ProducerState.ABORTABLE_ERROR


def test_the_next_transaction_does_not_wait_for_what_is_unresolved_in_the_last() -> None:
    one = working()
    late(one, sent(one, 2))
    assert next_transaction(one)[1].sequence == 0
    assert one.state is ProducerState.IN_TRANSACTION


def test_what_is_sent_elsewhere_is_sent_again_before_the_abort() -> None:
    one = working()
    flight = sent(one, 2)
    one.send(SECOND, FILLS, LINGER)
    (elsewhere,) = one.poll(2 * LINGER)
    lost(one, flight)
    one.receive(elsewhere, ProduceResponse(Errors.NOT_ENOUGH_REPLICAS), 21, 0)
    assert one.poll(30) == [elsewhere]
    assert one.send_end_txn(False) is None
    acknowledge(one, [elsewhere], 31)
    assert next_transaction(one)[1].sequence == 0


def test_what_is_late_before_it_is_sent_fails_the_transaction_too() -> None:
    one = working()
    one.send(FIRST, b"1", 0)
    assert one.poll(MOST) == []
    assert next_transaction(one)[1].sequence == 0


def test_a_partition_belongs_to_a_transaction_of_version_1_when_it_was_added() -> None:
    one = working(transaction_version=1)
    one.send(FIRST, b"1", 0)
    assert one.poll(LINGER) == []
    assert one.send_add_partitions(0) is not None
    one.receive_add_partitions(0, CoordinatorResponse(Errors.NONE))
    assert [batch.partition for batch, _ in one.poll(LINGER)] == [0]
