"""A hunt: rounds of islands, each round a Spark job (or here, with one island), restartable.

A round begins with what all islands have found before. So one seed is one hunt for each number of islands. With a
number of steps it is the same in every run; with a time, how many rounds there are varies and nothing else.
`state.json` in the hunt's folder holds what whole rounds have found; a killed hunt goes on from there. A round that
`--steps` has cut short is not in it, for a longer hunt has a longer one there.
"""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tidemark_conformance.console.progress import Progress, Silent
from tidemark_conformance.errors import Unusable, writable
from tidemark_conformance.hunt.corpus import Corpus, Item, Kind
from tidemark_conformance.hunt.island import Finding, Island, Job, Round
from tidemark_conformance.hunt.yields import Counts, Yields
from tidemark_conformance.machine import resident
from tidemark_conformance.report import document
from tidemark_conformance.simulate.generate import difference
from tidemark_conformance.spark.bootstrap import Partition
from tidemark_conformance.tla.kernels.runtime import Reach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST_ROUND, LONGEST_ROUND = 10_000, 640_000
"""Steps of an island in the first round, and in the longest; each round has twice as many as the one before."""
STATE = "state.json"
CHECKSUM = "sha256"
SCHEMA = "tidemark.hunt-state/6"


@dataclass(slots=True)
class Hunted:
    """The findings of a hunt so far. `growth`: after each round its steps, and how many plain features and shapes had
    been reached; `memory`: the resident memory then in KiB, of this process and of its largest worker. `whole`: rounds
    that are over."""

    total: Round = field(default_factory=Round)
    corpus: Corpus = field(default_factory=Corpus)
    growth: list[tuple[int, int, int]] = field(default_factory=list)
    memory: list[tuple[int, int]] = field(default_factory=list)
    whole: int = 0

    def add(self, rounds: list[Round]) -> None:
        """The islands' parts of a round, in their order."""
        total, base = self.total, self.total.steps
        for one in rounds:
            self.corpus.drew(one.draws)
        for one in rounds:
            for signature, finding in sorted(one.findings.items(), key=lambda item: item[1].steps):
                finding.steps = base + len(rounds) * finding.steps
                known = total.findings.get(signature)
                total.note(signature, finding)
                if known is not None and finding.steps < known.steps:
                    finding.runs = known.runs
                    total.findings[signature] = finding
            for key, fallen in one.falls.items():
                fallen.steps = base + len(rounds) * fallen.steps
                before = total.falls.get(key)
                if before is None or fallen.steps < before.steps:
                    total.falls[key] = fallen
            for part, reach in one.reach.items():
                total.reach.setdefault(part, Reach()).merge(reach)
            for part, traits in one.traits.items():
                total.traits.setdefault(part, Counter()).update(traits)
            total.yields.add(one.yields.counts)
            for counts, more in ((total.actions, one.actions), (total.rules, one.rules)):
                for part, numbers in more.items():
                    counts[part] = counts[part] + numbers if part in counts else numbers
            for item in one.items:
                self.corpus.add(replace(item))
            total.runs += one.runs
            total.cut += one.cut
            total.healed += one.healed
            total.steps += one.steps
        total.yields.trim()
        reached = [reach.counts() for reach in total.reach.values()]
        self.memory.append((resident(), max(one.rss for one in rounds)))
        self.growth.append((total.steps, sum(plain for plain, _ in reached), sum(shapes for _, shapes in reached)))


