"""The simulator of a KIP-848 group: deltas equal the full state, one seed gives one trace, healing converges, rules
matter."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from simulated import assert_deltas_are_all_that_changed, assert_one_seed_is_one_trace
from tidemark.cells import CapacityExceeded
from tidemark.group.modern.flaws import rules_without
from tidemark.sim.modern import PROFILES, ModernSimulator, simulate
from tidemark.sim.modern.recorder import TOUCHES, ModernPlan, ModernRecorder
from tidemark.sim.modern.run import ModernRun
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.load import Stored, decoded
from tidemark_conformance.tla.kernels.stream import Record, records
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import schema_of

SPEC = Path(__file__).parent.parent.parent / "spec" / "group"


@pytest.fixture(scope="module")
def header() -> dict[str, Any]:
    specification = load(SPEC / "ConsumerGroup848Properties.tla", SPEC / "ConsumerGroup848Properties.cfg")
    return schema_of(specification).with_nodes(("b1", "b2", "c1", "c2", "s1", "s2")).to_json()


class Checking(ModernRecorder):
    """Notes the full abstraction after every record."""

    __slots__ = ("states",)

    def begin(self) -> None:
        super().begin()
        self.states = [self.full_state()]

    def did(self, *what: Any) -> None:
        super().did(*what)
        self.states.append(self.full_state())

    def blocked(self, *what: Any) -> None:
        super().blocked(*what)
        self.states.append(self.states[-1])  # it is told by the handler, which has gone on meanwhile


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_deltas_are_all_that_changed(header: dict[str, Any], profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidemark.sim.modern.run.ModernRecorder", Checking)
    simulator = ModernSimulator(header, profile=profile)
    parameters = [len(action["params"]) for action in header["actions"]]
    for seed in range(25):
        run = ModernRun(simulator, seed)
        stream = run.run().stream
        assert isinstance(run.recorder, Checking)
        assert_deltas_are_all_that_changed(stream, run.recorder.states, parameters, f"seed {seed}")


def test_one_seed_is_one_trace_under_any_hash_seed(header: dict[str, Any]) -> None:
    assert_one_seed_is_one_trace("tidemark.sim.modern", simulate, header)


def test_healed_groups_come_to_rest_and_lose_nothing(header: dict[str, Any]) -> None:
    healed = 0
    for seed in range(400):
        result = simulate(seed, table=header)
        assert not result.capacity, seed
        assert not result.lost, seed
        assert result.converged or not result.healed, seed
        assert result.acked or not result.healed, seed
        healed += result.healed
    assert healed > 120


def test_every_action_is_taken(header: dict[str, Any]) -> None:
    numbers = {number: action["name"] for number, action in enumerate(header["actions"])}
    parameters = [len(action["params"]) for action in header["actions"]]
    simulator = ModernSimulator(header)
    taken: Counter[str] = Counter()
    for seed in range(300):
        for record in records(simulator.run(seed).stream, simulator.table.cells, parameters):
            if isinstance(record, Record) and record.action >= 0 and record.kind == 0:
                taken[numbers[record.action]] += 1
    assert sorted(set(numbers.values()) - set(taken)) == []


def test_every_action_says_what_it_touches(header: dict[str, Any]) -> None:
    assert sorted(TOUCHES) == sorted(action["name"] for action in header["actions"])
    plan = ModernPlan(header, ModernSimulator(header).table)
    with pytest.raises(ValueError, match="no action Sleep"):
        plan.touches(("Sleep", 0))
    with pytest.raises(CapacityExceeded, match="offset of Poll"):
        plan.step(("Poll", 0, 0, 21))
    with pytest.raises(ValueError, match="no action Resign with 2 parameters"):
        plan.step(("Resign", 0, 1))


def test_rules_decide_traces(header: dict[str, Any]) -> None:
    rules = rules_without({"AwaitRevocation"})
    assert any(
        simulate(seed, table=header, rules=rules).stream != simulate(seed, table=header).stream for seed in range(80)
    )


def test_unknown_profiles_and_headers_are_refused(header: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no profile storm"):
        simulate(0, table=header, profile="storm")
    without = {**header, "variables": {name: one for name, one in header["variables"].items() if name != "stray"}}
    with pytest.raises(ValueError, match="no variable stray"):
        simulate(0, table=without)


def test_every_step_is_a_step_of_the_specification(header: dict[str, Any]) -> None:
    specification = load(SPEC / "ConsumerGroup848Properties.tla", SPEC / "ConsumerGroup848Properties.cfg")
    schema = schema_of(specification)
    head = schema.with_nodes(("b1", "b2", "c1", "c2", "s1", "s2"))
    explainer = Explainer(specification)
    for seed in range(40):
        stored = Stored(f"seed-{seed}", simulate(seed, table=header).stream, Path("none"), head)
        judgement = explainer.judge(decoded(stored, schema))
        assert judgement.verdict == "pass", (seed, judgement.reason, judgement.first)
