"""Lines and headers made to hurt a reader: one sentence and exit code 2, or a trace with a reason. There is never a
traceback, and never more memory than the input needs."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from conftest import TwoPhase
from crc32c import crc32c
from tidemark_conformance.cli import main
from tidemark_conformance.trace import files
from tidemark_conformance.trace.lines import BAD_SUM, MISSING_STEPS, split_traces
from tidemark_conformance.trace.ndjson import LineReader, damage_of
from trace_lines import header_of, signed, traces_of, write

Capture = pytest.CaptureFixture[str]
Lines = tuple[dict[str, Any], list[list[dict[str, Any]]]]


@pytest.fixture(name="lines")
def _lines(two_phase: TwoPhase) -> Lines:
    return header_of(two_phase.good), [signed(trace) for trace in traces_of(two_phase.good)[:3]]


def _raw(trace: list[str], end: dict[str, Any]) -> list[bytes]:
    """Lines of a trace as they are, and its end record with the right sum."""
    encoded = [line.encode() for line in trace]
    crc = crc32c(b"".join(line + b"\n" for line in encoded))
    return [*encoded, json.dumps({"trace": "t", "end": end, "crc32c": format(crc, "08x")}).encode()]


@pytest.mark.parametrize(
    "steps", [50_000_000, 10**12, 2**62, 2**63, 2**64, 10**4000], ids=lambda steps: str(steps)[:20]
)
def test_a_claimed_number_of_steps_costs_no_memory(steps: int, two_phase: TwoPhase) -> None:
    """It was counted out before it was compared: 2 GB, a MemoryError or an OverflowError."""
    (first, *_) = traces_of(two_phase.good)
    state = json.dumps({**first[0], "trace": "t"})
    tracemalloc.start()
    (raw,) = split_traces(_raw([state], {"steps": steps}))
    _, stream = LineReader(two_phase.schema, ["tm", "r1", "r2", "r3"], "x").stream(raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 << 20
    assert (raw.damage, damage_of(stream, two_phase.schema)) == (MISSING_STEPS, MISSING_STEPS)


DEEP = "[" * 100_000
HURTING: list[tuple[str, str]] = [
    ("repeated key before deep nesting", '{"trace": "t", "x": {"a": 1, "a": 2}, "y": ' + DEEP),
    ("a long number", '{"trace": "t", "step": ' + "1" * 5000 + "}"),
    ("repeated key and a long number", '{"trace": "t", "x": {"a": 1, "a": 2}, "y": ' + "1" * 5000 + "}"),
]


@pytest.mark.parametrize("line", [case[1] for case in HURTING], ids=[case[0] for case in HURTING])
def test_a_line_that_cannot_be_read_is_damage(line: str) -> None:
    (raw,) = split_traces(_raw(['{"trace": "t", "step": 0}', line], {"steps": 1}))
    assert (raw.damage, raw.unreadable) == (BAD_SUM, 1)


@pytest.mark.parametrize("depth", range(100, 1000, 50))
def test_a_value_that_can_just_be_read_is_told_of(depth: int, lines: Lines, tmp_path: Path, capsys: Capture) -> None:
    """A reader that gets through may still have no room for writing it into its sentence."""
    header, (trace, *_) = lines
    deep: Any = 0
    for _ in range(depth):
        deep = [deep]
    state = {**trace[0]["state"], "tmState": deep}
    path = write(tmp_path / "a.ndjson", header, [signed([{**trace[0], "state": state}, *trace[1:]])])
    assert main(["convert", str(path), "-o", str(tmp_path / "out.parquet")]) in (2, 3)
    said = capsys.readouterr()
    assert 1 <= len(said.err.splitlines()) <= 2  # a reader with less room finds two damaged pieces
    assert not (tmp_path / "out.parquet").exists() or "damaged" in said.err


@pytest.mark.parametrize("command", ["audit", "explain"])
@pytest.mark.parametrize(
    "name",
    ["x" * 100_000, "**", "*", "../../../etc/passwd", "../spec/*/[A-Z]*", "\x00", ""],
    ids=lambda name: ascii(name)[:20],
)
def test_the_name_in_a_header_is_no_path(
    command: str, name: str, lines: Lines, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a pattern: it is looked up among the modules that are here, and no file is read for it."""

    def read(*_: object, **__: object) -> None:
        raise AssertionError("a specification is loaded")

    monkeypatch.setattr("tidemark_conformance.registry.specifications.load", read)
    path = write(tmp_path / "a.ndjson", {**lines[0], "spec": name}, lines[1])
    assert main([command, str(path)]) == 2
    said = capsys.readouterr().err
    assert f"the traces are of a specification {name[:60]}, which is not in" in said
    assert len(said) < 1000


@pytest.mark.parametrize("suffix", ["", ".gz", ".GZ"])
@pytest.mark.parametrize("at", ["header", "event"])
def test_a_line_has_a_longest_length(
    at: str, suffix: str, lines: Lines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """A packed file of 292 kB may hold a line of 300 MB."""
    header, (trace, *_) = lines
    content = write(tmp_path / "a.ndjson", header, [trace]).read_bytes()
    longest = max(map(len, content.splitlines()))
    path = tmp_path / f"a.ndjson{suffix}"
    monkeypatch.setattr(files, "LONGEST_LINE", longest)
    path.write_bytes(gzip.compress(content) if suffix else content)
    assert main(["convert", str(path), "-o", str(tmp_path / "out.parquet")]) == 0
    (tmp_path / "out.parquet").unlink()
    far = b" " * (longest + 1) + b"\n"
    content = far + content if at == "header" else content + far
    path.write_bytes(gzip.compress(content) if suffix else content)
    assert main(["convert", str(path), "-o", str(tmp_path / "out.parquet")]) == 2
    assert f"has a line of more than {longest:,} bytes" in capsys.readouterr().err
    assert not (tmp_path / "out.parquet").exists()


def test_a_packed_file_that_is_damaged_is_refused(lines: Lines, tmp_path: Path, capsys: Capture) -> None:
    content = gzip.compress(write(tmp_path / "a.ndjson", *lines).read_bytes(), mtime=0)
    path = tmp_path / "b.ndjson.gz"
    for place in (0, 9, 10, 12, len(content) // 2, len(content) - 6):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        code = main(["convert", str(path), "-o", str(tmp_path / "out.parquet")])
        assert code == 2 or place == 9  # the byte that names the system that packed it
        assert "Traceback" not in capsys.readouterr().err
