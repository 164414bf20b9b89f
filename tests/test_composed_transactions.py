"""Transactions over really replicated logs: all traces of a run conform, and everything that applications were told is
read back. Forbidden effects of the composition are seen in the trace of transactions or by the consumer that reads
back."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from composing import CommitsAtOnce, Composed, assert_right, totals
from simulated import SIMULATED, assert_deltas_are_all_that_changed, noting
from tidemark.common.errors import Errors
from tidemark.compositions import running, transaction_cluster
from tidemark.compositions import transaction_run as composed_run
from tidemark.compositions.protocol import COMPOSED_TRANSACTIONS
from tidemark.compositions.replicated_log import LostRecordsReturnedError
from tidemark.compositions.transaction_run import PROFILES, STATE, ReplicatedTransactionsSimulator
from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.messages import EndTransactionMarker, InitProducerIdRequest
from tidemark.transactions.protocol import PROTOCOL
from tidemark.transactions.sim.cluster import TransactionCluster
from tidemark.transactions.sim.network import Broker
from tidemark.transactions.sim.reader import by_markers
from tidemark.transactions.sim.run import TransactionRun
from tidemark.transactions.states import TransactionState
from tidemark_conformance.errors import Unusable
from tidemark_conformance.simulate import simulators

TRANSACTIONS = "transactions"
B1, B2, B3 = range(3)
C1 = 0
P1, P2 = range(2)
UNCOMMITTED = 1
"""The number of that isolation level."""


@pytest.fixture(scope="module")
def composed() -> Composed:
    return Composed("composed-transactions")


def simulator(
    composed: Composed, profile: str = "mixed", without: frozenset[str] = frozenset()
) -> ReplicatedTransactionsSimulator:
    headers = composed.headers
    rules = PROTOCOL.rules_without(tuple(without))
    return ReplicatedTransactionsSimulator(headers[STATE], headers[TRANSACTIONS], profile=profile, rules=rules)


# --- runs as they should be -------------------------------------------------------------------------------------------


def test_the_parts_are_transactions_and_their_logs(composed: Composed) -> None:
    assert composed.parts == [TRANSACTIONS, STATE, "p1", "p2"]
    run = simulator(composed).run(0)
    assert set(run.parts) == set(composed.parts)


@pytest.mark.as_users_have_it
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_all_traces_of_a_run_conform(composed: Composed, profile: str) -> None:
    made = simulator(composed, profile)
    assert_right(composed, TRANSACTIONS, [made.run(seed) for seed in range(100)])


@pytest.mark.as_users_have_it
def test_a_run_goes_through_what_it_is_for(composed: Composed) -> None:
    made = simulator(composed, "elections")
    assert min(totals([made.run(seed) for seed in range(300)]).values()) > 0


def test_the_deltas_of_transactions_are_all_that_changed(composed: Composed, monkeypatch: pytest.MonkeyPatch) -> None:
    (known,) = (one for one in SIMULATED if one.protocol == "transactions")
    states = noting(known, monkeypatch)
    made = simulator(composed)
    parameters = [len(action["params"]) for action in composed.headers[TRANSACTIONS]["actions"]]
    for seed in range(30):
        stream = made.run(seed).parts[TRANSACTIONS].stream
        assert_deltas_are_all_that_changed(stream, states, parameters, f"seed {seed}")


def test_one_seed_is_one_run(composed: Composed) -> None:
    headers = composed.headers[STATE], composed.headers[TRANSACTIONS]
    again = [COMPOSED_TRANSACTIONS.simulate(seed, *headers) for seed in range(15)]
    assert again == [simulator(composed).run(seed) for seed in range(15)]


def test_what_does_not_fit_together_is_refused(composed: Composed) -> None:
    with pytest.raises(ValueError, match="no profile stormy"):
        simulator(composed, "stormy")
    headers = dict(composed.headers)
    other = {**headers["p2"], "constants": {**headers["p2"]["constants"], "MinIsr": 1}}
    for wrong in ({**headers, "p2": other}, {**headers, "p3": headers["p2"]}):
        with pytest.raises(Unusable, match="all but the first with the same cfg"):
            simulators.composed(composed.composition, wrong, steps=50)


def test_a_protocol_without_a_rule_is_flagged_over_replicated_logs(composed: Composed) -> None:
    """As shipped, Kafka's transaction coordinator acts on records that it has loaded and may lose again (row 94)."""
    made = simulators.composed(
        composed.composition, composed.headers, steps=50, profile="time-outs", without=["ActOnCommitted"]
    )
    runs = [made(seed) for seed in range(120)]
    found = {name: composed.judge(name, [one[name].stream for one in runs]) for name in composed.parts}
    assert {"not a step", "MarkerOfDecision"} <= set().union(*found[TRANSACTIONS])
    assert not any(any(one) for name, one in found.items() if name != TRANSACTIONS)
    with pytest.raises(Unusable, match="NoRule"):
        simulators.composed(composed.composition, composed.headers, steps=50, without=["NoRule"])


