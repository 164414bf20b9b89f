"""One worker's part of a round: it draws runs, simulates and judges them, and reads what they reach.

Everything that it does follows from the hunt's seed, the number of the round, its own number, and the round's
beginning. No Spark in here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
from numpy.typing import NDArray

from tidemark_conformance.audit.judge import FAIL, NOT_A_STEP, UNDECIDED, Batch, Judge, batch_of, judge_for
from tidemark_conformance.audit.locate import at_rest
from tidemark_conformance.garbage import seldom_collecting
from tidemark_conformance.hunt.corpus import DEEPEST, Corpus, Item, Kind
from tidemark_conformance.hunt.traits import Traits
from tidemark_conformance.hunt.yields import Counts, Yields
from tidemark_conformance.machine import resident
from tidemark_conformance.simulate.generate import BAD, Simulated
from tidemark_conformance.simulate.simulators import Swarm
from tidemark_conformance.tla.kernels.driver import CAPACITY, OVERFLOWS, REASONS
from tidemark_conformance.tla.kernels.runtime import Reach
from tidemark_conformance.tla.spec import Specification

RUNS = 256
"""Runs that are judged together."""
SEEDS = 4
"""Runs of a world, one after another."""

Signature = tuple[str, str, str]
"""Of a finding: the part of the run ("" where there is one), the kind of the check, and its name or the action's."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a run: its name ("" where there is one), the specification that judges it, and how many nodes it
    has. `whole`: the specification with all rules, where some are removed."""

    name: str
    specification: Specification
    nodes: int
    whole: Specification | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """All that a worker must know of a hunt. The first part is the one whose news guide. `until`: where a round may
    end early: a property's name ("": at any finding; None: nowhere)."""

    swarm: Swarm
    parts: Sequence[Part]
    seed: int
    until: str | None = None


@dataclass(slots=True)
class Finding:
    """Runs that fail in one way. It has their number, the first of them (`world`, `seed`, and the step where it fails),
    and the steps simulated before that run was over."""

    runs: int
    steps: int
    world: str
    seed: int
    step: int


@dataclass(slots=True)
class Round:
    """The result of a round, or of one island's part of it.

    `items`: new beginnings; `draws`: of all beginnings, by turn (`corpus.py`); `reach`: by part. `traits`: of flaws,
    counted by part; `yields`: of worlds. `findings`: by the first failure of a run. `falls`: by (part, check), of all
    failures of a run, the first alone. `actions`, `rules`: counts by part. `healed`: runs whose faults stopped, and
    that were judged so; `cut`: runs that ended at a capacity. `rss`: the worker's resident memory at the end in KiB.
    """

    steps: int = 0
    runs: int = 0
    cut: int = 0
    healed: int = 0
    rss: int = 0
    items: list[Item] = field(default_factory=list)
    draws: Counter[tuple[str, ...]] = field(default_factory=Counter)
    reach: dict[str, Reach] = field(default_factory=dict)
    traits: dict[str, Counter[str]] = field(default_factory=dict)
    yields: Yields = field(default_factory=Yields)
    findings: dict[Signature, Finding] = field(default_factory=dict)
    falls: dict[tuple[str, str], Finding] = field(default_factory=dict)
    actions: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    rules: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def note(self, signature: Signature, one: Finding) -> None:
        """Count a finding."""
        known = self.findings.setdefault(signature, one)
        if known is not one:
            known.runs += one.runs

    def ended(self, until: str | None) -> bool:
        """Whether the round may end early."""
        if until is None:
            return False
        return bool(self.findings) if until == "" else any(name == until for _, name in self.falls)


@dataclass(frozen=True, slots=True)
class _Run:
    before: str
    world: str
    seed: int
    parts: Mapping[str, Simulated]
    steps: int


