"""A hunt sees every kind of failure in every part of a run, the finds of earlier rounds, and all its work."""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tidemark_conformance.commands import verify
from tidemark_conformance.hunt import hunting, island
from tidemark_conformance.hunt.corpus import Corpus, Item, Kind
from tidemark_conformance.hunt.hunting import Hunted, hunt
from tidemark_conformance.hunt.island import Island, Job, Part, Round
from tidemark_conformance.hunt.target import known_as, target
from tidemark_conformance.registry import zoo
from tidemark_conformance.registry.protocols import Composition, compositions, protocols
from tidemark_conformance.simulate.generate import BAD, Simulated
from tidemark_conformance.tla.kernels.runtime import Kernels, Reach
from tidemark_conformance.verify import hunts

LATE_READ = "52"
"""A row of offsets, where runs are cheap: its flaw shows in nearly every run."""
SECONDS = 1.5
"""Of a clock that goes on by a second whenever it is asked: time for one round."""
OBSERVED = "what was observed"
HUNTED = [*protocols(), *compositions()]


# --- judging ----------------------------------------------------------------------------------------------------------


def failing(kernels: Kernels, data: Any, offsets: Any, **_: Any) -> Any:
    """The judgement that of these runs each fails at another check, and at that one alone, at its first record."""
    runs = len(offsets) - 1
    first = np.full((runs, len(kernels.checks)), -1)
    first[np.arange(runs), np.arange(runs) % len(kernels.checks)] = 1
    return SimpleNamespace(
        verdict=np.full(runs, island.FAIL),
        first=first,
        reason=np.zeros(runs, np.int64),
        news=np.zeros((runs, 4), np.int64),
        actions=np.zeros((len(kernels.actions), 2), np.int64),
        rules=np.zeros((len(kernels.rules), 2), np.int64),
    )


def named(part: Part) -> set[tuple[str, str]]:
    """The checks of a part but for "not a step", each with its kind: as the specification lists them."""
    one = part.specification
    families = {"invariant": one.invariants, "action-property": one.properties, "quiescence": one.quiescence}
    found = {(kind, check.name) for kind, several in families.items() for check in several}
    others = island.judge_for(one).kernels.checks[1 + len(found) :]
    return found | {("observation", name) for name in others}


