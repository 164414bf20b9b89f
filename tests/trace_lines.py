"""Helpers that take NDJSON trace files apart and put them together again, damaged or with right sums."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from crc32c import crc32c


def header_of(path: Path) -> dict[str, Any]:
    """The header of an NDJSON file."""
    header: dict[str, Any] = json.loads(path.read_text().splitlines()[0])
    return header


def traces_of(path: Path) -> list[list[dict[str, Any]]]:
    """The traces of an NDJSON file, each a list of its lines' objects, the end record last."""
    traces: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text().splitlines()[1:]:
        event = json.loads(line)
        traces.setdefault(event["trace"], []).append(event)
    return list(traces.values())


def dumps(value: Any) -> str:
    """The JSON of a value that may be nested more deeply than Python's usual limit allows."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        return json.dumps(value)
    finally:
        sys.setrecursionlimit(before)


def signed(trace: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The trace with the right sum in its end record."""
    *events, end = trace
    crc = 0
    for event in events:
        crc = crc32c(dumps(event).encode() + b"\n", crc)
    return [*events, {**end, "crc32c": format(crc, "08x")}]


def write(path: Path, header: dict[str, Any], traces: list[list[dict[str, Any]]]) -> Path:
    """Write an NDJSON file of these objects as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [header, *(event for trace in traces for event in trace)]
    path.write_text("".join(dumps(line) + "\n" for line in lines))
    return path
