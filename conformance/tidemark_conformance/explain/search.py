"""The trace to explain among many: the one that is named, or the first that fails.

A few traces are judged by the reference evaluator at once. Where many follow, the kernels (if they are installed) look
for the next one that does not pass, thousands of times faster; what they find is judged again by the evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.judge import Judgement
from tidemark_conformance.explain.load import Stored, decoded
from tidemark_conformance.explain.run import Run
from tidemark_conformance.trace.schema import Schema

FEW = 200
"""So many traces are judged before kernels are asked, which may have to be compiled first."""
BATCH = 2_000
"""Traces that the kernels take at a time."""
PASS = 0


def choose(
    traces: Iterable[Stored],
    explainer: Explainer,
    schema: Schema,
    tell: Callable[[int], None] = lambda _count: None,
) -> tuple[Run, Judgement] | None:
    """The first trace that fails; where none does the first undecided one; where all pass the first; None of none.

    `tell` hears how many traces were looked at.
    """
    best: tuple[Run, Judgement] | None = None
    for count, trace in enumerate(_suspects(iter(traces), explainer, tell)):
        run = decoded(trace, schema)
        judgement = explainer.judge(run)
        if judgement.verdict == "fail":
            return run, judgement
        if best is None or (best[1].verdict, judgement.verdict) == ("pass", "undecided"):
            best = run, judgement
        tell(count + 1)
    return best


def _suspects(traces: Iterator[Stored], explainer: Explainer, tell: Callable[[int], None]) -> Iterator[Stored]:
    """The first traces as they come, of the others those that do not pass the kernels."""
    yield from islice(traces, FEW)
    batch = list(islice(traces, BATCH))
    if not batch:
        return
    check = _kernels(explainer)
    seen = FEW
    while batch:
        verdicts = check(batch) if check is not None else None
        for index, trace in enumerate(batch):
            if verdicts is None or verdicts[index] != PASS:
                yield trace
        seen += len(batch)
        tell(seen)
        batch = list(islice(traces, BATCH))


def _kernels(explainer: Explainer) -> Callable[[list[Stored]], Any] | None:
    """A function from traces to their verdicts by the kernels; None where numba is not installed."""
    try:
        import numpy

        from tidemark_conformance.tla.kernels import compile_kernels

        kernels = compile_kernels(explainer.specification)
    except ImportError:
        return None

    def check(batch: list[Stored]) -> Any:
        data = b"".join(trace.stream for trace in batch)
        offsets = numpy.cumsum([0, *(len(trace.stream) for trace in batch)], dtype=numpy.int64)
        return kernels.check(numpy.frombuffer(data, numpy.uint8), offsets, snapshot=explainer.snapshot).verdict

    return check