@pytest.mark.parametrize("name", HUNTED)
def test_every_check_of_every_part_that_falls_is_a_finding(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so are what a client of a part has lost, and a wrong observation: no protocol has one so far."""
    job = target(known_as(name)).job(1)
    for part in job.parts:
        kernels = island.judge_for(part.specification).kernels
        if OBSERVED not in kernels.checks:
            monkeypatch.setattr(kernels, "checks", [*kernels.checks, OBSERVED])
    made = job.swarm("swarm:3", 1)
    runs = {part: Simulated("", one.stream, 1, {f"{BAD}loss of {part}": 2}) for part, one in made.items()}
    monkeypatch.setattr(Kernels, "check", failing)
    most = max(len(island.judge_for(part.specification).kernels.checks) for part in job.parts)
    total = hunt(Job(lambda *_: runs, job.parts, 1), {}, steps=len(runs) * most).total
    assert total.runs >= most
    for part in job.parts:
        found = {(kind, check) for one, kind, check in total.findings if one == part.name}
        steps = {check for kind, check in found if kind == "not-a-step"}
        assert len(steps) == 1
        assert steps <= set(part.specification.action_names)
        assert found == named(part) | {("client", f"loss of {part.name}")} | {("not-a-step", one) for one in steps}
        checks = island.judge_for(part.specification).kernels.checks
        assert {check for one, check in total.falls if one == part.name} == set(checks)


@pytest.mark.parametrize(
    ("row", "kind", "most"),
    [
        ("138", "invariant", 3_000),
        ("35", "invariant", 300),
        ("47", "action-property", 600),
        ("52", "action-property", 300),
        ("60", "client", 1_500),
        ("98", "invariant", 600),
        ("132", "client", 300),
    ],
)
def test_a_flaw_of_each_protocol_falls_soon(row: str, kind: str, most: int) -> None:
    one = zoo.one(row)
    total = hunt(target(known_as(one.protocol), one.rules).job(1), {}, steps=most).total
    assert total.falls["", one.property].step > 0
    assert 0 < total.falls["", one.property].steps <= total.steps
    kinds = {found for _, found, _ in total.findings}
    assert kind in kinds
    assert "not-a-step" not in kinds


def test_a_composition_without_a_rule_is_judged_without_it() -> None:
    """Its own specification alone, so that a property falls and no step is called wrong."""
    row = zoo.one("35")
    known = known_as("composed")
    quarry = target(known, row.rules)
    total = hunt(quarry.job(1), {}, steps=300).total
    assert ("classic-group", row.property) in total.falls
    assert not [name for _, kind, name in total.findings if kind == "not-a-step"]
    above, log = quarry.parts
    assert (above.name, log.name) == ("classic-group", "replication")
    assert above.specification.without == set(row.rules)
    assert above.whole is not None
    assert not above.whole.without
    assert not log.specification.without
    assert log.whole is None


# --- rounds and islands -----------------------------------------------------------------------------------------------


class Watched:
    """A hunt of three rounds with two islands, and what each of them was given and gave back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.dice: list[Any] = []
        self.tasks: list[Any] = []
        self.rounds: list[list[Round]] = []
        self.runs: list[tuple[int, str, int, int]] = []
        job = target(known_as("offsets"), zoo.one(LATE_READ).rules).job(1)
        begin, search = hunting._round, Island.search

        def beginning(task: Any, *others: Any) -> list[Round]:
            given = {name: getattr(task, name) for name in ("number", "items", "reach", "traits", "yields")}
            self.tasks.append(SimpleNamespace(**copy.deepcopy(given)))
            made = begin(task, *others)
            self.rounds.append(copy.deepcopy(made))
            return made

        def searching(one: Island, steps: int) -> Round:
            self.dice.append(one.dice.getstate())
            return search(one, steps)

        def swarm(world: str, seed: int) -> Any:
            run = job.swarm(world, seed)
            self.runs.append((len(self.rounds), world, seed, run[""].steps))
            return run

        monkeypatch.setattr(island, "SEEDS", 1)
        monkeypatch.setattr(hunting, "FIRST_ROUND", 1_000)
        monkeypatch.setattr(hunting, "_round", beginning)
        monkeypatch.setattr(Island, "search", searching)
        self.hunted = hunt(Job(swarm, job.parts, 1), {}, steps=14_000, islands=2)


@pytest.fixture(scope="module")
def watched() -> Watched:
    with pytest.MonkeyPatch.context() as monkeypatch:
        return Watched(monkeypatch)


def test_a_round_begins_with_all_that_the_islands_found_before(watched: Watched) -> None:
    assert len(watched.tasks) >= 3
    items, traits, reach = set[str](), Counter[str](), Reach()
    flaws: dict[str, dict[str, Counter[int]]] = {}
    for number, (task, rounds) in enumerate(zip(watched.tasks, watched.rounds, strict=True)):
        assert task.number == number
        plain = {item.before for item in task.items if item.kind is not Kind.FLAW}
        assert plain == items
        assert bool(number) == any(item.kind is Kind.FLAW for item in task.items)
        assert task.traits.get("", {}) == traits
        assert task.yields == {
            fate: {world: [one[0], one[1]] for world, one in worlds.items()} for fate, worlds in flaws.items()
        }
        assert task.reach == ({"": reach.bits()} if number else {})
        for one in rounds:
            assert one.traits[""]
            reach.merge(one.reach[""])
            items |= {item.before for item in one.items if item.kind is not Kind.FLAW}
            traits.update(one.traits[""])
            for fate, worlds in one.yields.counts.items():
                for world, count in worlds.items():
                    flaws.setdefault(fate, {}).setdefault(world, Counter()).update(dict(enumerate(count)))
    assert len(items) > 20
    assert len(flaws) > 1
    assert watched.hunted.total.traits[""] == traits
    assert {Kind.PLAIN, Kind.FLAW} <= {item.kind for one in watched.rounds[0] for item in one.items}


def test_later_rounds_go_on_from_beginnings_of_earlier_ones(watched: Watched) -> None:
    for number, task in enumerate(watched.tasks):
        worlds = {world.removeprefix("swarm:") for at, world, _, _ in watched.runs if at == number}
        plain = [item.before for item in task.items if item.kind is Kind.PLAIN]
        gone_on = [before for before in plain if any(world.startswith(before) for world in worlds)]
        assert len(gone_on) > 3 or not number


def test_islands_and_rounds_have_dice_of_their_own(watched: Watched) -> None:
    """So none repeats another one's runs."""
    assert len(watched.dice) == 2 * len(watched.tasks)
    assert len(set(watched.dice)) == len(watched.dice)
    seeds = [seed for _, _, seed, _ in watched.runs]
    assert len(set(seeds)) == len(seeds)
    worlds = [{world for at, world, _, _ in watched.runs if at == number} for number in range(len(watched.tasks))]
    assert all(len(one & other) < len(one) / 3 for one, other in itertools.pairwise(worlds))


def test_steps_and_runs_are_those_of_all_islands_and_rounds(watched: Watched) -> None:
    total = watched.hunted.total
    steps = [sum(one[3] for one in watched.runs if one[0] == number) for number in range(len(watched.rounds))]
    assert total.steps == sum(steps)
    assert total.runs == len(watched.runs)
    assert [at for at, _, _ in watched.hunted.growth] == list(itertools.accumulate(steps))
    assert 0.8 * total.steps < total.actions[""][:, 0].sum() <= total.steps, "some records are none of an action"
    assert all(0 < one.steps <= total.steps + 2_000 for one in total.findings.values())


def test_draws_of_a_beginning_are_those_of_all_islands_and_rounds(watched: Watched) -> None:
    """So the beginnings drawn least come first in the next round, too."""
    draws = Counter[tuple[str, ...]]()
    for one in itertools.chain(*watched.rounds):
        draws.update(one.draws)
    items = [item for item in watched.hunted.corpus.items() if item.kind is not Kind.FLAW]
    assert {item.before: item.drawn for item in items} == {item.before: draws[item.turn] for item in items}
    old = [item for item in watched.tasks[1].items if item.kind is not Kind.FLAW]
    before = {item.before: item.drawn for item in watched.tasks[1].items}
    later = {item.before: item.drawn for item in watched.tasks[2].items}
    assert sum(later[item.before] - before[item.before] for item in old) > 10


def test_draws_of_two_islands_are_added_up() -> None:
    """Of flaws that are alike their number is one; a beginning that came meanwhile is behind those drawn before."""
    plain = Item("1@1#2/", "1", Kind.PLAIN, drawn=3)
    alike = [Item(f"{number}@1#50/", str(number), Kind.FLAW, "Read Drop", "one <", drawn=4) for number in (1, 2)]
    hunted = Hunted(corpus=Corpus([plain, *alike]))
    new = replace(alike[0], before="3@1#50/", drawn=5)
    one = Round(draws=Counter({plain.turn: 2, alike[0].turn: 1}), items=[new])
    hunted.add([one, Round(draws=Counter({plain.turn: 1, alike[1].turn: 6}))])
    drawn = {item.before: item.drawn for item in hunted.corpus.items()}
    assert drawn == {"1@1#2/": 6, "1@1#50/": 11, "2@1#50/": 11, "3@1#50/": 11}


# --- the hunts of make check ------------------------------------------------------------------------------------------


class Here:
    """In the place of processes: a task is done at once."""

    def submit(self, work: Callable[..., Any], *given: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*given))
        return done


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Job, float]]:
    """Hunts in this process, of one short round each; the jobs and seconds of all of them."""
    hunted: list[tuple[Job, float]] = []
    clock = itertools.count()

    def watching(job: Job, settings: Any, *, seconds: float) -> Hunted:
        hunted.append((job, seconds))
        return hunt(job, settings, seconds=seconds)

    monkeypatch.setattr(hunting, "FIRST_ROUND", 60)
    monkeypatch.setattr(hunting, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(hunts, "hunt", watching)
    monkeypatch.setattr(hunts, "side_by_side", lambda: nullcontext(Here()))
    return hunted


def test_every_protocol_and_composition_is_hunted_with_all_rules(here: list[tuple[Job, float]]) -> None:
    """Each from the seed that is told, for the seconds that were given, and by all its specifications."""
    found = hunts.fresh(SECONDS, use=False)
    entries = {**protocols(), **compositions()}
    assert [one.name for one in found] == [name for name, one in entries.items() if one.implementation]
    assert any(isinstance(entries[one.name], Composition) for one in found)
    for one, (job, seconds) in zip(found, here, strict=True):
        assert one.steps > 0, one.name
        assert one.runs > 0
        assert not one.findings
        assert (job.seed, seconds) == (one.seed, SECONDS)
        assert not any(part.specification.without for part in job.parts)
        assert len(job.parts) == len(getattr(entries[one.name], "parts", "1"))
    assert verify.HUNTED_S >= 1


def test_every_run_of_make_check_has_a_seed_of_its_own(here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunts, "_hunted", lambda name, seed, seconds: hunts.Fresh(name, seed, 1, 1, ()))
    seeds = [{one.seed for one in hunts.fresh(SECONDS, use=False)} for _ in range(3)]
    assert [len(one) for one in seeds] == [1, 1, 1]
    assert len(set.union(*seeds)) == 3


def test_a_flaw_is_told_by_the_hunts_of_make_check(here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what fell and the command that shows it, so the line is red."""
    row = zoo.one(LATE_READ)
    monkeypatch.setattr(hunts, "target", lambda known: target(known, row.rules))
    found = hunts._hunted("offsets", 1, SECONDS)
    assert found.findings
    assert f"{row.property} falls" in dict(found.findings)
    assert all(command.startswith("tidemark simulate offsets --traces 1") for _, command in found.findings)
    assert hunts.text([found]).endswith("findings in offsets")
