"""The audit: whole traces in parts, a tally of each, added up here. It runs in Spark (one job, no shuffle, tallies
pickled) or in processes of this machine (`check.local`). Both refuse the same input and report the same findings."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tidemark_conformance.audit import local
from tidemark_conformance.audit.histories import exceeding_history
from tidemark_conformance.audit.inputs import Input, is_here, ndjson_lines, open_here, open_input, parquet_rows
from tidemark_conformance.audit.judge import NOT_A_STEP, Judge, judge_for
from tidemark_conformance.audit.options import Options
from tidemark_conformance.audit.oracle import Judged, compare
from tidemark_conformance.audit.parts import Job
from tidemark_conformance.audit.result import AuditResult, Failure, Oracle, Shares, Undecided
from tidemark_conformance.audit.tally import REMEMBERED_IDS, Example, Signature, Tally, has_duplicates
from tidemark_conformance.console.progress import Progress, Silent
from tidemark_conformance.errors import Unusable
from tidemark_conformance.spark.session import readable_errors, run_with_progress
from tidemark_conformance.spark.shipping import partition_work
from tidemark_conformance.tla.kernels.driver import CAPACITY, OVERFLOWS, REASONS, reason
from tidemark_conformance.tla.kernels.program import observation
from tidemark_conformance.tla.kernels.stream import End
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.types import describe
from tidemark_conformance.trace.files import NDJSON
from tidemark_conformance.trace.ranges import ranges
from tidemark_conformance.trace.replay import beyond_at, beyond_limit
from tidemark_conformance.trace.schema import schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REFUSED = {"malformed stream", "unknown action", "parameter out of its domain", "unknown node"}
"""Reasons that void the audit: the bytes are as their writer wrote them, and mean nothing."""


def audit(
    session: SparkSession | None,
    source: Input | Sequence[str],
    specification: Specification,
    options: Options | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Judge every trace of the input by a specification, in Spark, or without a session in processes of this machine.

    `source`: an opened input, or paths as for `open_input`. Raises Unusable where the input cannot be judged as a
    whole: another specification, duplicate ids, no traces. The same for an unreadable part, an unknown action, and so
    on.
    """
    return counted(session, source, specification, options, progress)()


