"""The golden scenarios: each shows its row of the zoo, and the committed transcript is the run's.

`rewritten` judges with the reference evaluator. It judges the flawed run by the right specification and by the one
without the row's rules. It judges the run with all rules by the right one. The tests below also see it refuse a
scenario that does not show its row.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tidemark_conformance.commands import golden
from tidemark_conformance.explain import golden as runs
from tidemark_conformance.explain.golden import golden_file, golden_root
from tidemark_conformance.registry import zoo

ROWS = golden.with_scenarios()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.id))
def test_a_scenario_shows_its_row_and_its_transcript_is_current(row: zoo.Row) -> None:
    file = golden_file(row)
    assert file.is_file()
    old = file.read_text(encoding="utf-8")
    text, complaint = golden.rewritten(row, old)
    assert complaint == ""
    assert text == old


def test_every_file_is_of_a_row() -> None:
    assert {file.stem for file in golden_root().glob("*/*.txt")} == {row.id for row in ROWS}


def scenario(name: str) -> tuple[zoo.Row, str]:
    row = zoo.select([name])[0]
    return row, golden_file(row).read_text(encoding="utf-8")


def test_a_harmless_run_shows_nothing() -> None:
    row, _ = scenario("acks-1")
    text = "leader A\nproduce A r acks=all\n"
    assert golden.rewritten(row, text) == (text, "every step of the flawed run is one of the right specification")


def test_a_flaw_of_another_rule_is_not_the_row() -> None:
    row, old = scenario("acks-1")
    without = "\n".join(line for line in old.splitlines() if not line.startswith("expect"))
    _, complaint = golden.rewritten(replace(row, rules=("CountMembersBeingRemoved",)), without)
    assert complaint == "every step of the flawed run is one of the right specification"


def test_a_property_that_stands_is_named() -> None:
    row, old = scenario("acks-1")
    text, complaint = golden.rewritten(replace(row, property="LogMatching"), old)
    assert text == old
    assert complaint == "LogMatching does not fall without the rule; what falls: AckedOnLeader"


@pytest.mark.parametrize(
    ("which", "amiss", "said"),
    [
        ("", {}, ""),
        ("refused", {"damage": "cut"}, "its trace cannot be judged: cut"),
        ("clean", {"damage": "cut"}, "its trace cannot be judged: cut"),
        ("refused", {"refused": None}, "every step of the flawed run is one of the right specification"),
        ("conforming", {"refused": (2, "Append b1")}, "step 2, Append b1 is no step without the rule either"),
        ("conforming", {"fallen": {}}, "AckedOnLeader does not fall without the rule; what falls: nothing"),
        ("clean", {"refused": (2, "Append b1")}, "with all rules in force step 2, Append b1 is not a step"),
        (
            "clean",
            {"fallen": {"StrongIsr": (4, "Crash b1"), "LogMatching": (2, "Append b1")}},
            "with all rules in force LogMatching falls: step 2, Append b1",
        ),
    ],
)
def test_whatever_is_amiss_is_named(which: str, amiss: dict[str, Any], said: str) -> None:
    row, _ = scenario("acks-1")
    whole = golden.Verdict("", None, {}, 4)
    verdicts = {
        "refused": replace(whole, refused=(3, "CompleteProduce b1")),
        "conforming": replace(whole, fallen={"AckedOnLeader": (4, "Crash b1")}),
        "clean": whole,
    }
    if which:
        verdicts[which] = replace(verdicts[which], **amiss)
    assert golden._complaint(row, **verdicts) == said


def test_an_expectation_that_does_not_hold_is_named() -> None:
    row, _ = scenario("acks-1")
    text = "leader A\nproduce A r acks=all\nexpect acked r\n"
    _, complaint = golden.rewritten(row, text)
    assert "line 3: expected acked r" in complaint


@pytest.mark.as_users_have_it
def test_a_scenario_is_played_where_the_implementation_is_compiled() -> None:
    """One of every protocol that has some."""
    chosen = {row.protocol: row.id for row in ROWS}
    assert len(chosen) >= 7
    command = [sys.executable, "-m", "tidemark_conformance", "golden", "--check", *chosen.values()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{len(chosen)} golden scenarios, 0 not as they should be\n")


def test_check_writes_nothing_and_fails_on_a_diff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row, old = scenario("acks-1")
    file = tmp_path / row.protocol / f"{row.id}.txt"
    file.parent.mkdir()
    monkeypatch.setattr(runs, "golden_root", lambda: tmp_path)
    arguments = argparse.Namespace(rows=[row.id], check=True)
    assert golden.run(arguments) == 1
    assert "there is no scenario acks-1.txt" in capsys.readouterr().out
    stale = old.replace("nothing flagged", "something flagged")
    file.write_text(stale, encoding="utf-8")
    assert golden.run(arguments) == 1
    assert "its transcript is not up to date; run make golden" in capsys.readouterr().out
    assert file.read_text(encoding="utf-8") == stale
    assert golden.run(argparse.Namespace(rows=[row.id], check=False)) == 0
    assert file.read_text(encoding="utf-8") == old
    assert golden.run(arguments) == 0