class Island:
    """The search of one worker in one round of so many steps."""

    def __init__(
        self,
        job: Job,
        number: int,
        island: int,
        items: Sequence[Item],
        reach: Mapping[str, bytes],
        traits: Mapping[str, Mapping[str, int]],
        yields: Counts,
    ) -> None:
        self.job = job
        self.corpus = Corpus(items, Yields(yields))
        self.dice = Random(f"hunt {job.seed} {number} {island}")
        self.judges = {part.name: judge_for(part.specification) for part in job.parts}
        self.whole = {part.name: judge_for(part.whole) for part in job.parts if part.whole is not None}
        self.traits = {
            part.name: Traits(part.whole, traits.get(part.name, {})) for part in job.parts if part.whole is not None
        }
        self.found = Round(reach={part.name: Reach(reach.get(part.name, b"")) for part in job.parts})

    def search(self, steps: int) -> Round:
        """All of it."""
        found = self.found
        with seldom_collecting():
            while found.steps < steps and not found.ended(self.job.until):
                self._judge(self._simulated(steps))
        found.traits = {part: one.counts for part, one in self.traits.items()}
        found.yields.add(self.corpus.yields.new)
        found.draws = self.corpus.draws
        found.rss = resident()
        return found

    def _simulated(self, steps: int) -> list[_Run]:
        """The next runs; each knows how many steps there are with it."""
        found, runs = self.found, list[_Run]()
        while found.steps < steps and len(runs) < RUNS:
            before, world = self.corpus.draw(self.dice)
            for _ in range(SEEDS):
                seed = self.dice.randrange(1 << 40)
                parts = self.job.swarm(f"swarm:{before}{world}", seed)
                found.steps += sum(one.steps for one in parts.values())
                runs.append(_Run(before, world, seed, parts, found.steps))
        found.runs += len(runs)
        return runs

    def _judge(self, runs: Sequence[_Run]) -> None:
        news = np.zeros((0, 4), np.int64)
        for place, part in enumerate(self.job.parts):
            batch = batch_of([""] * len(runs), [run.parts[part.name].stream for run in runs])
            reached = self._judged(part, self.judges[part.name], batch, runs)
            news = news if place else reached
            if part.name in self.whole:
                self._keep_flaws(part, self.whole[part.name], batch, runs)
        for number, run in enumerate(runs):
            self._count_client(run)
            plain, at, shapes, shape_at = (int(one) for one in news[number])
            if plain or shapes:
                self._keep(run, at if plain else shape_at, Kind.PLAIN if plain else Kind.SHAPE)

    def _keep(self, run: _Run, records: int, kind: Kind, trait: tuple[str, str, int] = ("", "", 0)) -> None:
        """Keep the beginning of a run up to so many records."""
        item = Item(f"{run.before}{run.world}@{run.seed}#{records}/", run.world, kind, *trait)
        self.corpus.welcome(item)
        self.found.items.append(item)

    def _keep_flaws(self, part: Part, judge: Judge, batch: Batch, runs: Sequence[_Run]) -> None:
        """Keep the beginnings after which a removed rule would first have held: there is the flaw. What happens before
        it, and how it goes on, may be another thing each time."""
        first = judge.kernels.check(batch.data, batch.offsets, nodes=part.nodes).first[:, NOT_A_STEP]
        traits = self.traits[part.name]
        for row in np.flatnonzero(first > 1).tolist():
            if runs[row].before.count("/") < DEEPEST:
                stream = bytes(batch.data[batch.offsets[row] : batch.offsets[row + 1]])
                self._keep(runs[row], int(first[row]) - 1, Kind.FLAW, traits.of(stream, int(first[row])))

    def _judged(self, part: Part, judge: Judge, batch: Batch, runs: Sequence[_Run]) -> NDArray[np.int64]:
        """Judge a part of these runs; returns their news."""
        found, kernels = self.found, judge.kernels
        result = kernels.check(batch.data, batch.offsets, nodes=part.nodes, reach=found.reach[part.name])
        if part is self.job.parts[0]:
            found.healed += int((at_rest(batch.data, batch.offsets) & (result.verdict != UNDECIDED)).sum())
        for counts, more in ((found.actions, result.actions), (found.rules, result.rules)):
            counts[part.name] = counts[part.name] + more if part.name in counts else more
        for row in np.flatnonzero(result.verdict == FAIL).tolist():
            self._count_failing(part, judge, batch, row, result.first[row], runs[row])
        for row in np.flatnonzero(result.verdict == UNDECIDED).tolist():
            why = int(result.reason[row])
            if why == CAPACITY or why >= OVERFLOWS:
                found.cut += 1
            else:
                self._note((part.name, "undecided", REASONS[why]), runs[row], -1)
        return result.news

    def _count_failing(
        self, part: Part, judge: Judge, batch: Batch, row: int, first: NDArray[np.int32], run: _Run
    ) -> None:
        kernels = judge.kernels
        fallen = np.flatnonzero(first >= 0).tolist()
        check = min(fallen, key=lambda one: (first[one], one))
        kind, name = kind_of(part.specification, check), kernels.checks[check]
        if check == NOT_A_STEP:
            action = kernels.claimed_actions(batch.data, batch.offsets, np.array([row]), first[:1].astype(np.int64))
            name = kernels.actions[int(action[0])] if action[0] >= 0 else "no action"
        self._note((part.name, kind, name), run, int(first[check]))
        for one in fallen:
            key = part.name, kernels.checks[one]
            self.found.falls.setdefault(key, self._finding(run, int(first[one])))

    def _count_client(self, run: _Run) -> None:
        """The errors that a client has found."""
        wrong = [
            (part, fact.removeprefix(BAD))
            for part, simulated in run.parts.items()
            for fact, number in simulated.facts.items()
            if fact.startswith(BAD) and number
        ]
        for part, fact in wrong:
            self._note((part, "client", fact), run, -1)

    def _note(self, signature: Signature, run: _Run, step: int) -> None:
        self.found.note(signature, self._finding(run, step))

    @staticmethod
    def _finding(run: _Run, step: int) -> Finding:
        return Finding(1, run.steps, f"swarm:{run.before}{run.world}", run.seed, step)


def kind_of(specification: Specification, check: int) -> str:
    """The kind of the check with this number, as documents name it."""
    families = (
        ("not-a-step", 1),
        ("invariant", len(specification.invariants)),
        ("action-property", len(specification.properties)),
        ("quiescence", len(specification.quiescence)),
    )
    for kind, count in families:
        if check < count:
            return kind
        check -= count
    return "observation"