def counted(
    session: SparkSession | None,
    source: Input | Sequence[str],
    specification: Specification,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Callable[[], AuditResult]:
    """The result of an audit whose judging is done. The rest, above all TLC's replays, needs no session and one core.

    Arguments and errors as of `audit`, whose result the function comes to.
    """
    options = options or Options()
    started = time.monotonic()
    opened = source if isinstance(source, Input) else _opened(session, source)
    opened.header.require(schema_of(specification).header, opened.files[0])
    compiling = time.monotonic()  # once per text and set of rules, and no part of the audit's rate
    judge = judge_for(specification, options.oracle, options.snapshot, options.located)
    started += time.monotonic() - compiling
    job = Job(
        specification,
        judge.schema.header,
        opened.header.nodes,
        options.snapshot,
        options.oracle,
        located=options.located,
    )
    if session is None:
        tally = local.run(opened, job, judge, progress or Silent())
        duplicate = partial(local.duplicate, opened, tally)
    else:
        job = _parted(opened, job)
        tally = _run(session, opened, job, judge, progress or Silent())
        duplicate = partial(_duplicate, session, opened, job)
    _require_sound(opened, tally, duplicate)
    seconds = time.monotonic() - started
    return partial(result_of, tally, judge, options, seconds)


def _opened(session: SparkSession | None, paths: Sequence[str]) -> Input:
    if session is not None:
        return open_input(session, paths)
    opened = open_here(paths)
    if opened is None:
        raise Unusable(f"{' '.join(paths)} does not lie on this machine; let Spark read it (--spark)")
    return opened


def _parted(source: Input, job: Job) -> Job:
    """The job with the ranges of NDJSON files on this machine, which Spark's workers then open themselves. They must
    open them anyway on a file system that all of them share."""
    if source.form != NDJSON or not all(file.startswith("/") and is_here(file) for file in source.files):
        return job
    return replace(job, ranges=tuple(ranges(source.files)))


def _run(session: SparkSession, source: Input, job: Job, judge: Judge, progress: Progress) -> Tally:
    from tidemark_conformance.audit.worker import OUTPUT, ndjson_partition, parquet_partition, range_partition

    with readable_errors(source.shown):
        if job.ranges:
            frame, function = _numbers(session, job), range_partition
        elif source.form == NDJSON:
            frame, function = ndjson_lines(session, source), ndjson_partition
        else:
            frame, function = parquet_rows(session, source), parquet_partition
        work = partition_work(session, function, job)
        rows = run_with_progress(session, frame.mapInArrow(work, OUTPUT).collect, progress)
    tally = judge.tally()
    for row in rows:
        tally.merge(pickle.loads(row.tally))
    return tally


def _numbers(session: SparkSession, job: Job) -> DataFrame:
    """The numbers of the job's ranges, each in a partition of its own."""
    return session.range(0, len(job.ranges), 1, len(job.ranges))


def _require_sound(source: Input, tally: Tally, duplicate_of: Callable[[], str | None]) -> None:
    """Refuse what cannot be counted as judged: see REFUSED, no traces, no steps, a file without header, an id that
    stands twice."""
    if tally.refused:
        raise Unusable(min(tally.refused))
    for code, group in sorted(tally.undecided.items()):
        if code < OVERFLOWS and REASONS[code] in REFUSED:
            raise Unusable(
                f"trace {group.examples[0].trace} in {source.shown} has a record with {_article(REASONS[code])}, "
                "though its checksum is right; correct the program that wrote it"
            )
    if tally.traces == 0:
        raise Unusable(f"{source.shown} holds no trace; an audit of nothing proves nothing")
    if tally.stepless == tally.traces:
        raise Unusable(f"{source.shown} holds no step of any trace; an audit of nothing proves nothing")
    headless = sorted(set(source.files) - tally.headers)
    if headless:
        raise Unusable(
            f"{headless[0]} has no trace header (is it empty?); write it again with `tidemark convert` or take it away"
        )
    if tally.traces > REMEMBERED_IDS or has_duplicates(tally.ids):
        duplicate = duplicate_of()
        if duplicate is not None:
            raise Unusable(
                f"trace {duplicate} stands twice in {source.shown} (or its lines are apart); give every trace an id of "
                "its own and keep its lines together"
            )


def _article(reason: str) -> str:
    return ("an " if reason[0] in "aeiou" else "a ") + reason


def _duplicate(session: SparkSession, source: Input, job: Job) -> str | None:
    """An id that really stands twice, or None: a Spark aggregation over the ids alone."""
    from tidemark_conformance.audit.worker import ndjson_ids, range_ids

    with readable_errors(source.shown):
        if job.ranges:
            ids = _numbers(session, job).mapInArrow(partition_work(session, range_ids, job), "trace string")
        elif source.form == NDJSON:
            ids = ndjson_lines(session, source).mapInArrow(partition_work(session, ndjson_ids, job), "trace string")
        else:
            ids = parquet_rows(session, source).select("trace")
        rows = ids.groupBy("trace").count().where("count > 1").agg({"trace": "min"}).collect()
    found: str | None = rows[0][0]
    return found


# --- from counts to names -----------------------------------------------------------------------------------------


def result_of(tally: Tally, judge: Judge, options: Options, seconds: float) -> AuditResult:
    """The result of an audit whose parts are added up; TLC replays what `options` ask for."""
    specification = judge.specification
    failures = sorted(
        (_failure(signature, judge, group.traces, group.examples) for signature, group in tally.failures.items()),
        key=lambda failure: (-failure.traces, failure.signature),
    )
    undecided = sorted(
        (
            Undecided(
                _reason(code, judge),
                group.traces,
                tuple(example.trace for example in group.examples),
                _detail(code, group.examples[0].stream, judge),
            )
            for code, group in tally.undecided.items()
        ),
        key=lambda group: (-group.traces, group.reason),
    )
    oracle, rate = _ask_tlc(tally, judge, options)
    return AuditResult(
        spec=specification.module.name,
        traces=tally.traces,
        steps=tally.steps,
        seconds=seconds,
        passed=int(tally.verdicts[0]),
        failed=int(tally.verdicts[1]),
        failures=tuple(failures),
        undecided=tuple(undecided),
        actions=_pairs(judge.schema.actions, tally.actions),
        rules=_pairs(specification.module.rules, tally.rules),
        without=tuple(sorted(specification.without)),
        baseline=options.baseline,
        max_undecided=options.max_undecided,
        stepless=tally.stepless,
        quiescent=tally.quiescent,
        checked=_checked(judge, options),
        not_checked=_not_checked(judge, options),
        oracle=oracle,
        tlc_steps_per_s=rate,
        shares=_shares(tally, judge),
    )


def _reason(code: int, judge: Judge) -> str:
    """Why traces are undecided; of a computed value without cells the variable and its type, with TypeOK's bounds."""
    variables = judge.schema.layout.variables
    said = reason(code, [one.name for one in variables])
    return f"{said}: TypeOK bounds it as {describe(variables[code - OVERFLOWS].type)}" if code >= OVERFLOWS else said


def _shares(tally: Tally, judge: Judge) -> Shares | None:
    """How much the traces told of their states; None where the specification hides nothing and observes nothing."""
    module, observables = judge.specification.module, judge.schema.observables
    if not module.hidden and observables is None:
        return None
    fields = [name for name, _ in observables.fields] if observables is not None else []
    told = {name: int(count) for name, count in zip(fields, tally.told, strict=False)}
    return Shares(int(tally.told[-2]), told, module.carried, module.hidden, int(tally.told[-1]))


def _pairs(names: Sequence[str], counts: object) -> dict[str, tuple[int, int]]:
    return {name: (int(a), int(b)) for name, (a, b) in zip(names, counts, strict=True)}  # type: ignore[call-overload]


def _families(judge: Judge) -> list[tuple[str, list[str]]]:
    """The checks behind "not a step", in the order of the kernels' numbers."""
    specification = judge.specification
    observables = judge.schema.observables
    observed = [observation(name) for name, _ in observables.fields] if observables is not None else []
    return [
        ("invariant", [one.name for one in specification.invariants]),
        ("action-property", [one.name for one in specification.properties]),
        ("quiescence", [one.name for one in specification.quiescence]),
        *([("observation", observed)] if observed else []),
    ]


def _named(signature: Signature, judge: Judge) -> tuple[str, str]:
    """A signature's kind and name."""
    check, action = signature
    if check == NOT_A_STEP:
        return "not-a-step", judge.schema.actions[action] if action >= 0 else "(no action)"
    names = [(kind, name) for kind, family in _families(judge) for name in family]
    return names[check - 1]


def _failure(signature: Signature, judge: Judge, traces: int, examples: list[Example]) -> Failure:
    kind, name = _named(signature, judge)
    beyond = beyond_at(examples[0].stream, judge.schema, examples[0].step)
    detail = beyond.what if beyond is not None else ""
    named = tuple((example.trace, example.step) for example in examples)
    return Failure(kind, name, traces, named, detail, tuple(example.stream for example in examples))


def _detail(code: int, stream: bytes, judge: Judge) -> str:
    """The value that exceeds a capacity, and that capacity; empty for another reason."""
    if code != CAPACITY:
        return ""
    beyond = beyond_limit(stream, judge.schema)
    if beyond is not None:
        return str(beyond)
    *_, end = judge.schema.records(stream)
    if isinstance(end, End) and end.capacity:
        return f"the emitter stopped after step {end.records - 1} by its own word, and does not say at which capacity"
    return exceeding_history(judge.specification, judge.schema, stream)


def _checked(judge: Judge, options: Options) -> dict[str, tuple[str, ...]]:
    skipped = set(judge.kernels.history) if options.snapshot else set()
    return {kind: tuple(name for name in names if name not in skipped) for kind, names in _families(judge)}


def _not_checked(judge: Judge, options: Options) -> tuple[str, ...]:
    lines = [f"{name} (temporal, TLC's alone)" for name in judge.specification.temporal]
    if options.snapshot:
        lines += [f"{name} (reads history, and the traces start from a snapshot)" for name in judge.kernels.history]
    return tuple(lines)


def _ask_tlc(tally: Tally, judge: Judge, options: Options) -> tuple[Oracle, float]:
    if options.oracle <= 0:
        return Oracle(), 0.0
    judged = {trace: Judged(trace, stream, {}) for _, trace, stream in tally.sample}
    firsts = {group.examples[0].trace: group.examples[0] for group in tally.failures.values()}
    for first in firsts.values():
        if beyond_limit(first.stream, judge.schema) is not None:
            continue  # a value that TypeOK does not have is no state that TLC could be given
        failures = {_named(signature, judge): step for signature, step in first.failures}
        judged.setdefault(first.trace, Judged(first.trace, first.stream, failures))
    return compare(judge.specification, judge.schema, list(judged.values()))
