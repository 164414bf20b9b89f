"""The producers' simulator: deltas equal the full state, one seed gives one trace, healing converges, rules matter."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from simulated import assert_deltas_are_all_that_changed, assert_one_seed_is_one_trace
from tidemark.cells import CapacityExceeded
from tidemark.idempotence.flaws import rules_without
from tidemark.sim.idempotence import PROFILES, ProducerSimulator, simulate
from tidemark.sim.idempotence.recorder import TOUCHES, ProducerPlan, ProducerRecorder
from tidemark.sim.idempotence.run import ProducerRun
from tidemark_conformance.adapters.idempotence import NODES
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.load import Stored, decoded
from tidemark_conformance.tla.kernels.stream import Record, records
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import schema_of

SPEC = Path(__file__).parent.parent.parent / "spec" / "idempotence"


@pytest.fixture(scope="module")
def header() -> dict[str, Any]:
    specification = load(SPEC / "IdempotentProducerProperties.tla", SPEC / "IdempotentProducerProperties.cfg")
    return schema_of(specification).with_nodes(NODES).to_json()


class Checking(ProducerRecorder):
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
    monkeypatch.setattr("tidemark.sim.idempotence.run.ProducerRecorder", Checking)
    simulator = ProducerSimulator(header, profile=profile)
    parameters = [len(action["params"]) for action in header["actions"]]
    for seed in range(12):
        run = ProducerRun(simulator, seed)
        stream = run.run().stream
        assert isinstance(run.recorder, Checking)
        assert_deltas_are_all_that_changed(stream, run.recorder.states, parameters, f"seed {seed}")


def test_one_seed_is_one_trace_under_any_hash_seed(header: dict[str, Any]) -> None:
    assert_one_seed_is_one_trace("tidemark.sim.idempotence", simulate, header)


def test_healed_producers_come_to_rest_and_lose_nothing(header: dict[str, Any]) -> None:
    healed = 0
    for seed in range(400):
        result = simulate(seed, table=header)
        assert not result.capacity, seed
        assert not result.lost, seed
        assert result.converged or not result.healed, seed
        assert result.acked or not result.healed, seed
        healed += result.healed
    assert healed > 120


def test_a_reader_notices_what_is_written_twice(header: dict[str, Any]) -> None:
    rules = rules_without({"RecognizeDuplicate", "InSequence"})
    assert any(simulate(seed, table=header, profile="gaps", rules=rules).lost for seed in range(60))


def test_a_reader_notices_what_was_acknowledged_and_is_not_there(header: dict[str, Any]) -> None:
    rules = rules_without({"ExpiredKeepsSequence"})
    assert any(simulate(seed, table=header, profile="gaps", rules=rules).lost for seed in range(200))


def test_every_action_is_taken(header: dict[str, Any]) -> None:
    numbers = {number: action["name"] for number, action in enumerate(header["actions"])}
    parameters = [len(action["params"]) for action in header["actions"]]
    simulator = ProducerSimulator(header)
    cells = sum(variable["cells"] for variable in header["variables"].values())
    taken: Counter[str] = Counter()
    for seed in range(150):
        for record in records(simulator.run(seed).stream, cells, parameters):
            if isinstance(record, Record) and record.action >= 0 and record.kind == 0:
                taken[numbers[record.action]] += 1
    assert sorted(set(numbers.values()) - set(taken)) == []


def test_every_action_says_what_it_touches(header: dict[str, Any]) -> None:
    assert sorted(TOUCHES) == sorted(action["name"] for action in header["actions"])
    plan = ProducerPlan(header, ProducerSimulator(header).table)
    with pytest.raises(ValueError, match="no action Sleep"):
        plan.touches(("Sleep", 0))
    with pytest.raises(CapacityExceeded, match="keep of Disconnect"):
        plan.step(("Disconnect", 0, 0, 0, 10))


def test_unknown_profiles_and_headers_are_refused(header: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no profile storm"):
        simulate(0, table=header, profile="storm")
    without = {**header, "variables": {name: one for name, one in header["variables"].items() if name != "late"}}
    with pytest.raises(ValueError, match="other variables than idempotent producers"):
        simulate(0, table=without)


def test_every_step_is_a_step_of_the_specification(header: dict[str, Any]) -> None:
    specification = load(SPEC / "IdempotentProducerProperties.tla", SPEC / "IdempotentProducerProperties.cfg")
    schema = schema_of(specification)
    head = schema.with_nodes(NODES)
    explainer = Explainer(specification)
    for seed in range(12):
        stored = Stored(f"seed-{seed}", simulate(seed, table=header).stream, Path("none"), head)
        judgement = explainer.judge(decoded(stored, schema))
        assert judgement.verdict == "pass", (seed, judgement.reason, judgement.first)
