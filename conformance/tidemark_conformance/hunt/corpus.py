"""The corpus of a hunt: beginnings of runs that reached something first, or that end where a removed rule would hold.

A run is drawn from it. It is a fresh world, a beginning that goes on in some world, or the world of a beginning changed
a little. Beginnings that were drawn least come first. So the corpus is bounded, and holds names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
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
FLAWS = 64
"""Beginnings of flaws that are kept, the last ones of so many beginnings that follow each other."""
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
    `drawn`: how often it was drawn."""

    before: str
    world: str
    kind: Kind
    drawn: int = 0


class Corpus:
    """Beginnings of each kind, in the order in which they came."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._kinds: dict[Kind, list[Item]] = {Kind.PLAIN: [], Kind.SHAPE: []}
        self._flaws: dict[int, deque[Item]] = {}
        for item in items:
            self.add(item)

    def items(self) -> list[Item]:
        """All of them."""
        return [item for kept in (*self._kinds.values(), *self._flaws.values()) for item in kept]

    def add(self, item: Item) -> None:
        """Keep a beginning; of too many of a kind the one that was drawn most goes, of flaws the oldest."""
        if item.kind is Kind.FLAW:
            self._flaws.setdefault(item.before.count("/"), deque(maxlen=FLAWS)).append(item)
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
        flaws = bool(self._flaws) and dice.random() < FLAWED
        if not (kept or flaws) or dice.random() < FRESH:
            return "", fresh
        if flaws:
            kept = list(self._flaws[dice.choice(sorted(self._flaws))])
        item = min((dice.choice(kept) for _ in range(4)), key=lambda one: one.drawn)
        item.drawn += 1
        changed = f"{item.world.partition('.')[0]}.{dice.randrange(CHANGES)}"
        if item.before.count("/") <= DEEPEST and (item.kind is Kind.FLAW or dice.random() < GOING_ON):
            return item.before, dice.choice((item.world, changed, fresh))
        return "", changed
