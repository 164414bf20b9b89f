"""The judges of `make check`, each shown something that must not pass: no Spark, no TLC, streams by hand.

An implementation that does nothing, a flaw under another name, traces that could not be judged, a clean run that shows
too little: every one must turn its line red. The example is two-phase commit.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import twophase_simulator
from rich.console import Console
from tidemark_conformance.check import audit, clean, judge, kept, matrix, protocols, session, zoo
from tidemark_conformance.check.generate import Generated, Simulated
from tidemark_conformance.check.locate import at_rest
from tidemark_conformance.check.matrix import Killed
from tidemark_conformance.check.protocols import Protocol
from tidemark_conformance.check.result import AuditResult, Oracle
from tidemark_conformance.check.tally import Tally
from tidemark_conformance.check.zoo import Row, Simulation
from tidemark_conformance.commands import verify as command
from tidemark_conformance.errors import Unusable
from tidemark_conformance.paths import spec_root
from tidemark_conformance.report import audit as audit_report
from tidemark_conformance.report import closing, progress
from tidemark_conformance.report.matrix import Matrix, Unflawed, render
from tidemark_conformance.tla.kernels.stream import StreamWriter
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.tlc.manifest import Model
from tidemark_conformance.tlc.runner import TlcResult
from tidemark_conformance.tlc.verify import Outcome
from tidemark_conformance.trace.schema import schema_of

SPEC = spec_root() / "twophase" / "TwoPhase.tla"
CONFIG = SPEC.with_suffix(".cfg")
RULE = "CommitOnlyIfAllPrepared"
PREPARE, ABORT, RECEIVE_PREPARED, DECIDE, RESTART, RECEIVE_DECISION = range(6)
FIRST = [3, 3, 3, 2, 0, 0]
"""Cells: the three resource managers are working, no decision, nobody prepared, no message."""


@pytest.fixture(scope="module", name="specification")
def _specification() -> Specification:
    return clean.judging(SHOWN)


# --- streams --------------------------------------------------------------------------------------------------------


def _writer() -> StreamWriter:
    out = StreamWriter(6, [1, 1, 1, 1, 0, 2])
    out.initial(FIRST)
    return out


def nothing(quiescent: bool = True) -> bytes:
    """A run in which nothing happens."""
    return _writer().end(quiescent=quiescent)


def hasty(harm: bool = True) -> bytes:
    """The manager commits though nobody has prepared; with `harm` one manager gives up first, and another commits."""
    out = _writer()
    if harm:
        out.step(ABORT, [1], 3, [(1, 0)])
    out.step(DECIDE, [1], 1, [(3, 1), (5, 2)])
    out.step(RECEIVE_DECISION, [0, 1], 2, [(0, 1)])
    return out.end()


def cut() -> bytes:
    """A stream that ends too early."""
    return hasty()[:-1]


# --- the kill matrix --------------------------------------------------------------------------------------------------


def row(rules: Sequence[str] = (RULE,), prop: str = "Consistency", unseen: str = "", model: str = "MCHasty") -> Row:
    return Row("hasty", 7, "twophase", tuple(rules), prop, model, "LOSS", "too early", "", Simulation(excused=unseen))


def killed(specification: Specification, given: Row, *streams: Callable[[], bytes]) -> Killed:
    """What the matrix makes of a flawed implementation whose seeds give these streams, in turns; one task a seed."""

    def simulate(seed: int) -> Simulated:
        return Simulated(f"seed-{seed}", streams[seed](), 0, {"seeds": 1})

    parts = [
        matrix.judge_task(matrix.Task(given, simulate, seed, seed + 1, 4), {"twophase": specification})
        for seed in range(len(streams))
    ]
    return matrix.merge(given, parts)


def why(given: Row, found: Killed) -> str:
    """What the printed matrix says of a row that is not as expected."""
    console = Console(width=300, record=True, file=io.StringIO())
    shown = Matrix([given], {given.id: outcome(given.property)}, {given.id: found}, {}, 1.0)
    assert shown.ok == found.ok
    render(shown, console)
    lines = [line for line in console.export_text().splitlines() if "not as expected" in line]
    return lines[0].rstrip().rpartition(": ")[2] if lines else ""


def test_a_flaw_that_shows_itself_is_killed(specification: Specification) -> None:
    found = killed(specification, row(), nothing, hasty, hasty)
    assert (found.simulated, found.by_step, found.by_property, found.strange, found.undecided) == (3, 2, 2, 0, 0)
    assert (found.first, found.first_step, found.facts) == ("seed-1", 3, {"seeds": 3})
    assert found.ok
    assert why(row(), found) == ""


@pytest.mark.parametrize(
    ("given", "streams", "reason"),
    [
        (row(), [nothing, nothing], "no trace shows it"),
        (row(), [partial(hasty, harm=False)], "no trace shows it"),
        (row(prop="OneDecision"), [hasty], "no trace shows it"),
        (row(rules=["KeepDecision"]), [hasty], "1 traces do not conform without the row's rules"),
        (row(), [hasty, cut], "2 traces are undecided"),
        (row(unseen="too rare"), [partial(hasty, harm=False), cut], "2 traces are undecided"),
        (row(unseen="too rare"), [nothing], "no trace has a wrong step, so the flaw may not be there"),
        (row(unseen="too rare"), [hasty], "the traces show it although it is excused"),
        (row(rules=["KeepDecision"], unseen="too rare"), [hasty], "1 traces do not conform without the row's rules"),
    ],
    ids=[
        "an implementation that does nothing",
        "a difference that does no harm",
        "another property falls",
        "another rule is missing",
        "a trace is undecided (by both specifications)",
        "an undecided trace of an excused row",
        "an excused row whose flaw is not there",
        "an excuse that is stale",
        "an excused row whose traces are not of the flawed specification",
    ],
)
def test_a_row_that_is_not_as_expected(
    specification: Specification, given: Row, streams: list[Callable[[], bytes]], reason: str
) -> None:
    found = killed(specification, given, *streams)
    assert not found.ok
    assert why(given, found) == reason


def test_an_excused_row_of_which_the_wrong_step_is_seen(specification: Specification) -> None:
    assert killed(specification, row(unseen="too rare"), nothing, partial(hasty, harm=False)).ok


def test_a_rows_seeds_are_simulated_with_its_flaw(
    specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each once, with what the row gives the simulator, and nodes by the names that the protocol has."""

    def factory(header: dict[str, Any], **options: Any) -> Callable[[int], tuple[int, list[str], dict[str, Any]]]:
        return lambda seed: (seed, header["nodes"], options)

    monkeypatch.setattr(twophase_simulator, "factory", factory)
    given = dataclasses.replace(row(), simulation=Simulation(700, 501, 33, {"profile": "late"}))
    tasks = list(matrix._tasks(given, SHOWN, specification))
    nodes = list(twophase_simulator.NODES)
    assert {task.nodes for task in tasks} == {len(nodes)}
    asked = [task.simulate(seed) for task in tasks for seed in range(task.first, task.stop)]
    options = {"steps": 33, "flaw": "hasty", "profile": "late"}
    assert asked == [(seed, nodes, options) for seed in range(700, 1201)]


