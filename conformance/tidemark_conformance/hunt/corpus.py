"""The corpus of a hunt: beginnings of runs that reached something first.

A run is drawn from it. It is a fresh world, a beginning that goes on in some world, or the world of a beginning changed
a little. Beginnings that were drawn least come first. So the corpus is bounded, and holds names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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


@dataclass(slots=True)
class Item:
    """A beginning. `before`: the part of a world's name before the world that goes on. `world`: in which it ended.
    `plain`: it reached more than a shape of state first. `drawn`: how often it was drawn."""

    before: str
    world: str
    plain: bool
    drawn: int = 0


class Corpus:
    """Beginnings of either kind, in the order in which they came."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._kinds: dict[bool, list[Item]] = {True: [], False: []}
        for item in items:
            self.add(item)

    def items(self) -> list[Item]:
        """All of them."""
        return [*self._kinds[True], *self._kinds[False]]

    def add(self, item: Item) -> None:
        """Keep a beginning; of too many of a kind the one that was drawn most goes."""
        kept = self._kinds[item.plain]
        kept.append(item)
        if len(kept) > MOST // 2:
            kept.remove(max(kept, key=lambda one: one.drawn))

    def draw(self, dice: Random) -> tuple[str, str]:
        """The beginnings of a run ("": none), and the world that goes on."""
        fresh = str(dice.randrange(WORLDS))
        kept = self._kinds[dice.random() < PLAIN] or self._kinds[True] or self._kinds[False]
        if not kept or dice.random() < FRESH:
            return "", fresh
        item = min((dice.choice(kept) for _ in range(4)), key=lambda one: one.drawn)
        item.drawn += 1
        changed = f"{item.world.partition('.')[0]}.{dice.randrange(CHANGES)}"
        if item.before.count("/") <= DEEPEST and dice.random() < GOING_ON:
            return item.before, dice.choice((item.world, changed, fresh))
        return "", changed
