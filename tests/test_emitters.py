"""Emitters in other languages: the vectors are what our own reader and writer say, and Go's emitter keeps them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import emitter_vectors
import pytest
from crc32c import crc32c
from tidemark_conformance.trace.lines import NO_END, split_traces
from tidemark_conformance.trace.ndjson import LineReader

EMITTERS = Path(__file__).parent.parent / "traces" / "emitters"


def test_the_vectors_are_what_the_auditor_reads_and_writes() -> None:
    for name, text in emitter_vectors.vectors().items():
        assert (emitter_vectors.FOLDER / name).read_text(encoding="utf-8") == text, (
            f"{name}: python tests/emitter_vectors.py"
        )


def test_the_vectors_lines_are_traces() -> None:
    schema = emitter_vectors.schema()
    ends = set()
    for case in json.loads((emitter_vectors.FOLDER / "traces.json").read_text(encoding="utf-8")):
        lines = [line.encode() for line in case["lines"]]
        (raw,) = split_traces(lines)
        LineReader(schema, emitter_vectors.NODES, "vectors").stream(raw)
        failed = case["calls"][-1].get("error") == "kind" or case["calls"][-1]["do"] == "abandon"
        assert raw.damage == (NO_END if failed else None), case["name"]
        ends.add((raw.damage, raw.end and raw.end["capacity"]))
    assert ends == {(NO_END, None), (None, True), (None, False)}


def test_the_vectors_have_every_outcome_of_a_value() -> None:
    values = json.loads((emitter_vectors.FOLDER / "values.json").read_text(encoding="utf-8"))
    assert {row.get("error") for row in values} == {None, "kind", "capacity"}
    written = {next(iter(row["type"])) for row in values if "json" in row}
    assert written >= {"int", "atom", "set", "sequence", "function", "record", "tuple"}


def test_the_sums_are_those_of_the_published_check_value() -> None:
    rows = {row["text"]: row["crc32c"] for row in json.loads((emitter_vectors.FOLDER / "crc32c.json").read_text())}
    assert rows["123456789"] == "e3069283" == format(crc32c(b"123456789"), "08x")


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not here, and nothing but its emitter needs it")
def test_the_emitter_for_go_keeps_the_vectors() -> None:
    done = subprocess.run(
        ["go", "test", "-count=1", "./..."], cwd=EMITTERS / "go", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
