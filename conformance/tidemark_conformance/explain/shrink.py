"""The shrunk run: the fewest faults and steps that still fail in the same way, found by simulating again.

A protocol takes part where the registry names its descriptor (`simulate.simulators.again`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.ddmin import ddmin
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.judge import NOT_A_STEP, Judgement
from tidemark_conformance.explain.load import Stored, decoded
from tidemark_conformance.explain.record import Shrunk
from tidemark_conformance.explain.run import Run
from tidemark_conformance.registry.protocols import protocols
from tidemark_conformance.simulate import simulators
from tidemark_conformance.simulate.provenance import settings_of
from tidemark_conformance.trace.files import file_header
from tidemark_conformance.trace.header import Header
from tidemark_conformance.trace.schema import Schema

BUDGET = 400
"""Simulations that shrinking may take."""

Signature = tuple[str, str, tuple[tuple[str, ...], ...]]
"""How a run fails: the check's kind and its name. A step that is none has the sets of rules that keep it from being
one."""

NOTHING_LESS = (
    "Not shrunk: no step before it was found that can be left out, and no simulator is named that made the trace."
)
NO_SIMULATOR = "Not shrunk: that needs the simulator that made the trace, and this trace names none."


class Resimulation(Protocol):
    """One simulated run that can be repeated with some of its decisions left out."""

    @property
    def decisions(self) -> Sequence[str]:
        """Every fault and scheduling decision of the run in order, each as one readable line."""

    def stream(self, kept: Sequence[int]) -> bytes:
        """The delta stream of the run in which only these decisions (ascending indices) are taken."""


@dataclass(frozen=True, slots=True)
class Shrinker:
    """Shrinks runs of one specification."""

    explainer: Explainer
    schema: Schema

    def shrink(
        self,
        run: Run,
        judgement: Judgement,
        header: Header,
        again: Resimulation,
        budget: int = BUDGET,
        told: Callable[[int], None] = lambda _: None,
    ) -> Shrunk:
        """The smallest run that fails as `run` does: the same check first, and for a step the same action, for want of
        the same rules.

        A run with fewer decisions is taken only if it does not fail later than the smallest one before it. `told` hears
        how many runs have been simulated.
        """
        wanted = self.signature(run, judgement)
        decisions = again.decisions
        latest = min(judgement.first.values())
        simulated = itertools.count(1)

        def attempt(kept: Sequence[int]) -> tuple[Run, Judgement]:
            data = again.stream(kept)
            found = decoded(Stored(run.id, data, Path(run.source), header), self.schema)
            told(next(simulated))
            return found, self.explainer.judge(found)

        def fails(kept: Sequence[int]) -> bool:
            nonlocal latest
            found, verdict = attempt(kept)
            if self.signature(found, verdict) != wanted or min(verdict.first.values()) > latest:
                return False
            latest = min(verdict.first.values())
            return True

        everything = list(range(len(decisions)))
        if not fails(everything):
            return Shrunk("Not shrunk: simulated again, the run does not fail in this way; was the simulator changed?")
        kept, trials, finished = ddmin(everything, fails, budget)
        smallest, verdict = attempt(kept)
        explained = self.explainer.explain(smallest, verdict, None)
        number = explained.findings[0].step
        drawn = explained.diagram
        if drawn is not None:
            rows = tuple(row for row in drawn.rows if row.number <= number)
            arrows = tuple(arrow for arrow in drawn.arrows if arrow.target <= number)
            strips = tuple(strip for strip in drawn.strips if strip.step <= number)
            drawn = replace(drawn, rows=rows, arrows=arrows, strips=strips)
        return Shrunk(
            note="" if finished else f"Stopped after {trials} simulations: a smaller run may exist.",
            decisions_before=len(decisions),
            decisions=len(kept),
            steps_before=min(judgement.first.values()),
            steps=number,
            runs=trials + 2,
            kept=tuple(decisions[index] for index in kept),
            diagram=drawn,
        )

    def signature(self, run: Run, judgement: Judgement) -> Signature | None:
        """How a run fails first: the check's kind, its property or the action that is not a step. Then the rules
        without which it would be one."""
        if judgement.verdict != "fail":
            return None
        number = min(judgement.first.values())
        kinds = [key for key, at in judgement.first.items() if at == number]
        if any(kind == NOT_A_STEP for kind, _ in kinds):
            return NOT_A_STEP, run.events[number].action, self.explainer.missing(run.events[number], judgement)
        return *min(kinds), ()


def resimulation(run: Run, header: Header) -> Resimulation | None:
    """How to simulate a stored trace again, by the manifest beside it and the protocol's descriptor; else None.

    Raises Unusable where they are there and cannot be used.
    """
    settings = settings_of(Path(run.source).parent)
    protocol = settings.get("protocol") if settings is not None else None
    known = protocols().get(protocol) if isinstance(protocol, str) else None
    if known is None or not known.implementation:
        return None
    try:
        return simulators.again(known, header, run.id, settings or {})
    except (AttributeError, KeyError, ValueError) as problem:
        raise Unusable(
            f"trace {run.id} cannot be simulated again ({problem!r}); correct {known.implementation}, or pass "
            "--no-shrink"
        ) from problem


def shrunk(run: Run, judgement: Judgement, explainer: Explainer, schema: Schema, told: Callable[[int], None]) -> Shrunk:
    """The shrunk run of a failing trace, or the sentence why there is none. `told`: see `Shrinker.shrink`."""
    header = file_header(Path(run.source))
    again = resimulation(run, header)
    if again is None:
        return Shrunk(NO_SIMULATOR)
    return Shrinker(explainer, schema).shrink(run, judgement, header, again, told=told)
