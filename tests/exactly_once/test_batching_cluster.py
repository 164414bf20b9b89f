"""Instances with batches in flight, by hand: the effect of a connection that is gone, and the messages that still
arrive."""

from __future__ import annotations

from typing import Any

import pytest
from tidemark.exactly_once.message_processor import OUTPUT
from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim.batching import BatchingCluster
from tidemark.exactly_once.sim.healing import heal
from tidemark.exactly_once.sim.profiles import BATCHES
from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.states import TransactionState
from tidemark.transactions.transactional_producer import ProducerState

A = 0


class Heard:
    """A recorder that keeps the actions it is told."""

    def __init__(self) -> None:
        self.steps: list[tuple[Any, ...]] = []

    def did(self, *what: Any) -> None:
        self.steps.append(what)

    def blocked(self, *what: Any) -> None:
        self.steps.append(("blocked", *what))


def working(records: int, outputs: int = 1) -> tuple[BatchingCluster, Heard]:
    """One instance, which owns an input partition of so many records and knows where it stands."""
    cluster = BatchingCluster([records], [False], Rules(), outputs, BATCHES, lambda: 0)
    cluster.recorder = heard = Heard()
    assert cluster.init_producer_id(A)
    assert cluster.join_group(A)
    assert cluster.complete_join()
    assert cluster.sync_group(A)
    assert cluster.fetch_offset(A, 0)
    heard.steps.clear()
    return cluster, heard


def linger(cluster: BatchingCluster) -> None:
    """The sender polls until all gathered batches, and those to be sent again, are under way."""
    for _ in range(BATCHES.linger_ms + BATCHES.retry_backoff_max_ms):
        cluster.receive_reply(A)


def sent(records: int) -> tuple[BatchingCluster, Heard]:
    """As many batches as records in flight."""
    cluster, heard = working(records)
    for _ in range(records):
        assert cluster.send_result(A, 0)
        linger(cluster)
    heard.steps.clear()
    return cluster, heard


def written(cluster: BatchingCluster) -> list[tuple[int, int]]:
    """The input records whose results are in the output, in its order."""
    log = cluster.outputs[OUTPUT].log
    return [record for one in log if isinstance(one, ProduceRequest) for record in cluster.results(one.payload)]


def test_batches_arrive_and_are_answered_in_the_order_in_which_they_were_sent() -> None:
    cluster, heard = sent(3)
    assert cluster.under_way()
    for _ in range(3):
        assert cluster.handle(A, False)
    assert heard.steps == [("AppendResult", A, False)] * 3
    assert written(cluster) == [(0, 0), (0, 1), (0, 2)]
    assert cluster.under_way()
    linger(cluster)
    assert not cluster.under_way()
    assert cluster.send_txn_offset_commit(A, True)
    assert cluster.instances[A].producer.state is ProducerState.IN_TRANSACTION


def test_what_was_under_way_when_a_connection_ended_may_still_arrive_and_is_sent_again() -> None:
    cluster, heard = sent(2)
    assert cluster.handle(A, False)  # the first is written, its reply under way
    assert cluster.repeat_request(A)
    assert cluster.under_way()
    assert cluster.handle(A, True)  # the second, which was
    assert not cluster.handle(A, True)
    assert heard.steps == [("AppendResult", A, False), ("Disconnect", A), ("AppendResult", A, True)]
    heard.steps.clear()
    linger(cluster)
    while cluster.handle(A, False):
        linger(cluster)
    assert heard.steps == [("AnswerDuplicate", A, False)] * 2
    assert written(cluster) == [(0, 0), (0, 1)]
    assert not cluster.under_way()


def test_what_is_left_of_a_connection_is_under_way_until_it_arrives_or_is_lost() -> None:
    cluster, heard = sent(1)
    assert cluster.crash(A)
    assert cluster.under_way()
    assert cluster.lose_late(A)
    assert not cluster.under_way()
    assert not cluster.lose_late(A)
    assert not cluster.handle(A, True)
    assert written(cluster) == []
    assert heard.steps == [("Crash", A)]


def test_a_refused_batch_is_sent_again_and_nothing_overtakes_it() -> None:
    cluster, heard = sent(2)
    assert cluster.refuse(A)
    assert cluster.handle(A, False)
    assert [step[0] for step in heard.steps] == ["RefuseResult", "RejectResult"]  # out of order
    linger(cluster)
    while cluster.handle(A, False):
        linger(cluster)
    assert written(cluster) == [(0, 0), (0, 1)]


def test_a_batch_that_comes_before_the_last_transaction_is_over_is_refused_for_now() -> None:
    cluster, heard = sent(1)
    coordinator = cluster.coordinators[A]
    before = coordinator.value
    coordinator.value = before._replace(state=TransactionState.PREPARE_COMMIT)
    assert cluster.handle(A, False)
    assert heard.steps == [("RefuseResult", A, False)]
    coordinator.value = before
    linger(cluster)
    assert cluster.handle(A, False)
    assert written(cluster) == [(0, 0)]


def test_a_process_that_stands_still_fails_its_transaction() -> None:
    cluster, heard = working(1)
    assert not cluster.stall(A)
    assert cluster.send_result(A, 0)
    linger(cluster)
    assert cluster.stall(A)
    assert heard.steps[-1] == ("Stall", A)
    cluster.receive_reply(A)
    assert cluster.instances[A].producer.state is ProducerState.ABORTABLE_ERROR


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_healing_delivers_what_is_open_in_every_output(outputs: int) -> None:
    """Once each: the records in flight, in doubt, and not read yet."""
    cluster, _ = working(12, outputs)
    for _ in range(6):
        assert cluster.send_result(A, 0)
    linger(cluster)
    assert cluster.handle(A, False)
    assert heal(cluster)
    assert set(cluster.times_returned().values()) == {1}
    assert all(reader.returned for reader in cluster.readers)
