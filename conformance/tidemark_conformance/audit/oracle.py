"""TLC's opinion on a few audited traces, compared with the kernels' verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tidemark_conformance.audit.locate import at_rest
from tidemark_conformance.audit.result import Oracle
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tla.kernels.program import observation
from tidemark_conformance.tla.kernels.stream import BLOCKED
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.types import TInt, Type, decode
from tidemark_conformance.tla.walk import guard_rules
from tidemark_conformance.tlc import oracle as tlc_oracle
from tidemark_conformance.tlc import replay_module
from tidemark_conformance.trace.observing import Told
from tidemark_conformance.trace.replay import events
from tidemark_conformance.trace.schema import Schema


@dataclass(frozen=True, slots=True)
class Judged:
    """A trace with the kernels' verdict: the first failing step of every failing check (none: it passes).

    Keys are (kind, name) as in `result.Failure`; for "not-a-step" the name is the action's.
    """

    trace: str
    stream: bytes
    failures: Mapping[tuple[str, str], int]


def compare(specification: Specification, schema: Schema, judged: Sequence[Judged]) -> tuple[Oracle, float]:
    """Replay the traces in TLC; returns every disagreement as a sentence, and TLC's rate in steps per second.

    TLC stops at the first record that is no step, so a failing trace is compared up to that record only. Raises
    Unusable where TLC cannot run.
    """
    if not judged:
        return Oracle(note="there was no trace to replay"), 0.0
    refusing = {
        action.name for action in specification.module.actions if specification.without.isdisjoint(guard_rules(action))
    }
    traces = [_replayable(one, schema, refusing) for one in judged]
    replays = tlc_oracle.replay(
        specification.path,
        specification.cfg,
        (*specification.module.ghosts, *specification.module.hidden),
        traces,
        constants={WITHOUT: specification.constants[WITHOUT]},
    )
    disagreements: list[str] = []
    for one, replay in zip(judged, replays.traces, strict=True):
        disagreements += differences(one, replay)
    return Oracle(len(judged), tuple(disagreements)), replays.steps_per_s


def _replayable(one: Judged, schema: Schema, refusing: Collection[str]) -> replay_module.Trace:
    """The trace for TLC, which asks that a blocked attempt is not enabled where the action is one of `refusing`."""
    first, *rest = events(one.stream, schema)
    steps = []
    for event in rest:
        blocked = event.kind == BLOCKED
        known = not blocked or event.action in refusing
        params = event.params if known else ()
        steps.append(replay_module.Step(event.action if known else None, params, event.state, blocked and known))
    ends = np.array([0, len(one.stream)], np.int64)
    quiescent = bool(at_rest(np.frombuffer(one.stream, np.uint8), ends)[0])
    told = [seen for record, event in enumerate([first, *rest]) for seen in _seen(record, event.told, schema)]
    return replay_module.Trace(one.trace, first.state, steps, quiescent, told)


def _seen(record: int, told: Sequence[Told], schema: Schema) -> Iterator[replay_module.Seen]:
    """The observations of a record, with values as TLC has them."""
    observables = schema.observables
    if observables is None:
        return
    for one in told:
        observer, field = divmod(one.observable, len(observables.fields))
        name, kind = observables.fields[field]
        yield replay_module.Seen(
            name=observation(name),
            field=name,
            record=record,
            at=record if one.after else record - 1,
            observer=observables.observers[observer] if observables.observers else None,
            value=None if one.cells is None or not _writable(kind, one.cells) else decode(kind, [*one.cells]),
        )


def _writable(kind: Type, cells: Sequence[int]) -> bool:
    """Whether TLC has the value, which has no integer of more than 32 bits."""
    return not isinstance(kind, TInt) or -(1 << 31) <= cells[0] < 1 << 31


def differences(one: Judged, replay: tlc_oracle.Replay) -> list[str]:
    """Sentences on where TLC and the kernels differ, up to the first record that one of them rejects."""
    rejected = min((step for (kind, _), step in one.failures.items() if kind == "not-a-step"), default=None)
    found: list[str] = []
    if rejected != replay.rejected:
        found.append(
            f"trace {one.trace}: TLC {_rejects(replay.rejected)}, the audit {_rejects(rejected)}"
            + (f" (TLC: {replay.errors[0]})" if replay.errors else "")
        )
    horizon = min((step for step in (rejected, replay.rejected) if step is not None), default=None)
    for kind, theirs in (
        ("invariant", replay.invariants),
        ("action-property", replay.properties),
        ("quiescence", replay.quiescence),
        ("observation", replay.observations),
    ):
        ours = {name: step for (its, name), step in one.failures.items() if its == kind}
        for name in sorted({*ours, *theirs}):
            mine, other = _before(ours.get(name), horizon), _before(theirs.get(name), horizon)
            if mine != other:
                found.append(f"trace {one.trace}: {kind} {name} falls {_at(other)} in TLC and {_at(mine)} in the audit")
    return found


def _before(step: int | None, horizon: int | None) -> int | None:
    """The step if it is before the first rejected record, which TLC does not reach."""
    return None if step is None or (horizon is not None and step >= horizon) else step


def _rejects(step: int | None) -> str:
    return "takes every step" if step is None else f"rejects step {step}"


def _at(step: int | None) -> str:
    return "nowhere" if step is None else f"at step {step}"
