"""A group over a really replicated log: both traces of a run conform, and acknowledged commits are read back."""

from __future__ import annotations

from typing import Any

import pytest
from composing import Composed, assert_right, simulator, totals
from simulated import SIMULATED, assert_deltas_are_all_that_changed, noting
from tidemark.compositions import group_run, running
from tidemark.compositions.group_run import PROFILES, ComposedSimulator
from tidemark.compositions.protocol import COMPOSED
from tidemark.compositions.replicated_log import LostRecordsReturnedError
from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry.protocols import protocols
from tidemark_conformance.simulate import simulators
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import schema_of


@pytest.fixture(scope="module")
def composed() -> Composed:
    return Composed("composed")


@pytest.fixture(scope="module")
def headers(composed: Composed) -> dict[str, dict[str, Any]]:
    return composed.headers


@pytest.mark.as_users_have_it
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_both_traces_of_a_run_conform(composed: Composed, profile: str) -> None:
    made = simulator(composed.headers, profile)
    assert_right(composed, "classic-group", [made.run(seed) for seed in range(150)])


@pytest.mark.as_users_have_it
def test_a_run_goes_through_what_it_is_for(headers: dict[str, dict[str, Any]]) -> None:
    made = simulator(headers, "elections")
    assert min(totals([made.run(seed) for seed in range(200)]).values()) > 0


def test_a_run_comes_to_rest_when_all_of_it_does(
    headers: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = simulator(headers, "chaos")
    seed, run = next(
        (seed, run) for seed, run in enumerate(map(made.run, range(20))) if run.parts["replication"].healed
    )
    assert {name: (part.converged, part.lost) for name, part in run.parts.items()} == {
        "replication": (True, 0),
        "classic-group": (True, 0),
    }
    for owner, name, found, expected in (
        (group_run.ComposedRun, "heal_above", False, {"replication": (True, 0), "classic-group": (False, 0)}),
        (running, "at_rest", False, {"replication": (False, 0), "classic-group": (False, 0)}),
        (running, "lost_payloads", [2, 3], {"replication": (True, 2), "classic-group": (True, 0)}),
    ):
        with monkeypatch.context() as wrong:
            wrong.setattr(owner, name, lambda *_, found=found: found)
            parts = made.run(seed).parts
        assert {part: (one.converged, one.lost) for part, one in parts.items()} == expected, name


def test_a_run_in_which_lost_records_come_back_says_so(
    headers: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def comes_back(_: group_run.ComposedRun) -> None:
        raise LostRecordsReturnedError

    monkeypatch.setattr(group_run.ComposedRun, "_chaos", comes_back)
    found = simulator(headers).run(0)
    assert found.returned
    assert not any(part.healed for part in found.parts.values())


def test_the_counts_of_a_run_are_those_of_its_logs(headers: dict[str, dict[str, Any]]) -> None:
    made = simulator(headers, "elections")
    counts = ("fail_overs", "kept", "dropped", "orphaned")
    seen = set()
    for seed in range(40):
        run = group_run.ComposedRun(made, seed)
        found = run.run()
        told = tuple(getattr(found, what) for what in counts)
        assert told == tuple(getattr(run.cluster.replica, what) for what in counts), seed
        seen.add(told)
    assert all(any(one[i] != one[j] for one in seen) for i in range(4) for j in range(i))


@pytest.mark.deep
def test_the_groups_deltas_are_all_that_changed(
    headers: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (group,) = (one for one in SIMULATED if one.protocol == "classic-group")
    states = noting(group, monkeypatch)
    made = simulator(headers)
    parameters = [len(action["params"]) for action in headers["classic-group"]["actions"]]
    for seed in range(40):
        run = group_run.ComposedRun(made, seed)
        stream = run.run().parts["classic-group"].stream
        assert_deltas_are_all_that_changed(stream, states, parameters, f"seed {seed}")


@pytest.mark.deep
def test_one_seed_is_one_run(headers: dict[str, dict[str, Any]]) -> None:
    partition, group = headers["replication"], headers["classic-group"]
    again = [COMPOSED.simulate(seed, partition, group) for seed in range(20)]
    assert again == [simulator(headers).run(seed) for seed in range(20)]


def test_a_mix_takes_its_profiles_in_turns(headers: dict[str, dict[str, Any]]) -> None:
    mixed = simulator(headers)
    for seed, profile in enumerate((*group_run.MIXES["mixed"], group_run.MIXES["mixed"][0])):
        assert mixed.run(seed) == simulator(headers, profile).run(seed), profile


@pytest.mark.deep
def test_a_group_without_a_rule_is_flagged_over_a_replicated_log(composed: Composed) -> None:
    headers = composed.headers
    made = simulators.composed(
        composed.composition, headers, steps=50, profile="elections", without=["JoinNamesMemberId"]
    )
    runs = [made(seed) for seed in range(60)]
    assert any(composed.judge("classic-group", [one["classic-group"].stream for one in runs]))
    assert not any(composed.judge("replication", [one["replication"].stream for one in runs]))
    with pytest.raises(Unusable, match="NoRule"):
        simulators.composed(composed.composition, headers, steps=50, without=["NoRule"])


def test_headers_of_other_brokers_are_refused(headers: dict[str, dict[str, Any]]) -> None:
    group = protocols()["classic-group"]
    found = load(group.spec, group.config)
    two = schema_of(found).with_nodes(("b1", "b2", "c1", "c2", "s1", "s2")).to_json()
    with pytest.raises(ValueError, match="other brokers"):
        ComposedSimulator(headers["replication"], two)
    with pytest.raises(ValueError, match="no profile stormy"):
        simulator(headers, "stormy")
