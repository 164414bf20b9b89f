"""The corpus of a hunt: beginnings of runs that reached something first, or that end where a removed rule would hold.

A run is drawn from it. It is a fresh world, a beginning that goes on in some world, or the world of a beginning changed
a little. Beginnings that were drawn least come first. So the corpus is bounded, and holds names.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from tidemark_conformance.hunt.yields import Yields

MOST = 2_000
"""Beginnings that are kept."""
DEEPEST = 5
"""Beginnings that may follow each other."""
WORLDS = 1_000_000_000
CHANGES = 1_000_000
FRESH, GOING_ON = 0.35, 0.6
"""Shares: of fresh worlds, and of the others those of beginnings that go on (the rest are changed worlds)."""
PLAIN = 0.7
"""The share of beginnings that reached a pair of actions, a change or a side of a rule first, not a shape alone."""
TRAITS, ALIKE = 64, 4
"""Traits that are kept of a flaw's fate, of so many beginnings that follow each other; and the last beginnings of each
trait."""
AFRESH, VARIED = 0.6, 0.3
"""The share of runs for a flaw that are in a world that had one, from the start (`yields.py`); and of these the share
of worlds that are changed a little."""
CHANGED = 0.5
"""Of the others the share of those that are changed near their end."""
REWOUND = (0, 0, 4, 12, 30)
"""Records by which a beginning of a flaw is shortened, in equal shares."""
FLAWED = 0.6
"""The share of beginnings of flaws, where there are any."""


class Kind(StrEnum):
    """Why a beginning is kept."""

    __hash__ = str.__hash__

    PLAIN = "plain"
    """It reached a pair of actions, a change or a side of a rule first."""
    SHAPE = "shape"
    """It reached a shape of state first."""
    FLAW = "flaw"
    """Its next record is no step under all rules."""


@dataclass(slots=True)
class Item:
    """A beginning. `before`: the part of a world's name before the world that goes on. `world`: in which it ended.
    `fate`, `trait`: those of a flaw, `seen`: how many flaws had had that trait (`traits.py`). `drawn`: how often it was
    drawn, or one like it."""

    before: str
    world: str
    kind: Kind
    fate: str = ""
    trait: str = ""
    seen: int = 0
    drawn: int = 0

    @property
    def turn(self) -> tuple[str, ...]:
        """The name under which draws are counted: the beginning's, or one for all flaws that are alike."""
        if self.kind is Kind.FLAW:
            return str(self.before.count("/")), self.fate, self.trait
        return self.kind, self.before


