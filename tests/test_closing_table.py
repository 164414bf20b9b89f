"""The lines of `make check`: each turns red where something is not as expected, and tells the work done."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from shown import SHOWN, cleaned, hasty, killed, nothing, outcome, row, sound
from tidemark_conformance.audit.result import Oracle
from tidemark_conformance.commands import verify as command
from tidemark_conformance.console import progress
from tidemark_conformance.registry import protocols, zoo
from tidemark_conformance.report import closing
from tidemark_conformance.spark import session
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tlc.verify import Outcome
from tidemark_conformance.verify import clean, first, hunts, kept, matrix, proved
from tidemark_conformance.verify.matrix import Killed


@pytest.mark.parametrize(("cached", "said"), [(False, "0.3 M/s"), (True, "cached")])
def test_the_line_of_the_compositions_tells_what_was_audited(
    specification: Specification, cached: bool, said: str
) -> None:
    found = cleaned(specification, sound(), steps=600_000, seconds=2.0)
    rest = "0 flagged; 0 replayed by TLC, 0 disagree"
    assert command.composed_text([[found]], cached) == f"30 runs of 1 traces, 600,000 steps ({said}): {rest}"
    wrong = cleaned(specification, sound(), {"bad.loss": 1})
    assert command.composed_text([[found, wrong]], cached).startswith("30 runs of 2 traces, 600,")
    assert command.composed_text([[found, wrong], [found]], cached).startswith("60 runs of 2 or 1 traces, 1,200,")
    assert command.composed_text([[found, wrong]], cached).endswith("disagree; 1 complaints")
    counted = replace(found, result=replace(found.result, failed=7, oracle=Oracle(20, ("a", "b"))))
    assert command.composed_text([[counted, counted]], cached).endswith("14 flagged; 40 replayed by TLC, 4 disagree")


def test_the_protocols_have_one_line_that_names_the_wrong_ones(specification: Specification) -> None:
    slow = cleaned(specification, sound(), steps=600_000, seconds=2.0)
    quick = cleaned(specification, sound(), steps=600_000, seconds=0.5)
    wrong = replace(cleaned(specification, sound(), {"bad.loss": 1}), protocol="two-phase")
    each = [closing.Line("one", "", True, 1.5), closing.Line("other", "", True, 2.0)]
    line = command.together(each, [(slow, False), (quick, False)])
    assert line.found == (
        "60 of 2 protocols, 1,200,000 steps (0.3 to 1.2 M/s): 0 flagged; 0 replayed by TLC, 0 disagree"
    )
    assert (line.what, line.ok, line.seconds) == ("traces", True, 3.5)
    assert " steps (1.2 to 1.2 M/s)" in command.together(each, [(slow, True), (quick, False)]).found
    assert " steps (cached)" in command.together(each, [(slow, True), (quick, True)]).found
    red = command.together([each[0], replace(each[1], ok=False)], [(slow, False), (wrong, False)])
    assert red.found.endswith("disagree; 1 complaints; not as expected: two-phase")
    assert not red.ok


def test_the_first_traces_are_told_with_what_is_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    for flags, works in ((0, "specification, implementation and auditor work here"), (2, "none should be")):
        told = io.StringIO()
        looked = first.First("replication", 1_000, 64_628, flags, 61.4)
        monkeypatch.setattr(first, "look", lambda looked=looked: looked)
        command.tell_first(Console(file=told, width=200))
        assert told.getvalue().splitlines()[0] == (
            f"replication: 1,000 simulated traces, 64,628 steps audited, {flags} flagged, in 61 s: {works}."
        )
        assert "minutes in the recorded run on two cores" in told.getvalue()
    monkeypatch.setattr(first, "look", lambda: None)
    command.tell_first(Console(file=told))
    assert len(told.getvalue().splitlines()) == 2


@pytest.mark.as_users_have_it
def test_the_first_traces_are_judged() -> None:
    found = first.look()
    assert found is not None
    assert (found.protocol, found.traces, found.flags) == ("replication", first.TRACES, 0)
    assert found.steps > 10 * found.traces


def test_plain_progress_is_told_now_and_then_and_only_on_change(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(0, 1000, 6))
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with progress.progress("simulating x", "traces") as shown:
        for done in (1, 2, 2, 2, 3, 3):
            shown.update(done, 9)
    assert capsys.readouterr().err == "simulating x: 2 of 9 traces\nsimulating x: 3 of 9 traces\n"


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
    """Whether lines of the closing table are as expected: the traces', a composition's and the kill matrix's."""
    monkeypatch.setattr(session, "spark_session", lambda _master: contextlib.nullcontext())
    together = protocols.Composition("together", parts={"one": SHOWN, "other": SHOWN})
    monkeypatch.setattr(protocols, "protocols", lambda: {"two-phase": SHOWN})
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
    assert [line.what for line in made] == ["traces", "composed traces", "kill matrix"]
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


