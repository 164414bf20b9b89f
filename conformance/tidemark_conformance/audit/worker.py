"""Judges columns of Arrow, in this process or in Spark's Python workers. A worker takes Arrow batches of one partition
and returns one pickled tally. Spark itself is not needed here.

A worker process makes its judge once. On this machine the kernels come from the cache folder. On a cluster they, and
our packages, travel with the job (`shipping.py`). A worker of another processor, or with other versions of the
libraries, compiles them again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidemark_conformance.audit.inputs import plain
from tidemark_conformance.audit.judge import UNDECIDED, Batch, Judge
from tidemark_conformance.audit.locate import claimed_records
from tidemark_conformance.audit.parts import Job, judge_lines, judge_range
from tidemark_conformance.audit.tally import Tally
from tidemark_conformance.errors import Unusable
from tidemark_conformance.trace.header import parse_header
from tidemark_conformance.trace.lines import split_traces
from tidemark_conformance.trace.ranges import Range

OUTPUT = "tally binary"
"""The schema of what a partition yields."""


def parquet_partition(job: Job) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for `mapInArrow` over the columns of `inputs.parquet_rows`."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tally: Tally | None = None
        for batch in batches:
            judge = job.judge()
            tally = tally or judge.tally()
            trace, steps, stream, header, hashed, path = batch.columns
            headers = [] if path.null_count == len(path) else zip(header.to_pylist(), path.to_pylist(), strict=True)
            told = [(text, plain(place)) for text, place in headers if text is not None]
            judge_rows(job, judge, tally, (trace, steps, stream), told, partial(hashed.to_numpy, zero_copy_only=False))
        yield from _result(tally)

    return work


def judge_rows(
    job: Job,
    judge: Judge,
    tally: Tally,
    rows: tuple[pa.Array, pa.Array, pa.Array],
    headers: Iterable[tuple[str, str]],
    hashes: Callable[[], NDArray[np.int64]],
) -> None:
    """Judge the rows of a Parquet file, given as the columns trace, steps and stream; the tally notes the faults that
    void the audit. `headers`: those among the rows, each with its file; `hashes`: 64 bits of every trace's id."""
    _check_headers(job, headers, tally)
    trace, steps, stream = rows
    if trace.null_count or steps.null_count or stream.null_count:
        tally.refuse("a Parquet part has a row without trace id, steps or stream; write it with `tidemark convert`")
        return
    data, offsets = _views(stream)
    verdicts = judge.add(tally, Batch(data, offsets, hashes(), _names(trace)), len(job.nodes))
    wrong = (verdicts != UNDECIDED) & (steps.to_numpy() != claimed_records(data, offsets) - 1)
    if wrong.any():
        name = _names(trace)(int(np.flatnonzero(wrong)[0]))
        tally.refuse(f"the column `steps` of trace {name} is not what its stream says; write it again")


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


def _check_headers(job: Job, headers: Iterable[tuple[str, str]], tally: Tally) -> None:
    for text, file in headers:
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
                header = parse_header(next(lines, b""), path)
                judge_lines(job, judge, tally, header, split_traces(lines, where=path), Range(path))
            except Unusable as problem:
                tally.refuse(str(problem))
        yield from _result(tally)

    return work


def range_partition(job: Job) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for `mapInArrow` over a column of numbers: those of the job's ranges that are to be judged."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tally: Tally | None = None
        for batch in batches:
            for number in batch.column(0).to_pylist():
                judge = job.judge()
                tally = tally or judge.tally()
                judge_range(job, judge, tally, job.ranges[number])
        yield from _result(tally)

    return work


def range_ids(job: Job) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """As `range_partition`: the id of every trace, one row each."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                names = [raw.id for raw in job.ranges[number].traces()[1]]
                yield pa.record_batch({"trace": pa.array(names, pa.string())})

    return work


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