def test_a_property_that_nobody_checks_is_refused(specification: Specification) -> None:
    with pytest.raises(Unusable, match=r"expects Safety to fall, which TwoPhase\.cfg does not check"):
        killed(specification, row(prop="Safety"), hasty)


def test_a_wrong_step_is_counted_once_though_it_is_judged_twice(specification: Specification) -> None:
    found = killed(specification, row(rules=["KeepDecision"]), hasty)
    assert (found.by_step, found.strange) == (1, 1)


def test_what_strange_parts_add_up_to(specification: Specification) -> None:
    found = killed(specification, row(), hasty)
    strange = matrix.merge(row(), [found, dataclasses.replace(found, strange=1)])
    assert (strange.strange, strange.ok) == (1, False)
    assert not matrix.merge(row(), [found, dataclasses.replace(found, undecided=1)]).ok
    assert not matrix.merge(row(), []).ok
    unseen = row(unseen="too rare")
    assert why(unseen, matrix.merge(unseen, [])) == "nothing was simulated"


def test_the_first_trace_that_shows_a_row_is_the_first_by_its_number(specification: Specification) -> None:
    found = killed(specification, row(), hasty)
    parts = [dataclasses.replace(found, first=f"seed-{seed}", first_step=seed) for seed in (1003, 37, 250)]
    merged = matrix.merge(row(), [*parts, dataclasses.replace(found, first="", first_step=None)])
    assert (merged.first, merged.first_step) == ("seed-37", 37)


