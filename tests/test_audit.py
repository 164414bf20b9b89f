"""The audit on Spark: verdicts, signatures, coverage, baselines, documents; the same from either form of trace."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import TwoPhase
from rich.console import Console
from tidemark_conformance.audit.audit import audit
from tidemark_conformance.audit.options import Options
from tidemark_conformance.audit.result import AuditResult, Failure, by_number
from tidemark_conformance.audit.tally import Example, Group
from tidemark_conformance.cli import main
from tidemark_conformance.commands.audit import worth_explaining
from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry.specifications import load_for
from tidemark_conformance.report.audit import render
from tidemark_conformance.trace.convert import convert
from trace_lines import header_of, signed, traces_of, write

Judge = Callable[..., AuditResult]


@pytest.fixture(name="judge")
def _judge(spark: Any, two_phase: TwoPhase) -> Judge:
    def run(path: Path, **options: Any) -> AuditResult:
        return audit(spark, [str(path)], two_phase.specification, Options(**options))

    return run


def _counts(result: AuditResult) -> dict[str, Any]:
    document = result.document()
    return {key: document[key] for key in ("traces", "steps", "verdicts", "failures", "undecided", "coverage")}


def test_clean_traces_pass(judge: Judge, two_phase: TwoPhase) -> None:
    result = judge(two_phase.good)
    assert (result.traces, result.passed, result.exit_code) == (30, 30, 0)
    lines = [line for trace in traces_of(two_phase.good) for line in trace if "action" in line]
    assert result.steps == sum(not line.get("blocked", False) for line in lines)
    for name, (taken, blocked) in result.actions.items():
        mine = [line for line in lines if line["action"] == name]
        assert (taken, blocked) == (sum("blocked" not in one for one in mine), sum("blocked" in one for one in mine))
    assert result.rules["CommitOnlyIfAllPrepared"][1] == result.actions["TMDecide"][1]
    assert result.rules["PreparedWaits"] == result.actions["RMAbort"]


def test_the_hasty_manager_is_flagged_and_its_harm_is_shown(judge: Judge, two_phase: TwoPhase) -> None:
    result = judge(two_phase.hasty)
    failures = {(failure.kind, failure.name): failure for failure in result.failures}
    assert ("not-a-step", "TMDecide") in failures
    assert ("invariant", "Consistency") in failures
    assert result.exit_code == 1
    assert result.failed == failures["not-a-step", "TMDecide"].traces
    for (kind, _), failure in failures.items():
        trace, step = failure.examples[0]
        line = next(one for one in traces_of(two_phase.hasty) if one[0]["trace"] == trace)[step]
        assert line["action"] == ("TMDecide" if kind == "not-a-step" else line["action"])
        assert trace == min((example for example, _ in failure.examples), key=by_number)


def test_the_trace_to_explain_is_the_first_by_number_in_which_an_invariant_falls(
    judge: Judge, two_phase: TwoPhase
) -> None:
    result = judge(two_phase.hasty)
    steps = Failure("not-a-step", "TMDecide", 9, (("seed-3", 1),))
    harm = Failure("invariant", "Consistency", 2, (("seed-17", 4), ("seed-149", 4)))
    assert worth_explaining(replace(result, failures=(steps, harm))) == "seed-17"
    assert worth_explaining(replace(result, failures=(steps,))) == "seed-3"


def test_no_two_ids_are_equal_by_their_numbers() -> None:
    ids = ["seed-1", "seed-01", "seed-1a", "seed-2", "seed-10", "seed"]
    for given in (ids, ids[::-1]):
        assert sorted(given, key=by_number) == ["seed", "seed-01", "seed-1", "seed-1a", "seed-2", "seed-10"]


def test_the_first_examples_are_the_first_by_number() -> None:
    group = Group()
    for number in (*range(100, 140), 17, 9):
        if group.wants(f"seed-{number}"):
            group.add(Example(f"seed-{number}", 1))
    assert [example.trace for example in group.examples[:3]] == ["seed-9", "seed-17", "seed-100"]


def test_without_the_rule_every_step_is_a_step_and_the_property_falls(spark: Any, two_phase: TwoPhase) -> None:
    spec = two_phase.specification.path
    specification, baseline = load_for(None, spec, None, without="CommitOnlyIfAllPrepared")
    result = audit(spark, [str(two_phase.hasty)], specification, Options(baseline))
    assert {(failure.kind, failure.name) for failure in result.failures} == {("invariant", "Consistency")}
    assert result.without == ("CommitOnlyIfAllPrepared",)
    assert result.rules["CommitOnlyIfAllPrepared"] == (0, 0)


def test_both_forms_get_the_same_verdicts(judge: Judge, two_phase: TwoPhase, tmp_path: Path) -> None:
    for source in (two_phase.good, two_phase.hasty):
        packed = tmp_path / source.name.replace("ndjson", "parquet")
        convert([source], packed, two_phase.schema)
        assert _counts(judge(packed)) == _counts(judge(source))


def test_many_files_are_one_audit(judge: Judge, two_phase: TwoPhase, tmp_path: Path) -> None:
    header, traces = header_of(two_phase.hasty), [signed(trace) for trace in traces_of(two_phase.hasty)]
    for part in range(4):
        write(tmp_path / "in" / f"{part}.ndjson", header, traces[part::4])
    convert([tmp_path / "in"], tmp_path / "packed", two_phase.schema)
    whole = judge(two_phase.hasty)
    for folder in ("in", "packed"):
        assert _counts(judge(tmp_path / folder)) == _counts(whole)


def test_a_lying_delta_is_not_a_step(judge: Judge, two_phase: TwoPhase, tmp_path: Path) -> None:
    trace = next(one for one in traces_of(two_phase.good) if one[1]["action"] == "RMPrepare")
    lie = {**trace[1], "delta": {**trace[1]["delta"], "tmState": "committed"}}
    back = {**trace[2], "delta": {**trace[2].get("delta", {}), "tmState": "init"}}
    result = judge(write(tmp_path / "a.ndjson", header_of(two_phase.good), [signed([trace[0], lie, back, *trace[3:]])]))
    assert [(failure.kind, failure.name, failure.examples[0][1]) for failure in result.failures] == [
        ("not-a-step", "RMPrepare", 1)
    ]


def test_a_stutter_that_changes_something_is_not_a_step(judge: Judge, two_phase: TwoPhase, tmp_path: Path) -> None:
    trace = traces_of(two_phase.good)[0]
    end = {**trace[-1], "end": {**trace[-1]["end"], "steps": 1, "quiescent": False}}
    stutter = {"trace": trace[0]["trace"], "step": 1, "delta": {"rmState": {"r1": "prepared"}}}
    result = judge(write(tmp_path / "a.ndjson", header_of(two_phase.good), [signed([trace[0], stutter, end])]))
    assert [failure.signature for failure in result.failures] == ["not a step of (no action)"]


def test_a_refusal_that_nobody_gave_is_not_a_step(judge: Judge, two_phase: TwoPhase, tmp_path: Path) -> None:
    """The kernels, the evaluator and TLC say so alike."""
    trace = next(one for one in traces_of(two_phase.good) if one[1]["action"] == "RMPrepare")
    attempt = {**trace[1], "blocked": True}
    del attempt["delta"]
    later = [{**event, "step": event["step"] + 1} for event in trace[1:-1]]
    end = {**trace[-1], "end": {**trace[-1]["end"], "steps": len(later) + 1}}
    path = write(tmp_path / "a.ndjson", header_of(two_phase.good), [signed([trace[0], attempt, *later, end])])
    result = judge(path, oracle=1)
    assert [(failure.signature, failure.examples[0][1]) for failure in result.failures] == [
        ("not a step of RMPrepare", 1)
    ]
    assert (result.oracle.replayed, result.oracle.disagreements) == (1, ())


def test_quiescence_is_checked_where_it_is_claimed(judge: Judge, two_phase: TwoPhase, tmp_path: Path) -> None:
    trace = next(one for one in traces_of(two_phase.good) if one[-2]["action"] == "RMReceiveDecision")
    for claimed in (True, False):
        end = {"steps": len(trace) - 3, "quiescent": claimed, "capacity": False}
        cut = signed([*trace[:-2], {**trace[-1], "end": end}])
        result = judge(write(tmp_path / f"{claimed}.ndjson", header_of(two_phase.good), [cut]))
        found = [(failure.kind, failure.name) for failure in result.failures]
        assert found == ([("quiescence", "QuiescentAllDecided")] if claimed else [])


def test_from_snapshot_needs_no_init_and_runs_no_history(judge: Judge, two_phase: TwoPhase, tmp_path: Path) -> None:
    trace = next(one for one in traces_of(two_phase.good) if "delta" in one[1] and len(one) > 6)
    state = json.loads(json.dumps(trace[0]["state"]))
    for name, value in trace[1]["delta"].items():
        state[name] = {**state[name], **value} if name == "rmState" else value
    later = [{**event, "step": event["step"] - 1} for event in trace[2:-1]]
    end = {**trace[-1], "end": {**trace[-1]["end"], "steps": len(later)}}
    path = write(
        tmp_path / "a.ndjson",
        header_of(two_phase.good),
        [
            signed(
                [
                    {"trace": "t", "step": 0, "state": state},
                    *({**event, "trace": "t"} for event in later),
                    {**end, "trace": "t"},
                ]
            )
        ],
    )
    assert [group.reason for group in judge(path).undecided] == ["not from Init"]
    result = judge(path, snapshot=True)
    assert result.exit_code == 0
    assert any(line.startswith("DecidedOnce ") for line in result.not_checked)
    assert "DecidedOnce" not in result.checked["invariant"]


def test_tlc_agrees_with_every_signature_and_a_sample(judge: Judge, two_phase: TwoPhase) -> None:
    result = judge(two_phase.hasty, oracle=3)
    assert result.oracle.replayed == 3 + len({failure.examples[0][0] for failure in result.failures})
    assert result.oracle.disagreements == ()


def test_the_sample_for_tlc_does_not_depend_on_the_order(judge: Judge, two_phase: TwoPhase, tmp_path: Path) -> None:
    from tidemark_conformance.audit.tally import Tally

    pairs = [(key * 7919 % 101, f"t{key}", b"") for key in range(50)]
    tallies = []
    for order in (pairs, pairs[::-1]):
        tally = Tally.empty(1, 1, wanted=5)
        for pair in order:
            tally.keep_sample([pair])
        tallies.append(tally.sample)
    assert tallies[0] == tallies[1] == sorted(pairs)[:5]


def test_the_command_writes_its_document(spark: Any, two_phase: TwoPhase, tmp_path: Path) -> None:
    target = tmp_path / "audit.json"
    assert main(["audit", str(two_phase.hasty), "--json", str(target)]) == 1
    document = json.loads(target.read_text())
    assert document["schema"] == "tidemark.audit/1"
    assert document["ok"] is False
    assert document["spec"] == "TwoPhase"
    assert document["verdicts"]["pass"] + document["verdicts"]["fail"] == document["traces"] == 30
    assert set(document["failures"][0]) >= {"signature", "kind", "name", "traces", "first"}
    assert document["coverage"]["rules"]["PreparedWaits"].keys() == {"held", "blocked"}
    assert document["oracle"]["replayed"] == 0


def test_the_document_alone_goes_to_standard_output(
    spark: Any, two_phase: TwoPhase, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(two_phase.good), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


def test_the_table_says_which_rules_are_off(
    spark: Any, two_phase: TwoPhase, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(two_phase.good), "--without", "KeepDecision"]) == 1
    shown = capsys.readouterr().out
    assert "judged by the specification without KeepDecision (--without)" in shown
    assert "not-a-step  TMRestart" in shown
    assert re.search(r"^KeepDecision +removed *$", shown, re.MULTILINE)
    assert re.search(r"steps in [\d.]+ s \([^;)]+; [\d.]+ s with start-up\)", shown)
    trace = re.search(r"^not-a-step +TMRestart +\d+ +(\S+)", shown, re.MULTILINE)
    assert trace is not None
    command = f"tidemark explain {two_phase.good} --trace {trace[1]} --without KeepDecision"
    assert shown.endswith(f"\n`{command}` says why\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--without", "NoSuchRule"], "NoSuchRule is no rule of TwoPhase"),
        (["--baseline", "TypeOK"], "TwoPhase has no baseline TypeOK; choose from repaired\n"),
        (["--baseline", "NoSuchOperator"], "TwoPhase has no baseline NoSuchOperator; choose from repaired\n"),
        (["--spec", "missing.tla"], "missing.tla"),
        (["--from-snapshot", "--oracle", "1"], "exclude each other"),
    ],
)
def test_a_wrong_option_is_one_sentence(
    arguments: list[str], message: str, spark: Any, two_phase: TwoPhase, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(two_phase.good), *arguments]) == 2
    errors = capsys.readouterr().err
    assert len([line for line in errors.splitlines() if not line.startswith("compiling ")]) == 1
    assert any(part in errors for part in message.split("|"))


def test_the_baseline_with_all_rules_has_a_name(two_phase: TwoPhase) -> None:
    flawed = two_phase.specification.path.with_name("TwoPhaseFlawed.cfg")
    assert load_for(None, two_phase.specification.path, flawed)[0].without == {"CommitOnlyIfAllPrepared"}
    assert load_for(None, two_phase.specification.path, flawed, baseline="repaired")[0].without == frozenset()


def test_a_specification_that_is_not_here_is_asked_for() -> None:
    with pytest.raises(Unusable, match="pass it with --spec and --config"):
        load_for("Elsewhere", None, None)


def test_a_report_without_a_terminal_is_plain_text(judge: Judge, two_phase: TwoPhase) -> None:
    console = Console(record=True, width=100, force_terminal=False)
    with console.capture() as captured:
        render(judge(two_phase.hasty), console)
    assert "\x1b" not in captured.get()
