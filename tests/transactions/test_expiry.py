"""producer.id.expiration.ms under simulation: the leader decides by its clock, and the environment lets no request
outlive the expiration."""

from __future__ import annotations

from typing import Any

from tidemark.idempotence.producer_state import PRODUCER_ID_EXPIRATION_MS
from tidemark.transactions.protocol import PROTOCOL
from tidemark.transactions.rules import Rules
from tidemark.transactions.sim.cluster import TransactionCluster

C, B, P, PID = 0, 0, 0, 1


class Actions(list[tuple[Any, ...]]):
    """A recorder that remembers the actions, and the refusals by a rule as such."""

    def did(self, *what: Any) -> None:
        self.append(what)

    def blocked(self, *what: Any) -> None:
        self.append(("blocked", *what))


def answer(cluster: TransactionCluster) -> None:
    """The coordinator writes what the process has asked for, and answers."""
    assert cluster.handle_rpc(C, False)
    assert cluster.commit_record()
    assert cluster.receive_rpc(C)


def committed(*without: str) -> TransactionCluster:
    """A cluster of two brokers whose first transaction has its marker, which was there twice."""
    rules = PROTOCOL.rules_without(without) if without else Rules()
    cluster = TransactionCluster(1, 2, 1, B, 6, rules)
    cluster.recorder = Actions()
    assert cluster.send_init_producer_id(C, B)
    answer(cluster)
    assert cluster.begin_transaction(C)
    assert cluster.send_produce(C, P)
    assert cluster.handle_produce(C, P, False)
    assert cluster.verify_partition(B, C, P, False)
    assert cluster.commit_record()
    assert cluster.handle_produce(C, P, False)
    assert cluster.advance_high_watermark(P, 1)
    assert cluster.receive_produce(C, P)
    assert cluster.send_end_txn(C, B, True)
    answer(cluster)
    assert cluster.send_marker(B, P)
    assert cluster.repeat_marker(B, P)
    assert cluster.handle_marker(B, P, False)
    return cluster


def test_a_producer_is_forgotten_when_a_day_is_over() -> None:
    cluster = committed()
    assert cluster.drop_late_marker(B, P)
    assert not cluster.expire_producer(P, PID)
    assert cluster.recorder[-1][0] == "DropLateMarker", "the specification might forget it now"
    assert cluster.let_expire(P, PID)
    assert cluster.now == PRODUCER_ID_EXPIRATION_MS
    assert cluster.recorder[-1] == ("ExpireProducer", P, PID)
    assert not cluster.let_expire(P, PID)


def test_no_day_passes_while_a_marker_is_under_way() -> None:
    cluster = committed()
    assert not cluster.let_expire(P, PID)
    assert (cluster.now, cluster.recorder[-1]) == (0, ("blocked", "ExpireProducer", P, PID))
    cluster.now = PRODUCER_ID_EXPIRATION_MS
    told = len(cluster.recorder)
    assert not cluster.let_expire(P, PID), "the environment does not let the leader look"
    assert len(cluster.recorder) == told


def test_no_day_passes_before_a_deposed_coordinator_has_heard_of_it() -> None:
    cluster = committed()
    assert cluster.drop_late_marker(B, P)
    assert cluster.become_coordinator(1, 0)
    assert not cluster.let_expire(P, PID)
    assert cluster.recorder[-1] == ("blocked", "ExpireProducer", P, PID)
    assert cluster.resign(B)
    assert cluster.let_expire(P, PID)


def test_without_the_rule_it_is_forgotten_at_once() -> None:
    cluster = committed("TrackMarkerTime")
    assert cluster.let_expire(P, PID)
    assert cluster.now == 0
