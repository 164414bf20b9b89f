"""An audit without Spark: the same parts and the same judges, in this process or in a pool of processes.

A pool is worth its start for more than POOL_BYTES. Its processes end with this one: they wait for work on a pipe that
closes with it, and are killed when the audit is interrupted.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeAlias

import numpy as np

from tidemark_conformance.audit.inputs import Input
from tidemark_conformance.audit.judge import Judge, id_hash
from tidemark_conformance.audit.parts import Job, judge_range
from tidemark_conformance.audit.tally import Tally
from tidemark_conformance.console.progress import Progress
from tidemark_conformance.errors import Unusable
from tidemark_conformance.machine import cores
from tidemark_conformance.processes import held
from tidemark_conformance.trace.files import NDJSON, PARQUET, packed
from tidemark_conformance.trace.ranges import Range, ranges

UNPACKED = 10
"""How many times its size a packed file is taken to be: JSON packs so."""
POOL_BYTES = {NDJSON: 24 << 20, PARQUET: 24 << 20}
"""Bytes from which on a pool is started. Measured: one core judges 10 MB/s of NDJSON, 82 MB of two-phase commit
in 8.05 s of its time. It judges 12 MB/s of Parquet, half of the rate of two cores in docs/bench.json. A process takes a
second of its time to load the checks. So a pool of two gains where one core is busy for more than two seconds."""
SPARK_BYTES = {NDJSON: 96 << 20, PARQUET: 96 << 20}
"""Bytes from which on Spark is taken where it is installed. Measured: an audit of 0.9 MB of Parquet takes 22.6 s of the
cores' time on Spark and 1.9 s without it. So Spark costs about 20 s of the cores' time before it judges, or 10 s of two
cores. In half of that these judge as many bytes."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A row group of a Parquet file."""

    path: str
    group: int


Part: TypeAlias = Range | Rows


def size_of(source: Input) -> int:
    """The bytes of an input of this machine, packed files as if they were not."""
    sizes = ((Path(file), os.path.getsize(file)) for file in source.files)
    return sum(size * UNPACKED if packed(path) else size for path, size in sizes)


def run(source: Input, job: Job, judge: Judge, progress: Progress, processes: int | None = None) -> Tally:
    """Judge an input of this machine. `processes`: how many (None: as many as pay, at most one per core).

    Raises Unusable for a file that cannot be read, and for a process that ended before its time.
    """
    parts = parts_of(source)
    if processes is None:
        processes = cores() if size_of(source) > POOL_BYTES[source.form] else 1
    processes = min(processes, len(parts))
    tally = judge.tally()
    found = _pooled(job, parts, processes) if processes > 1 else (_judged(job, judge, part) for part in parts)
    for done, one in enumerate(found, 1):
        tally.merge(one)
        progress.update(done, len(parts))
    return tally


def parts_of(source: Input) -> list[Part]:
    """The parts of an input, in the order in which they are judged. Raises Unusable for a file that cannot be read."""
    if source.form == NDJSON:
        return list(ranges(source.files))
    from tidemark_conformance.trace.parquet import row_groups

    return [Rows(file, group) for file in source.files for group in range(row_groups(Path(file)))]


def _judged(job: Job, judge: Judge, part: Part) -> Tally:
    tally = judge.tally()
    if isinstance(part, Range):
        judge_range(job, judge, tally, part)
        return tally
    from tidemark_conformance.audit.worker import judge_rows
    from tidemark_conformance.trace.parquet import group_columns

    try:
        for trace, steps, stream, header in group_columns(Path(part.path), part.group):
            told = [(text, part.path) for text in header.drop_null().to_pylist()]
            names = trace.to_pylist()
            hashes = np.array([id_hash(name or "") for name in names], np.int64)
            judge_rows(job, judge, tally, (trace, steps, stream), told, partial(np.copy, hashes))
    except Unusable as problem:
        tally.refuse(str(problem))
    return tally


# --- the pool -----------------------------------------------------------------------------------------------------


def _pooled(job: Job, parts: Sequence[Part], processes: int) -> Iterator[Tally]:
    """The tallies of the parts, as they come. However the iteration ends, no process is left."""
    context = multiprocessing.get_context("spawn")  # threads and locks of pyarrow's do not survive a fork
    pool: dict[Connection, BaseProcess] = {}
    try:
        for _ in range(processes):
            ours, theirs = context.Pipe()
            process: BaseProcess = context.Process(target=_work, args=(theirs, job), daemon=True)
            with held():  # a process that is told half of its job ends with a traceback
                process.start()
                pool[ours] = process
            theirs.close()
        waiting = iter(parts)
        busy = {pipe for pipe in pool if _give(pipe, waiting)}
        while busy:
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                yield _taken(pipe, pool[pipe])
                if not _give(pipe, waiting):
                    busy.discard(pipe)
    finally:
        for process in pool.values():
            process.kill()
        for process in pool.values():
            process.join()


def _give(pipe: Connection, waiting: Iterator[Part]) -> bool:
    part = next(waiting, None)
    if part is not None:
        with contextlib.suppress(BrokenPipeError):  # its end is noticed when its tally is waited for
            pipe.send(part)
    return part is not None


def _taken(pipe: Connection, process: BaseProcess) -> Tally:
    try:
        found = pipe.recv()
    except (EOFError, ConnectionResetError):
        process.join()
        code = process.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        raise Unusable(
            f"a process of the audit ended before its time ({how}); see that there is memory enough, and run it again"
        ) from None
    if isinstance(found, Tally):
        return found
    raise Unusable(f"a process of the audit failed with {found}")


def _work(pipe: Connection, job: Job) -> None:
    """A process of the pool: judges one part after the other until its pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's interrupt reaches all; the first process ends the rest
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            part = pipe.recv()
            try:
                answer: Tally | str = _judged(job, job.judge(), part)
            except Unusable as problem:
                answer = str(problem)
            except Exception as problem:
                answer = f"{type(problem).__name__}: {problem}"[:300]
            pipe.send(answer)


# --- ids ----------------------------------------------------------------------------------------------------------


def duplicate(source: Input, tally: Tally) -> str | None:
    """An id that really stands twice, or None: of all ids those are compared whose hashes the tally has twice."""
    hashes = np.sort(np.concatenate(tally.ids))
    twice = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
    counts = Counter(name for part in parts_of(source) for name in _ids(part) if id_hash(name) in twice)
    return min((name for name, count in counts.items() if count > 1), default=None)


def _ids(part: Part) -> Iterator[str]:
    if isinstance(part, Range):
        yield from (raw.id for raw in part.traces()[1])
        return
    from tidemark_conformance.trace.parquet import group_columns

    for trace, *_ in group_columns(Path(part.path), part.group):
        yield from trace.to_pylist()