# --- the specification's side -----------------------------------------------------------------------------------------


def outcome(fell: str = "Consistency", problems: tuple[str, ...] = ()) -> Outcome:
    """TLC's outcome of the row's model."""
    model = Model(
        *("MCHasty", SPEC, CONFIG, "zoo", "violates", fell, None, None, "full", "check"),
        *(1, False, None, False, 60.0, 512),
    )
    return Outcome(model, TlcResult("violates", kind="invariant", property=fell), False, problems)


@pytest.mark.parametrize(
    ("excused", "by_tlc", "ok"),
    [
        ("", outcome(), True),
        ("", None, False),
        ("", outcome(fell="OneDecision"), False),
        ("", outcome(problems=("OneDecision fell, expected Consistency",)), False),
        ("its model takes a day", None, True),
        ("its model takes a day", outcome(), False),
    ],
)
def test_a_row_needs_both_sides(specification: Specification, excused: str, by_tlc: Outcome | None, ok: bool) -> None:
    given = dataclasses.replace(row(), excused=excused)
    good, bad = killed(specification, given, hasty), killed(specification, given, nothing)
    shown = Matrix([given], {given.id: by_tlc}, {given.id: good}, {}, 1.0)
    assert (shown.row_ok(given), shown.ok, shown.document()["ok"]) == (ok, ok, ok)
    assert not Matrix([given], {given.id: by_tlc}, {given.id: bad}, {}, 1.0).row_ok(given)


def test_every_column_of_the_matrix_has_its_own_number() -> None:
    given = row()
    found = Killed(given, 10, 4, 0, 2, "seed-1", 3, 0, {"seeds": 10}, 0.1)
    by_tlc = outcome(given.property)
    by_tlc = dataclasses.replace(by_tlc, result=dataclasses.replace(by_tlc.result, distinct=99, depth=6))
    shown = Matrix([given], {given.id: by_tlc}, {given.id: found}, {}, 1.0)
    console = Console(width=300, record=True, file=io.StringIO())
    render(shown, console)
    (line,) = (one.split() for one in console.export_text().splitlines() if one.startswith("7 "))
    assert line == ["7", "hasty", RULE, "Consistency", "6", "10", "2", "4", "yes"]
    (told,) = shown.document()["rows"]
    assert (told["spec"]["killed"], told["spec"]["depth"], told["spec"]["cached"]) == (True, 6, by_tlc.cached)
    traces = told["traces"]
    assert (traces["simulated"], traces["property_falls_in"], traces["not_a_step_in"]) == (10, 2, 4)
    assert (traces["first_failure"], traces["first_step"], traces["undecided"]) == ("seed-1", 3, 0)
    by_step = dataclasses.replace(found, by_property=0, strange=1)
    (told,) = Matrix([given], {given.id: by_tlc}, {given.id: by_step}, {}, 1.0).document()["rows"]
    told = told["traces"]
    assert (told["killed_by_property"], told["killed_by_step"], told["conforms_without_rules"]) == (False, True, False)


