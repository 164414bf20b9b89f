"""Transactions over really replicated logs: all traces of a run conform, and everything that applications were told is
read back. Forbidden effects of the composition are seen in the trace of transactions or by the consumer that reads
back."""

from __future__ import annotations

import inspect

import pytest
from composing import CommitsAtOnce, Composed, assert_right, totals
from simulated import SIMULATED, assert_deltas_are_all_that_changed, noting
from tidemark.compositions import running, transaction_cluster
from tidemark.compositions import transaction_run as composed_run
from tidemark.compositions.protocol import COMPOSED_TRANSACTIONS
from tidemark.compositions.transaction_run import PROFILES, STATE
from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.messages import EndTransactionMarker
from tidemark.transactions.sim.cluster import TransactionCluster
from tidemark.transactions.sim.reader import by_markers
from tidemark.transactions.sim.run import TransactionRun
from tidemark_conformance.errors import Unusable
from tidemark_conformance.simulate import simulators
from transaction_stage import B1, B2, B3, C1, P1, TRANSACTIONS, Stage, simulator


@pytest.fixture(scope="module")
def composed() -> Composed:
    return Composed("composed-transactions")


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
