"""Trace files with bytes flipped, cut, nested and enlarged. No command ends in a traceback, and `lint` calls nothing
clean that an audit refuses or cannot decide."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from conftest import TwoPhase
from crc32c import crc32c
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tidemark_conformance.audit.audit import audit
from tidemark_conformance.audit.options import Options
from tidemark_conformance.audit.result import AuditResult
from tidemark_conformance.errors import Unusable
from tidemark_conformance.trace.declared import declared
from tidemark_conformance.trace.files import file_header
from tidemark_conformance.trace.lint import Linted, lint

WEIRD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 2**31, 2**63, -(2**63) - 1, 2**64, 10**400, 1.0, 1e308, float("inf"), float("nan")]),
    st.sampled_from(["", "tx-0", "\x00", "\ud800", "é" * 9, "x" * 300, "end", "RMPrepare", "r1", "prepared"]),
    st.sampled_from([[], {}, [[]], {"r1": "prepared"}, [{"type": "Prepared", "rm": "r1"}], {"end": {}}]),
    st.integers(1, 990).map(lambda depth: json.loads("[" * depth + "]" * depth)),
)
KEYS = ["trace", "step", "state", "node", "action", "params", "delta", "blocked", "end", "crc32c", "before", "steps"]


def _signed(lines: list[bytes]) -> list[bytes]:
    """The lines with the right sum in every end record that can be read, so that the fault itself counts."""
    crc, out = 0, lines[:1]
    for line in lines[1:]:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None
        if isinstance(event, dict) and "end" in event:
            event["crc32c"] = format(crc, "08x")
            line, crc = json.dumps(event).encode(), 0
        else:
            crc = crc32c(line + b"\n", crc)
        out.append(line)
    return out


def _set(value: Any, path: list[int], key: str, weird: Any) -> Any:
    """A JSON value with something weird at a place in it."""
    if not path or not isinstance(value, dict | list) or not value:
        return weird
    step, *rest = path
    if isinstance(value, list):
        at = step % len(value)
        return [*value[:at], _set(value[at], rest, key, weird), *value[at + 1 :]]
    if step % 5 == 4:
        return {**value, key: weird}
    name = list(value)[step % len(value)]
    return {**value, name: _set(value[name], rest, key, weird)}


@st.composite
def spoilt(draw: st.DrawFn, content: bytes) -> bytes:
    """A file's content with some damage, its sums right or not."""
    lines = content.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        match draw(st.sampled_from(["flip", "cut", "double", "drop", "value", "insert", "swap"])):
            case "flip" if line:
                place = draw(st.integers(0, len(line) - 1))
                lines[at] = line[:place] + bytes([line[place] ^ draw(st.integers(1, 255))]) + line[place + 1 :]
            case "cut" if line:
                lines[at] = line[: draw(st.integers(0, len(line) - 1))]
            case "double":
                lines.insert(at, line)
            case "drop" if len(lines) > 1:
                del lines[at]
            case "swap":
                other = draw(st.integers(0, len(lines) - 1))
                lines[at], lines[other] = lines[other], line
            case "insert":
                some = [
                    b"",
                    b"{",
                    b"[" * 2000,
                    b'{"trace": "t", "x": ' + b"1" * 5000 + b"}",
                    b"\xff\xfe",
                    b"null",
                    b"\r",
                ]
                lines.insert(at, draw(st.sampled_from(some)))
            case "value":
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                path = draw(st.lists(st.integers(0, 40), min_size=1, max_size=5))
                weird = _set(value, path, draw(st.sampled_from(KEYS)), draw(WEIRD))
                try:
                    lines[at] = json.dumps(weird).encode()
                except (ValueError, RecursionError):
                    continue
    if draw(st.booleans()):
        lines = _signed(lines)
    return b"\n".join(lines) + draw(st.sampled_from([b"\n", b""]))


def _lint(path: Path, specified: Any) -> tuple[int, Linted]:
    found = lint([path], str(path), specified)
    return 2 if found.unusable else 3 if found.undecided else 0, found


@pytest.mark.deep
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
def test_a_spoilt_file_ends_no_command_in_a_traceback(two_phase: TwoPhase, data: st.DataObject) -> None:
    """Anything but Unusable is one."""
    lines = two_phase.good.read_bytes().splitlines()
    content = data.draw(spoilt(b"\n".join(lines[:40])))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.ndjson"
        path.write_bytes(content)
        code, found = _lint(path, two_phase.schema)
        result: AuditResult | None = None
        refused = ""
        try:
            result = audit(None, [str(path)], two_phase.specification, Options())
        except Unusable as problem:
            refused = str(problem)
        if result is None:
            assert code == 2, refused
        else:
            only_init = all(group.reason == "not from Init" for group in result.undecided)
            if result.undecided and not only_init:
                assert code in (2, 3)
            assert code != 2 or result.steps == 0, found.unusable
        alone, _ = _lint(path, None)
        assert alone in (0, 2, 3)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_spoilt_header_declares_a_schema_or_is_refused(two_phase: TwoPhase, data: st.DataObject) -> None:
    head, *rest = two_phase.good.read_bytes().splitlines()[:9]
    header = json.loads(head)
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.lists(st.integers(0, 40), min_size=1, max_size=6))
        header = _set(header, path, data.draw(st.sampled_from(["type", "int", "atom", "domain"])), data.draw(WEIRD))
    try:
        text = json.dumps(header).encode()
    except (ValueError, RecursionError):
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.ndjson"
        file.write_bytes(b"\n".join([text, *rest]) + b"\n")
        with contextlib.suppress(Unusable):
            declared(file_header(file), str(file))
        _lint(file, None)
