"""The trace to explain among many: the one that is named, or of those that fail the one that shows most.

A few traces are judged by the reference evaluator. Of more, the kernels (if they are installed) judge each, thousands
of times faster. The evaluator judges the chosen one again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from tidemark_conformance.audit.result import by_number
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.judge import NOT_A_STEP, Judgement
from tidemark_conformance.explain.load import Stored, decoded
from tidemark_conformance.explain.run import Run
from tidemark_conformance.tla import ir
from tidemark_conformance.trace.schema import Schema

FEW = 200
"""Of more traces kernels are asked, which may have to be compiled first."""
BATCH = 2_000
"""Traces that the kernels take at a time."""
HARM, WRONG_STEP, UNDECIDED, PASSING = range(4)
"""The kinds of failing and passing traces, the most telling first. HARM: a property falls. WRONG_STEP: a step is none,
which may do no harm."""

Chosen = tuple[Run, Judgement]
Telling = tuple[int, tuple[tuple[str, int], ...]]


def telling(shows: int, trace: str) -> Telling:
    """The sort key of traces: by kind, then by the numbers in their ids. The first trace is the one to explain. An
    audit recommends by this key, and `choose` chooses by it."""
    return shows, by_number(trace)


def shows(kinds: Iterable[str]) -> int:
    """The kind of a failing trace, given the kinds of the checks that fail in it."""
    return WRONG_STEP if all(kind == NOT_A_STEP for kind in kinds) else HARM


def choose(
    traces: Iterable[Stored],
    explainer: Explainer,
    schema: Schema,
    tell: Callable[[int], None] = lambda _count: None,
) -> Chosen | None:
    """The most telling trace: of those that fail, else of those that are undecided, else of those that pass. None of
    none.

    `tell` hears how many traces were looked at.
    """
    best: tuple[Telling, Stored, Chosen | None] | None = None
    for count, (trace, shown, judged) in enumerate(_looked_at(iter(traces), explainer, schema), 1):
        key = telling(shown, trace.id)
        if best is None or key < best[0]:
            best = key, trace, judged
        tell(count)
    if best is None:
        return None
    _, trace, judged = best
    return judged or _judged(trace, explainer, schema)


def _judged(trace: Stored, explainer: Explainer, schema: Schema) -> Chosen:
    run = decoded(trace, schema)
    return run, explainer.judge(run)


Looked = tuple[Stored, int, Chosen | None]
"""A trace, what it has to show, and the evaluator's judgement if it was asked."""


def _looked_at(traces: Iterator[Stored], explainer: Explainer, schema: Schema) -> Iterator[Looked]:
    few = list(islice(traces, FEW + 1))
    check = _kernels(explainer) if len(few) > FEW else None
    traces = chain(few, traces)
    if check is None:
        for trace in traces:
            judged = _, judgement = _judged(trace, explainer, schema)
            verdicts = {"fail": shows(kind for kind, _ in judgement.first), "undecided": UNDECIDED, "pass": PASSING}
            yield trace, verdicts[judgement.verdict], judged
        return
    while batch := list(islice(traces, BATCH)):
        for trace, shown in zip(batch, check(batch), strict=True):
            yield trace, shown, None


def _kernels(explainer: Explainer) -> Callable[[list[Stored]], list[int]] | None:
    """A function from traces to their failures as the kernels find them; None without the extra `audit`."""
    try:
        import numpy

        from tidemark_conformance.tla.kernels import compile_kernels

        kernels = compile_kernels(explainer.specification)
    except ImportError:
        return None
    harmful = [index for index, name in enumerate(kernels.checks) if name != ir.NOT_A_STEP]

    def check(batch: list[Stored]) -> list[int]:
        data = b"".join(trace.stream for trace in batch)
        offsets = numpy.cumsum([0, *(len(trace.stream) for trace in batch)], dtype=numpy.int64)
        found = kernels.check(numpy.frombuffer(data, numpy.uint8), offsets, snapshot=explainer.snapshot)
        failing = numpy.where((found.first[:, harmful] >= 0).any(axis=1), HARM, WRONG_STEP)
        shown: list[int] = numpy.choose(found.verdict, [PASSING, failing, UNDECIDED]).tolist()
        return shown

    return check
