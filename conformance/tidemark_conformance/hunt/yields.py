"""The worlds whose runs had a flaw, by its fate, and how often they had it.

Runs that begin with another run's beginning share its history. A run of a world from the start has one of its own, so
a rare flaw comes in as many ways as such runs have it. So the worlds that have a rare fate often are run again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

MOST_WORLDS = 256
"""Worlds that are kept of a fate, once a round is over."""
FATES, TRIED = 2, 6
"""Of so many fates by chance the rarest is taken, and of so many of its worlds the one that has it most often."""

Counts = Mapping[str, Mapping[str, Sequence[int]]]
"""By fate and world: how many flaws there were in runs of that world from the start, and how often it was drawn."""


class Yields:
    """Counts, and the new ones among them. `known`: those before."""

    def __init__(self, known: Counts | None = None) -> None:
        self.counts: dict[str, dict[str, list[int]]] = {}
        self.new: dict[str, dict[str, list[int]]] = {}
        self.add(known or {})
        self.new = {}

    def __bool__(self) -> bool:
        return bool(self.counts)

    def add(self, more: Counts) -> None:
        """Add counts."""
        for fate, worlds in more.items():
            for world, (flaws, draws) in worlds.items():
                self._count(fate, world, flaws, draws)

    def trim(self) -> None:
        """A round is over: nothing is new, and of each fate the worlds go that have it least often, if they are too
        many."""
        self.new = {}
        for fate, worlds in self.counts.items():
            best = sorted(worlds, key=lambda one: _often(worlds[one]), reverse=True)[:MOST_WORLDS]
            kept = set(best)
            self.counts[fate] = {world: count for world, count in worlds.items() if world in kept}

    def found(self, fate: str, world: str) -> None:
        """A run of a world from the start had a flaw of this fate."""
        self._count(fate, world, 1, 0)

    def draw(self, dice: Random) -> tuple[str, str]:
        """A fate, and a world to run again."""
        fates = sorted(self.counts)
        fate = min((dice.choice(fates) for _ in range(FATES)), key=self._flaws)
        worlds = self.counts[fate]
        names = list(worlds)
        return fate, max((dice.choice(names) for _ in range(TRIED)), key=lambda one: _often(worlds[one]))

    def drew(self, fate: str, world: str) -> None:
        """The world is run as it was."""
        self._count(fate, world, 0, 1)

    def _flaws(self, fate: str) -> int:
        return sum(flaws for flaws, _ in self.counts[fate].values())

    def _count(self, fate: str, world: str, flaws: int, draws: int) -> None:
        for counts in (self.counts, self.new):
            count = counts.setdefault(fate, {}).setdefault(world, [0, 0])
            count[0] += flaws
            count[1] += draws


def _often(count: Sequence[int]) -> float:
    """The flaws of a world for each time that it was drawn; the first run was drawn, too."""
    return count[0] / (1 + count[1])
