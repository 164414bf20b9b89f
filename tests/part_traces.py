"""Traces of specifications that hide variables, for tests: their lines, and the kernels' verdict without Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from conftest import EXAMPLES
from crc32c import crc32c
from tidemark_conformance.paths import spec_root
from tidemark_conformance.tla.kernels import compile_kernels
from tidemark_conformance.tla.kernels.driver import reason
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.trace.lines import split_traces
from tidemark_conformance.trace.ndjson import LineReader, LineWriter
from tidemark_conformance.trace.schema import Schema, schema_of

Event = dict[str, Any]


@cache
def election() -> Specification:
    """The example of docs/bring-your-own-spec.md: all variables hidden, observed per server."""
    return load(EXAMPLES / "election" / "Election.tla", EXAMPLES / "election" / "Election.cfg")


def two_phase_text(hidden: Sequence[str], fields: str) -> str:
    """TwoPhase with these variables hidden, and `Observed == [fields]`."""
    text = (spec_root() / "two_phase" / "TwoPhase.tla").read_text()
    part = f"Hidden == <<{', '.join(hidden)}>>\nObserved == [{fields}]\n"
    return text.replace("Spec == Init", part + "\nSpec == Init")


def specification(folder: Path, name: str, text: str, cfg: Path) -> Specification:
    """A specification of this text with the cfg of another one."""
    file = folder / f"{name}.tla"
    file.write_text(text)
    return load(file, cfg)


def lines(events: Sequence[Event], name: str = "t", **end: bool) -> list[bytes]:
    """The lines of a trace of these records."""
    found = [json.dumps({"trace": name, "step": step, **event}).encode() for step, event in enumerate(events)]
    crc = 0
    for line in found:
        crc = crc32c(line + b"\n", crc)
    last = {"trace": name, "end": {"steps": len(events) - 1, **end}, "crc32c": format(crc, "08x")}
    return [*found, json.dumps(last).encode()]


def stream(schema: Schema, events: Sequence[Event], **end: bool) -> bytes:
    """The delta stream of a trace, after the way to its lines and back, which loses nothing."""
    (raw,) = split_traces(lines(events, **end))
    found = LineReader(schema, (), "test").stream(raw)[1]
    (again,) = split_traces(LineWriter(schema, ()).lines("t", found))
    assert LineReader(schema, (), "test").stream(again)[1] == found
    return found


@dataclass(frozen=True)
class Verdict:
    """`verdict`: pass, fail or undecided with its `reason`; `first`: failing check -> record; `told`: as of a batch."""

    verdict: str
    reason: str
    first: dict[str, int]
    told: tuple[int, ...]


def judge(spec: Specification, events: Sequence[Event], **end: bool) -> Verdict:
    """The kernels' verdict on one trace."""
    kernels, schema = compiled(spec)
    data = stream(schema, events, **end)
    found = kernels.check(np.frombuffer(data, np.uint8), np.array([0, len(data)]))
    first = {name: int(at) for name, at in zip(kernels.checks, found.first[0], strict=True) if at >= 0}
    why = reason(int(found.reason[0]), [one.name for one in kernels.layout.variables])
    return Verdict(("pass", "fail", "undecided")[found.verdict[0]], why, first, tuple(found.told.tolist()))


_COMPILED: dict[tuple[str, Path], Any] = {}


def compiled(spec: Specification) -> Any:
    """The kernels and the schema of a specification."""
    key = spec.hash, spec.cfg
    if key not in _COMPILED:
        _COMPILED[key] = compile_kernels(spec), schema_of(spec)
    return _COMPILED[key]
