"""A simulated run once more, with some of its events left out: what shrinking asks for, whatever the protocol."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidemark.simulator.running import Selection, SimulatorBase

OTHERS = "attempts that changed nothing"


class Again:
    """The repetition of one trace; a decision is an event that did something, the first one stands for all others.

    `faults`: kinds of events that may have changed something although the run recorded nothing.
    """

    def __init__(self, simulator: SimulatorBase, seed: int, faults: Collection[str]) -> None:
        self._simulator, self._seed, self._faults = simulator, seed, frozenset(faults)
        everything = Selection(self._faults)
        simulator.again(seed, everything)
        self._drawn = everything.drawn
        self._played = everything.played
        self._others = frozenset(range(self._drawn)) - {number for number, _ in self._played}

    @property
    def decisions(self) -> Sequence[str]:
        """The kind of every event."""
        return [OTHERS, *(kind for _, kind in self._played)]

    def stream(self, kept: Sequence[int]) -> bytes:
        """The trace with only these events (what happens in the healing follows from them)."""
        numbers = {self._played[index - 1][0] for index in kept if index}
        if 0 in kept:
            numbers |= self._others
        return self._simulator.again(self._seed, Selection(self._faults, numbers, self._drawn)).stream