@pytest.mark.parametrize(("second", "code"), [(True, 0), (False, 1)])
def test_one_red_line_is_exit_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], second: bool, code: int
) -> None:
    monkeypatch.setattr(command, "model_lines", lambda *_: ([closing.Line("models", "2 of 2", True, 1.0)], []))
    monkeypatch.setattr(command, "_simulates", lambda _: False)
    monkeypatch.setattr(command, "trace_lines", lambda *_: [closing.Line("kill matrix", "1 of 1", True, 1.0)])
    proofs = [closing.Line("proofs", "5 of 5", True, 1.0)]
    monkeypatch.setattr(command, "proving", lambda _: contextlib.nullcontext(lambda: proofs))
    monkeypatch.setattr(command, "hunt_lines", lambda *_: [closing.Line("hunts", "9", second, 1.0)])
    arguments = argparse.Namespace(traces=30, json=tmp_path / "out", deep=False, record=False)
    assert command.run(arguments) == code
    assert json.loads((tmp_path / "out" / "verify.json").read_text())["ok"] is second
    assert ("NOT AS EXPECTED" in capsys.readouterr().out) is not second


@pytest.mark.parametrize(
    ("found", "good"),
    [
        ([proved.Found("Three", ("Safe",), (), 65, ())], True),
        ([proved.Found("Three", ("Safe",), (), 65, ()), proved.Found("Open", (), (), 9, (("Lemma", "Act"),))], False),
        ([proved.Found("Above", ("Safe",), (), 65, (), grounded=False)], False),
        ([proved.Found("Empty", ("Safe",), (), 0, ())], False),
    ],
)
def test_the_line_of_the_proofs_is_red_where_one_is_open(
    monkeypatch: pytest.MonkeyPatch, found: list[proved.Found], good: bool
) -> None:
    pytest.importorskip("z3")
    monkeypatch.setattr(proved, "beside", lambda use: contextlib.nullcontext(lambda: (found, not use)))
    for no_cache in (False, True):
        with command.proving(argparse.Namespace(no_cache=no_cache)) as proofs:
            (line,) = proofs()
        assert line.ok is good
        assert line.found.endswith("(kept)") is no_cache


@pytest.mark.parametrize("found", [(), (("Agreement falls", "again"),)])
def test_a_hunt_is_kept_only_if_it_found_nothing(
    monkeypatch: pytest.MonkeyPatch, found: tuple[tuple[str, str], ...]
) -> None:
    keeping: list[bool] = []
    made = hunts.Fresh("calm", 77, 3, 40, found)

    def once(key: str, begin: Any, good: Callable[[hunts.Fresh], bool], use: bool) -> Any:
        keeping.append(good(made))
        return lambda: (made, False)

    monkeypatch.setattr(kept, "once", once)
    hunts.fresh(1.0, True)
    assert set(keeping) == {not found}


@pytest.mark.parametrize("findings", [(), (("Agreement falls", "tidemark simulate x && tidemark explain DIR"),)])
def test_the_line_of_the_hunts_tells_the_seed_and_each_finding(
    monkeypatch: pytest.MonkeyPatch, findings: tuple[tuple[str, str], ...]
) -> None:
    asked: list[float] = []
    made = [hunts.Fresh("calm", 77, 3, 40, ()), hunts.Fresh("two-phase", 77, 5, 60, findings)]
    monkeypatch.setattr(hunts, "fresh", lambda seconds, use: asked.append(seconds) or made)
    told = io.StringIO()
    (line,) = command.hunt_lines(
        argparse.Namespace(traces=command.TRACES, no_cache=False), Console(file=told, width=200)
    )
    assert asked == [command.HUNTED_S]
    assert line.ok is not bool(findings)
    assert "2 from seed 77, 100 steps" in line.found
    assert "kept" not in line.found
    assert "(kept)" in hunts.text([replace(one, kept=True) for one in made])
    assert all(words in told.getvalue() for finding in findings for words in finding)


@pytest.mark.parametrize(
    ("outcomes", "missing", "ok"),
    [
        ([outcome()], {}, True),
        ([outcome(problems=("36 distinct states, expected 35",))], {}, False),
        ([outcome()], {"two-phase": ["action TMDecide is never reached"]}, False),
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
