"""The simulated cluster by hand: commits beside a transaction, rest, and loss."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tidemark.exactly_once.message_processor import OUTPUT
from tidemark.exactly_once.protocol import PROTOCOL
from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim import healing
from tidemark.exactly_once.sim.cluster import ExactlyOnceCluster
from tidemark.exactly_once.sim.healing import at_rest, heal
from tidemark.exactly_once.sim.network import Exchange, LateMarker
from tidemark.exactly_once.sim.run import ExactlyOnceRun
from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.messages import EndTxnRequest, TransactionLogValue, WriteTxnMarkersRequest
from tidemark.transactions.states import TransactionState
from tidemark.transactions.transactional_producer import ProducerState

A, STATIC = range(2)


class Heard:
    """A recorder that keeps the actions it is told."""

    def __init__(self) -> None:
        self.steps: list[tuple[Any, ...]] = []

    def did(self, *what: Any) -> None:
        self.steps.append(what)

    def blocked(self, *what: Any) -> None:
        self.steps.append(("blocked", *what))


def grouped(*inputs: int, rules: Rules | None = None) -> tuple[ExactlyOnceCluster, Heard]:
    """Two instances, the second static, in the first generation of their group; each knows where it stands."""
    cluster = ExactlyOnceCluster(inputs, [False, True], rules or Rules())
    cluster.recorder = heard = Heard()
    for i in (A, STATIC):
        assert cluster.init_producer_id(i)
        assert cluster.join_group(i)
    assert cluster.complete_join()
    for i in (A, STATIC):
        assert cluster.sync_group(i)
        assert cluster.fetch_offset(i, i)
    heard.steps.clear()
    return cluster, heard


def test_offsets_are_committed_by_members_in_their_generation() -> None:
    """A static member that has not joined stays a member, and hears of the generation only later."""
    cluster, heard = grouped(1, 1, rules=PROTOCOL.rules_without({"CommitOutsideTransaction"}))
    assert cluster.commit_offset(STATIC)
    assert cluster.revoke_partitions(A)
    assert cluster.join_group(A)
    assert cluster.complete_join()
    heard.steps.clear()
    assert cluster.instances[STATIC].member_id in cluster.group.members
    assert not cluster.commit_offset(STATIC)
    assert heard.steps == []
    assert cluster.must_rejoin(STATIC)


def test_offsets_are_committed_by_nobody_who_was_removed() -> None:
    cluster, heard = grouped(1, 1, rules=PROTOCOL.rules_without({"CommitOutsideTransaction"}))
    assert cluster.remove_member(cluster.instances[A].member_id)
    heard.steps.clear()
    assert not cluster.commit_offset(A)
    assert heard.steps == []


def test_what_a_process_has_sent_may_arrive_when_it_is_gone() -> None:
    cluster, heard = grouped(1, 1)
    assert cluster.send_result(A, A)
    assert cluster.crash(A)
    assert cluster.under_way()
    assert cluster.handle(A, True)
    assert heard.steps[-2:] == [("Crash", A), ("AppendResult", A, True)]
    assert not cluster.under_way()


def test_what_is_given_up_may_arrive_and_its_transaction_can_only_be_aborted() -> None:
    cluster, heard = grouped(1, 1)
    assert cluster.send_result(A, A)
    assert cluster.give_up_request(A)
    assert cluster.instances[A].producer.state is ProducerState.ABORTABLE_ERROR
    assert cluster.handle(A, True)
    assert heard.steps[-2:] == [("GiveUpRequest", A), ("AppendResult", A, True)]
    assert cluster.send_result(STATIC, STATIC)
    assert cluster.handle(STATIC, False)
    assert cluster.give_up_request(STATIC)  # its reply is under way: nothing of it arrives any more
    assert not cluster.under_way()


def test_who_has_sent_offsets_again_commits_them_or_aborts_what_comes_after_them() -> None:
    cluster, heard = grouped(2, 0)

    def answered() -> None:
        assert cluster.handle(A, False)
        assert cluster.receive_reply(A)

    assert cluster.send_result(A, 0)
    answered()
    assert cluster.send_offsets(A)
    assert cluster.repeat_request(A)
    answered()
    assert not cluster.send_offsets(A)  # the group has them
    assert cluster.send_result(A, 0)
    answered()
    heard.steps.clear()
    assert cluster.send_offsets(A)
    assert heard.steps == [("blocked", "SendTxnOffsetCommit", A, True), ("SendEndTxn", A, 0)]
    assert cluster.handle(A, True)
    assert heal(cluster)
    assert cluster.times_returned() == {(0, 0): 1, (0, 1): 1}


def test_healing_that_does_not_come_to_rest_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _ = grouped(1, 1)
    with monkeypatch.context() as patched:
        patched.setattr(healing, "advance", lambda *_: None)  # nobody processes anything
        assert not heal(cluster)
    assert heal(cluster)
    assert sorted(cluster.readers[OUTPUT].returned) == [0, 1]


def test_what_a_reader_has_got_is_told_to_be_safe_and_not_what_is_written() -> None:
    cluster, _ = grouped(1, 1)
    run = cast(ExactlyOnceRun, SimpleNamespace(cluster=cluster))
    assert cluster.send_result(A, A)
    assert cluster.handle(A, False)
    assert ExactlyOnceRun.acked(run) == 0
    assert heal(cluster)
    assert ExactlyOnceRun.acked(run) == 2


def _more_input(cluster: ExactlyOnceCluster) -> None:
    cluster.inputs = (1, 0)


def _unread(cluster: ExactlyOnceCluster) -> None:
    cluster.outputs[OUTPUT].append_batch(ProduceRequest(1, 0, 0, 0))
    cluster.outputs[OUTPUT].advance_high_watermark(1)


def _request(cluster: ExactlyOnceCluster) -> None:
    cluster.rpc[A] = Exchange(EndTxnRequest(1, 0, True))


def _late_request(cluster: ExactlyOnceCluster) -> None:
    cluster.late[A] = Exchange(EndTxnRequest(1, 0, True))


def _late_marker(cluster: ExactlyOnceCluster) -> None:
    cluster.late_marker[STATIC] = LateMarker(OUTPUT, WriteTxnMarkersRequest(2, 1, True, 1))


def _transaction(state: TransactionState) -> Callable[[ExactlyOnceCluster], None]:
    def begin(cluster: ExactlyOnceCluster) -> None:
        cluster.coordinators[STATIC].value = TransactionLogValue(state, producer_id=2)

    return begin


@pytest.mark.parametrize(
    "disturb",
    [
        _more_input,
        _unread,
        _request,
        _late_request,
        _late_marker,
        _transaction(TransactionState.ONGOING),
        _transaction(TransactionState.PREPARE_COMMIT),
    ],
    ids=["input", "unread", "request", "late request", "late marker", "open", "decided"],
)
def test_whatever_is_left_to_do_is_no_rest(disturb: Callable[[ExactlyOnceCluster], None]) -> None:
    cluster, _ = grouped(0, 0)
    assert at_rest(cluster)
    disturb(cluster)
    assert not at_rest(cluster)


@pytest.mark.parametrize(
    ("returned", "lost"), [([0, 1, 2], 0), ([0, 2], 1), ([], 3), ([0, 1, 1, 2], 1), ([0, 0, 0, 1], 3)]
)
def test_what_is_missing_and_what_is_repeated_is_lost(returned: list[int], lost: int) -> None:
    cluster, _ = grouped(2, 1)
    cluster.readers[OUTPUT].returned = returned
    assert ExactlyOnceRun.lost(cast(ExactlyOnceRun, SimpleNamespace(cluster=cluster))) == lost
