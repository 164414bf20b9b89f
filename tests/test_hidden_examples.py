"""Traces that show a part, as docs/bring-your-own-spec.md tells it, and protocols of ours with variables hidden."""

from __future__ import annotations

import ast
import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLES
from part_traces import lines
from tidemark_conformance.cli import main
from tidemark_conformance.registry.protocols import protocol
from tidemark_conformance.registry.specifications import load_for
from tidemark_conformance.simulate import simulators
from tidemark_conformance.tla.kernels import compile_kernels
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.lines import split_traces
from tidemark_conformance.trace.ndjson import LineReader, LineWriter
from tidemark_conformance.trace.schema import Schema, schema_of

FOLDER = EXAMPLES / "election"
PAGE = Path(__file__).parent.parent / "docs" / "bring-your-own-spec.md"
OURS = ["--spec", str(FOLDER / "Election.tla"), "--config", str(FOLDER / "Election.cfg")]


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("election") / "header.json"
    program = [sys.executable, "-m", "tidemark_conformance", "schema", *OURS, "--nodes", "n1,n2,n3"]
    with file.open("wb") as out:
        subprocess.run(program, stdout=out, check=True)
    return file


def audited(header: Path, folder: Path, *arguments: str, runs: int, oracle: int = 0) -> tuple[int, dict[str, Any]]:
    """The exit code and the document of an audit of the example's own program."""
    traces, document = folder / "a.ndjson", folder / "a.json"
    program = [sys.executable, "-I", str(FOLDER / "election.py"), str(header), str(traces), "--runs", str(runs)]
    subprocess.run([*program, *arguments], check=True)
    code = main(["audit", str(traces), *OURS, "--oracle", str(oracle), "--json", str(document)])
    return code, json.loads(document.read_text())


@pytest.mark.deep
def test_the_good_program_passes_and_tlc_agrees(header: Path, tmp_path: Path) -> None:
    code, found = audited(header, tmp_path, runs=1000, oracle=50)
    assert (code, found["verdicts"]) == (0, {"pass": 1000, "fail": 0, "undecided": 0})
    assert found["oracle"] == {"replayed": 50, "disagreements": 0, "details": []}
    assert "Of the good runs 1,000 pass" in PAGE.read_text()
    assert all(taken > 500 for taken in found["coverage"]["actions"].values())


def test_the_bad_program_fails_as_the_page_says(
    header: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = audited(header, tmp_path, "--forgetful", runs=300, oracle=10)
    assert (code, found["verdicts"]["fail"], found["oracle"]["disagreements"]) == (1, 218, 0)
    said = capsys.readouterr().out
    table = said[said.index("first failures of every check") : said.index("coverage of actions")]
    page = "".join(line.removeprefix("    ") for line in PAGE.read_text().splitlines(keepends=True))
    assert table.replace(" \n", "\n").strip() in page


def test_the_program_imports_nothing_of_ours() -> None:
    tree = ast.parse((FOLDER / "election.py").read_text())
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert modules <= set(sys.stdlib_module_names)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


# --- the same runs, whole and in part ---------------------------------------------------------------------------------


def in_part(full: Schema, part: Schema, number: int, stream: bytes) -> bytes:
    """A trace without what `part` hides, after the way over its lines."""
    events, end = [], {}
    for line in LineWriter(full, full.header.nodes).lines("t", stream):
        event = json.loads(line)
        if "end" in event:
            end = {name: value for name, value in event["end"].items() if name != "steps"}
            continue
        for key in ("state", "delta"):
            if key in event:
                event[key] = {name: value for name, value in event[key].items() if name not in part.header.hidden}
        events.append({name: value for name, value in event.items() if name not in ("trace", "step")})
    (raw,) = split_traces(lines(events, f"t{number}", **end))
    return LineReader(part, full.header.nodes, "a test").stream(raw)[1]


@pytest.mark.deep
@pytest.mark.parametrize("flaw", [None, "KIP-101", "KIP-279"])
def test_replication_is_judged_alike_with_variables_hidden(flaw: str | None, tmp_path: Path) -> None:
    """The audit computes a leader's knowledge of its followers and the high watermarks; no verdict and no first step
    differs."""
    known = protocol("replication")
    spec, _ = load_for(known.name, known.spec, known.config)
    for file in known.spec.parents[1].rglob("*.tla"):
        (tmp_path / file.name).write_text(file.read_text())
    root = tmp_path / known.spec.name
    text = root.read_text()
    end = text.rindex("\n====") + 1
    root.write_text(f"{text[:end]}Hidden == <<remoteLeo, remoteEpoch, highWatermark>>\n{text[end:]}")
    hiding = load(root, known.config)
    whole, part = schema_of(spec), schema_of(hiding)
    simulate = simulators.simulator(known, whole.with_nodes(known.nodes()), steps=50, flaw=flaw)
    full = dataclasses.replace(whole, header=whole.with_nodes(known.nodes()))
    streams = [simulate(seed).stream for seed in range(150)]
    parts = [in_part(full, part, number, stream) for number, stream in enumerate(streams)]
    kernels, partial = compile_kernels(spec), compile_kernels(hiding)
    one, other = (
        made.check(np.frombuffer(b"".join(given), np.uint8), np.cumsum([0, *map(len, given)]))
        for made, given in ((kernels, streams), (partial, parts))
    )
    assert kernels.checks == partial.checks
    assert set(one.verdict.tolist()) == ({0} if flaw is None else {0, 1})
    assert one.verdict.tolist() == other.verdict.tolist()
    assert one.first[:, 0].tolist() == other.first[:, 0].tolist()
    assert flaw is not None or kernels.rules == partial.rules
    assert flaw is not None or (one.rules > 0).tolist() == (other.rules > 0).tolist()
