"""The corpus of a hunt: which beginnings and worlds it keeps, and which are drawn; and the runs that are recorded
(docs/hunt.md)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from tidemark_conformance.audit.judge import batch_of, judge_for
from tidemark_conformance.hunt.corpus import ALIKE, DEEPEST, MOST, REWOUND, TRAITS, Corpus, Item, Kind
from tidemark_conformance.hunt.target import known_as, target
from tidemark_conformance.hunt.yields import MOST_WORLDS, Yields
from tidemark_conformance.paths import CHECKOUT
from tidemark_conformance.registry import zoo
from tidemark_conformance.report import hunted


def test_a_corpus_is_bounded_and_gives_what_was_drawn_least() -> None:
    corpus, dice = Corpus(), Random(1)
    assert corpus.draw(dice)[0] == ""
    for number in range(3 * MOST):
        corpus.add(Item(f"{number}@1#2/", str(number), Kind.PLAIN if number % 2 else Kind.SHAPE))
    assert len(corpus.items()) == MOST
    draws = [corpus.draw(dice) for _ in range(2_000)]
    assert {bool(before) for before, _ in draws} == {True, False}
    assert any("." in world for before, world in draws if not before)
    assert max(item.drawn for item in corpus.items()) <= 6
    deep = Corpus([Item("1@1#1/" * (DEEPEST + 2), "1", Kind.PLAIN)])
    assert all(not deep.draw(dice)[0] for _ in range(200))


def flaw(number: int, fate: str = "Read Append", trait: str = "one other <") -> Item:
    """A beginning of a flaw."""
    return Item(f"{number}@1#50/", str(number), Kind.FLAW, fate, trait)


def test_of_flaws_that_are_alike_the_last_beginnings_are_kept() -> None:
    corpus = Corpus(flaw(number) for number in range(3 * ALIKE))
    assert [item.world for item in corpus.items()] == [str(number) for number in range(2 * ALIKE, 3 * ALIKE)]
    many = Corpus(replace(flaw(number, trait=f"trait {number} <"), seen=number) for number in range(3 * TRAITS))
    assert len(many.items()) == TRAITS
    assert [item.seen for item in many.items()] == list(range(TRAITS)), "those that fewest flaws have had"


def test_a_rare_fate_of_a_flaw_is_drawn_as_often_as_a_frequent_one() -> None:
    """However many traits the frequent one has; and of its traits those that were drawn least come first."""
    corpus = Corpus([*(flaw(number, "Read Drop", f"trait {number} <") for number in range(TRAITS)), flaw(99)])
    dice, drawn = Random(1), Counter[str]()
    for _ in range(2_000):
        before, world = corpus.draw(dice)
        drawn[before.partition("@")[0] or world.partition(".")[0]] += 1
    rare, others = drawn["99"], [drawn[str(number)] for number in range(TRAITS)]
    assert 0.4 * sum(others) < rare < 2.5 * sum(others)
    assert max(others) < 2 * min(others)
    assert drawn.total() - rare - sum(others) > 400, "fresh worlds go on being drawn"


def test_a_new_trait_takes_its_turn_behind_the_others() -> None:
    corpus = Corpus(replace(flaw(number, trait=f"trait {number} <"), drawn=5 + number) for number in range(3))
    for number, trait in ((7, "trait 9 <"), (8, "trait 2 <")):
        corpus.welcome(flaw(number, trait=trait))
    assert {item.world: item.drawn for item in corpus.items()} == {"0": 5, "1": 6, "2": 7, "7": 5, "8": 7}


def test_worlds_of_flaws_are_begun_afresh() -> None:
    """Those of runs without another beginning: in a lineage the last world may not have led to the flaw."""
    corpus, dice = Corpus(), Random(1)
    corpus.welcome(flaw(1))
    corpus.welcome(replace(flaw(2), before="7@1#20/2@1#50/"))
    draws = [corpus.draw(dice) for _ in range(2_000)]
    afresh = Counter(world.partition(".") for before, world in draws if not before)
    assert afresh["1", "", ""] > 100
    assert sum(count for (world, _, change), count in afresh.items() if world == "1" and change) > 100
    assert not any(world == "2" for world, _, _ in afresh)
    assert corpus.yields.new == corpus.yields.counts == {"Read Append": {"1": [1, afresh["1", "", ""]]}}


def test_of_worlds_those_that_have_a_rare_fate_often_are_drawn() -> None:
    often = {"Read Append": {"1": (9, 9), "2": (1, 9), "3": (1, 9)}, "Read Drop": {"4": (500, 900)}}
    yields, dice = Yields(often), Random(1)
    drawn = Counter(yields.draw(dice) for _ in range(1_000))
    assert drawn["Read Append", "1"] > 600
    assert 100 < drawn["Read Drop", "4"] < 400, "one that is frequent is not forgotten"
    for _ in range(200):
        yields.drew("Read Append", "1")
    assert yields.new == {"Read Append": {"1": [0, 200]}}
    drawn = Counter(yields.draw(dice) for _ in range(1_000))
    assert drawn["Read Append", "1"] < 50, "it has not had it since"


def test_counts_of_worlds_are_bounded_and_added_up() -> None:
    total = Yields({"fate": {str(number): (number, 1) for number in range(MOST_WORLDS + 40)}})
    island = Yields(total.counts)
    island.found("fate", "7")
    island.found("other", "8")
    total.add(island.new)
    assert total.counts["fate"]["7"] == [8, 1]
    assert total.counts["other"] == {"8": [1, 0]}
    total.trim()
    assert list(total.counts["fate"]) == [str(number) for number in range(40, MOST_WORLDS + 40)]
    assert not total.new


def test_beginnings_of_flaws_are_changed_or_shortened() -> None:
    corpus, dice = Corpus([flaw(1)]), Random(1)
    ends = Counter(re.sub(r"~\d+", "~", corpus.draw(dice)[0]) for _ in range(2_000))
    assert ends.keys() == {"", "1@1#50~/", *(f"1@1#{50 - less}/" for less in REWOUND)}
    assert min(ends.values()) > 50


def test_a_corpus_tells_how_often_each_beginning_was_drawn() -> None:
    """Of flaws that are alike, how often one of them was; what other islands drew is added to it."""
    kept = [Item("1@1#2/", "1", Kind.PLAIN), Item("2@1#2/", "2", Kind.SHAPE)]
    kept += [flaw(3), flaw(4), flaw(5, trait="other >")]
    corpus, dice = Corpus(kept), Random(1)
    for _ in range(500):
        corpus.draw(dice)
    drawn = {turn: max(item.drawn for item in kept if item.turn == turn) for turn in {item.turn for item in kept}}
    assert len(drawn) == 4
    assert corpus.draws == drawn
    assert min(drawn.values()) > 20
    driver = Corpus(replace(item, drawn=7) for item in kept)
    driver.drew(corpus.draws)
    driver.drew({kept[0].turn: 1, kept[3].turn: 2, ("plain", "9@1#2/"): 4})
    more = {kept[0].turn: 8, kept[3].turn: 9}
    assert all(item.drawn == drawn[item.turn] + more.get(item.turn, 7) for item in driver.items())


RECORDED = [one for one in hunted.read(CHECKOUT / hunted.RECORD) if one["first"] is not None]


@pytest.mark.deep
@pytest.mark.parametrize("one", RECORDED, ids=lambda one: f"{one['number']}-{one['id']}")
def test_the_run_that_a_hunt_recorded_still_shows_its_row(one: dict[str, Any]) -> None:
    """docs/hunt.md shows where it was found: a change of the worlds must not leave the page behind."""
    quarry = target(known_as(one["protocol"]), zoo.one(one["id"]).rules)
    (part,) = quarry.parts
    run = quarry.job(1).swarm(one["first"]["world"], one["first"]["seed"])[part.name]
    kernels = judge_for(part.specification).kernels
    batch = batch_of([""], [run.stream])
    first = kernels.check(batch.data, batch.offsets, nodes=part.nodes).first[0]
    assert first[kernels.checks.index(one["property"])] >= 0
