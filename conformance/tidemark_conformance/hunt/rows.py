"""The zoo's rows as quarry: how many steps a hunt takes until a row's property first falls, and how many the row's
pinned profile takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tidemark_conformance.audit.judge import batch_of, judge_for
from tidemark_conformance.console.progress import Progress
from tidemark_conformance.garbage import seldom_collecting
from tidemark_conformance.hunt.hunting import hunt
from tidemark_conformance.hunt.target import Target, rules_of, target
from tidemark_conformance.registry.protocols import Protocol
from tidemark_conformance.registry.zoo import Row
from tidemark_conformance.simulate import simulators

PINNED_RUNS = 50
"""Traces of the pinned profile that are judged together."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Steps until a row's property first falls, None where it does not: `hunted` of `most`, and `pinned` of the pinned
    profile's seeds. `world`, `seed`: the run of the hunt in which it falls."""

    row: Row
    hunted: int | None
    pinned: int | None
    most: int
    world: str = ""
    seed: int = 0


def taken(known: Protocol, rows: Sequence[Row], seed: int, most: int, progress: Progress) -> Iterator[Taken]:
    """For each row, one after another; every hunt has the same seed and ends after `most` steps."""
    for number, row in enumerate(rows):
        progress.update(number, len(rows))
        quarry = target(known, rules_of(row, known))
        found = hunt(quarry.job(seed, row.property), {}, steps=most)
        fallen = found.total.falls.get(("", row.property))
        pinned = _pinned(known, quarry, row)
        if fallen is None:
            yield Taken(row, None, pinned, found.total.steps)
        else:
            yield Taken(row, fallen.steps, pinned, most, fallen.world, fallen.seed)


def _pinned(known: Protocol, quarry: Target, row: Row) -> int | None:
    """Steps of the row's pinned traces up to the end of the first in which its property falls."""
    plan, part = row.simulation, quarry.parts[0]
    simulate = simulators.simulator(known, quarry.headers[""], steps=plan.steps, flaw=row.id, **plan.options)
    kernels = judge_for(part.specification).kernels
    column, steps = kernels.checks.index(row.property), 0
    end = plan.first_seed + plan.count
    for first in range(plan.first_seed, end, PINNED_RUNS):
        with seldom_collecting():
            runs = [simulate(seed) for seed in range(first, min(first + PINNED_RUNS, end))]
        batch = batch_of([run.trace for run in runs], [run.stream for run in runs])
        fallen = np.flatnonzero(kernels.check(batch.data, batch.offsets, nodes=part.nodes).first[:, column] >= 0)
        if len(fallen):
            return steps + sum(run.steps for run in runs[: int(fallen[0]) + 1])
        steps += sum(run.steps for run in runs)
    return None
