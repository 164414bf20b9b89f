"""Replication's scenarios, and runs by the name of a row: rules matter, and meaningless lines are refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tidemark.replication.protocol import PROTOCOL
from tidemark.replication.sim.scenario import run_scenario
from tidemark.simulator.script import ScenarioError
from tidemark_conformance.cli import main
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import schema_of

SPEC = Path(__file__).parent.parent / "spec" / "replication"


@pytest.fixture(scope="module")
def header() -> dict[str, Any]:
    specification = load(SPEC / "ReplicationProperties.tla", SPEC / "ReplicationProperties.cfg")
    return schema_of(specification).with_nodes(("b1", "b2", "b3", "controller")).to_json()


def test_a_run_without_rules_is_that_of_the_row_that_removes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = {}
    for name, option in (("flaw", ["--flaw", "acks-1"]), ("rules", ["--without", "AckAllOnlyBelowHw"]), ("right", [])):
        assert main(["simulate", "replication", "--traces", "40", *option, "-o", str(tmp_path / name)]) == 0
        (part,) = (tmp_path / name).glob("part-*.parquet")
        made[name] = pq.read_table(part)["stream"].to_pylist()
        told = capsys.readouterr().out
        for noun in ("acknowledgements that clients got", "steps that change something", "traces in which all faults"):
            assert re.search(rf"^  [1-9][\d,]* {noun}", told, re.MULTILINE), told
    assert made["rules"] == made["flaw"] != made["right"]
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
    flawed = run_scenario(header, SCENARIO, PROTOCOL.rules_without({"AckAllOnlyBelowHw"}))
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
