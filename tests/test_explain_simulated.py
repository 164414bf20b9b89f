"""Explaining and shrinking the runs of simulated clusters of every protocol without a rule."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from simulated import SIMULATED, Explained, Simulated
from tidemark.simulator.running import Selection
from tidemark_conformance import cli
from tidemark_conformance.simulate import simulators
from tidemark_conformance.simulate.generate import generate

SEEDS = 16
"""Of every profile."""
pytestmark = pytest.mark.as_users_have_it


@dataclass(frozen=True)
class Case:
    """A protocol's traces without a rule (`[explained]` of its `simulated.toml`)."""

    simulated: Simulated

    @property
    def protocol(self) -> str:
        """Its name."""
        return self.simulated.protocol

    @property
    def asked(self) -> Explained:
        """The words that an explanation must have."""
        return self.simulated.explained

    @property
    def settings(self) -> dict[str, Any]:
        """Those of the run, as it keeps them."""
        asked = self.asked
        plain = {"protocol": self.protocol, "steps": asked.steps, "flaw": None, "without": [asked.rule]}
        return {**plain, **asked.options}

    @property
    def simulate(self) -> Any:
        """From a seed to a trace."""
        one, asked = self.simulated, self.asked
        options = {"without": [asked.rule], **asked.options}
        return simulators.simulator(one.known, one.head, steps=asked.steps, **options)


each = pytest.mark.parametrize("one", [Case(one) for one in SIMULATED], ids=lambda one: one.protocol)


@pytest.fixture(scope="module")
def flawed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """From an entry to its traces, as `tidemark simulate` writes them."""
    made: dict[str, Path] = {}

    def traces(one: Case) -> Path:
        if one.protocol not in made:
            made[one.protocol] = folder = tmp_path_factory.mktemp("flawed") / "traces"
            generate(one.simulate, range(*one.asked.seeds), folder, one.simulated.head, one.settings)
        return made[one.protocol]

    return traces


@pytest.fixture(scope="module")
def explained(flawed: Any) -> Any:
    """From an entry to the document of its explanation: every trace is judged, and one of them shrunk."""
    made: dict[str, Any] = {}

    def document(one: Case) -> Any:
        if one.protocol not in made:
            file = flawed(one).parent / "explained.json"
            assert cli.main(["explain", str(flawed(one)), "--json", str(file)]) == 1
            made[one.protocol] = json.loads(file.read_text())
        return made[one.protocol]

    return document


@each
def test_a_repeated_run_is_the_same_run(one: Case) -> None:
    known = one.simulated.known
    for seed in range(20):
        again = simulators.again(known, one.simulated.head, f"seed-{seed}", one.settings)
        assert again.stream(range(len(again.decisions))) == one.simulate(seed).stream
        assert len(again.decisions) > 5


@each
def test_the_attempts_that_changed_nothing_are_those_that_did_not(one: Case) -> None:
    """Without all attempts of kinds that are no faults, of which the run recorded nothing, a run is the same run. Every
    kind that is one shows in some run."""
    descriptor, header = one.simulated.descriptor, one.simulated.header
    unseen = set(descriptor.faults)
    for profile in one.simulated.profiles:
        simulator = descriptor.simulators(header, steps=50, profile=profile)
        for seed in range(SEEDS):
            some, recorded = Selection(descriptor.faults), Selection(())
            stream = simulator.again(seed, some).stream
            kept = {number for number, _ in some.played}
            assert simulator.again(seed, Selection((), kept, some.drawn)).stream == stream, (profile, seed)
            if not unseen:
                continue
            simulator.again(seed, recorded)
            silent = set(some.played) - set(recorded.played)
            for kind in {kind for _, kind in silent} & unseen:
                left = kept - {number for number, of in silent if of == kind}
                if simulator.again(seed, Selection((), left, some.drawn)).stream != stream:
                    unseen.discard(kind)
    assert not unseen


@each
def test_the_flaw_is_named_and_shrunk(one: Case, explained: Any) -> None:
    said = explained(one)
    first = said["findings"][0]
    assert first["name"] == one.asked.action
    assert said["allowed_without"] == [[one.asked.rule]]
    deepest = first["reason"]
    while deepest["because"]:
        deepest = deepest["because"][-1]
    assert deepest["operator"] == one.asked.because
    module = one.simulated.known.spec.stem.removesuffix("Properties")
    assert deepest["place"].startswith(f"{module}.tla:")
    assert deepest["values"]
    shrunk = said["shrunk"]
    assert shrunk["decisions"] == len(shrunk["kept"]) < shrunk["decisions_before"]
    assert shrunk["steps"] < shrunk["steps_before"] == first["step"]
    assert shrunk["steps"] <= one.asked.most
    assert shrunk["diagram"]["rows"][-1]["action"] == one.asked.action


@each
def test_without_the_rule_the_same_trace_conforms(
    one: Case, flawed: Any, explained: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    explain = ["explain", str(flawed(one)), "--json", "-", "--no-shrink"]
    first = explained(one)
    assert [finding for finding in first["findings"] if finding["kind"] == "not-a-step"]
    cli.main([*explain, "--trace", first["trace"], "--without", one.asked.rule])
    second = json.loads(capsys.readouterr().out)
    assert not [finding for finding in second["findings"] if finding["kind"] == "not-a-step"]
