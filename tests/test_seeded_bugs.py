"""The auditor against bugs that nobody told it of: seeded_bugs.py, with all rules in force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from seeded_bugs import BUGS
from tidemark_conformance.registry.protocols import protocol
from tidemark_conformance.simulate import simulators
from tidemark_conformance.tla.kernels import compile_kernels
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import schema_of

STEPS = 60
TRACES = 400
CHUNK = 50
"""So many traces are simulated and judged at once; the first chunk with a flagged one ends the search."""
PASS, FAIL = 0, 1


@dataclass(slots=True)
class Auditor:
    """Simulates traces of replication and judges them."""

    simulate: Callable[[int], Any]
    kernels: Any
    nodes: int

    def flagged(self, runs: list[Any]) -> dict[int, list[str]]:
        """Per index of a run that fails: the checks that fail at its earliest failing record. A run that could not be
        judged fails the test."""
        streams = [run.stream for run in runs]
        ends = np.cumsum([0, *map(len, streams)]).astype(np.int64)
        result = self.kernels.check(np.frombuffer(b"".join(streams), np.uint8), ends, nodes=self.nodes)
        assert set(result.verdict.tolist()) <= {PASS, FAIL}
        found: dict[int, list[str]] = {}
        for index in np.flatnonzero(result.verdict == FAIL).tolist():
            first = result.first[index].tolist()
            earliest = min(record for record in first if record >= 0)
            found[index] = [
                check for check, record in zip(self.kernels.checks, first, strict=True) if record == earliest
            ]
        return found


@dataclass(frozen=True, slots=True)
class Hunt:
    """The result of the hunt for one bug.

    `judged`: how many traces were judged. `flagged`: the seeds flagged among them -> the checks that fail first.
    `differing`: how many traces differ from those without the bug. `lossy`: in how many traces the client that reads
    back missed something.
    """

    judged: int
    flagged: dict[int, list[str]]
    differing: int
    lossy: int


@pytest.fixture(scope="module")
def auditor() -> Auditor:
    """Replication, all rules in force."""
    replication = protocol("replication")
    spec = load(replication.spec, replication.config)
    header = schema_of(spec).with_nodes(replication.nodes())
    return Auditor(simulators.simulator(replication, header, steps=STEPS), compile_kernels(spec), len(header.nodes))


@pytest.fixture(scope="module")
def clean(auditor: Auditor) -> list[Any]:
    """The traces of the same seeds without a bug."""
    return [auditor.simulate(seed) for seed in range(TRACES)]


@pytest.fixture(scope="module")
def hunts(auditor: Auditor, clean: list[Any]) -> dict[str, Hunt]:
    """Every bug, hunted until a chunk of traces has one that is flagged. A bug that raises fails the test."""
    return {name: hunt(auditor, clean, name) for name in BUGS}


def hunt(auditor: Auditor, clean: list[Any], name: str) -> Hunt:
    """One bug."""
    runs: list[Any] = []
    flagged: dict[int, list[str]] = {}
    while len(runs) < TRACES and not flagged:
        start = len(runs)
        with BUGS[name].seeded():
            chunk = [auditor.simulate(seed) for seed in range(start, start + CHUNK)]
        flagged = {start + index: checks for index, checks in auditor.flagged(chunk).items()}
        runs += chunk
    differing = sum(run.stream != same.stream for run, same in zip(runs, clean, strict=False))
    return Hunt(len(runs), flagged, differing, sum(run.facts["traces with lost records"] for run in runs))


def test_without_a_bug_nothing_is_flagged(auditor: Auditor, clean: list[Any]) -> None:
    assert auditor.flagged(clean) == {}
    assert not any(run.facts["traces with lost records"] for run in clean)


def test_all_ten_bugs_are_flagged(hunts: dict[str, Hunt], capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("\nseeded bugs, each must be flagged:")
        for name, found in hunts.items():
            checks = sorted({check for checks in found.flagged.values() for check in checks})
            print(
                f"  {name:32}{len(found.flagged):3} of {found.judged:3} traces flagged, first by seed "
                f"{min(found.flagged, default='-')!s:4}{', '.join(checks)}"
            )
    assert len(BUGS) == 10
    assert [name for name, found in hunts.items() if not found.flagged] == []


def test_every_trace_that_a_bug_changed_is_flagged(hunts: dict[str, Hunt]) -> None:
    assert {name: len(found.flagged) for name, found in hunts.items()} == {
        name: found.differing for name, found in hunts.items()
    }


def test_a_wrong_offset_is_found_by_the_audit_and_by_reading_back(hunts: dict[str, Hunt]) -> None:
    found = hunts["acknowledged_offset_off_by_one"]
    assert {check for checks in found.flagged.values() for check in checks} >= {"not a step"}
    assert found.lossy > 0
