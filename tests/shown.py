"""Inputs for the judges of `make check`: streams by hand of two-phase commit, a row with its flaw, a clean run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import two_phase_simulator
from tidemark_conformance.audit import audit, judge
from tidemark_conformance.audit.result import AuditResult
from tidemark_conformance.paths import spec_root
from tidemark_conformance.registry.protocols import Protocol
from tidemark_conformance.registry.zoo import Row, Simulation
from tidemark_conformance.simulate.generate import Generated, Simulated
from tidemark_conformance.tla.kernels.stream import StreamWriter
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tlc.manifest import Model
from tidemark_conformance.tlc.runner import TlcResult
from tidemark_conformance.tlc.verify import Outcome
from tidemark_conformance.verify import clean, matrix
from tidemark_conformance.verify.matrix import Killed

SPEC = spec_root() / "two_phase" / "TwoPhase.tla"
CONFIG = SPEC.with_suffix(".cfg")
RULE = "CommitOnlyIfAllPrepared"
PREPARE, ABORT, RECEIVE_PREPARED, DECIDE, RESTART, RECEIVE_DECISION = range(6)
FIRST = [3, 3, 3, 2, 0, 0]
"""Cells: the three resource managers are working, no decision, nobody prepared, no message."""

SHOWN = Protocol(
    "two-phase",
    simulator="two_phase_simulator:factory",
    spec=SPEC,
    config=CONFIG,
    unreached={
        "action RMAbort": "its managers never give up",
        "rule PreparedWaits held": "they do not try",
        "rule PreparedWaits blocked": "they do not try",
        "rule KeepDecision held": "the manager restarts before it has decided",
    },
)
"""The protocol as the tests' simulator shows it: two-phase commit."""


def writer() -> StreamWriter:
    """A stream that has its first state."""
    out = StreamWriter(6, [1, 1, 1, 1, 0, 2])
    out.initial(FIRST)
    return out


def nothing(quiescent: bool = True) -> bytes:
    """A run in which nothing happens."""
    return writer().end(quiescent=quiescent)


def hasty(harm: bool = True) -> bytes:
    """The manager commits though nobody has prepared; with `harm` one manager gives up first, and another commits."""
    out = writer()
    if harm:
        out.step(ABORT, [1], 3, [(1, 0)])
    out.step(DECIDE, [1], 1, [(3, 1), (5, 2)])
    out.step(RECEIVE_DECISION, [0, 1], 2, [(0, 1)])
    return out.end()


def cut() -> bytes:
    """A stream that ends too early."""
    return hasty()[:-1]


def row(rules: Sequence[str] = (RULE,), prop: str = "Consistency", unseen: str = "", model: str = "MCHasty") -> Row:
    """A row of the zoo without these rules."""
    return Row("hasty", 7, "two-phase", tuple(rules), prop, model, "LOSS", "too early", "", Simulation(excused=unseen))


def killed(specification: Specification, given: Row, *streams: Callable[[], bytes]) -> Killed:
    """The matrix's result for a flawed implementation whose seeds give these streams in turns; one task a seed."""

    def simulate(seed: int) -> Simulated:
        return Simulated(f"seed-{seed}", streams[seed](), 0, {"seeds": 1})

    parts = [
        matrix.judge_task(matrix.Task(given, simulate, seed, seed + 1, 4), {"two-phase": specification})
        for seed in range(len(streams))
    ]
    return matrix.merge(given, parts)


def outcome(fell: str = "Consistency", problems: tuple[str, ...] = ()) -> Outcome:
    """TLC's outcome of the row's model."""
    model = Model(
        *("MCHasty", SPEC, CONFIG, "zoo", "violates", fell, None, None, "full", "check"),
        *(1, False, None, False, 60.0, 512),
    )
    return Outcome(model, TlcResult("violates", kind="invariant", property=fell), False, problems)


def sound() -> list[bytes]:
    """Traces that show all that they should."""
    return [two_phase_simulator.simulate((1, 1, 1, 1, 0, 2), 20, False, seed).stream for seed in range(30)]


def audited(specification: Specification, streams: Sequence[bytes]) -> AuditResult:
    """The audit's result for these traces, without Spark."""
    judging = judge.judge_for(specification)
    tally = judging.tally()
    judging.add(tally, judge.batch_of([f"seed-{at}" for at in range(len(streams))], streams), 4)
    return audit.result_of(tally, judging, audit.Options(), 1.0)


def cleaned(
    specification: Specification,
    streams: Sequence[bytes],
    facts: Mapping[str, int] | None = None,
    protocol: Protocol = SHOWN,
    asked: int = 0,
    **change: Any,
) -> clean.CleanRun:
    """A clean run of these traces; `change`s what the audit found."""
    run = Generated((), len(streams), 0, dict(facts or {}), 0)
    result = dataclasses.replace(audited(specification, streams), **change)
    return clean.CleanRun(
        "two-phase", run, result, tuple(clean.complaints(protocol, specification, run, result, asked))
    )
