"""The client's side: sequences at drain, retries in order, expired batches, bumps of the epoch."""

from __future__ import annotations

import pytest
from tidemark.common.errors import Errors
from tidemark.idempotence.flaws import producer_of
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse
from tidemark.idempotence.producer import IdempotentProducer, ProducerConfig
from tidemark.idempotence.protocol import PROTOCOL
from tidemark.idempotence.rules import Rules

GAP = ProduceResponse(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
DEPOSED = ProduceResponse(Errors.NOT_LEADER_OR_FOLLOWER)
P, Q = 0, 1


def producer(rules: Rules | None = None, max_sequence: int = 9) -> IdempotentProducer:
    """A producer with id 7, two partitions, three batches in flight."""
    one = producer_of(2, rules or Rules(), ProducerConfig(3, 3, max_sequence))
    assert not one.ready(P)
    one.get_producer_id(7)
    return one


def send(one: IdempotentProducer, count: int = 1, topic: int = P) -> list[ProduceRequest]:
    """So many new batches."""
    sent = []
    for _ in range(count):
        assert one.ready(topic)
        assert one.allowed(topic)
        sent.append(one.send_batch(topic))
    return sent


def sequences(one: IdempotentProducer, topic: int = P) -> list[tuple[int, int, int]]:
    """(number, epoch, sequence) of the batches in flight."""
    return [(batch.number, batch.epoch, batch.sequence) for batch in one.partitions[topic].in_flight]


def test_sequences_are_assigned_as_batches_are_drained() -> None:
    one = producer()
    assert send(one, 3) == [ProduceRequest(7, 0, sequence, sequence + 1) for sequence in range(3)]
    assert not one.ready(P)
    assert send(one, topic=Q) == [ProduceRequest(7, 0, 0, 1)]


def test_only_the_first_in_flight_is_retried_with_its_sequence() -> None:
    one = producer()
    first, second = send(one, 2)
    assert one.resend_batch(P) is None
    one.receive_error(P, second, GAP)
    assert one.resend_batch(P) is None
    assert not one.must_bump()
    one.receive_error(P, first, DEPOSED)
    assert not one.ready(P)
    assert one.resend_batch(P) == first
    assert one.receive_ack(P, first)
    assert one.resend_batch(P) == second


def test_a_gap_asks_for_an_epoch_in_which_batches_count_from_zero() -> None:
    one = producer()
    assert one.receive_ack(P, send(one)[0])
    second, third = send(one, 2)
    one.receive_error(P, second, GAP)
    assert one.must_bump()
    assert not one.may_bump()
    assert not one.bump_epoch()
    one.receive_error(P, third, GAP)
    assert one.bump_epoch()
    assert sequences(one) == [(2, 1, 0), (3, 1, 1)]
    assert one.resend_batch(P) == ProduceRequest(7, 1, 0, 2)


def test_batches_keep_their_order_in_a_new_epoch() -> None:
    for rules, order in ((Rules(), [2, 3, 4]), (PROTOCOL.rules_without({"ResequenceInOrder"}), [2, 4, 3])):
        one = producer(rules)
        assert one.receive_ack(P, send(one)[0])
        for request in send(one, 3):
            one.receive_error(P, request, GAP)
        assert one.bump_epoch()
        assert sequences(one) == [(number, 1, sequence) for sequence, number in enumerate(order)]


def test_what_is_in_doubt_holds_a_bump_back_until_it_expires() -> None:
    one = producer()
    assert one.receive_ack(P, send(one)[0])
    second, third = send(one, 2)
    one.disconnected(P, [2])
    one.receive_error(P, third, GAP)
    assert one.resend_batch(P) == second
    one.receive_error(P, second, GAP)
    assert one.must_bump()
    assert not one.bump_epoch()
    assert one.resend_batch(P) == second
    one.receive_error(P, second, GAP)
    assert one.expire_batch(P)
    assert one.bump_epoch()
    assert sequences(one) == [(3, 1, 0)]


def test_an_error_behind_the_append_leaves_a_batch_in_doubt() -> None:
    for error, doubted in (
        (Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, True),
        (Errors.REQUEST_TIMED_OUT, True),
        (Errors.NOT_LEADER_OR_FOLLOWER, True),
        (Errors.KAFKA_STORAGE_ERROR, True),
        (Errors.NOT_ENOUGH_REPLICAS, False),
    ):
        one = producer()
        assert one.receive_ack(P, send(one)[0])
        second = send(one)[0]
        one.receive_error(P, second, ProduceResponse(error))
        assert one.resend_batch(P) == second
        one.receive_error(P, second, GAP)
        assert one.must_bump()
        assert one.bump_epoch() is not doubted


def test_kafka_gives_a_new_sequence_to_what_is_in_doubt() -> None:
    one = producer(PROTOCOL.rules_without({"ResequenceOnlyRefused"}))
    assert one.receive_ack(P, send(one)[0])
    second, _ = send(one, 2)
    one.disconnected(P, [2, 3])
    assert one.resend_batch(P) == second
    one.receive_error(P, second, GAP)
    assert one.bump_epoch()
    assert sequences(one) == [(2, 1, 0), (3, 1, 1)]


def test_another_partition_follows_when_it_is_drained() -> None:
    one = producer()
    waiting = send(one, topic=Q)[0]
    assert one.receive_ack(P, send(one)[0])
    one.receive_error(P, send(one)[0], GAP)
    assert one.bump_epoch()
    assert sequences(one, Q) == [(1, 0, 0)]
    assert not one.ready(Q)
    assert one.receive_ack(Q, waiting)
    assert send(one, topic=Q) == [ProduceRequest(7, 1, 0, 2)]


def test_an_expired_batch_leaves_its_sequence_unresolved() -> None:
    one = producer()
    first, second = send(one, 2)
    assert one.expire_batch(P)
    assert not one.ready(P)
    assert not one.resolve_sequences(P)
    assert not one.receive_ack(P, first)
    assert one.receive_ack(P, second)
    assert one.resolve_sequences(P)
    assert not one.must_bump()
    assert send(one) == [ProduceRequest(7, 0, 2, 3)]


def test_nothing_behind_an_expired_batch_asks_for_an_epoch() -> None:
    one = producer()
    send(one)
    assert one.expire_batch(P)
    assert not one.expire_batch(P)
    assert one.resolve_sequences(P)
    assert one.must_bump()
    assert one.bump_epoch()
    assert send(one) == [ProduceRequest(7, 1, 0, 2)]


def test_without_a_rule_the_next_batch_gets_the_sequence_of_the_only_one() -> None:
    one = producer(rules=PROTOCOL.rules_without({"OnlyBatchExpired"}))
    send(one)
    assert one.expire_batch(P)
    assert not one.resolve_sequences(P)
    (again,) = send(one)
    assert (again.sequence, again.payload) == (0, 2)
    send(one)
    assert one.expire_batch(P)  # another is in flight
    assert not one.ready(P)


def test_the_batch_behind_an_expired_one_finds_the_gap() -> None:
    one = producer()
    _, second, third = send(one, 3)
    assert one.expire_batch(P)
    one.receive_error(P, third, GAP)
    assert not one.must_bump()
    one.receive_error(P, second, GAP)
    assert one.must_bump()


def test_nothing_is_in_flight_where_sequences_wrap_around() -> None:
    one = producer(max_sequence=3)
    for _ in range(3):
        assert one.receive_ack(P, send(one)[0])
    last = send(one)[0]
    assert last.sequence == 3
    assert one.ready(P)
    assert not one.allowed(P)
    assert one.receive_ack(P, last)
    again = send(one, 2)
    assert [request.sequence for request in again] == [0, 1]
    assert one.receive_ack(P, again[0])
    assert one.partitions[P].is_next(1)


@pytest.mark.parametrize("removed", [(), ("CountAnewBehindWrap",)])
def test_a_gap_behind_the_wrap_around_is_noticed(removed: tuple[str, ...]) -> None:
    """Kafka's producer only raises the last sequence that was acknowledged (row 146)."""
    one = producer(max_sequence=3, rules=PROTOCOL.rules_without(set(removed)))
    for _ in range(5):
        assert one.receive_ack(P, send(one)[0])
    (batch,) = send(one)
    assert batch.sequence == 1
    assert one.receive_error(P, batch, GAP)
    assert one.must_bump() is not bool(removed)


def test_a_batch_waits_that_would_push_the_first_out_of_the_leaders_memory() -> None:
    one = producer()
    first, second, third = send(one, 3)
    one.receive_error(P, first, DEPOSED)
    assert one.resend_batch(P) == first
    assert one.receive_ack(P, second)
    assert one.receive_ack(P, third)
    assert one.ready(P)
    assert not one.allowed(P)
    assert one.receive_ack(P, first)
    assert send(one) == [ProduceRequest(7, 0, 3, 4)]


def test_a_fenced_batch_fails_and_asks_for_an_epoch() -> None:
    one = producer()
    one.receive_error(P, send(one)[0], ProduceResponse(Errors.INVALID_PRODUCER_EPOCH))
    assert sequences(one) == []
    assert one.must_bump()
