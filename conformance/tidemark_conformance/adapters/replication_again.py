"""A simulated run of replication once more, with some of its events left out: what shrinking asks for.

Every event of a run comes from one random word. The events that are kept get the same words at the same times as
before, so that what is left behaves as it did as far as it can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidemark.sim.run import Run, Simulator
from tidemark.sim.shared import WORD

from tidemark_conformance.adapters.replication import DEFAULT_PROFILE, removed
from tidemark_conformance.check import zoo

FAULTS = frozenset({"pause", "resume", "cut", "lag", "mend", "slow_disk", "skew", "stop"})
"""Events that may have changed something although the run recorded nothing."""


OTHERS = "attempts that changed nothing"


class Replayed(Run):
    """A run whose words are given; `played` are those of them whose event may have done something."""

    def __init__(self, simulator: Simulator, seed: int, words: Sequence[int], kept: frozenset[int]) -> None:
        super().__init__(simulator, seed)
        self.words = words
        self.kept = kept
        self.played: list[int] = []

    def _chaos(self, steps: int) -> None:
        recorder, cluster, kinds = self.recorder, self.cluster, self.kinds
        for number, word in enumerate(self.words):
            if recorder.records > steps:
                return
            cluster.now += 1 + (word >> 40 & 7)
            if number in self.kept:
                before = recorder.records
                getattr(self, kinds[word & 255])(word >> 8)
                if recorder.records > before or kinds[word & 255] in FAULTS:
                    self.played.append(number)


class Drawn(Run):
    """A run as it was, whose words are noted."""

    def __init__(self, simulator: Simulator, seed: int) -> None:
        super().__init__(simulator, seed)
        self.words: list[int] = []
        drawn = self._bits

        def noted(count: int) -> int:
            word = drawn(count)
            if count == WORD:
                self.words.append(word)
            return word

        self._bits = noted


class ReplicationAgain:
    """The repetition of one trace; a decision is an event that did something, the first one stands for all others."""

    def __init__(self, simulator: Simulator, seed: int) -> None:
        self._simulator = simulator
        self._seed = seed
        original = Drawn(simulator, seed)
        original.run()
        self._words = original.words
        everything = frozenset(range(len(self._words)))
        first = Replayed(simulator, seed, self._words, everything)
        first.run()
        self._numbers = first.played
        self._others = everything - set(first.played)

    @property
    def decisions(self) -> Sequence[str]:
        """The kind of every event."""
        kinds = self._simulator.for_seed(self._seed)[1]
        return [OTHERS, *(kinds[self._words[number] & 255] for number in self._numbers)]

    def stream(self, kept: Sequence[int]) -> bytes:
        """The trace with only these events (what happens in the healing follows from them)."""
        numbers = {self._numbers[index - 1] for index in kept if index}
        if 0 in kept:
            numbers |= self._others
        return Replayed(self._simulator, self._seed, self._words, frozenset(numbers)).run().stream


def resimulation(header: Mapping[str, Any], trace: str, settings: Mapping[str, Any]) -> ReplicationAgain:
    """The repetition of the trace `seed-<n>` of a run with these settings. ValueError for another id."""
    seed = int(trace.removeprefix("seed-"))
    flaw = settings.get("flaw")
    rules = removed([*settings.get("without", ()), *(zoo.select([flaw])[0].rules if flaw else ())])
    profile = settings.get("profile") or DEFAULT_PROFILE
    return ReplicationAgain(Simulator(dict(header), steps=settings["steps"], profile=profile, rules=rules), seed)
