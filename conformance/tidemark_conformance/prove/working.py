"""Proofs on all cores: a process judges the conditions of one action after another."""

from __future__ import annotations

import concurrent.futures
import functools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidemark_conformance import machine
from tidemark_conformance.garbage import seldom_collecting
from tidemark_conformance.processes import side_by_side
from tidemark_conformance.prove import cores, inductive
from tidemark_conformance.prove.cores import Cores, Kept
from tidemark_conformance.prove.inductive import Theorem
from tidemark_conformance.prove.proving import ALWAYS, IMPOSSIBLE, INIT, Condition, Prover, Result
from tidemark_conformance.prove.second import Second


@dataclass(frozen=True)
class Job:
    """A theorem by its name and files. `without`: the rules that are not in force (None: the cfg's). `again`: whether a
    second solver is asked what the first has proved."""

    name: str
    module: str
    cfg: str
    without: tuple[str, ...] | None = None
    again: bool = False


@functools.lru_cache(maxsize=1)
def prover(job: Job, limit: int) -> Prover:
    """The prover of a job, kept in its process."""
    second = Second() if job.again else None
    return Prover(inductive.read(job.name, Path(job.module), Path(job.cfg)), job.without, limit, second)


def one(job: Job, limit: int, action: str, kept: Kept) -> tuple[list[Condition], dict[str, frozenset[str]]]:
    """The conditions of one action, and the cores of its instances that the invariant excludes."""
    own = prover(job, limit)
    own.impossible.clear()
    with seldom_collecting():
        found = own.judge(kept.cores, only=lambda lemma, of: of == action, untried=kept.open)
    return found.conditions, dict(own.impossible)


def judge(job: Job, limit: int, kept: Kept, told: Callable[[str, list[Condition]], None]) -> tuple[Result, Kept]:
    """Every condition of a theorem and the results to keep, as many actions side by side as there are cores."""
    began = time.monotonic()
    own = prover(job, limit)
    actions = [INIT, *own.actions(), ALWAYS]
    result = Result(job.name, [])
    impossible: Cores = {}
    if machine.cores() < 2 or len(own.theorem.lemmas) < 12:
        for action in actions:
            conditions, excluded = one(job, limit, action, kept)
            _take(result, impossible, conditions, excluded)
            told(action, conditions)
    else:
        _spread(job, limit, kept, actions, told, result, impossible)
    order = {action: at for at, action in enumerate(actions)}
    result.conditions.sort(key=lambda condition: order[condition.action])
    result.seconds = time.monotonic() - began
    found = {(one.lemma, one.action): one.core for one in result.conditions if one.goals and one.proved}
    return result, Kept({**found, **impossible}, tuple((one.lemma, one.action) for one in result.open))


def grounded(module: Path, theorem: Theorem, limit: int, judged: dict[str, bool]) -> bool:
    """Whether the theorem that this one rests on, and all below, are proved. They are judged from their kept cores, but
    for those in `judged` (name -> whether all its conditions closed), which grows."""
    name = theorem.rests_on
    if name is None:
        return True
    below = next(one for one in module.parents if (one / f"{name}.tla").is_file()) / f"{name}.tla"
    cfg = below.with_suffix(".cfg")
    if name not in judged:
        kept = cores.read(cores.file_of(below, name))
        result, _ = judge(Job(name, str(below), str(cfg)), limit, kept, lambda action, conditions: None)
        judged[name] = result.closed
    return judged[name] and grounded(below, inductive.read(name, below, cfg), limit, judged)


def longest_first(actions: Sequence[str], kept: Kept) -> list[str]:
    """The actions in the order of their kept cores' sizes, the largest first: no core idles while the last one ends."""
    sizes = Counter[str]()
    for (_, action), core in kept.cores.items():
        sizes[action] += 1 + len(core)
    return sorted(actions, key=lambda action: -sizes[action])


def _spread(
    job: Job,
    limit: int,
    kept: Kept,
    actions: Sequence[str],
    told: Callable[[str, list[Condition]], None],
    result: Result,
    impossible: Cores,
) -> None:
    with side_by_side() as pool:
        running = {pool.submit(one, job, limit, action, kept): action for action in longest_first(actions, kept)}
        for future in concurrent.futures.as_completed(running):
            conditions, excluded = future.result()
            _take(result, impossible, conditions, excluded)
            told(running[future], conditions)


def _take(result: Result, impossible: Cores, conditions: list[Condition], excluded: dict[str, frozenset[str]]) -> None:
    result.conditions += conditions
    impossible.update({(IMPOSSIBLE, call): core for call, core in excluded.items()})
