"""What runs share, whatever is simulated: how they begin, chaos by a profile, then perhaps healing, then what a client
finds.

One seed decides all. Every step draws one random word and slices it: what to try, who, how much.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import repeat
from random import Random
from typing import Any, ClassVar, Generic, TypeVar

from tidemark.cells import CapacityExceeded
from tidemark.sim.shared import WORD, Mix, Profile, SimResult, TraceRecorder

Cluster = TypeVar("Cluster")
Schedule = TypeVar("Schedule", bound=Profile)


Events = list[Callable[[Any, int], bool]]
"""What is done for each of the 256 kinds of events: the methods of a run of their names."""


class SimulatorBase:
    """Everything that runs of one kind share. `kind`: the class of a run; `steps`: how many a trace should have."""

    def __init__(self, kind: Callable[[Any, int], AnyRunBase], mix: Mix[Any], steps: int) -> None:
        self._kind = kind
        self.for_seed = mix.for_seed
        self.steps = steps
        self._events: dict[tuple[type, str], Events] = {}

    def events(self, run: AnyRunBase) -> Events:
        """What a run like this one does for each of its 256 kinds of events: its methods of their names."""
        kind = type(run), run.profile.name
        if kind not in self._events:
            self._events[kind] = [getattr(kind[0], name) for name in run.kinds]
        return self._events[kind]

    def run(self, seed: int) -> SimResult:
        """The trace of a seed."""
        return self._kind(self, seed).run()


class RunBase(ABC, Generic[Cluster, Schedule]):
    """The state of one run. `first_word` decides how it begins, and whether it is healed.

    `TICK_MS`: the unit in which the cluster's clock goes on between events (0: it has none); `RESERVED`: one step in so
    many is kept for the healing; `HEALS_FROM`: the first of the eight bits of `first_word` that decide about healing.
    """

    TICK_MS: ClassVar[int] = 0
    RESERVED: ClassVar[int] = 3
    HEALS_FROM: ClassVar[int] = 24

    cluster: Cluster
    recorder: TraceRecorder
    profile: Schedule

    def __init__(self, simulator: SimulatorBase, seed: int) -> None:
        self._shared = simulator
        self.seed = seed
        self.profile, self.kinds = simulator.for_seed(seed)
        self._bits = Random(seed).getrandbits
        self.first_word = first = self._bits(WORD)
        self._heals = first >> self.HEALS_FROM & 255 < self.profile.heals

    @abstractmethod
    def heal(self) -> bool:
        """Faults stop; whether everything came to rest."""

    @abstractmethod
    def acked(self) -> int:
        """How much clients were told to be safe."""

    @abstractmethod
    def lost(self) -> int:
        """How much of it they do not find again, once all is healed."""

    def advance(self, milliseconds: int) -> None:
        """The cluster's clock goes on, if it has one."""

    def begin(self) -> None:
        """What comes before the chaos: the initial state."""
        self.recorder.begin()

    def can_be_healed(self) -> bool:
        """Whether healing, once it is over, has made good what faults did."""
        return True

    def run(self) -> SimResult:
        """Chaos, then perhaps healing."""
        recorder, steps = self.recorder, self._shared.steps
        self.begin()
        healed = converged = capacity = False
        lost = 0
        try:
            self._chaos(steps - (steps // self.RESERVED if self._heals else 0))
            if self._heals:
                converged = self.heal()
                healed = self.can_be_healed()
                lost = self.lost() if healed else 0
        except CapacityExceeded:
            healed, capacity = False, True
        stream = recorder.end(healed, capacity)
        records, changing = recorder.records - 1, recorder.changing
        return SimResult(self.seed, stream, records, changing, self.acked(), lost, healed, converged, capacity)

    def _chaos(self, steps: int) -> None:
        events, bits, recorder, tick_ms = self._shared.events(self), self._bits, self.recorder, self.TICK_MS
        for word in map(bits, repeat(WORD, 40 * steps)):
            if recorder.records > steps:
                break
            if tick_ms:
                self.advance(tick_ms * (1 + (word >> 40 & 7)))
            events[word & 255](self, word >> 8)


AnyRunBase = RunBase[Any, Any]
