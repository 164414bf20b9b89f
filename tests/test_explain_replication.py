"""Explaining and shrinking what the simulated cluster does without a rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tidemark_conformance import cli
from tidemark_conformance.adapters.replication import resimulation
from tidemark_conformance.check import protocols
from tidemark_conformance.check.generate import generate
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import Schema, schema_of

ROW, RULE, ACTION = "acks-1", "AckAllOnlyBelowHw", "CompleteProduce"
SETTINGS = {"protocol": "replication", "steps": 50, "flaw": ROW}


@pytest.fixture(scope="module")
def schema() -> Schema:
    known = protocols.protocol("replication")
    return schema_of(load(known.spec, known.config))


@pytest.fixture(scope="module")
def flawed(schema: Schema, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Traces of a cluster whose leaders acknowledge too early, as `tidemark simulate` writes them."""
    known = protocols.protocol("replication")
    header = schema.with_nodes(known.nodes())
    folder = tmp_path_factory.mktemp("flawed") / "traces"
    generate(known.make_simulator(header, steps=50, flaw=ROW), range(40), folder, header, SETTINGS)
    return folder


def test_a_repeated_run_is_the_same_run(schema: Schema) -> None:
    known = protocols.protocol("replication")
    header = schema.with_nodes(known.nodes())
    simulate = known.make_simulator(header, steps=50, flaw=ROW)
    for seed in range(20):
        again = resimulation(header.to_json(), f"seed-{seed}", SETTINGS)
        assert again.stream(range(len(again.decisions))) == simulate(seed).stream


def test_the_flaw_is_named_and_shrunk(flawed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", str(flawed), "--json", "-"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["findings"][0]["name"] == ACTION
    assert said["allowed_without"] == [[RULE]]
    deepest = said["findings"][0]["reason"]
    while deepest["because"]:
        deepest = deepest["because"][-1]
    assert deepest["operator"] == RULE
    assert deepest["place"].startswith("Replication.tla:")
    assert len(deepest["values"]) == 2
    shrunk = said["shrunk"]
    assert shrunk["decisions"] == len(shrunk["kept"]) < shrunk["decisions_before"]
    assert shrunk["steps"] < shrunk["steps_before"] == said["findings"][0]["step"]
    assert shrunk["steps"] <= 20
    assert shrunk["diagram"]["rows"][-1]["action"] == ACTION


def test_without_the_rule_the_same_trace_conforms(flawed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["explain", str(flawed), "--json", "-", "--no-shrink"])
    first = json.loads(capsys.readouterr().out)
    cli.main(["explain", str(flawed), "--json", "-", "--no-shrink", "--trace", first["trace"], "--without", RULE])
    second = json.loads(capsys.readouterr().out)
    assert not [finding for finding in second["findings"] if finding["kind"] == "not-a-step"]