def test_all_of_a_rows_rules_are_out_of_force(specification: Specification) -> None:
    found = killed(specification, row(rules=["KeepDecision", RULE]), hasty)
    assert (found.by_step, found.strange, found.by_property) == (1, 0, 1)


def test_an_undecided_trace_is_a_flag_of_the_unflawed(specification: Specification) -> None:
    assert Unflawed.of(cleaned(specification, [*sound(), hasty(), cut()])).flags == 2


def test_no_row_and_a_flagged_clean_trace_are_no_success(specification: Specification) -> None:
    found = {"hasty": killed(specification, row(), hasty)}
    assert not Matrix([], {}, {}, {}, 1.0).ok
    assert Matrix([row()], {"hasty": outcome()}, found, {"twophase": Unflawed(100, 0)}, 1.0).ok
    assert not Matrix([row()], {"hasty": outcome()}, found, {"twophase": Unflawed(100, 1)}, 1.0).ok
    assert not Matrix([row()], {"hasty": outcome()}, found, {"twophase": Unflawed(100, 0, ["1 x loss"])}, 1.0).ok


# --- the clean run ------------------------------------------------------------------------------------------------

SHOWN = Protocol(
    "twophase",
    SPEC,
    CONFIG,
    "twophase_simulator:factory",
    unreached={
        "action RMAbort": "its managers never give up",
        "rule PreparedWaits held": "they do not try",
        "rule PreparedWaits blocked": "they do not try",
        "rule KeepDecision held": "the manager restarts before it has decided",
    },
)
"""What the simulator of the tests shows of two-phase commit."""


def sound() -> list[bytes]:
    """Traces that show all that they should."""
    return [twophase_simulator.simulate((1, 1, 1, 1, 0, 2), 20, False, seed).stream for seed in range(30)]


def audited(specification: Specification, streams: Sequence[bytes]) -> AuditResult:
    """What an audit makes of these traces, without Spark."""
    judging = judge.judge_for(specification)
    tally = judging.tally()
    judging.add(tally, judge.batch_of([f"seed-{at}" for at in range(len(streams))], streams), 4)
    return audit.result_of(tally, judging, audit.Options(), 1.0)


def cleaned(
    specification: Specification,
    streams: Sequence[bytes],
    facts: Mapping[str, int] | None = None,
    protocol: Protocol = SHOWN,
    asked: int = 0,
    **change: Any,
) -> clean.CleanRun:
    """A clean run of these traces; `change`s what the audit found."""
    run = Generated((), len(streams), 0, dict(facts or {}), 0)
    result = dataclasses.replace(audited(specification, streams), **change)
    return clean.CleanRun("twophase", run, result, tuple(clean.complaints(protocol, specification, run, result, asked)))


def test_a_run_that_shows_everything(specification: Specification) -> None:
    facts = {"seeds": 30, "bad.lost records": 0, "good.an answer": 30, "healed": 30}
    found = cleaned(specification, sound(), facts)
    assert found.complaints == ()
    assert found.ok
    assert (found.result.quiescent, found.result.document()["quiescent"]) == (30, 30)


def test_an_implementation_that_does_nothing_is_not_clean(specification: Specification) -> None:
    found = cleaned(specification, [nothing()] * 30)
    assert found.result.exit_code == 0
    assert not found.ok
    assert set(found.complaints) == {
        *(f"action {name}: never" for name in specification.action_names if name != "RMAbort"),
        f"rule {RULE} held: never",
        f"rule {RULE} blocked: never",
        "rule KeepDecision blocked: never",
    }


def test_one_flagged_or_undecided_trace_is_enough(specification: Specification) -> None:
    assert not cleaned(specification, [*sound(), hasty()]).ok
    assert not cleaned(specification, [*sound(), cut()]).ok
    assert not cleaned(specification, sound(), oracle=Oracle(20, ("trace seed-1: TLC rejects step 2",))).ok


