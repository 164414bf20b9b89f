"""The counts of an audit and their report: no Spark, no TLC, streams by hand."""

from __future__ import annotations

import dataclasses
import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from shown import DECIDE, RULE, audited, cut, hasty, nothing, sound, writer
from tidemark_conformance.audit import audit, judge, locate
from tidemark_conformance.audit.result import Oracle
from tidemark_conformance.audit.tally import Tally
from tidemark_conformance.report import audit as audit_report
from tidemark_conformance.tla.kernels import compile_kernels
from tidemark_conformance.tla.kernels.stream import End, Record, StreamWriter
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.trace.schema import schema_of
from tidemark_conformance.verify.measure import invariants_alone


def test_a_long_trace_is_at_rest_too(specification: Specification) -> None:
    for stutters in (0, 126, 127, 128, 20_000):
        for quiescent in (True, False):
            out = writer()
            for _ in range(stutters):
                out.stutter()
            assert audited(specification, [out.end(quiescent=quiescent)]).quiescent == quiescent


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=200), st.booleans())
def test_the_end_and_the_claims_of_streams_are_those_that_the_reader_finds(
    specification: Specification, claims: list[tuple[int, bool]], quiescent: bool
) -> None:
    """The action of every record, their number, and whether faults stopped are read for any claims, judged or not."""
    schema = schema_of(specification)
    out = writer()
    for action, stutter in claims:
        number = action % len(schema.actions)
        if stutter:
            out.stutter()
        else:
            out.step(number, [0] * schema.arities[number], 0, [(0, action)])
    streams = [out.end(quiescent=quiescent), b"", out.end(quiescent=quiescent)[:3], writer().end()]
    data = np.frombuffer(b"".join(streams), np.uint8)
    offsets = np.cumsum([0, *map(len, streams)])
    *records, end = schema.records(streams[0])
    assert isinstance(end, End)
    assert locate.claimed_records(data, offsets)[[0, 3]].tolist() == [end.records, 1]
    assert locate.at_rest(data, offsets).tolist() == [quiescent, False, False, False]
    steps = np.arange(len(records) + 1)
    rows = np.zeros(len(steps), np.int64)
    claimed = compile_kernels(specification).claimed_actions(data, offsets, rows, steps).tolist()
    assert claimed == [*(record.action for record in records if isinstance(record, Record)), -1]
    assert compile_kernels(specification).claimed_actions(data, offsets, rows + 2, steps)[-1] == -1


def test_the_document_says_what_the_result_does(specification: Specification) -> None:
    result = audited(specification, [*sound(), hasty(), cut()])
    document = result.document()
    coverage = document["coverage"]
    assert {name: (taken, coverage["blocked"][name]) for name, taken in coverage["actions"].items()} == result.actions
    assert {name: (one["held"], one["blocked"]) for name, one in coverage["rules"].items()} == result.rules
    assert all(any(first != second for first, second in pairs.values()) for pairs in (result.actions, result.rules))
    assert document["verdicts"] == {"pass": 30, "fail": 1, "undecided": 1}
    denied = dataclasses.replace(result, oracle=Oracle(20, ("trace seed-1: TLC rejects step 2",))).document()
    assert denied["oracle"] == {"replayed": 20, "disagreements": 1, "details": ["trace seed-1: TLC rejects step 2"]}
    assert not audited(specification, [*sound(), cut()]).document()["ok"], "an undecided trace is no success"


def test_quiescence_is_reported(specification: Specification) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    audit_report.render(audited(specification, [nothing(), nothing(quiescent=False)]), console)
    assert "at rest at the end, by its own word: 1 trace, judged by QuiescentAllDecided" in console.export_text()


def test_passing_traces_without_a_step_are_said(specification: Specification) -> None:
    """Neither blocked attempts nor stutters are steps; a trace that fails or is undecided is told as such."""
    blocked = writer()
    blocked.blocked(DECIDE, [1], 1)
    blocked.stutter()
    idle = [nothing(), nothing(quiescent=False), blocked.end()]
    result = audited(specification, [*sound(), *idle, hasty(), cut()])
    assert (result.passed, result.stepless, result.document()["stepless"]) == (33, 3, 3)
    for found, said in ((result, True), (audited(specification, sound()), False)):
        console = Console(width=120, record=True, file=io.StringIO())
        audit_report.render(found, console)
        assert ("3 traces took no step: " in console.export_text()) == said


