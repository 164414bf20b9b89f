"""A part of an audit, whichever engine runs it: the knowledge that a process needs, and traces of NDJSON judged and
counted.

Neither Spark nor pyarrow is needed here. Parquet's columns are judged in `check.worker`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from tidemark_conformance.audit.judge import Judge, batch_of, judge_for
from tidemark_conformance.audit.tally import Tally
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.trace.header import Header
from tidemark_conformance.trace.lines import RawTrace
from tidemark_conformance.trace.ndjson import LineReader
from tidemark_conformance.trace.ranges import Range

LINES_PER_BATCH = 2_000
"""NDJSON traces judged together."""


@dataclass(frozen=True, slots=True)
class Job:
    """All that a worker must know; it travels by pickle.

    `header`: every file must start with it. `nodes`: those of a Parquet audit's files. `snapshot`: traces need not
    start in Init, and checks with history do not run. `wanted`: passing traces to sample. `ranges`: of NDJSON files
    that a worker opens itself. `located`: as of `Options`.
    """

    specification: Specification
    header: Header
    nodes: tuple[str, ...]
    snapshot: bool
    wanted: int
    ranges: tuple[Range, ...] = ()
    located: bool = False

    def judge(self) -> Judge:
        """This process's judge."""
        return _kept(judge_for(self.specification, self.wanted, self.snapshot, self.located))


@lru_cache(maxsize=4)
def _kept(judge: Judge) -> Judge:
    """The judge; objects that this process has loaded until now are no garbage. PySpark's workers collect garbage
    after each task, and would stand still for 0.2 s each time to look at all objects."""
    gc.freeze()
    return judge


def judge_range(job: Job, judge: Judge, tally: Tally, part: Range) -> None:
    """Judge the traces of a range of an NDJSON file; the tally notes the faults that void the audit."""
    try:
        header, traces = part.traces()
        judge_lines(job, judge, tally, header, traces, part)
    except Unusable as problem:
        tally.refuse(str(problem))


def judge_lines(job: Job, judge: Judge, tally: Tally, header: Header, traces: Iterable[RawTrace], part: Range) -> None:
    """Judge traces of the file of a range, which has this header. Raises Unusable for a fault that voids the audit."""
    header.require(job.header, part.path)
    tally.headers.add(part.path)
    reader = LineReader(judge.schema, header.nodes, part.path, part.number)
    ids: list[str] = []
    streams: list[bytes] = []
    for raw in traces:
        ids.append(raw.id)
        streams.append(reader.stream(raw)[1])
        if len(ids) == LINES_PER_BATCH:
            judge.add(tally, batch_of(ids, streams), len(header.nodes))
            ids, streams = [], []
    if ids:
        judge.add(tally, batch_of(ids, streams), len(header.nodes))
