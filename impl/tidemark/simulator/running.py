"""The common part of runs of all protocols: the beginning, chaos by a profile, then perhaps healing and a client's
reads.

One seed decides all. Every step draws one random word and slices it: what to try, who, how much.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from itertools import repeat
from random import Random
from typing import Any, ClassVar, Generic, TypeVar

from tidemark.simulator.shared import WORD, Mix, Profile, SimResult
from tidemark.trace.cells import CapacityExceeded
from tidemark.trace.recording import TraceRecorder, watched

Cluster = TypeVar("Cluster")
Schedule = TypeVar("Schedule", bound=Profile)


Events = list[Callable[[Any, int], bool]]
"""The methods of a run for the 256 kinds of events."""


class Selection:
    """A selection of the events of a run's chaos, for a repetition of that run. Every event comes from one random word.
    All words are drawn as before, so the events that are left behave as before as far as they can.

    `kept`: the numbers of the events that happen (None: all); `most`: how many words are drawn; `faults`: kinds of
    events that may have changed something although the run recorded nothing. `played` are, in the end, the numbers and
    kinds of those that may have done something; `drawn` is how many words there were.
    """

    def __init__(self, faults: Collection[str], kept: Collection[int] | None = None, most: int | None = None) -> None:
        self.faults, self.kept, self.most = faults, kept, most
        self.played: list[tuple[int, str]] = []
        self.drawn = 0


class SimulatorBase:
    """Everything that runs of one kind share. `kind`: the class of a run; `steps`: how many a trace should have."""

    def __init__(self, kind: Callable[[Any, int], AnyRunBase], mix: Mix[Any], steps: int) -> None:
        self._kind = kind
        self.for_seed = mix.for_seed
        self.steps = steps
        self._events: dict[tuple[type, str], Events] = {}

    def events(self, run: AnyRunBase) -> Events:
        """The methods of a run like this one for its 256 kinds of events."""
        kind = type(run), run.profile.name
        if kind not in self._events:
            self._events[kind] = [getattr(kind[0], name) for name in run.kinds]
        return self._events[kind]

    def run(self, seed: int) -> SimResult:
        """The trace of a seed."""
        return self._kind(self, seed).run()

    def again(self, seed: int, selection: Selection) -> SimResult:
        """The trace of a seed with a selection of its events; the selection notes their effects."""
        run = self._kind(self, seed)
        run.selection = selection
        return run.run()


class RunBase(ABC, Generic[Cluster, Schedule]):
    """The state of one run. `first_word` decides how it begins, and whether it is healed.

    `TICK_MS`: the unit in which the cluster's clock goes on between events (0: it has none). `RESERVED`: one step in so
    many is kept for the healing. `HEALS_FROM`: the first of the eight bits of `first_word` that decide about healing.
    """

    TICK_MS: ClassVar[int] = 0
    RESERVED: ClassVar[int] = 3
    HEALS_FROM: ClassVar[int] = 24

    cluster: Cluster
    recorder: TraceRecorder
    profile: Schedule
    selection: Selection | None

    def __init__(self, simulator: SimulatorBase, seed: int) -> None:
        self._shared = simulator
        self.selection = None
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
        """Before the chaos, the recorder writes the initial state."""
        self.recorder.begin()
        if watched(self.seed):
            self.recorder.watch(self.seed)

    def can_be_healed(self) -> bool:
        """Whether the finished healing has undone the effects of the faults."""
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
        if self.selection is not None:
            self._selected(steps, self.selection)
            return
        events, bits, recorder, tick_ms = self._shared.events(self), self._bits, self.recorder, self.TICK_MS
        for word in map(bits, repeat(WORD, 40 * steps)):
            if recorder.records > steps:
                break
            if tick_ms:
                self.advance(tick_ms * (1 + (word >> 40 & 7)))
            events[word & 255](self, word >> 8)

    def _selected(self, steps: int, selection: Selection) -> None:
        """The chaos with a selection of its events."""
        events, recorder, tick_ms = self._shared.events(self), self.recorder, self.TICK_MS
        kept, most = selection.kept, 40 * steps if selection.most is None else selection.most
        for number in range(most):
            word = self._bits(WORD)
            if recorder.records > steps:
                break
            selection.drawn = number + 1
            if tick_ms:
                self.advance(tick_ms * (1 + (word >> 40 & 7)))
            if kept is not None and number not in kept:
                continue
            before = recorder.records
            events[word & 255](self, word >> 8)
            kind = self.kinds[word & 255]
            if recorder.records > before or kind in selection.faults:
                selection.played.append((number, kind))


AnyRunBase = RunBase[Any, Any]
