"""Explaining and shrinking the runs of simulated clusters of every protocol without a rule."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from simulated import SIMULATED, Simulated
from tidemark.simulator.running import Selection
from tidemark_conformance import cli
from tidemark_conformance.registry import protocols
from tidemark_conformance.simulate import simulators
from tidemark_conformance.simulate.generate import generate

SEEDS = 16
"""Of every profile."""
pytestmark = pytest.mark.as_users_have_it


@dataclass(frozen=True)
class Explained:
    """Traces of a protocol without a rule: how they are made, and their explanation.

    `action`: the step that is none, by the operator and arguments `because`; it is shrunk to `most` steps or fewer.
    """

    protocol: str
    rule: str
    action: str
    because: str
    options: dict[str, Any]
    seeds: range
    steps: int
    most: int

    @cached_property
    def simulated(self) -> Simulated:
        """The protocol's entry."""
        return next(one for one in SIMULATED if one.protocol == self.protocol)

    @property
    def settings(self) -> dict[str, Any]:
        """Those of the run, as it keeps them."""
        return {"protocol": self.protocol, "steps": self.steps, "flaw": None, "without": [self.rule], **self.options}

    @property
    def simulate(self) -> Any:
        """From a seed to a trace."""
        one = self.simulated
        options = {"without": [self.rule], **self.options}
        return simulators.simulator(one.known, one.head, steps=self.steps, **options)


EXPLAINED = [
    Explained(
        "replication",
        "AckAllOnlyBelowHw",
        "CompleteProduce",
        "AckAllOnlyBelowHw(b, v)",
        {"flaw": "acks-1", "without": []},
        range(40),
        50,
        20,
    ),
    Explained(
        "classic-group",
        "JoinNamesMemberId",
        "AddMember",
        "JoinNamesMemberId(request.member)",
        {},
        range(3),
        40,
        6,
    ),
    Explained("consumer-group", "RevocationReported", "HandleHeartbeat", "Write(b, entry)", {}, range(5), 50, 20),
    Explained("offsets", "FetchOnlyStable", "FetchOffsets", "FetchOffsets(b, stable)", {}, range(3), 40, 8),
    Explained(
        "idempotence",
        "FirstSequenceIsZero",
        "AppendBatch",
        "AppendBatch(b, c, p)",
        {"profile": "gaps"},
        range(2, 5),
        60,
        6,
    ),
    Explained(
        "transactions",
        "CompleteAfterMarkers",
        "CompleteTransaction",
        "CompleteAfterMarkers(metadata[b])",
        {},
        range(3),
        60,
        30,
    ),
    Explained("exactly-once", "ReadCommitted", "ReadOutput", "ReadCommitted(LastStableOffset)", {}, range(3), 60, 30),
]
each = pytest.mark.parametrize("one", EXPLAINED, ids=lambda one: one.protocol)


def test_every_protocol_that_can_repeat_a_run_has_an_entry() -> None:
    assert [one.protocol for one in EXPLAINED] == [
        name for name, one in protocols.protocols().items() if one.implementation
    ]


@pytest.fixture(scope="module")
def flawed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """From an entry to its traces, as `tidemark simulate` writes them."""
    made: dict[str, Path] = {}

    def traces(one: Explained) -> Path:
        if one.protocol not in made:
            made[one.protocol] = folder = tmp_path_factory.mktemp("flawed") / "traces"
            generate(one.simulate, one.seeds, folder, one.simulated.head, one.settings)
        return made[one.protocol]

    return traces


@pytest.fixture(scope="module")
def explained(flawed: Any) -> Any:
    """From an entry to the document of its explanation: every trace is judged, and one of them shrunk."""
    made: dict[str, Any] = {}

    def document(one: Explained) -> Any:
        if one.protocol not in made:
            file = flawed(one).parent / "explained.json"
            assert cli.main(["explain", str(flawed(one)), "--json", str(file)]) == 1
            made[one.protocol] = json.loads(file.read_text())
        return made[one.protocol]

    return document


@each
def test_a_repeated_run_is_the_same_run(one: Explained) -> None:
    known = one.simulated.known
    for seed in range(20):
        again = simulators.again(known, one.simulated.head, f"seed-{seed}", one.settings)
        assert again.stream(range(len(again.decisions))) == one.simulate(seed).stream
        assert len(again.decisions) > 5


@each
def test_the_attempts_that_changed_nothing_are_those_that_did_not(one: Explained) -> None:
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
def test_the_flaw_is_named_and_shrunk(one: Explained, explained: Any) -> None:
    said = explained(one)
    first = said["findings"][0]
    assert first["name"] == one.action
    assert said["allowed_without"] == [[one.rule]]
    deepest = first["reason"]
    while deepest["because"]:
        deepest = deepest["because"][-1]
    assert deepest["operator"] == one.because
    module = one.simulated.known.spec.stem.removesuffix("Properties")
    assert deepest["place"].startswith(f"{module}.tla:")
    assert deepest["values"]
    shrunk = said["shrunk"]
    assert shrunk["decisions"] == len(shrunk["kept"]) < shrunk["decisions_before"]
    assert shrunk["steps"] < shrunk["steps_before"] == first["step"]
    assert shrunk["steps"] <= one.most
    assert shrunk["diagram"]["rows"][-1]["action"] == one.action


@each
def test_without_the_rule_the_same_trace_conforms(
    one: Explained, flawed: Any, explained: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    explain = ["explain", str(flawed(one)), "--json", "-", "--no-shrink"]
    first = explained(one)
    assert [finding for finding in first["findings"] if finding["kind"] == "not-a-step"]
    cli.main([*explain, "--trace", first["trace"], "--without", one.rule])
    second = json.loads(capsys.readouterr().out)
    assert not [finding for finding in second["findings"] if finding["kind"] == "not-a-step"]