def test_a_machine_fails_with_all_its_replicas(composed: Composed) -> None:
    for seed in range(10):
        run = composed_run.ReplicatedTransactionsRun(simulator(composed, "calm"), seed)
        for one in (*run.partitions.values(), run.above):
            one.recorder.begin()
        clusters = [one.cluster for one in run.partitions.values()]
        run.replicate(0, run.partitions[STATE], "pause", B2)
        assert all(one.hosts[B2].paused for one in clusters)
        run.replicate(0, run.partitions[STATE], "crash", B3)
        assert all(one.hosts[B3].broker is None for one in clusters)
        run.replicate(0, run.partitions[STATE], "crash", B1)
        assert all(one.hosts[B1].broker is None for one in clusters)
        assert all(log.serves[one] is None for log in run.logs for one in (B1, B3))
        run.replicate(0, run.partitions[STATE], "crash", B2)
        assert all(one.hosts[B2].broker is not None for one in clusters), "nobody else is intact"


def test_a_machine_does_not_fail_that_one_partition_needs(composed: Composed) -> None:
    run = composed_run.ReplicatedTransactionsRun(simulator(composed, "calm"), 0)
    for one in (*run.partitions.values(), run.above):
        one.recorder.begin()
    assert run.partitions["p1"].crash(B3)
    for broker, fails in ((B1, True), (B2, False)):
        run.replicate(0, run.partitions[STATE], "crash", broker)
        assert [one.cluster.hosts[broker].broker is None for one in run.partitions.values()] == [fails] * 3


def test_what_a_coordinator_does_needs_its_broker() -> None:
    """Every event at a coordinator asks first whether the broker is up: a new one has to do so, too."""
    elsewhere = {"become_coordinator", "fail_append", "lose_marker", "repeat_marker", "drop_late_marker"}
    events = {
        name
        for name, event in inspect.getmembers(TransactionCluster, inspect.isfunction)
        if not name.startswith("_") and list(inspect.signature(event).parameters)[1:2] == ["broker"]
    }
    assert elsewhere < events
    assert events - elsewhere <= vars(transaction_cluster.ReplicatedTransactions).keys()


def test_a_reader_of_markers() -> None:
    batches = [ProduceRequest(producer, 0, sequence, producer) for producer in (1, 2, 3) for sequence in (0, 1)]
    commit, abort = EndTransactionMarker(1, 0, True, 1), EndTransactionMarker(2, 0, False, 1)
    log = [batches[0], batches[2], batches[4], batches[1], commit, batches[3], abort, commit]
    assert by_markers(log) == [batches[0], batches[1]]


# --- by hand ----------------------------------------------------------------------------------------------------------


