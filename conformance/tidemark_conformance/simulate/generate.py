"""Many seeds to Parquet parts, on Spark or in this process, restartable.

A run is a folder: `_manifest.json` says what the run is made of, and every part holds the traces of one range of seeds
(`part-<first seed>-<last seed>.parquet`). A part appears under its name only when it is whole, so a killed run is
continued by simulating the ranges whose part is missing. The folder must be one that every worker sees.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemark_conformance import cache
from tidemark_conformance.errors import Unusable, writable
from tidemark_conformance.extras import needs
from tidemark_conformance.garbage import seldom_collecting
from tidemark_conformance.spark.bootstrap import Partition
from tidemark_conformance.trace.header import Header, Json, parse_header

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidemark_conformance.console.progress import Progress

MANIFEST = "_manifest.json"
SEEDS_PER_PART = 10_000
FACTS = "tidemark.facts"
BAD = "bad."
"""A simulator's fact whose name starts so counts events that must not happen in an unflawed run, such as a lost
record."""
GOOD = "good."
"""A fact whose name starts so counts an event of every run (it equals the number of traces)."""
SOME = "some."
"""A fact whose name starts so counts an event of some run."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """One simulated trace: `trace` its id, `stream` its delta stream, `steps` its records after the initial one.

    `facts`: numbers about the run that stand in no trace (what a client read back, say); they are summed over a run.
    """

    trace: str
    stream: bytes
    steps: int
    facts: Mapping[str, int] = field(default_factory=dict)


Simulator = Callable[[int], Simulated]
"""From a seed to its trace. It travels to Spark's workers by pickle: a module's function, or a `functools.partial` of
one."""


Composed = Callable[[int], Mapping[str, Simulated]]
"""From a seed to the traces of one run in the terms of several specifications, by the name of the part. It travels as
a `Simulator` does."""


@dataclass(frozen=True, slots=True)
class Output:
    """Where the traces of a part go (a folder that every worker sees), and the header that they begin with."""

    folder: Path
    header: Header


@dataclass(frozen=True, slots=True)
class Generated:
    """A finished run: its parts in order of seeds, traces, steps, summed facts, and how many parts were there
    before."""

    parts: tuple[Path, ...]
    traces: int
    steps: int
    facts: dict[str, int]
    kept: int


def generate(
    simulator: Simulator,
    seeds: range,
    out: Path,
    header: Header,
    settings: Mapping[str, Json],
    *,
    session: SparkSession | None = None,
    progress: Progress | None = None,
    seeds_per_part: int = SEEDS_PER_PART,
    packages: Sequence[str] = (),
    sums: bool = False,
) -> Generated:
    """Simulate `seeds` (step 1) into Parquet parts under `out`, or finish a run that was killed.

    `settings` is all that decides the traces beside the seeds (protocol, steps, flaw, profile, version): JSON-able.
    With `session` Spark's workers simulate the parts; without it they are simulated here, one after another.
    `packages`: the simulator's packages (`Protocol.packages`), which travel to the workers of a cluster. `sums`: seal
    each part (`cache.sealed`), for a run that is kept. Raises Unusable when `out` holds a run with other settings, or
    traces that are no run.
    """
    made = generate_together(
        partial(_alone, simulator),
        seeds,
        {"": Output(out, header)},
        settings,
        session=session,
        progress=progress,
        seeds_per_part=seeds_per_part,
        packages=packages,
        sums=sums,
    )
    return made[""]


def _alone(simulator: Simulator, seed: int) -> Mapping[str, Simulated]:
    """A run of which one specification speaks."""
    return {"": simulator(seed)}


def generate_together(
    simulator: Composed,
    seeds: range,
    outputs: Mapping[str, Output],
    settings: Mapping[str, Json],
    *,
    session: SparkSession | None = None,
    progress: Progress | None = None,
    seeds_per_part: int = SEEDS_PER_PART,
    packages: Sequence[str] = (),
    sums: bool = False,
) -> dict[str, Generated]:
    """Simulate `seeds` once, and write every part's traces to its own folder, as `generate` does.

    `outputs`: by the names of the parts that `simulator` hands out. Raises as `generate` does.
    """
    needs("pyarrow")
    if seeds.step != 1 or len(seeds) == 0:
        raise Unusable(f"cannot simulate the seeds {seeds}: give a number of traces of at least 1")
    for output in outputs.values():
        manifest = {
            "seeds": [seeds.start, seeds.stop],
            "seeds_per_part": seeds_per_part,
            "settings": dict(settings),
            "header": output.header.to_json(),
        }
        _open_run(output.folder, manifest)
    ranges = [
        (first, min(first + seeds_per_part, seeds.stop)) for first in range(seeds.start, seeds.stop, seeds_per_part)
    ]
    missing = [one for one in ranges if not all(_part(output.folder, *one).is_file() for output in outputs.values())]
    texts = {name: (str(output.folder.resolve()), output.header.text()) for name, output in outputs.items()}
    _simulate_all(Job(simulator, missing, texts, sums), session, progress, packages)
    kept = len(ranges) - len(missing)
    return {name: _summary(output.folder, ranges, kept) for name, output in outputs.items()}


def _open_run(out: Path, manifest: dict[str, Json]) -> None:
    """Write the manifest of a new run, or check the one that is there."""
    path = out / MANIFEST
    wanted = json.loads(json.dumps(manifest))
    with writable(out):
        there = path.is_file()
    if there:
        try:
            found = json.loads(path.read_text())
        except ValueError:
            found = {}
        differing = [key for key in wanted if found.get(key) != wanted[key]]
        if differing:
            raise Unusable(
                f"{out} holds a run with other {difference(found, wanted, differing[0])}; "
                "repeat its command to finish it, or choose another folder"
            )
        for leftover in out.glob(".*.tmp"):
            with contextlib.suppress(FileNotFoundError):
                leftover.unlink()
        return
    with writable(out):
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise Unusable(
                f"{out} is there already and holds no run of the simulator; choose a folder that is new or empty"
            )
        out.mkdir(parents=True, exist_ok=True)
        draft = out / f".{MANIFEST}.{os.getpid()}.tmp"
        draft.write_text(json.dumps(manifest, indent=1) + "\n")
        os.replace(draft, path)


def difference(found: Json, wanted: Json, key: str) -> str:
    """The values of a setting that differs, there and here."""
    have, want = found.get(key), wanted[key]
    if isinstance(have, dict) and isinstance(want, dict):
        inner = next((name for name in [*want, *have] if have.get(name) != want.get(name)), key)
        return f"{key} ({inner}: there {have.get(inner)!r}, here {want.get(inner)!r})"[:300]
    return f"{key} (there {have!r}, here {want!r})"[:300]


def _part(out: Path, first: int, stop: int) -> Path:
    return out / f"part-{first:012d}-{stop - 1:012d}.parquet"


@dataclass(frozen=True, slots=True)
class Job:
    """All that a worker must know: the simulator, the ranges of seeds (one per part of a folder), and whether each part
    gets a checksum. Also, per name of a trace of a run, its folder and its header."""

    simulator: Composed
    ranges: Sequence[tuple[int, int]]
    outputs: Mapping[str, tuple[str, str]]
    sums: bool = False

    def opened(self) -> dict[str, Output]:
        """The outputs, with their headers read."""
        return {name: Output(Path(folder), parse_header(text, folder)) for name, (folder, text) in self.outputs.items()}


def _simulate_all(job: Job, session: SparkSession | None, progress: Progress | None, packages: Sequence[str]) -> None:
    if not job.ranges:
        return
    total = len(job.ranges)
    if session is None:
        outputs = job.opened()
        for done, (first, stop) in enumerate(job.ranges):
            if progress is not None:
                progress.update(done, total)
            simulate_part(job.simulator, first, stop, outputs, job.sums)
        return
    from tidemark_conformance.console.progress import Silent
    from tidemark_conformance.spark.session import readable_errors, run_with_progress
    from tidemark_conformance.spark.shipping import partition_work

    work = partition_work(session, simulate_partition, job, packages)
    parts = session.range(0, total, 1, total).mapInArrow(work, "id long")
    with readable_errors(f"the seeds of {', '.join(folder for folder, _ in job.outputs.values())}"):
        run_with_progress(session, parts.collect, progress or Silent())


def simulate_partition(job: Job) -> Partition:
    """The function for `mapInArrow` over the numbers of ranges: it writes their parts and hands the numbers back."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        outputs = job.opened()
        for batch in batches:
            for index in batch.column(0).to_pylist():
                first, stop = job.ranges[index]
                simulate_part(job.simulator, first, stop, outputs, job.sums)
            yield batch

    return work


