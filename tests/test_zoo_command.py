"""`tidemark zoo` beside the matrix itself: its document's part about the unflawed implementation."""

from __future__ import annotations

import json
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tidemark_conformance.cli import main
from tidemark_conformance.commands import zoo as command
from tidemark_conformance.registry import zoo
from tidemark_conformance.simulate.generate import Generated
from tidemark_conformance.verify import clean, matrix
from tidemark_conformance.verify import matrix_table as report


@pytest.mark.parametrize(
    ("failed", "undecided", "facts", "by_clients"),
    [
        (0, 0, {"bad.lost records": 0, "good.an answer": command.TRACES}, []),
        (3, 0, {}, []),
        (0, 2, {}, []),
        (0, 0, {"bad.lost records": 2}, ["2 x lost records"]),
        (0, 0, {"good.an answer": command.TRACES - 1}, ["1 traces without an answer"]),
        (0, 0, {"some.fail-over": 0}, []),
    ],
)
def test_the_document_has_the_unflawed_traces_of_every_protocol(
    failed: int,
    undecided: int,
    facts: dict[str, int],
    by_clients: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A flag on one of them is a failure, even if every row is right. So is a trace that could not be judged, or a
    finding of the simulator's clients. An event that so few traces do not reach is none."""
    asked: list[tuple[str, int]] = []

    def clean_run(_session: Any, protocol: Any, traces: int, *_more: Any) -> Any:
        asked.append((protocol.name, traces))
        passed = traces - failed - undecided
        result = SimpleNamespace(traces=traces, failed=failed, passed=passed)
        found: Future[Any] = Future()
        found.set_result(SimpleNamespace(run=Generated((), traces, 0, facts, 0), result=result))
        return found

    flags = failed + undecided
    row = zoo.select(["22"])[0]
    killed = matrix.Killed(row, 250, 1, 0, 1, "seed-1", 7, 0, {}, 1.0)
    monkeypatch.setattr(clean, "clean_run", clean_run)
    monkeypatch.setattr(matrix, "kill", lambda *_: [killed])
    monkeypatch.setattr(command, "models_of", lambda *_: {row.id: None})
    monkeypatch.setattr(command, "spark_session", lambda _: nullcontext())
    monkeypatch.setattr(report.Matrix, "killed_by_tlc", lambda *_: True)
    target = tmp_path / "zoo.json"
    assert main(["zoo", "22", "--json", str(target)]) == (1 if flags or by_clients else 0)
    document = json.loads(target.read_text())
    assert asked == [("replication", command.TRACES)]
    assert document["clean"] == {"replication": {"traces": command.TRACES, "flags": flags, "by_clients": by_clients}}
    assert document["ok"] is not bool(flags or by_clients)
    said = [line.rstrip() for line in capsys.readouterr().out.splitlines() if "unflawed: " in line]
    flagged = [f"{flags} of {command.TRACES:,} traces do not pass"] if flags else []
    assert said == [f"replication, unflawed: {sentence}" for sentence in [*flagged, *by_clients]]