@pytest.mark.parametrize(
    ("facts", "complaint"),
    [
        ({"bad.lost records": 2}, "2 x lost records"),
        ({"good.an answer": 29}, "1 traces without an answer"),
        ({"healed": 31}, "31 traces were healed, but 30 judged by the quiescence properties"),
        ({"healed": 0}, "0 traces were healed, but 30 judged by the quiescence properties"),
    ],
)
def test_what_the_simulator_counts_itself(specification: Specification, facts: dict[str, int], complaint: str) -> None:
    found = cleaned(specification, sound(), facts)
    assert found.complaints == (complaint,)
    assert not found.ok


def test_quiescence_cannot_vanish(specification: Specification) -> None:
    def busy(stream: bytes) -> bytes:
        """The trace without its claim that faults have stopped."""
        return rewritten(stream, 0)

    streams = sound()
    none = cleaned(specification, [busy(stream) for stream in streams])
    assert none.result.quiescent == 0
    assert none.complaints == ("no trace declares its faults stopped, so no quiescence property has judged anything",)
    some = cleaned(specification, [busy(streams[0]), *streams[1:]], {"healed": 30})
    assert some.complaints == ("30 traces were healed, but 29 judged by the quiescence properties",)
    full = cleaned(specification, [rewritten(streams[0], 3), *streams[1:]], {"healed": 29})
    assert (full.complaints, full.ok) == ((), False)  # it declares a capacity: undecided, and not judged at rest


def rewritten(stream: bytes, flags: int) -> bytes:
    """The stream with other flags in its end record (its count of records is below 128, so of one byte)."""
    import crc32c

    body = stream[:-6] + bytes([flags]) + stream[-5:-4]
    return body + crc32c.crc32c(body).to_bytes(4, "little")


def test_a_long_trace_is_at_rest_too(specification: Specification) -> None:
    for stutters in (0, 126, 127, 128, 20_000):
        for quiescent in (True, False):
            out = _writer()
            for _ in range(stutters):
                out.stutter()
            assert audited(specification, [out.end(quiescent=quiescent)]).quiescent == quiescent


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


def test_a_rules_two_sides_are_true_and_false_and_a_removed_one_is_called_so(specification: Specification) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    audit_report.render(dataclasses.replace(audited(specification, sound()), without=(RULE,)), console)
    lines = [line.split() for line in console.export_text().splitlines()]
    assert ["rule", "true", "false"] in lines
    assert [RULE, "removed"] in lines


@pytest.mark.parametrize(("kept", "said"), [(0, "simulated in 7.5 s"), (1, "simulated before")])
def test_the_line_of_the_traces_tells_both_times(specification: Specification, kept: int, said: str) -> None:
    found = cleaned(specification, sound(), steps=600_000, seconds=2.0)
    run = dataclasses.replace(found.run, parts=(Path("part"),), kept=kept)
    assert command.clean_text(dataclasses.replace(found, run=run, simulated_s=7.5), cached=False) == (
        f"30 traces, 600,000 steps, 0 flags; {said}, audited in 2.0 s (0.3 million steps/s); "
        "0 replayed by TLC, 0 disagreements"
    )


def test_plain_progress_is_told_now_and_then_and_only_on_change(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(0, 1000, 6))
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with progress.progress("simulating x", "traces") as shown:
        for done in (1, 2, 2, 2, 3, 3):
            shown.update(done, 9)
    assert capsys.readouterr().err == "simulating x: 2 of 9 traces\nsimulating x: 3 of 9 traces\n"


def test_an_action_that_needs_a_rule_out_of_force_is_not_taken(
    specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean, "flaw_actions", lambda _: frozenset({"TMDecide"}))
    found = cleaned(specification, sound())
    assert found.complaints == ("TMDecide is taken, though it needs a rule out of force",)
    assert not found.ok
    assert cleaned(specification, sound(), actions={**found.result.actions, "TMDecide": (0, 5)}).ok, "only tried"