def simulate_part(
    simulator: Composed, first: int, stop: int, outputs: Mapping[str, Output], sums: bool = False
) -> None:
    """Simulate the seeds from `first` up to `stop` (excluded) into one Parquet file for each output; `sums`: and its
    checksum, once it is whole."""
    from tidemark_conformance.trace.parquet import PartWriter

    facts: dict[str, dict[str, int]] = {name: {} for name in outputs}
    with contextlib.ExitStack() as open_files, seldom_collecting():
        writers = {
            name: open_files.enter_context(PartWriter(_part(output.folder, first, stop), output.header))
            for name, output in outputs.items()
        }
        for seed in range(first, stop):
            for name, run in simulator(seed).items():
                writers[name].add(run.trace, run.steps, run.stream)
                known = facts[name]
                for fact, number in run.facts.items():
                    known[fact] = known.get(fact, 0) + number
        for name, writer in writers.items():
            writer.annotate(FACTS, json.dumps({"steps": writer.steps, "facts": facts[name]}))
    if sums:
        for output in outputs.values():
            cache.seal(_part(output.folder, first, stop))


def _summary(out: Path, ranges: list[tuple[int, int]], kept: int) -> Generated:
    import pyarrow.parquet as pq

    parts = tuple(_part(out, *one) for one in ranges)
    traces = steps = 0
    facts: dict[str, int] = {}
    for part in parts:
        if not part.is_file():
            raise Unusable(
                f"{part} was simulated but is not there; give a folder that every worker sees under the same path"
            )
        footer: Any = pq.read_metadata(part)
        summary = json.loads(footer.metadata[FACTS.encode()])
        traces += footer.num_rows
        steps += summary["steps"]
        for name, number in summary["facts"].items():
            facts[name] = facts.get(name, 0) + number
    return Generated(parts, traces, steps, facts, kept)
