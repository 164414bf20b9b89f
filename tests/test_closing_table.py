"""The lines of `make check`: each turns red where something is not as expected, and tells what was done."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from shown import SHOWN, cleaned, hasty, killed, nothing, outcome, row, sound
from tidemark_conformance.commands import verify as command
from tidemark_conformance.console import progress
from tidemark_conformance.registry import protocols, zoo
from tidemark_conformance.report import closing
from tidemark_conformance.spark import session
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tlc.verify import Outcome
from tidemark_conformance.verify import clean, kept, matrix
from tidemark_conformance.verify.matrix import Killed


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


@pytest.mark.parametrize(("second", "code"), [(True, 0), (False, 1)])
def test_one_red_line_is_exit_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], second: bool, code: int
) -> None:
    monkeypatch.setattr(command, "model_lines", lambda *_: ([closing.Line("models", "2 of 2", True, 1.0)], []))
    monkeypatch.setattr(command, "_simulates", lambda _: False)
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
