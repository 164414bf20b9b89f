"""Emitters in other languages: the vectors are what our own reader and writer say, and Go's emitter keeps them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import emitter_vectors
import pytest
from crc32c import crc32c
from tidemark_conformance.audit.audit import result_of
from tidemark_conformance.audit.judge import batch_of, judge_for
from tidemark_conformance.audit.options import Options
from tidemark_conformance.audit.result import AuditResult
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.types import bounds
from tidemark_conformance.trace.codec import Exceeds, WrongKind, reader
from tidemark_conformance.trace.lines import NO_END, split_traces
from tidemark_conformance.trace.ndjson import LineReader, LineWriter
from trace_lines import signed

EMITTERS = Path(__file__).parent.parent / "traces" / "emitters"

UNDECIDED, FAILS = 3, 1
BEYOND = {
    "an integer above its bounds is written": (FAILS, r"^count is 10; TypeOK allows 9 \(Kinds.tla:\d+\)"),
    "an integer below its bounds is written": (FAILS, r"^count is -4; TypeOK allows -3 "),
    "a sequence beyond its capacity is written": (
        UNDECIDED,
        r"^step 3: list has 3 elements; the capacity MaxList allows 2 ",
    ),
    "elements that a set cannot hold follow its members": (
        UNDECIDED,
        r"^step 1: digits holds an element that is not possible; the capacity MaxDigit allows 5 ",
    ),
    "a parameter above its domain is written, and one below": (
        FAILS,
        r"^the parameter to of Count is outside its domain, above 9; the action has no such parameter ",
    ),
    "an integer in a record that is a parameter is written": (
        UNDECIDED,
        r"^step 1: the parameter m of Say is outside its domain; the capacity MaxSeen allows no more",
    ),
}
"""By the name of a case: the exit code of its audit, and what the audit names."""
ONE_PLACE = {
    "a sequence beyond its capacity is written",
    "elements that a set cannot hold follow its members",
    "an integer in a record that is a parameter is written",
    "a parameter above its domain is written, and one below",
}
"""The cases with values of which a stream keeps that they are beyond, and no more."""


def test_the_vectors_are_what_the_auditor_reads_and_writes() -> None:
    for name, text in emitter_vectors.vectors().items():
        assert (emitter_vectors.FOLDER / name).read_text(encoding="utf-8") == text, (
            f"{name}: python tests/emitter_vectors.py"
        )


def cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((emitter_vectors.FOLDER / "traces.json").read_text(encoding="utf-8"))
    return found


def test_the_vectors_lines_are_traces() -> None:
    schema = emitter_vectors.schema()
    ends = set()
    for case in cases():
        lines = [line.encode() for line in case["lines"]]
        (raw,) = split_traces(lines)
        LineReader(schema, emitter_vectors.NODES, "vectors").stream(raw)
        failed = case["calls"][-1].get("error") == "kind" or case["calls"][-1]["do"] == "abandon"
        assert raw.damage == (NO_END if failed else None), case["name"]
        ends.add((raw.damage, raw.end and raw.end["capacity"]))
        assert bool(raw.end and raw.end["capacity"]) == (case["calls"][-1]["do"] == "exceeded"), case["name"]
    assert ends == {(NO_END, None), (None, True), (None, False)}


def test_the_vectors_lines_are_those_of_a_conversion() -> None:
    """A conversion to streams and back writes the same bytes; but for values that have no place in a stream."""
    schema = emitter_vectors.schema()
    writer = LineWriter(schema, emitter_vectors.NODES)
    other = set()
    for case in cases():
        (raw,) = split_traces([line.encode() for line in case["lines"]])
        _, stream = LineReader(schema, emitter_vectors.NODES, "vectors").stream(raw)
        try:
            back = [line.decode() for line in writer.lines(raw.id, stream)]
        except Unusable:
            back = []
        if back != case["lines"]:
            other.add(case["name"])
    assert other == ONE_PLACE


def audited(lines: list[str]) -> AuditResult:
    """The audit's result for the one trace of these lines."""
    specification = emitter_vectors.specification()
    (raw,) = split_traces([line.encode() for line in lines])
    _, stream = LineReader(emitter_vectors.schema(), emitter_vectors.NODES, "vectors").stream(raw)
    judge = judge_for(specification)
    tally = judge.tally()
    judge.add(tally, batch_of([raw.id], [stream]), len(emitter_vectors.NODES))
    return result_of(tally, judge, Options(), 1.0)


def test_the_auditor_names_what_is_beyond_a_limit_and_nothing_else() -> None:
    """Beyond a capacity UNDECIDED, beyond a limit that means something FAIL: the specification knows, no emitter."""
    named = {}
    for case in cases():
        result = audited(case["lines"])
        details = [failure.detail for failure in result.failures] + [group.detail for group in result.undecided]
        detail = next((one for one in details if "allows" in one or "no such parameter" in one), None)
        if detail is not None:
            named[case["name"]] = (result.exit_code, detail)
    assert named.keys() == BEYOND.keys()
    for name, (code, pattern) in BEYOND.items():
        assert named[name][0] == code, (name, named[name])
        assert re.search(pattern, named[name][1]), (name, named[name])


def test_an_argument_beyond_its_domain_is_named_and_nothing_behind_it_is_read() -> None:
    lines = [
        {"trace": "t", "step": 0, "state": emitter_vectors.FIRST},
        {
            "trace": "t",
            "step": 1,
            "action": "Extend",
            "params": {"n": "a"},
            "delta": {"numbered": [[2, True], [4, True]]},
        },
        {"trace": "t", "step": 2, "action": "Count", "params": {"to": 99}, "delta": {"count": 99}},
    ]
    (raw,) = split_traces([json.dumps(line).encode() for line in signed([*lines, {"trace": "t", "end": {"steps": 2}}])])
    reading = LineReader(emitter_vectors.schema(), emitter_vectors.NODES, "vectors")
    assert reading.stream(raw)[0] == 0
    assert (reading.capacity, reading.detail) == (True, "step 1: numbered: 4 is not among the arguments, by TypeOK")


def test_the_vectors_have_every_outcome_of_a_value() -> None:
    values = json.loads((emitter_vectors.FOLDER / "values.json").read_text(encoding="utf-8"))
    assert {row.get("error") for row in values} == {None, "kind"}
    kinds = {"int", "atom", "set", "sequence", "function", "record", "tuple"}
    assert {next(iter(row["type"])) for row in values if "json" in row} >= kinds
    schema = emitter_vectors.schema()
    beyond = set()
    for (name, value), row in zip(emitter_vectors.VALUES, values, strict=True):
        kind, cells = emitter_vectors.type_of(schema, name), list[int]()
        try:
            reader(kind)(json.loads(row["json"]) if "json" in row else value, cells)
            fits = all(low <= cell <= high for cell, (low, high) in zip(cells, bounds(kind), strict=True))
        except Exceeds:
            fits = False
        except WrongKind:
            assert row["error"] == "kind"
            continue
        if not fits:
            beyond.add(next(iter(row["type"])))
    assert beyond == kinds - {"atom"}


def test_the_sums_are_those_of_the_published_check_value() -> None:
    rows = {row["text"]: row["crc32c"] for row in json.loads((emitter_vectors.FOLDER / "crc32c.json").read_text())}
    assert rows["123456789"] == "e3069283" == format(crc32c(b"123456789"), "08x")


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not here, and nothing but its emitter needs it")
def test_the_emitter_for_go_keeps_the_vectors() -> None:
    done = subprocess.run(
        ["go", "test", "-count=1", "./..."], cwd=EMITTERS / "go", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
