"""Transactions over replicated logs, driven by hand: leaders, followers, and coordinators that may be down."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from composing import Composed
from tidemark.common.errors import Errors
from tidemark.compositions.replicated_log import LostRecordsReturnedError
from tidemark.transactions.messages import InitProducerIdRequest
from tidemark.transactions.states import TransactionState
from transaction_stage import B1, B2, B3, C1, P1, P2, TRANSACTIONS, UNCOMMITTED, Stage


@pytest.fixture(scope="module")
def composed() -> Composed:
    return Composed("composed-transactions")


def test_a_record_that_the_isr_is_too_small_for_is_refused(composed: Composed) -> None:
    stage = Stage(composed)
    state = stage.cluster.state.replicated
    for member in (B2, B3):
        assert state.shrink_isr(B1, member)
        assert state.receive_alter_partition(B1)
        assert state.receive_alter_reply(B1)
    assert stage.cluster.send_init_producer_id(C1, B1)
    assert stage.cluster.handle_rpc(C1, False)
    exchange = stage.cluster.rpc[C1]
    assert exchange is not None
    assert isinstance(exchange.request, InitProducerIdRequest)
    assert exchange.response is not None
    assert exchange.response.error is Errors.COORDINATOR_NOT_AVAILABLE
    assert state.hosts[B1].storage.end_offset == 0
    assert stage.ends(composed) == {}


def test_a_batch_that_a_new_leader_lacks_is_not_acknowledged(composed: Composed) -> None:
    stage = Stage(composed)
    stage.write(P1)
    stage.elect(1, B2, B1, B3)
    assert stage.cluster.partitions[P1].log == []
    exchange = stage.cluster.produce[C1][P1]
    assert exchange is not None
    assert exchange.response is not None
    assert exchange.response.error is Errors.NOT_LEADER_OR_FOLLOWER
    assert stage.cluster.receive_produce(C1, P1), "it will be sent again"
    assert stage.cluster.handle_produce(C1, P1, False)
    assert stage.cluster.verify_partition(B1, C1, P1, False)
    assert stage.cluster.handle_produce(C1, P1, False)
    for _ in range(3):
        stage.fetch(1, B1, B3)
    stage.run.hears(1)
    assert exchange is not stage.cluster.produce[C1][P1]
    assert stage.cluster.receive_produce(C1, P1)
    assert len(stage.cluster.acked) == 1
    assert stage.ends(composed) == {}


def test_a_leader_that_is_elected_again_brings_what_it_has(composed: Composed) -> None:
    stage = Stage(composed)
    stage.cluster.now = 77
    stage.write(P1)
    old = stage.cluster.partitions[P1]
    stage.fetch(1, B2)
    stage.elect(1, B2, B1, B3)
    assert stage.cluster.partitions[P1] is not old
    assert len(stage.cluster.partitions[P1].log) == 1, "kept, and not committed"
    assert stage.cluster.partitions[P1].timestamps == [77]
    assert stage.cluster.partitions[P1].high_watermark == 0
    stage.elect(1, B1, B2, B3)
    assert (stage.cluster.data[P1].kept, stage.cluster.data[P1].fail_overs) == (2, 2)
    stage.commit(1)
    assert stage.cluster.partitions[P1].high_watermark == 1
    assert stage.ends(composed) == {}


def test_a_high_watermark_is_where_that_of_the_log_is(composed: Composed) -> None:
    """The batch is replicated, the marker behind it is not yet."""
    stage = Stage(composed)
    cluster = stage.cluster
    stage.write(P1)
    for _ in range(2):
        stage.fetch(1, B2, B3)
    assert cluster.abort_timed_out_transaction(B1)
    stage.commit(0)
    assert cluster.send_marker(B1, P1)
    assert cluster.handle_marker(B1, P1, False)
    partition = cluster.partitions[P1]
    assert (len(partition.log), partition.high_watermark) == (2, 0)
    stage.run.hears(1)
    assert partition.high_watermark == 1
    assert cluster.receive_produce(C1, P1)
    assert not cluster.receive_marker_reply(B1, P1)
    stage.commit(1)
    assert partition.high_watermark == 2
    assert cluster.receive_marker_reply(B1, P1)
    assert stage.ends(composed) == {}


def test_a_high_watermark_passes_all_that_it_can(composed: Composed) -> None:
    stage = Stage(composed)
    stage.write(P1)
    assert stage.cluster.abort_timed_out_transaction(B1)
    stage.commit(0)
    assert stage.cluster.send_marker(B1, P1)
    assert stage.cluster.handle_marker(B1, P1, False)
    stage.commit(1)
    assert stage.cluster.partitions[P1].high_watermark == 2


def test_a_consumer_waits_for_a_new_leader_that_is_behind(composed: Composed) -> None:
    stage = Stage(composed)
    stage.write(P1)
    stage.fetch(1, B2, B3, B2, B3)
    stage.run.hears(1)
    assert stage.cluster.partitions[P1].high_watermark == 1, "b2 has not heard of that"
    stage.elect(1, B2, B1, B3)
    assert stage.cluster.partitions[P1].high_watermark == 1
    assert stage.cluster.send_fetch(UNCOMMITTED, P1)
    assert not stage.cluster.handle_fetch(UNCOMMITTED, P1)
    for _ in range(2):
        stage.fetch(1, B1, B3)
    assert stage.cluster.handle_fetch(UNCOMMITTED, P1)
    assert stage.cluster.answer_fetch(UNCOMMITTED, P1, 9)
    assert stage.cluster.receive_fetch(UNCOMMITTED, P1)
    assert len(stage.cluster.returned[UNCOMMITTED][P1]) == 1
    assert stage.ends(composed) == {}


def test_only_who_leads_a_partition_and_is_up_serves_its_consumers(composed: Composed) -> None:
    stage = Stage(composed)
    cluster, host = stage.cluster, stage.cluster.data[P1].replicated.hosts[B1]
    steps = (
        lambda: cluster.handle_fetch(UNCOMMITTED, P1),
        lambda: cluster.complete_delayed_fetch(UNCOMMITTED, P1, False),
        lambda: cluster.answer_fetch(UNCOMMITTED, P1, 9),
    )
    assert cluster.send_fetch(UNCOMMITTED, P1)
    for step in steps:
        host.pause(True)
        assert not step()
        host.pause(False)
        assert step()
        if step is steps[0]:
            stage.write(P1)
            stage.commit(1)
    assert cluster.receive_fetch(UNCOMMITTED, P1)
    assert cluster.send_fetch(UNCOMMITTED, P1)
    partition = cluster.data[P1].replicated
    assert partition.elect_leader(B2)
    assert partition.apply_metadata(B1)
    stage.run.observe(1)
    assert not cluster.handle_fetch(UNCOMMITTED, P1), "b1 follows, and b2 does not lead yet"
    assert partition.apply_metadata(B2)
    stage.run.observe(1)
    stage.fetch(1, B1, B3)
    stage.fetch(1, B1, B3)
    assert cluster.handle_fetch(UNCOMMITTED, P1)
    assert stage.ends(composed) == {}


def test_nothing_is_done_at_a_coordinator_that_is_not_up(composed: Composed) -> None:
    """A coordinator on a paused broker takes none of these steps; it takes each once the broker is up again."""
    stage = Stage(composed)
    cluster, host = stage.cluster, stage.cluster.state.replicated.hosts[B1]

    def only_if_up(event: Callable[[], bool]) -> None:
        host.pause(True)
        assert not event()
        host.pause(False)
        assert event()

    assert cluster.send_init_producer_id(C1, B1)
    only_if_up(lambda: cluster.handle_rpc(C1, False))
    stage.commit(0)
    assert cluster.receive_rpc(C1)
    assert cluster.begin_transaction(C1)
    assert cluster.send_produce(C1, P1)
    assert cluster.handle_produce(C1, P1, False)
    only_if_up(lambda: cluster.verify_partition(B1, C1, P1, False))
    stage.commit(0)
    assert cluster.handle_produce(C1, P1, False)
    only_if_up(lambda: cluster.abort_timed_out_transaction(B1))
    only_if_up(lambda: cluster.clock_goes_back(B1))
    stage.commit(0)
    only_if_up(lambda: cluster.send_marker(B1, P1))
    assert cluster.handle_marker(B1, P1, False)
    stage.commit(1)
    only_if_up(lambda: cluster.receive_marker_reply(B1, P1))
    only_if_up(lambda: cluster.find_completion(B1))
    only_if_up(lambda: cluster.complete_transaction(B1))
    stage.commit(0)
    only_if_up(lambda: cluster.complete_again(B1))
    assert stage.ends(composed) == {}


def test_who_is_no_coordinator_says_so_if_it_is_up(composed: Composed) -> None:
    stage = Stage(composed)
    cluster, host = stage.cluster, stage.cluster.state.replicated.hosts[B2]
    assert cluster.send_init_producer_id(C1, B2)
    host.pause(True)
    assert not cluster.handle_rpc(C1, False)
    host.pause(False)
    assert cluster.handle_rpc(C1, False)
    exchange = cluster.rpc[C1]
    assert exchange is not None
    assert exchange.response is not None
    assert exchange.response.error is Errors.NOT_COORDINATOR
    assert stage.ends(composed) == {}


def test_a_leader_writes_if_it_is_up_has_room_and_its_isr_is_large_enough(composed: Composed) -> None:
    stage = Stage(composed)
    cluster, data = stage.cluster, stage.cluster.data[P1].replicated
    stage.write(P1)
    stage.commit(1)
    assert cluster.receive_produce(C1, P1)
    assert cluster.send_produce(C1, P1)
    assert cluster.abort_timed_out_transaction(B1)
    stage.commit(0)
    assert cluster.send_marker(B1, P1)
    data.hosts[B1].pause(True)
    assert not cluster.handle_produce(C1, P1, False)
    assert not cluster.handle_marker(B1, P1, False)
    data.hosts[B1].pause(False)
    cluster.data[P1].room = 1
    assert not cluster.handle_produce(C1, P1, False)
    assert not cluster.handle_marker(B1, P1, False)
    cluster.data[P1].room = 20
    for member in (B2, B3):
        assert data.shrink_isr(B1, member)
        assert data.receive_alter_partition(B1)
        assert data.receive_alter_reply(B1)
    assert not cluster.handle_produce(C1, P1, False)
    assert not cluster.handle_marker(B1, P1, False)
    assert data.hosts[B1].storage.end_offset == 1
    for member in (B2, B3):
        assert data.expand_isr(B1, member)
        assert data.receive_alter_partition(B1)
        assert data.receive_alter_reply(B1)
    assert cluster.handle_marker(B1, P1, False)
    assert cluster.handle_produce(C1, P1, False)
    assert stage.ends(composed) == {"p1": {"not a step"}}, "the members that left its ISR did not lag"


def test_what_a_successor_has_and_all_have_is_loaded(composed: Composed) -> None:
    """Its predecessor has not heard that it has committed."""
    stage = Stage(composed)
    cluster = stage.cluster
    assert cluster.send_init_producer_id(C1, B1)
    assert cluster.handle_rpc(C1, False)
    for _ in range(3):
        stage.fetch(0, B2, B3)
    assert cluster.state.committed == []
    stage.elect(0, B2, B1, B3)
    for _ in range(3):
        stage.fetch(0, B1, B3)
    assert cluster.load(B2)
    assert len(cluster.state.committed) == 1
    assert cluster.coordinators[B2].serving
    assert stage.ends(composed) == {}


def test_a_deposed_coordinator_goes_on_until_it_hears_of_it(composed: Composed) -> None:
    stage = Stage(composed)
    cluster = stage.cluster
    stage.elect(0, B2)
    assert cluster.load(B2)
    assert not cluster.resign(B1), "nobody has told it"
    assert cluster.send_init_producer_id(C1, B1)
    assert cluster.handle_rpc(C1, False)
    assert len(cluster.state.pending[B1]) == 1
    stage.elect(0, B1, B2, B3)
    assert not cluster.takes(B1), "it has forgotten what it was"
    assert not cluster.load(B1), "it has not resigned"
    assert cluster.state.leader == B2
    assert cluster.resign(B1)
    assert not cluster.state.pending[B1]


def test_who_produced_what_has_committed_hears_of_it(composed: Composed) -> None:
    stage = Stage(composed)
    stage.write(P1)
    stage.commit(1)
    state, data = (stage.run.logs[part].replicated for part in (0, 1))
    assert {*state.answers.acked} == {*stage.cluster.state.committed} != set()
    assert {*data.answers.acked} == {*stage.cluster.data[P1].committed} != set()
    for one in (state, data):
        broker = one.hosts[B1].broker
        assert broker is not None
        assert not broker.purgatory.waiting


def test_a_run_ends_where_lost_records_come_back(composed: Composed) -> None:
    stage = Stage(composed)
    stage.write(P1)
    stage.fetch(1, B2)
    stage.elect(1, B3)
    assert stage.cluster.partitions[P1].log == []
    with pytest.raises(LostRecordsReturnedError):
        stage.elect(1, B2)
    assert stage.ends(composed) == {}


@pytest.mark.parametrize("waits", [True, False])
def test_a_decision_that_may_be_lost_is_not_acted_on(composed: Composed, waits: bool) -> None:
    """Row 94 (CAND-2) with real replicas: b2 has the decision, b3 has not."""
    stage = Stage(composed, frozenset() if waits else frozenset({"ActOnCommitted"}))
    cluster = stage.cluster
    stage.write(P1, P2)
    for part in (1, 2):
        stage.commit(part)
        assert cluster.receive_produce(C1, part - 1)
    assert cluster.send_end_txn(C1, B1, True)
    assert cluster.handle_rpc(C1, False)
    stage.fetch(0, B2)
    stage.elect(0, B2)
    assert cluster.load(B2) is not waits
    assert cluster.send_marker(B2, P1) is not waits
    assert cluster.handle_marker(B2, P1, False) is not waits
    stage.elect(0, B3, B1)
    assert cluster.load(B3)
    assert cluster.coordinators[B3].value.state is TransactionState.ONGOING, "b3 never had the decision"
    assert cluster.abort_timed_out_transaction(B3)
    for _ in range(3):
        stage.fetch(0, B1)
        if stage.run.logs[0].replicated.apply_metadata(B2):
            stage.run.observe(0)
        stage.fetch(0, B2)
    assert cluster.commit_record()
    assert cluster.send_marker(B3, P2)
    assert cluster.handle_marker(B3, P2, False)
    found = stage.ends(composed)
    if waits:
        assert found == {}
    else:
        assert set(found) == {TRANSACTIONS}
        assert {"not a step", "MarkerOfDecision", "OneOutcome"} <= found[TRANSACTIONS]
