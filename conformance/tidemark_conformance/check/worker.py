"""What runs in Spark's Python workers: Arrow batches of one partition in, one pickled tally out.

A worker process makes its judge once. On this machine the kernels come from the cache folder; on a cluster they, and
our packages, travel with the job (`shipping.py`), and a worker whose processor or numba differs compiles them again.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from tidemark_conformance.check.inputs import plain
from tidemark_conformance.check.judge import UNDECIDED, Batch, Judge, batch_of, judge_for
from tidemark_conformance.check.locate import claimed_records
from tidemark_conformance.check.tally import Tally
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.trace.header import Header, parse_header
from tidemark_conformance.trace.lines import split_traces
from tidemark_conformance.trace.ndjson import LineReader

OUTPUT = "tally binary"
"""The schema of what a partition yields."""
LINES_PER_BATCH = 2_000
"""NDJSON traces judged together."""


@dataclass(frozen=True, slots=True)
class Job:
    """All that a worker must know; it travels by pickle.

    `header`: what every file must start with; `nodes`: those of a Parquet audit's files; `snapshot`: traces need not
    start in Init and checks with history do not run; `wanted`: passing traces to sample.
    """

    specification: Specification
    header: Header
    nodes: tuple[str, ...]
    snapshot: bool
    wanted: int

    def judge(self) -> Judge:
        """This process's judge."""
        return _kept(judge_for(self.specification, self.wanted, self.snapshot))


@lru_cache(maxsize=4)
def _kept(judge: Judge) -> Judge:
    """The judge; what this process has loaded until now is no garbage. (PySpark's workers collect it after each task,
    and would stand still for 0.2 s each time to look at all of it.)"""
    gc.freeze()
    return judge


def parquet_partition(job: Job) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for `mapInArrow` over the columns of `inputs.parquet_rows`."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tally: Tally | None = None
        for batch in batches:
            judge = job.judge()
            tally = tally or judge.tally()
            trace, steps, stream, header, hashed, path = batch.columns
            _check_headers(job, header, path, tally)
            if trace.null_count or steps.null_count or stream.null_count:
                tally.refuse(
                    "a Parquet part has a row without trace id, steps or stream; write it with `tidemark convert`"
                )
                continue
            data, offsets = _views(stream)
            ids = hashed.to_numpy(zero_copy_only=False)
            verdicts = judge.add(tally, Batch(data, offsets, ids, _names(trace)), len(job.nodes))
            wrong = (verdicts != UNDECIDED) & (steps.to_numpy() != claimed_records(data, offsets) - 1)
            if wrong.any():
                name = _names(trace)(int(np.flatnonzero(wrong)[0]))
                tally.refuse(f"the column `steps` of trace {name} is not what its stream says; write it again")
        yield from _result(tally)

    return work


def _names(trace: pa.Array) -> Callable[[int], str]:
    return lambda row: str(trace[row].as_py())


def _views(column: pa.Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The bytes and offsets of a binary column without copying the bytes."""
    wide = pa.types.is_large_binary(column.type)
    _, offsets, data = column.buffers()
    kind = np.int64 if wide else np.int32
    first = np.frombuffer(offsets, kind)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    return content, first.astype(np.int64)


def _check_headers(job: Job, column: pa.Array, paths: pa.Array, tally: Tally) -> None:
    if column.null_count == len(column):
        return
    for text, path in zip(column.drop_null().to_pylist(), paths.drop_null().to_pylist(), strict=True):
        file = plain(path)
        tally.headers.add(file)
        try:
            found = parse_header(text, file)
            found.require(job.header, file)
            if found.nodes != job.nodes:
                raise Unusable(f"{file} names other nodes than other parts; audit them one after the other")
        except Unusable as problem:
            tally.refuse(str(problem))


def ndjson_partition(job: Job) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for `mapInArrow` over the columns value (a line) and path, lines of a file together and in order."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tally: Tally | None = None
        for path, lines in _by_file(batches):
            judge = job.judge()
            tally = tally or judge.tally()
            try:
                _judge_lines(job, judge, tally, path, lines)
            except Unusable as problem:
                tally.refuse(str(problem))
        yield from _result(tally)

    return work


def _judge_lines(job: Job, judge: Judge, tally: Tally, path: str, lines: Iterator[bytes]) -> None:
    header = parse_header(next(lines, b""), path)
    header.require(job.header, path)
    tally.headers.add(path)
    reader = LineReader(judge.schema, header.nodes, path)
    ids: list[str] = []
    streams: list[bytes] = []
    for raw in split_traces(lines, where=path):
        ids.append(raw.id)
        streams.append(reader.stream(raw)[1])
        if len(ids) == LINES_PER_BATCH:
            judge.add(tally, batch_of(ids, streams), len(header.nodes))
            ids, streams = [], []
    if ids:
        judge.add(tally, batch_of(ids, streams), len(header.nodes))


def ndjson_ids(_: Job) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for `mapInArrow` over (value, path): the id of every trace, one row each."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for path, lines in _by_file(batches):
            next(lines, None)
            names = [raw.id for raw in split_traces(lines, where=path)]
            yield pa.record_batch({"trace": pa.array(names, pa.string())})

    return work


def _by_file(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Groups rows (value, path) by path; each group's lines must be read before the next group is asked for."""
    rows = _rows(batches)
    ahead = next(rows, None)
    while ahead is not None:
        path = ahead[0]

        def lines() -> Iterator[bytes]:
            nonlocal ahead
            while ahead is not None and ahead[0] == path:  # noqa: B023  (read before the next group is asked for)
                line = ahead[1]
                ahead = next(rows, None)
                yield line

        current = lines()
        yield plain(path), current
        for _ in current:
            pass


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, bytes]]:
    for batch in batches:
        value, path = batch.columns
        raw = value.cast(pa.binary() if value.type == pa.string() else pa.large_binary()).to_pylist()
        yield from zip(path.to_pylist(), raw, strict=True)


def _result(tally: Tally | None) -> Iterator[pa.RecordBatch]:
    if tally is not None:
        yield pa.record_batch({"tally": pa.array([pickle.dumps(tally)], pa.binary())})
