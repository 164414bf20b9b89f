"""A theorem about every value of a number (`AnyNumber`) says no more than it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tidemark_conformance.cli import main

MODELS = Path(__file__).parent / "models" / "proved"


def judged(folder: Path, *edits: tuple[str, str]) -> int:
    """`tidemark prove` of the quota with its text changed."""
    text = (MODELS / "Quota.tla").read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    (folder / "Quota.tla").write_text(text, encoding="utf-8")
    (folder / "Quota.cfg").write_text((MODELS / "Quota.cfg").read_text(encoding="utf-8"), encoding="utf-8")
    return main(["prove", "--spec", str(folder / "Quota.tla"), "--config", str(folder / "Quota.cfg")])


def test_a_number_that_is_left_open_is_no_finite_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judged(tmp_path) == 0
    said = capsys.readouterr().out
    assert "proved for runs of any length: WithinQuota." in said
    assert "Finite in it: nothing is bounded." in said
    assert "Any number: Quota from 0." in said


def test_without_it_the_number_of_the_cfg_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judged(tmp_path, ("AnyNumber == [Quota |-> 0]", "")) == 0
    assert "Finite in it: Quota = 2." in capsys.readouterr().out


@pytest.mark.parametrize(("least", "exit_code"), [(0, 3), (1, 0)])
def test_a_number_is_no_less_than_the_least_one(least: int, exit_code: int, tmp_path: Path) -> None:
    claim = ("WithinQuota == used <= Quota", "WithinQuota == Quota >= 1")
    assert judged(tmp_path, claim, ("Quota |-> 0", f"Quota |-> {least}")) == exit_code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("WithinQuota == used <= Quota", "WithinQuota == used <= 2"),
        ("WithinQuota == used <= Quota", "WithinQuota == Quota >= 1 => used < 3"),
        ("WithinQuota == used <= Quota", "WithinQuota == Quota = 2"),
        ("Init == used = 0", "Init == Quota > 0 /\\ used = 1"),
    ],
)
def test_a_claim_that_only_the_number_of_the_cfg_has_stays_open(
    old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edits = [(old, new)]
    if "used = 1" in new:
        edits += [("WithinQuota == used <= Quota", "WithinQuota == used <= 2"), ("balance = 0", "balance = -1")]
    assert judged(tmp_path, *edits) == 3
    assert "proved for runs" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "AnyNumber == [Quota |-> 0]",
            "AnyNumber == [Most |-> 0]",
            "AnyNumber names Most, no number of the cfg or a capacity",
        ),
        (
            "AnyNumber == [Quota |-> 0]",
            "AnyNumber == [Size |-> 0]",
            "AnyNumber names Size, no number of the cfg or a capacity",
        ),
        ("used \\in 0..Most", "used \\in 0..Quota", "a set or size that depends on Quota; leave it out of AnyNumber"),
    ],
)
def test_a_number_that_cannot_be_left_open_is_refused(
    old: str, new: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged(tmp_path, (old, new)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1