class Stage:
    """A run that a test drives by hand: b1 coordinates and leads everything; `without`: rules that are removed."""

    def __init__(self, composed: Composed, without: frozenset[str] = frozenset()) -> None:
        made = simulator(composed, "calm", without)
        runs = (composed_run.ReplicatedTransactionsRun(made, seed) for seed in range(400))
        self.run = next(one for one in runs if all(log.leader == B1 for log in one.logs))
        self.cluster = self.run.cluster
        for log in self.run.logs:
            log.room = log.payloads = 20
        for one in (*self.run.partitions.values(), self.run.above):
            one.recorder.begin()

    def fetch(self, part: int, *followers: Broker) -> None:
        """Followers of a partition fetch once each."""
        partition = self.run.logs[part].replicated
        for follower in followers:
            source = partition.hosts[follower].broker.partition.leader_id  # type: ignore[union-attr]
            assert source is not None
            connection = partition.network.fetches[follower][source]
            assert partition.send_fetch(follower)
            assert partition.receive_fetch(connection, 3)
            assert partition.receive_response(connection)
            self.run.observe(part)

    def commit(self, part: int) -> None:
        """Both followers fetch until all the leader's records are committed, and the serving broker hears of it."""
        for _ in range(3):
            self.fetch(part, B2, B3)
        self.run.hears(part)

    def elect(self, part: int, broker: Broker, *others: Broker) -> None:
        """A broker is elected; it and the others hear of it."""
        partition = self.run.logs[part].replicated
        assert partition.elect_leader(broker)
        for one in (broker, *others):
            assert partition.apply_metadata(one)
        self.run.observe(part)

    def write(self, *partitions: int) -> None:
        """A process takes the id over, begins a transaction, and writes a batch to each of these partitions."""
        cluster = self.cluster
        assert cluster.send_init_producer_id(C1, B1)
        assert cluster.handle_rpc(C1, False)
        self.commit(0)
        assert cluster.receive_rpc(C1)
        assert cluster.begin_transaction(C1)
        for partition in partitions:
            assert cluster.send_produce(C1, partition)
            assert cluster.handle_produce(C1, partition, False)
            assert cluster.verify_partition(B1, C1, partition, False)
            self.commit(0)
            assert cluster.handle_produce(C1, partition, False)

    def ends(self, composed: Composed) -> dict[str, set[str]]:
        """The checks that the traces so far fail in, by part; parts that fail in nothing are left out."""
        runs = {TRANSACTIONS: self.run.above, **self.run.partitions}
        found = {name: composed.judge(name, [run.recorder.end(False, False)])[0] for name, run in runs.items()}
        return {name: one for name, one in found.items() if one}


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


# --- compositions that are wrong --------------------------------------------------------------------------------------


def test_a_new_leader_that_lacks_what_has_committed_is_no_step(
    composed: Composed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leads all the same, with its own entries."""
    monkeypatch.setattr(transaction_cluster, "ReplicatedLog", CommitsAtOnce)
    stage = Stage(composed)
    stage.write(P1)
    stage.run.hears(1)
    partition = stage.cluster.partitions[P1]
    assert (len(partition.log), partition.high_watermark) == (1, 1)
    stage.elect(1, B2, B1, B3)
    partition = stage.cluster.partitions[P1]
    assert (partition.log, partition.high_watermark, stage.cluster.data[P1].committed) == ([], 0, [])
    found = stage.ends(composed)
    assert set(found) == {TRANSACTIONS}
    assert {"not a step", "StableStays"} <= found[TRANSACTIONS]


def test_who_reads_back_does_not_see_what_is_above_the_high_watermark(
    composed: Composed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_cluster, "ReplicatedLog", CommitsAtOnce)
    stage = Stage(composed)
    cluster = stage.cluster
    stage.write(P1)
    stage.run.hears(1)
    assert cluster.receive_produce(C1, P1)
    assert cluster.send_end_txn(C1, B1, True)
    assert cluster.handle_rpc(C1, False)
    assert cluster.commit_record()
    assert cluster.send_marker(B1, P1)
    assert cluster.handle_marker(B1, P1, False)
    stage.run.hears(1)
    assert cluster.receive_rpc(C1)
    assert cluster.told == {1: True}
    assert (stage.run.transactions.lost(), cluster.lost()) == (1, 1), "nobody has consumed it"
    stage.fetch(1, *(B2, B3) * 3)
    assert (stage.run.transactions.lost(), cluster.lost()) == (1, 0)


def test_an_acknowledgement_above_the_high_watermark_is_seen(
    composed: Composed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the specification, by the consumers' own returns, and by a client that reads the logs: each by itself."""
    monkeypatch.setattr(transaction_cluster, "ReplicatedLog", CommitsAtOnce)
    monkeypatch.setattr(running, "watched", lambda _: False)  # it would see first what the log does to itself
    made = simulator(composed, "elections")
    runs = [made.run(seed) for seed in range(150)]
    found = composed.verdicts(runs)
    assert not any(any(one) for name, one in found.items() if name != TRANSACTIONS), "replication is as it should be"
    fallen = set().union(*found[TRANSACTIONS])
    assert {"not a step", "StableStays"} <= fallen
    seen = [seed for seed, one in enumerate(runs) if one.parts[TRANSACTIONS].lost]
    for other in (TransactionRun, transaction_cluster.ReplicatedTransactions):
        with monkeypatch.context() as blind:
            blind.setattr(other, "lost", lambda _: 0)
            assert any(made.run(seed).parts[TRANSACTIONS].lost for seed in seen), f"not without {other.__name__}"
