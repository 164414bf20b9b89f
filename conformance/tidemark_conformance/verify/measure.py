"""The measures of `tidemark bench`, for any protocol with a simulator: rates, ratios and memory, from one run."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemark_conformance.audit.audit import audit
from tidemark_conformance.audit.inputs import COLUMNS, Input, open_input
from tidemark_conformance.audit.judge import Judge, batch_of, judge_for
from tidemark_conformance.audit.options import Options
from tidemark_conformance.console.progress import Progress, say
from tidemark_conformance.errors import Unusable
from tidemark_conformance.garbage import seldom_collecting
from tidemark_conformance.implementation import compiled
from tidemark_conformance.paths import temporary_folder
from tidemark_conformance.registry.protocols import Protocol
from tidemark_conformance.registry.protocols import protocol as registered
from tidemark_conformance.registry.specifications import load_for
from tidemark_conformance.report.speed import Measure
from tidemark_conformance.simulate import simulators
from tidemark_conformance.simulate.generate import Generated, Simulated, Simulator, generate
from tidemark_conformance.spark.session import readable_errors
from tidemark_conformance.tla.ir import Lit
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.trace.schema import schema_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = 3
"""Scans and audits, in turns; medians are reported."""
STEPS_PER_TRACE = 50
CORE_SECONDS = 4.0
"""CPU time for which one core simulates alone."""
SAMPLE = 1_000
"""Traces whose steps say how many traces are needed: always the same ones, so that kept traces fit the next run."""
ORACLE_TRACES = 60

Found = tuple[str, float, str]
"""A measure's name without the protocol's, its value, its unit."""


def bench(
    session: SparkSession, protocol: Protocol, steps: int, progress: Progress, folder: Path | None = None
) -> Iterator[Measure]:
    """Simulate traces with at least `steps` steps to audit, scan and audit them in turns, and let TLC replay a few.

    Every measure comes as soon as it is known, so that a later failure takes none away. `folder`: where the traces are
    kept (a finished run there is used again); None: a temporary one.
    Raises Unusable when the clean traces do not pass, since a rate of failing is none, and where TLC cannot replay
    them.
    """
    for name, value, unit in _measured(session, protocol, steps, progress, folder):
        yield Measure(f"{protocol.name}.{name}", round(value, 4), unit)


def _measured(
    session: SparkSession, protocol: Protocol, steps: int, progress: Progress, folder: Path | None
) -> Iterator[Found]:
    """The same, by names without the protocol's."""
    specification, _ = load_for(protocol.name, protocol.spec, protocol.config)
    schema = schema_of(specification)
    header = schema.with_nodes(protocol.nodes())
    simulator = simulators.simulator(protocol, header, steps=STEPS_PER_TRACE)
    rate, changing, sample = simulated_per_core(simulator)
    yield "simulate.steps_per_s_per_core", rate, "steps/s"
    if compiled.use():
        yield "simulate.interpreted_steps_per_s_per_core", _interpreted(protocol), "steps/s"
    yield "simulate.changing_share", changing, "ratio"
    with temporary_folder("tidemark-bench-") as temporary:
        traces = needed(steps, sample[:SAMPLE], judge_for(specification), len(header.nodes))
        say(f"bench of {protocol.name}: {traces:,} traces with {steps:,} steps")
        settings = {"bench": protocol.name, "steps": STEPS_PER_TRACE}
        started = time.monotonic()
        run = generate(
            simulator,
            range(traces),
            folder or temporary / "traces",
            header,
            settings,
            session=session,
            progress=progress,
            packages=protocol.packages(),
        )
        if not run.kept:
            yield "simulate.spark_steps_per_s", run.steps / (time.monotonic() - started), "steps/s"
        source = open_input(session, [str(run.parts[0].parent)])
        yield from _audited(session, source, specification, run, progress, f"bench of {protocol.name}")


def needed(steps: int, sample: list[Simulated], judge: Judge, nodes: int) -> int:
    """How many traces have at least `steps` steps that the audit counts (records that name a taken action)."""
    tally = judge.tally()
    judge.add(tally, batch_of([run.trace for run in sample], [run.stream for run in sample]), nodes)
    expected = steps * tally.traces / max(tally.steps, 1)
    return math.ceil(1.02 * expected + 3 * math.sqrt(expected))


def simulated_per_core(simulator: Simulator) -> tuple[float, float, list[Simulated]]:
    """State-changing steps per second of CPU on one core, their share of all steps, and the traces simulated.

    A simulator that reports a fact `changing` is counted by it; otherwise every step counts as one that changes
    something.
    """
    for seed in range(20):
        simulator(seed)
    runs: list[Simulated] = []
    with seldom_collecting():
        started = time.process_time()
        for seed in itertools.count(1_000_000):
            runs.append(simulator(seed))
            elapsed = time.process_time() - started
            if elapsed >= CORE_SECONDS and len(runs) >= SAMPLE:
                break
    total = sum(run.steps for run in runs)
    changing = sum(run.facts.get("changing", run.steps) for run in runs)
    return changing / elapsed, changing / max(total, 1), runs


