"""`tidemark zoo` beside the matrix itself: what its document says of the unflawed implementation."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tidemark_conformance.check import clean, matrix, zoo
from tidemark_conformance.cli import main
from tidemark_conformance.commands import zoo as command
from tidemark_conformance.report import matrix as report


@pytest.mark.parametrize(("failed", "undecided"), [(0, 0), (3, 0), (0, 2)])
def test_the_document_has_the_unflawed_traces_of_every_protocol(
    failed: int, undecided: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flag on one of them is a failure, however well the rows do, and so is one that could not be judged."""
    asked: list[tuple[str, int]] = []

    def clean_run(_session: Any, protocol: Any, traces: int, *_more: Any) -> Any:
        asked.append((protocol.name, traces))
        passed = traces - failed - undecided
        return SimpleNamespace(result=SimpleNamespace(traces=traces, failed=failed, passed=passed))

    flags = failed + undecided
    row = zoo.select(["22"])[0]
    killed = matrix.Killed(row, 250, 1, 0, 1, "seed-1", 7, 0, {}, 1.0)
    monkeypatch.setattr(clean, "clean_run", clean_run)
    monkeypatch.setattr(matrix, "kill", lambda *_: [killed])
    monkeypatch.setattr(command, "models_of", lambda *_: {row.id: None})
    monkeypatch.setattr(command, "spark_session", lambda _: nullcontext())
    monkeypatch.setattr(report.Matrix, "killed_by_tlc", lambda *_: True)
    target = tmp_path / "zoo.json"
    assert main(["zoo", "22", "--json", str(target)]) == (1 if flags else 0)
    document = json.loads(target.read_text())
    assert asked == [("replication", command.TRACES)]
    assert document["clean"] == {"replication": {"traces": command.TRACES, "flags": flags}}
    assert document["ok"] is (flags == 0)