def hunt(
    job: Job,
    settings: Mapping[str, Any],
    *,
    steps: int | None = None,
    seconds: float | None = None,
    islands: int = 1,
    session: SparkSession | None = None,
    packages: tuple[str, ...] = (),
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Hunted:
    """Hunt until so many steps, or seconds, are over, or as `job.until` says. `settings`: all that decides the hunt,
    JSON-able; a folder holds one hunt.

    Raises Unusable for a folder with another hunt, or with something else.
    """
    started, bar = time.monotonic(), progress or Silent()
    found = Hunted()
    if folder is not None:
        found = _opened(folder, settings)
        _keep(folder, settings, found)
    while not found.total.ended(job.until):
        most = min(FIRST_ROUND << min(found.whole, 30), LONGEST_ROUND)
        share = most
        if steps is not None:
            share = min(most, -(-(steps - found.total.steps) // islands))
        if seconds is not None and time.monotonic() - started >= seconds:
            break
        if share <= 0:
            break
        items = found.corpus.items()
        reach = {part: one.bits() for part, one in found.total.reach.items()}
        task = _Task(job, found.whole, share, items, reach, found.total.traits, found.total.yields.counts)
        found.add(_round(task, islands, session, packages))
        found.whole += 1
        if share == most and folder is not None:
            _keep(folder, settings, found)
        bar.update(found.total.steps, steps)
    return found


@dataclass(frozen=True, slots=True)
class _Task:
    """A round: its beginning, and the steps of each island."""

    job: Job
    number: int
    steps: int
    items: list[Item]
    reach: Mapping[str, bytes]
    traits: Mapping[str, Mapping[str, int]]
    yields: Counts

    def search(self, island: int) -> Round:
        items = [replace(one) for one in self.items]
        return Island(self.job, self.number, island, items, self.reach, self.traits, self.yields).search(self.steps)


def _round(task: _Task, islands: int, session: SparkSession | None, packages: tuple[str, ...]) -> list[Round]:
    if session is None:
        return [task.search(island) for island in range(islands)]
    from tidemark_conformance.spark.session import readable_errors, run_with_progress
    from tidemark_conformance.spark.shipping import partition_work

    work = partition_work(session, island_partition, task, packages)
    frame = session.range(0, islands, 1, islands).mapInArrow(work, "island long, found binary")
    with readable_errors("the hunt"):
        collected = run_with_progress(session, frame.collect, Silent())
    return [pickle.loads(row.found) for row in sorted(collected, key=lambda row: int(row.island))]


def island_partition(task: _Task) -> Partition:
    """The function for `mapInArrow` over the islands' numbers: a pickled `Round` for each."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for island in batch.column(0).to_pylist():
                found = pickle.dumps(task.search(island))
                yield pa.record_batch({"island": pa.array([island]), "found": pa.array([found], pa.binary())})

    return work


# --- results kept between runs --------------------------------------------------------------------------------------


def seed_in(folder: Path) -> int | None:
    """The seed of the hunt that a folder holds, None where it holds none."""
    kept = _state(folder)
    return None if kept is None else int(kept["settings"]["seed"])


def _state(folder: Path) -> dict[str, Any] | None:
    """The state that a folder holds, None without one. Raises Unusable for a file of another form."""
    path = folder / STATE
    with writable(folder):
        if not path.exists():
            return None
        try:
            kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            checksum = kept.pop(CHECKSUM)
            if kept["schema"] != SCHEMA or checksum != _checksum(kept):
                raise ValueError(kept["schema"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Unusable(
                f"{path} is no state of a hunt of this version, or it was changed; choose another folder"
            ) from None
    return kept


def _checksum(kept: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of a state without its checksum: a file that was damaged or edited is no hunt."""
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()


def _opened(folder: Path, settings: Mapping[str, Any]) -> Hunted:
    """The hunt that a folder holds so far."""
    kept = _state(folder)
    if kept is None:
        with writable(folder):
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise Unusable(f"{folder} is not empty and holds no hunt; choose another folder")
        return Hunted()
    there, here = kept["settings"], json.loads(json.dumps(settings))
    differing = [name for name in here if there.get(name) != here[name]]
    if differing:
        raise Unusable(
            f"{folder} holds a hunt with other {difference(there, here, differing[0])}; "
            "repeat its command to go on, or choose another folder"
        )
    return _read(kept)


def _keep(folder: Path, settings: Mapping[str, Any], found: Hunted) -> None:
    total = found.total
    kept = {
        "schema": SCHEMA,
        "settings": dict(settings),
        "whole": found.whole,
        "growth": found.growth,
        "memory": found.memory,
        "steps": total.steps,
        "runs": total.runs,
        "cut": total.cut,
        "healed": total.healed,
        "items": [asdict(one) for one in found.corpus.items()],
        "reach": {part: base64.b64encode(one.bits()).decode() for part, one in total.reach.items()},
        "traits": total.traits,
        "yields": total.yields.counts,
        "findings": [[*key, asdict(one)] for key, one in total.findings.items()],
        "falls": [[*key, asdict(one)] for key, one in total.falls.items()],
        "actions": {part: one.tolist() for part, one in total.actions.items()},
        "rules": {part: one.tolist() for part, one in total.rules.items()},
    }
    document.write_text(json.dumps({**kept, CHECKSUM: _checksum(kept)}), folder / STATE)


def _read(kept: dict[str, Any]) -> Hunted:
    total = Round(
        steps=kept["steps"],
        runs=kept["runs"],
        cut=kept["cut"],
        healed=kept["healed"],
        reach={part: Reach(base64.b64decode(bits)) for part, bits in kept["reach"].items()},
        traits={part: Counter(counts) for part, counts in kept["traits"].items()},
        yields=Yields(kept["yields"]),
        findings={(part, kind, name): Finding(**one) for part, kind, name, one in kept["findings"]},
        falls={(part, name): Finding(**one) for part, name, one in kept["falls"]},
        actions={part: np.array(counts, np.int64).reshape(-1, 2) for part, counts in kept["actions"].items()},
        rules={part: np.array(counts, np.int64).reshape(-1, 2) for part, counts in kept["rules"].items()},
    )
    items = Corpus(Item(**{**one, "kind": Kind(one["kind"])}) for one in kept["items"])
    growth, memory = [(a, b, c) for a, b, c in kept["growth"]], [(a, b) for a, b in kept["memory"]]
    return Hunted(total, items, growth, memory, kept["whole"])