class Corpus:
    """Beginnings of each kind, in the order in which they came. `yields`: the worlds that had flaws. `draws`: how often
    each beginning was drawn from this corpus, by its turn."""

    def __init__(self, items: Iterable[Item] = (), yields: Yields | None = None) -> None:
        self.yields = Yields() if yields is None else yields
        self.draws: Counter[tuple[str, ...]] = Counter()
        self._kinds: dict[Kind, list[Item]] = {Kind.PLAIN: [], Kind.SHAPE: []}
        self._flaws: dict[int, dict[str, dict[str, deque[Item]]]] = {}
        for item in items:
            self.add(item)

    def items(self) -> list[Item]:
        """All of them."""
        return [item for kept in (*self._kinds.values(), *self._alike()) for item in kept]

    def add(self, item: Item) -> None:
        """Keep a beginning. Of too many of a kind the one that was drawn most goes; of flaws that are alike the oldest,
        and of too many traits the one that most flaws have had."""
        if item.kind is Kind.FLAW:
            traits = self._traits(item)
            alike = traits.setdefault(item.trait, deque(maxlen=ALIKE))
            item.drawn = max(item.drawn, _drawn(alike))
            alike.append(item)
            if len(traits) > TRAITS:
                del traits[max(traits, key=lambda one: traits[one][-1].seen)]
            return
        kept = self._kinds[item.kind]
        kept.append(item)
        if len(kept) > MOST // 2:
            del kept[max(range(len(kept)), key=lambda place: kept[place].drawn)]

    def welcome(self, item: Item) -> None:
        """Keep a new beginning. One of a flaw takes its turn behind those of its trait, and a new trait none before the
        others."""
        if item.kind is Kind.FLAW:
            traits = self._traits(item)
            if item.trait in traits:
                item.drawn = _drawn(traits[item.trait])
            elif traits:
                item.drawn = min(map(_drawn, traits.values()))
            if item.before.count("/") == 1:
                self.yields.found(item.fate, item.world)
        self.add(item)

    def drew(self, draws: Mapping[tuple[str, ...], int]) -> None:
        """Corpora that began as this one drew these beginnings so often."""
        for kept in self._kinds.values():
            for item in kept:
                item.drawn += draws.get(item.turn, 0)
        for alike in self._alike():
            if more := draws.get(alike[-1].turn):
                drawn = _drawn(alike) + more
                for item in alike:
                    item.drawn = drawn

    def _traits(self, item: Item) -> dict[str, deque[Item]]:
        """The beginnings of flaws with the fate of this one and behind as many others, by trait."""
        return self._flaws.setdefault(item.before.count("/"), {}).setdefault(item.fate, {})

    def _alike(self) -> list[deque[Item]]:
        """The beginnings of flaws that are alike, together."""
        return [alike for fates in self._flaws.values() for traits in fates.values() for alike in traits.values()]

    def draw(self, dice: Random) -> tuple[str, str]:
        """The beginnings of a run ("": none), and the world that goes on."""
        fresh = str(dice.randrange(WORLDS))
        kinds = self._kinds
        first = Kind.PLAIN if dice.random() < PLAIN else Kind.SHAPE
        kept = kinds[first] or kinds[Kind.PLAIN] or kinds[Kind.SHAPE]
        if self._flaws and dice.random() < FLAWED:
            return self._drawn_flaw(dice, fresh)
        if not kept or dice.random() < FRESH:
            return "", fresh
        item = min((dice.choice(kept) for _ in range(4)), key=lambda one: one.drawn)
        item.drawn += 1
        self.draws[item.turn] += 1
        changed = _changed(item.world, dice)
        if item.before.count("/") <= DEEPEST and dice.random() < GOING_ON:
            return item.before, dice.choice((item.world, changed, fresh))
        return "", changed

    def _drawn_flaw(self, dice: Random, fresh: str) -> tuple[str, str]:
        """A beginning of a flaw, shortened or changed, and the world that goes on. Every number of beginnings that
        follow each other has an equal share, of these every fate, and of its traits the one that was drawn least. Or
        it is a world that had a flaw without any beginning."""
        if self.yields and dice.random() < AFRESH:
            fate, world = self.yields.draw(dice)
            if dice.random() < VARIED:
                return "", _changed(world, dice)
            self.yields.drew(fate, world)
            return "", world
        fates = self._flaws[dice.choice(sorted(self._flaws))]
        traits = list(fates[dice.choice(sorted(fates))].values())
        alike = min((dice.choice(traits) for _ in range(4)), key=_drawn)
        item = dice.choice(alike)
        item.drawn = _drawn(alike) + 1
        self.draws[item.turn] += 1
        changed = _changed(item.world, dice)
        name, _, records = item.before.removesuffix("/").rpartition("#")
        if dice.random() < CHANGED:
            before = f"{name}#{records}~{dice.randrange(CHANGES)}/"
        else:
            before = f"{name}#{max(1, int(records) - dice.choice(REWOUND))}/"
        return before, dice.choice((item.world, changed, fresh))


def _changed(world: str, dice: Random) -> str:
    """A world changed a little: never its last change, but the world that had none."""
    return f"{world.partition('.')[0]}.{dice.randrange(CHANGES)}"


def _drawn(alike: Iterable[Item]) -> int:
    """How often one of these beginnings was drawn."""
    return max((item.drawn for item in alike), default=0)