def test_excuses_must_be_true_and_known(specification: Specification) -> None:
    stale = dataclasses.replace(SHOWN, unreached={**SHOWN.unreached, "action TMDecide": "lazy"})
    (complaint,) = cleaned(specification, sound(), protocol=stale).complaints
    assert complaint.startswith("action TMDecide is excused in protocols.toml but reached 30 times")
    odd = dataclasses.replace(SHOWN, unreached={**SHOWN.unreached, "action Fly": "no wings"})
    assert cleaned(specification, sound(), protocol=odd).complaints == (
        "action Fly is excused in protocols.toml but unknown",
    )


def test_traces_that_were_not_audited_and_replays_that_were_not_made(specification: Specification) -> None:
    lost = cleaned(specification, sound(), traces=29)
    assert lost.complaints == ("30 traces were simulated, but 29 audited",)
    few = cleaned(specification, sound(), asked=20, oracle=Oracle(19))
    assert few.complaints == ("TLC replayed 19 traces of the 20 that it was asked for",)
    all_there_are = cleaned(specification, sound(), asked=40, oracle=Oracle(30))
    assert all_there_are.ok


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


def test_a_run_is_simulated_again_when_anything_that_decides_it_has_changed(
    specification: Specification, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, code = audited(specification, sound()), ["of today"]
    monkeypatch.setattr(clean, "cache_root", lambda: tmp_path)
    monkeypatch.setattr(clean, "digest", lambda _: code[-1])
    monkeypatch.setattr(clean, "counted", lambda *_: lambda: result)

    def found(steps: int = 20, fresh: bool = False) -> bool:
        with clean.replaying() as beside:
            run = clean.clean_run(None, SHOWN, 30, steps, 0, beside, fresh=fresh).result().run
        return run.kept == len(run.parts)

    assert [found(), found(), found(fresh=True), found()] == [False, True, False, True]
    assert [found(steps=21), found(steps=21), found()] == [False, True, True]
    code.append("of tomorrow")
    assert [found(), found()] == [False, True]
    without = {**specification.constants, "Without": frozenset({RULE})}
    for change in ({"hash": "0" * 64}, {"constants": without}):
        other = dataclasses.replace(specification, **change)
        monkeypatch.setattr(clean, "judging", lambda _, other=other: other)
        assert [found(), found()] == [False, True]


# --- the command ------------------------------------------------------------------------------------------------------


def done(found: clean.CleanRun) -> Future[clean.CleanRun]:
    """A run that nothing is left to do of."""
    finished: Future[clean.CleanRun] = Future()
    finished.set_result(found)
    return finished


def lines(
    monkeypatch: pytest.MonkeyPatch,
    found: clean.CleanRun,
    dead: Killed,
    by_tlc: Outcome | None,
    parts: list[clean.CleanRun] | None = None,
) -> list[bool]:
    """Which lines of the closing table are as expected, the traces', a composition's and the kill matrix's."""
    monkeypatch.setattr(session, "spark_session", lambda _master: contextlib.nullcontext())
    together = protocols.Composition("together", "", {"one": SHOWN, "other": SHOWN})
    monkeypatch.setattr(protocols, "protocols", lambda: {"twophase": SHOWN})
    monkeypatch.setattr(protocols, "compositions", lambda: {"together": together})
    monkeypatch.setattr(zoo, "rows", lambda: [dead.row])
    monkeypatch.setattr(clean, "clean_run", lambda *_: done(found))
    monkeypatch.setattr(clean, "composed_run", lambda *_: [done(part) for part in parts or [found, found]])
    monkeypatch.setattr(matrix, "kill", lambda *_: [dead])
    for key in ("of_run", "of_composition", "of_rows"):
        monkeypatch.setattr(kept, key, lambda *_: {dead.row.id: ""})
    monkeypatch.setattr(kept, "keep", lambda *_: None)
    arguments = argparse.Namespace(master=None, traces=30, json=None, deep=False, no_cache=True)
    outcomes = [by_tlc] if by_tlc else []
    made = command.trace_lines(arguments, Console(file=io.StringIO()), outcomes)
    assert [line.what for line in made] == ["twophase traces", "together traces", "kill matrix"]
    return [line.ok for line in made]


def test_each_line_of_the_closing_table_turns_red(
    specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, dead = cleaned(specification, sound()), killed(specification, row(), hasty)
    bad, wrong = cleaned(specification, [nothing()]), cleaned(specification, sound(), {"bad.loss": 1})
    assert lines(monkeypatch, good, dead, outcome()) == [True, True, True]
    assert lines(monkeypatch, bad, dead, outcome(), [good, good]) == [False, True, True]
    assert lines(monkeypatch, wrong, dead, outcome(), [good, good]) == [False, True, False]
    assert lines(monkeypatch, good, dead, outcome(), [good, wrong]) == [True, False, True]
    assert lines(monkeypatch, good, killed(specification, row(), nothing), outcome()) == [True, True, False]
    assert lines(monkeypatch, good, dead, None) == [True, True, False]
    flagged = cleaned(specification, [*sound(), hasty()])
    assert lines(monkeypatch, flagged, dead, outcome(), [good, flagged]) == [False, False, False]


def test_what_must_happen_in_some_run_is_missed(specification: Specification) -> None:
    assert cleaned(specification, sound(), {"some.fail-over": 1}).ok
    never = cleaned(specification, sound(), {"some.fail-over": 0})
    assert never.complaints == ("no trace with fail-over",)


@pytest.mark.parametrize(("second", "code"), [(True, 0), (False, 1)])
def test_one_red_line_is_exit_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], second: bool, code: int
) -> None:
    monkeypatch.setattr(command, "model_lines", lambda *_: ([closing.Line("models", "2 of 2", True, 1.0)], []))
    monkeypatch.setattr(command, "_compiling", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(command, "trace_lines", lambda *_: [closing.Line("kill matrix", "1 of 1", second, 1.0)])
    arguments = argparse.Namespace(traces=30, json=tmp_path / "out", deep=False, record=False)
    assert command.run(arguments) == code
    assert json.loads((tmp_path / "out" / "verify.json").read_text())["ok"] is second
    assert ("NOT AS EXPECTED" in capsys.readouterr().out) is not second


@pytest.mark.parametrize(
    ("outcomes", "missing", "ok"),
    [
        ([outcome()], {}, True),
        ([outcome(problems=("36 distinct states, expected 35",))], {}, False),
        ([outcome()], {"twophase": ["action TMDecide is never reached"]}, False),
    ],
)
def test_the_line_of_the_models(
    monkeypatch: pytest.MonkeyPatch, outcomes: list[Outcome], missing: dict[str, list[str]], ok: bool
) -> None:
    monkeypatch.setattr(command.verify, "verify", lambda *_, **__: outcomes)
    monkeypatch.setattr(command.verify, "uncovered", lambda *_: missing)
    found, _ = command.model_lines(
        argparse.Namespace(deep=False, json=None, no_cache=False), Console(file=io.StringIO())
    )
    assert [line.ok for line in found] == [ok]


# --- replication's own simulator --------------------------------------------------------------------------------------


def test_as_many_replication_traces_end_at_rest_as_were_healed() -> None:
    replication = protocols.protocol("replication")
    header = schema_of(load(replication.spec, replication.config)).with_nodes(replication.nodes())
    simulate = replication.make_simulator(header, steps=30)
    runs = [simulate(seed) for seed in range(40)]
    batch = judge.batch_of([run.trace for run in runs], [run.stream for run in runs])
    assert at_rest(batch.data, batch.offsets).tolist() == [run.facts[clean.HEALED] == 1 for run in runs]
    assert 0 < sum(run.facts[clean.HEALED] for run in runs) < 40
