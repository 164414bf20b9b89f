"""Explaining and shrinking what a simulated group does without a rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tidemark_conformance import cli
from tidemark_conformance.adapters.classic_group import resimulation
from tidemark_conformance.check import protocols
from tidemark_conformance.check.generate import generate
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import Schema, schema_of

RULE = "RequireKnownMemberId"
SETTINGS = {"protocol": "classic-group", "steps": 40, "flaw": None, "without": [RULE]}


@pytest.fixture(scope="module")
def schema() -> Schema:
    known = protocols.protocol("classic-group")
    return schema_of(load(known.spec, known.config))


def test_a_repeated_run_is_the_same_run(schema: Schema) -> None:
    known = protocols.protocol("classic-group")
    header = schema.with_nodes(known.nodes())
    simulate = known.make_simulator(header, steps=40, without=[RULE])
    for seed in range(20):
        again = resimulation(header.to_json(), f"seed-{seed}", SETTINGS)
        assert again.stream(range(len(again.decisions))) == simulate(seed).stream


def test_the_flaw_is_named_and_shrunk(schema: Schema, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = protocols.protocol("classic-group")
    header = schema.with_nodes(known.nodes())
    folder = tmp_path / "traces"
    generate(known.make_simulator(header, steps=40, without=[RULE]), range(3), folder, header, SETTINGS)
    assert cli.main(["explain", str(folder), "--json", "-"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["findings"][0]["name"] == "AddMember"
    assert said["allowed_without"] == [[RULE]]
    shrunk = said["shrunk"]
    assert shrunk["decisions"] == len(shrunk["kept"]) < shrunk["decisions_before"]
    assert shrunk["steps"] <= 6
    assert shrunk["diagram"]["rows"][-1]["action"] == "AddMember"
