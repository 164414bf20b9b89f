"""Traces that show a part, explained: the same judgement as the kernels', computed values, and observations that differ
from them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from conftest import EXAMPLES
from part_traces import Event, compiled, election, judge, lines, stream
from test_hidden_traces import GOOD, WRONG, changed
from tidemark_conformance.cli import main
from tidemark_conformance.explain import load
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.judge import NOT_A_STEP, Judgement
from tidemark_conformance.explain.run import Run
from tidemark_conformance.tla import ir


@cache
def explainer() -> Explainer:
    return Explainer(election())


def judged(events: list[Event], **end: bool) -> tuple[Run, Judgement]:
    _, schema = compiled(election())
    run = load.decoded(load.Stored("t", stream(schema, events, **end), Path("t"), schema.header), schema)
    return run, explainer().judge(run)


def as_kernels_say(judgement: Judgement) -> dict[str, int]:
    return {ir.NOT_A_STEP if kind == NOT_A_STEP else name: step for (kind, name), step in judgement.first.items()}


TRACES = [GOOD, *(changed(*wrong) for wrong in WRONG), *(GOOD[:step] + GOOD[step + 1 :] for step in range(1, 7))]


@pytest.mark.parametrize("number", range(len(TRACES)))
def test_explain_judges_as_the_audit_does(number: int) -> None:
    kernels = judge(election(), TRACES[number])
    _, judgement = judged(TRACES[number])
    assert (judgement.verdict, as_kernels_say(judgement)) == (kernels.verdict, kernels.first)


def test_a_computed_value_beyond_its_capacity_is_undecided_in_both() -> None:
    stands: list[Event] = [{}, *({"action": "Stand", "params": {"n": "n1"}} for _ in range(40))]
    assert judge(election(), stands).verdict == judged(stands)[1].verdict == "undecided"
    assert "the computed term" in judged(stands)[1].reason


def test_an_observation_that_parts_is_said_with_both_values() -> None:
    run, judgement = judged(changed(2, "after", "n2", "vote", "n2"))
    explained = explainer().explain(run, judgement)
    assert [finding.headline for finding in explained.findings] == ["observation Observed.vote"]
    assert explained.findings[0].reason.text == 'vote of n2 after the step: observed "n2", computed "n1"'


def test_computed_values_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, schema = compiled(election())
    second = {"action": "Grant", "params": {"n": "n2", "c": "n3", "t": 1}}
    stand = {"action": "Stand", "params": {"n": "n3"}}
    file = tmp_path / "t.ndjson"
    traced = [schema.header.text().encode(), *lines([*GOOD[:3], stand, second])]
    file.write_bytes(b"".join(line + b"\n" for line in traced))
    folder = EXAMPLES / "election"
    asked = ["--spec", str(folder / "Election.tla"), "--config", str(folder / "Election.cfg")]
    assert main(["explain", str(file), *asked]) == 1
    said = capsys.readouterr().out
    assert "not a step of Grant" in said
    assert "votedFor[n2] = n1" in said
    assert "the rule OneVote is in force" in said