def _interpreted(protocol: Protocol) -> float:
    """The same rate of the modules as they are, in a process of its own."""
    said = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import rate_of; print(rate_of({protocol.name!r}))"],
        env=os.environ | {compiled.INTERPRETED: "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(said.stdout)


def rate_of(name: str) -> float:
    """State-changing steps per second of CPU of a registered protocol's simulator, on one core, in this process."""
    known = registered(name)
    specification, _ = load_for(known.name, known.spec, known.config)
    header = schema_of(specification).with_nodes(known.nodes())
    return simulated_per_core(simulators.simulator(known, header, steps=STEPS_PER_TRACE))[0]


def _audited(
    session: SparkSession,
    source: Input,
    specification: Specification,
    run: Generated,
    progress: Progress,
    title: str,
) -> Iterator[Found]:
    """Audits of half the files, for their memory; scan, full audit and invariants alone in turns, after one round that
    does not count; then TLC."""
    alone = invariants_alone(specification)
    scans, fulls, invariants = [], [], []
    steps = 0
    half, peak = Peak(), Peak()
    say(f"{title}: half of the traces, {ROUNDS + 1} times, for their memory")
    for _ in range(ROUNDS + 1):  # as often as all of them: a JVM grows with every job for a while
        with half.watched():
            half_steps = audit(session, _files(source, (len(source.files) + 1) // 2), specification).steps
    for number in range(ROUNDS + 1):
        say(f"{title}: scan, audit, invariants alone, {number + 1} of {ROUNDS + 1}")
        scans.append(_timed(lambda: _scan(session, source)))
        with peak.watched():
            result = audit(session, source, specification, progress=progress)
        if result.failed:
            trace, step = result.failures[0].examples[0]
            raise Unusable(
                f"{result.failed:,} of {result.traces:,} unflawed traces fail ({result.failures[0].signature}, trace "
                f"{trace}, step {step}); keep them with --traces and run `tidemark explain` on them first"
            )
        fulls.append(result.seconds)
        invariants.append(audit(session, source, alone, progress=progress).seconds)
        steps = result.steps
        if number == 0:
            scans, fulls, invariants = [], [], []
    scan, full, part = map(statistics.median, (scans, fulls, invariants))
    yield from [
        ("audit.full.steps_per_s", steps / full, "steps/s"),
        ("audit.invariants.steps_per_s", steps / part, "steps/s"),
        ("scan.steps_per_s", steps / scan, "steps/s"),
        ("audit.full_over_scan", full / scan, "ratio"),
        ("audit.peak_rss_mib", peak.worst / 2**20, "MiB"),
        ("audit.peak_rss_half_mib", half.worst / 2**20, "MiB"),
        ("audit.half_steps", float(half_steps), "steps"),
        ("audit.steps", float(steps), "steps"),
        ("audit.traces", float(run.traces), "traces"),
        ("audit.bytes_per_step", sum(part.stat().st_size for part in run.parts) / steps, "bytes"),
    ]
    say(f"{title}: TLC replays {ORACLE_TRACES} traces")
    replayed = audit(session, _files(source, 1), specification, Options(oracle=ORACLE_TRACES))
    for disagreement in replayed.oracle.disagreements:
        raise Unusable(f"TLC and the audit disagree, so their rates compare nothing: {disagreement}")
    if not replayed.tlc_steps_per_s:
        raise Unusable("TLC has replayed no step, so there is no rate of its own to compare with")
    yield "tlc.steps_per_s", replayed.tlc_steps_per_s, "steps/s"
    yield "audit.over_tlc", steps / full / replayed.tlc_steps_per_s, "ratio"


def _files(source: Input, count: int) -> Input:
    """The first files of the input."""
    return replace(source, paths=source.files[:count], files=source.files[:count])


def invariants_alone(specification: Specification) -> Specification:
    """The specification with nothing but its state invariants to check: any change is a step of any action."""
    actions = tuple(replace(action, body=Lit(True, "bool")) for action in specification.module.actions)
    module = replace(specification.module, actions=actions)
    return replace(specification, module=module, properties=(), quiescence=())


def _timed(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def _scan(session: SparkSession, source: Input) -> int:
    """Read the same columns of the same files into Python, and do nothing with them."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        rows = sum(batch.num_rows for batch in batches)
        yield pa.record_batch({"rows": pa.array([rows], pa.int64())})

    with readable_errors(source.shown):
        frame = session.read.schema(COLUMNS).parquet(*source.paths).select("trace", "stream")
        return sum(row.rows for row in frame.mapInArrow(count, "rows long").collect())


class Peak:
    """The largest resident memory of any one process under this one (the JVM, each Python worker) and of this one."""

    def __init__(self) -> None:
        self.worst = 0

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Look five times a second while the block runs."""
        stop = threading.Event()

        def look() -> None:
            while not stop.wait(0.2):
                self.look()

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            self.look()

    def look(self) -> None:
        """Take the present sizes into account. Where there is no /proc, nothing is found and 0 is reported."""
        parents: dict[int, int] = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        mine = {os.getpid()}
        while more := {child for child, parent in parents.items() if parent in mine} - mine:
            mine |= more
        page = os.sysconf("SC_PAGE_SIZE")
        for process in mine:
            with contextlib.suppress(OSError, ValueError, IndexError):
                self.worst = max(self.worst, int(Path(f"/proc/{process}/statm").read_text().split()[1]) * page)