def test_a_rules_two_sides_are_true_and_false_and_a_removed_one_is_called_so(specification: Specification) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    audit_report.render(dataclasses.replace(audited(specification, sound()), without=(RULE,)), console)
    lines = [line.split() for line in console.export_text().splitlines()]
    assert ["rule", "true", "false"] in lines
    assert [RULE, "removed"] in lines


def test_of_many_traces_in_one_batch_the_first_by_number_are_named(specification: Specification) -> None:
    found = audited(specification, [hasty(), cut()] * 40)
    (harm,) = (one for one in found.failures if one.kind == "invariant")
    assert (harm.traces, [trace for trace, _ in harm.examples]) == (40, [f"seed-{at}" for at in range(0, 40, 2)])
    (damaged,) = found.undecided
    assert (damaged.traces, list(damaged.examples)) == (40, [f"seed-{at}" for at in range(1, 40, 2)])


def test_what_the_parts_of_an_audit_found_adds_up_in_any_order(specification: Specification) -> None:
    streams = [*sound(), *[hasty()] * 25, *[hasty(harm=False)] * 3, *[cut()] * 22, nothing(quiescent=False)]
    judging = judge.judge_for(specification, 4)

    def found(part: range) -> Tally:
        tally = judging.tally()
        judging.add(tally, judge.batch_of([f"seed-{at}" for at in part], [streams[at] for at in part]), 4)
        return tally

    def shown(tally: Tally) -> tuple[Any, ...]:
        ids = sorted(number for some in tally.ids for number in some.tolist())
        return audit.result_of(tally, judging, audit.Options(), 1.0), ids, tally.sample

    whole = found(range(len(streams)))
    assert (whole.traces, whole.verdicts.tolist(), len(whole.sample)) == (81, [31, 28, 22], 4)
    result = shown(whole)[0]
    assert (result.failed, [group.traces for group in result.undecided]) == (28, [22])
    thirds = [range(first, len(streams), 3) for first in range(3)]
    for parts in (thirds, thirds[::-1]):
        total = judging.tally()
        for part in parts:
            tally = found(part)
            tally.headers = {f"from {part.start}"}
            tally.refuse(f"refused in {part.start}")
            total.merge(tally)
        assert shown(total) == shown(whole)
        assert total.headers == {"from 0", "from 1", "from 2"}
        assert sorted(total.refused) == ["refused in 0", "refused in 1", "refused in 2"]
    batches = judging.tally()
    for part in thirds:
        judging.add(batches, judge.batch_of([f"seed-{at}" for at in part], [streams[at] for at in part]), 4)
    assert shown(batches) == shown(whole)


def test_what_falls_in_the_first_state_is_counted(specification: Specification) -> None:
    """A trace that starts from a snapshot may be wrong at once."""
    out = StreamWriter(6, [1, 1, 1, 1, 0, 2])
    out.initial([1, 0, 3, 1, 0, 0])
    judging = judge.judge_for(specification, snapshot=True)
    tally = judging.tally()
    judging.add(tally, judge.batch_of(["seed-0"], [out.end()]), 4)
    result = audit.result_of(tally, judging, audit.Options(snapshot=True), 1.0)
    assert ("Consistency", 1, (("seed-0", 0),)) in [(one.name, one.traces, one.examples) for one in result.failures]


def test_an_undecided_trace_that_claims_rest_is_not_counted_as_judged(specification: Specification) -> None:
    *stream, last = nothing()
    damaged = bytes([*stream, last ^ 1])
    result = audited(specification, [nothing(), damaged])
    assert (result.quiescent, [group.traces for group in result.undecided]) == (1, [1])


def test_specifications_that_allow_other_steps_or_ask_other_things_have_judges_of_their_own(
    specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "_loaded", {})
    monkeypatch.setattr(judge, "Judge", lambda of, *_: SimpleNamespace(specification=of, schema=None))
    bare = dataclasses.replace(specification, properties=(), quiescence=())
    asked: list[Any] = [specification, bare, invariants_alone(bare)]
    asked.append(dataclasses.replace(specification, invariants=(), quiescence=specification.invariants))
    assert [judge.judge_for(one).specification is one for one in asked] == [True] * len(asked)
    assert judge.judge_for(dataclasses.replace(bare)).specification is bare
