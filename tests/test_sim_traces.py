"""The simulator's traces: deltas equal the full state, one seed gives one trace, healing converges, rules matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from simulated import assert_deltas_are_all_that_changed, assert_one_seed_is_one_trace
from tidemark.replication.flaws import rules_without
from tidemark.sim import PROFILES, Simulator, simulate
from tidemark.sim.recorder import Recorder
from tidemark.sim.run import Run
from tidemark.sim.scenario import ScenarioError, run_scenario
from tidemark_conformance.cli import main
from tidemark_conformance.tla.kernels.runtime import compile_kernels
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import schema_of

SPEC = Path(__file__).parent.parent / "spec" / "replication"


@pytest.fixture(scope="module")
def header() -> dict[str, Any]:
    specification = load(SPEC / "ReplicationProperties.tla", SPEC / "ReplicationProperties.cfg")
    return schema_of(specification).with_nodes(("b1", "b2", "b3", "controller")).to_json()


class Checking(Recorder):
    """Notes the full abstraction after every record."""

    __slots__ = ("states",)

    def begin(self) -> None:
        super().begin()
        self.states = [self.full_state()]

    def step(self, *what: Any) -> None:
        super().step(*what)
        self.states.append(self.full_state())

    def fetch(self, *what: Any) -> None:
        super().fetch(*what)
        self.states.append(self.full_state())

    def alter(self, *what: Any) -> None:
        super().alter(*what)
        self.states.append(self.full_state())

    def append(self, *what: Any) -> None:
        written = len(self.states)
        super().append(*what)
        if len(self.states) == written:  # otherwise it was an ordinary step
            self.states.append(self.full_state())

    def ends(self, *what: Any) -> None:
        super().ends(*what)
        self.states.append(self.full_state())

    def blocked(self, *what: Any) -> None:
        super().blocked(*what)
        self.states.append(self.full_state())


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_deltas_are_all_that_changed(header: dict[str, Any], profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidemark.sim.run.Recorder", Checking)
    simulator = Simulator(header, profile=profile)
    parameters = [len(action["params"]) for action in header["actions"]]
    for seed in range(12):
        run = Run(simulator, seed)
        stream = run.run().stream
        assert isinstance(run.recorder, Checking)
        assert_deltas_are_all_that_changed(stream, run.recorder.states, parameters, f"seed {seed}")


def test_one_seed_is_one_trace_under_any_hash_seed(header: dict[str, Any]) -> None:
    assert_one_seed_is_one_trace("tidemark.sim", simulate, header)


def test_healed_clusters_come_to_rest_and_lose_nothing(header: dict[str, Any]) -> None:
    healed = 0
    for seed in range(160):
        result = simulate(seed, table=header)
        assert not result.lost, seed
        assert result.converged or not result.healed, seed
        assert result.acked or not result.healed, seed
        healed += result.healed
    assert healed > 40


def test_unflawed_traces_have_no_flag_and_flawed_ones_conform_without_their_rule(header: dict[str, Any]) -> None:
    import dataclasses

    import numpy as np

    specification = load(SPEC / "ReplicationProperties.tla", SPEC / "ReplicationProperties.cfg")

    def judged(without: frozenset[str], streams: list[bytes]) -> Any:
        kernels = compile_kernels(
            dataclasses.replace(specification, constants={**specification.constants, "Without": without})
        )
        offsets = np.cumsum([0, *map(len, streams)]).astype(np.int64)
        return kernels.check(np.frombuffer(b"".join(streams), np.uint8), offsets)

    clean = [simulate(seed, table=header).stream for seed in range(400)]
    assert judged(frozenset(), clean).verdict.max() == 0
    without = frozenset({"AckAllOnlyBelowHw"})
    rules = rules_without(without)
    flawed = [simulate(seed, table=header, profile="chaos", rules=rules).stream for seed in range(60)]
    assert judged(frozenset(), flawed).first[:, 0].max() > 0
    assert judged(without, flawed).first[:, 0].max() < 0
    assert judged(without, flawed).verdict.max() == 1


def test_the_second_oracle_sees_a_loss_without_a_rule(header: dict[str, Any]) -> None:
    rules = rules_without({"AckAllOnlyBelowHw"})
    assert sum(simulate(seed, table=header, profile="chaos", rules=rules).lost for seed in range(120)) > 0


def test_a_run_without_rules_is_that_of_the_row_that_removes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = {}
    for name, option in (("flaw", ["--flaw", "acks-1"]), ("rules", ["--without", "AckAllOnlyBelowHw"]), ("right", [])):
        assert main(["simulate", "replication", "--traces", "40", *option, "-o", str(tmp_path / name)]) == 0
        (part,) = (tmp_path / name).glob("part-*.parquet")
        made[name] = pq.read_table(part)["stream"].to_pylist()
    assert made["rules"] == made["flaw"] != made["right"]
    capsys.readouterr()
    assert main(["simulate", "replication", "--traces", "1", "--without", "NoRule", "-o", str(tmp_path / "x")]) == 2
    assert "NoRule is no rule of Replication" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


SCENARIO = """
leader A
produce A r acks=all
complete A r
expect acked r
expect right: not acked r
"""


def test_a_scenario_differs_with_the_rule_in_place(header: dict[str, Any]) -> None:
    flawed = run_scenario(header, SCENARIO, rules_without({"AckAllOnlyBelowHw"}))
    right = run_scenario(header, SCENARIO)
    assert "complete A r   (a rule says no)" in right.transcript
    assert "a rule says no" not in flawed.transcript


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dance A", "line 1: there is no event dance"),
        ("elect Q", "line 1: 'elect Q' lacks something"),
        ("fetch B", "line 1: 'fetch B' lacks something"),
        ("elect B\nexpect right: leader=A", "line 2: expected leader=A"),
    ],
)
def test_a_scenario_that_says_nothing_is_refused(header: dict[str, Any], text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        run_scenario(header, text)
