"""The corpus of a hunt: beginnings of runs that reached something first, or that end where a removed rule would hold.

A run is drawn from it. It is a fresh world, a beginning that goes on in some world, or the world of a beginning changed
a little. Beginnings that were drawn least come first. So the corpus is bounded, and holds names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

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
TRAITS, ALIKE = 32, 4
"""Traits that are kept of a flaw's fate, of so many beginnings that follow each other; and the last beginnings of each
trait."""
CHANGED = 0.5
"""The share of beginnings of flaws that are changed near their end."""
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
    `fate`, `trait`: those of a flaw (`traits.py`). `drawn`: how often it was drawn, or one like it."""

    before: str
    world: str
    kind: Kind
    fate: str = ""
    trait: str = ""
    drawn: int = 0


@dataclass(slots=True)
class Alike:
    """The last beginnings of flaws of one fate and one trait. `drawn`: how often one of them was drawn."""

    items: deque[Item] = field(default_factory=lambda: deque(maxlen=ALIKE))
    drawn: int = 0

    def add(self, item: Item) -> None:
        """Keep a beginning, perhaps instead of the oldest."""
        self.items.append(item)
        self.drawn = max(self.drawn, item.drawn)


class Corpus:
    """Beginnings of each kind, in the order in which they came."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._kinds: dict[Kind, list[Item]] = {Kind.PLAIN: [], Kind.SHAPE: []}
        self._flaws: dict[int, dict[str, dict[str, Alike]]] = {}
        for item in items:
            self.add(item)

    def items(self) -> list[Item]:
        """All of them."""
        fates = [traits for fates in self._flaws.values() for traits in fates.values()]
        flaws = [alike.items for traits in fates for alike in traits.values()]
        return [item for kept in (*self._kinds.values(), *flaws) for item in kept]

    def add(self, item: Item) -> None:
        """Keep a beginning; of too many of a kind the one that was drawn most goes, of flaws the oldest."""
        if item.kind is Kind.FLAW:
            traits = self._flaws.setdefault(item.before.count("/"), {}).setdefault(item.fate, {})
            traits.setdefault(item.trait, Alike()).add(item)
            if len(traits) > TRAITS:
                del traits[max(traits, key=lambda one: traits[one].drawn)]
            return
        kept = self._kinds[item.kind]
        kept.append(item)
        if len(kept) > MOST // 2:
            kept.remove(max(kept, key=lambda one: one.drawn))

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
        changed = f"{item.world.partition('.')[0]}.{dice.randrange(CHANGES)}"
        if item.before.count("/") <= DEEPEST and dice.random() < GOING_ON:
            return item.before, dice.choice((item.world, changed, fresh))
        return "", changed

    def _drawn_flaw(self, dice: Random, fresh: str) -> tuple[str, str]:
        """A beginning of a flaw, shortened or changed, and the world that goes on. Every number of beginnings that
        follow each other has an equal share, of these every fate, and of its traits the one that was drawn least."""
        fates = self._flaws[dice.choice(sorted(self._flaws))]
        traits = list(fates[dice.choice(sorted(fates))].values())
        alike = min((dice.choice(traits) for _ in range(4)), key=lambda one: one.drawn)
        alike.drawn += 1
        item = dice.choice(alike.items)
        item.drawn = alike.drawn
        changed = f"{item.world.partition('.')[0]}.{dice.randrange(CHANGES)}"
        name, _, records = item.before.removesuffix("/").rpartition("#")
        if dice.random() < CHANGED:
            before = f"{name}#{records}~{dice.randrange(CHANGES)}/"
        else:
            before = f"{name}#{max(1, int(records) - dice.choice(REWOUND))}/"
        return before, dice.choice((item.world, changed, fresh))
