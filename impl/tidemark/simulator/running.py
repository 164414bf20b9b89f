"""The common part of runs of all protocols: the beginning, chaos by a profile, then perhaps healing and a client's
reads.

One seed decides all. Every step draws one random word and slices it: the event to try, the node, the amount.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import repeat
from random import Random
from typing import Any, ClassVar, Generic, TypeVar

from tidemark.simulator.shared import ANY, PLACES, WORD, Profile, SimResult, at_place, orders
from tidemark.simulator.worlds import Beginning, Change, Mix
from tidemark.trace.cells import CapacityExceeded
from tidemark.trace.recording import TraceRecorder, watched

Cluster = TypeVar("Cluster")
Schedule = TypeVar("Schedule", bound=Profile)


Event = Callable[[Any, int], bool]
Events = list[Event]
"""The methods of a run for the 256 kinds of events."""

MOST_EVENTS = 64
"""So many profiles' events are kept."""


@dataclass(slots=True)
class Leg:
    """A part of a run's chaos: a profile, its 256 kinds of events, where its words come from, and the number of records
    at which the next part begins (None: it is the last one). All but the last are beginnings, and may be changed
    (worlds.py)."""

    profile: Any
    kinds: list[str]
    bits: Callable[[int], int]
    until: int | None
    change: Change | None = None


class Selection:
    """A selection of the events of a run's chaos, for a repetition of that run. Every event comes from one random word.
    All words are drawn as before, so the events that are left behave as before as far as they can.

    `kept`: the numbers of the events that happen (None: all); `most`: how many words each leg draws; `faults`: kinds of
    events that may have changed something although the run recorded nothing. `played` are, in the end, the numbers and
    kinds of those that may have done something; `drawn` is how many words each leg has drawn.
    """

    def __init__(
        self, faults: Collection[str], kept: Collection[int] | None = None, most: Sequence[int] | None = None
    ) -> None:
        self.faults, self.kept, self.most = faults, kept, most
        self.played: list[tuple[int, str]] = []
        self.drawn: list[int] = []


class SimulatorBase:
    """Everything that runs of one kind share. `kind`: the class of a run; `steps`: how many a trace should have."""

    def __init__(self, kind: Callable[[Any, int], AnyRunBase], mix: Mix[Any], steps: int) -> None:
        self._kind = kind
        self.mix = mix
        self.steps = steps
        self._world = ""
        self._events: dict[tuple[type, str], Events] = {}

    def events(self, run: AnyRunBase) -> Events:
        """The methods of a run like this one for its 256 kinds of events."""
        kind = type(run), run.profile.name
        if kind not in self._events:
            if len(self._events) >= MOST_EVENTS:
                self._events.clear()
            self._events[kind] = [getattr(kind[0], name) for name in run.kinds]
        return self._events[kind]

    def enter(self, world: str) -> None:
        """From now on runs have the profile of this name. Raises ValueError where there is none."""
        if world != self._world:
            self.mix = self.mix.named(world)
            self._world = world

    def legs(self, seed: int) -> list[Leg]:
        """The parts of the chaos of a seed's run."""
        mix = self.mix
        profile, kinds = mix.for_seed(seed)
        found = [
            Leg(one, its, Random(begun.seed).getrandbits, begun.records, self._change(begun, its))
            for begun, one, its in mix.beginnings
        ]
        found.append(Leg(profile, kinds, Random(seed).getrandbits, None))
        return found

    def _change(self, begun: Beginning, its: list[str]) -> Change | None:
        if begun.change is None:
            return None
        return Change(begun.change, begun.records, self.mix.every_kind, its, WORD - 8)

    def run(self, seed: int) -> SimResult:
        """The trace of a seed."""
        return self._kind(self, seed).run()

    def again(self, seed: int, selection: Selection) -> SimResult:
        """The trace of a seed with a selection of its events; the selection notes their effects."""
        run = self._kind(self, seed)
        run.selection = selection
        return run.run()


class RunBase(ABC, Generic[Cluster, Schedule]):
    """The state of one run. `first_word` decides how it begins, and that of the last leg whether it is healed.

    `TICK_MS`: the unit in which the cluster's clock goes on between events (0: it has none). `RESERVED`: one step in so
    many is kept for the healing. `HEALS_FROM`: the first of the eight bits of `first_word` that decide about healing.
    `orders`: for each place those at which an event of it is tried; a run whose events have several sets it.
    """

    TICK_MS: ClassVar[int] = 0
    RESERVED: ClassVar[int] = 3
    HEALS_FROM: ClassVar[int] = 24

    cluster: Cluster
    orders: list[tuple[int, ...]]
    recorder: TraceRecorder
    profile: Schedule
    selection: Selection | None

    def __init__(self, simulator: SimulatorBase, seed: int) -> None:
        self._shared = simulator
        self.selection = None
        self.seed = seed
        self._legs = legs = simulator.legs(seed)
        self.profile, self.kinds, last = legs[0].profile, legs[0].kinds, legs[-1]
        words = [leg.bits(WORD) for leg in legs]
        self.first_word = words[0]
        self._turn = ANY
        self._anywhere = True
        self.orders = orders(1, False)
        self._heals = words[-1] >> self.HEALS_FROM & 255 < last.profile.heals

    def acting(self, count: int) -> int:
        """Of so many members or producers those that are not silent."""
        return max(1, count - self.profile.silent)

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
        recorder, steps = self.recorder, self._shared.steps * self._legs[-1].profile.length
        self.begin()
        healed = converged = capacity = False
        lost = 0
        try:
            self._chaos(steps - (steps // self.RESERVED if self._heals else 0))
            if self._heals:
                self.try_all()
                converged = self.heal()
                healed = self.can_be_healed()
                lost = self.lost() if healed else 0
        except CapacityExceeded:
            healed, capacity = False, True
        stream = recorder.end(healed, capacity)
        records, changing = recorder.records - 1, recorder.changing
        return SimResult(self.seed, stream, records, changing, self.acked(), lost, healed, converged, capacity)

    def take(self, leg: Leg) -> None:
        """The chaos goes on by the profile of this leg."""
        self.profile, self.kinds = leg.profile, leg.kinds
        self.keep_places()

    def keep_places(self) -> None:
        """From now on events happen at the places that the profile says."""
        self.orders = orders(len(self.orders), self.profile.alone)
        self._turn = ANY
        self._anywhere = not (self.profile.turns or self.profile.leanings)

    def try_all(self) -> None:
        """From now on an event that is not possible at its place is tried at the others."""
        self.orders = orders(len(self.orders), False)

    def _chaos(self, steps: int) -> None:
        selection, recorder = self.selection, self.recorder
        for leg in self._legs:
            self.take(leg)
            until = steps if leg.until is None else min(leg.until, steps)
            if selection is not None:
                self._selected(leg, until, steps, selection)
                continue
            events, tick_ms = self._shared.events(self), self.TICK_MS * leg.profile.pace
            change, anywhere = leg.change, self._anywhere
            for word in map(leg.bits, repeat(WORD, 40 * steps)):
                if recorder.records > until:
                    break
                if tick_ms:
                    self.advance(tick_ms * (1 + (word >> 40 & 7)))
                event = word >> 8 if anywhere else self.placed(self.kinds[word & 255], word >> 8)
                if change is not None and self._changed(change, self.kinds[word & 255], event):
                    continue
                events[word & 255](self, event)

    def placed(self, kind: str, event: int) -> int:
        """The word of an event as it is at its place: the one whose turn it is, or one that such events lean to."""
        if self._anywhere:
            return event
        profile, place = self.profile, ANY
        if profile.turns:
            if self._turn == ANY or event >> 24 & 255 < profile.turns:
                self._turn = event % PLACES
            place = self._turn
        places = profile.leanings.get(kind)
        if places:
            leant = places[(event >> 8) % len(places)]
            place = place if leant == ANY else leant
        return at_place(event, place)

    def _changed(self, change: Change, kind: str, event: int) -> bool:
        """The event that a change adds here happens; whether the change leaves out the next one, of this kind and
        word."""
        more = change.more(self.recorder.records)
        if more is not None:
            getattr(self, more[0])(more[1])
        return change.leaves_out(kind, event, self.recorder.records)

    def _selected(self, leg: Leg, until: int, steps: int, selection: Selection) -> None:
        """A leg of the chaos with a selection of its events."""
        events, recorder, tick_ms = self._shared.events(self), self.recorder, self.TICK_MS * self.profile.pace
        kept, place, first = selection.kept, len(selection.drawn), sum(selection.drawn)
        most = 40 * steps if selection.most is None else selection.most[place]
        selection.drawn.append(0)
        for number in range(first, first + most):
            word = leg.bits(WORD)
            if recorder.records > until:
                break
            selection.drawn[place] += 1
            if tick_ms:
                self.advance(tick_ms * (1 + (word >> 40 & 7)))
            kind = self.kinds[word & 255]
            event = self.placed(kind, word >> 8)
            left_out = leg.change is not None and self._changed(leg.change, kind, event)
            if left_out or (kept is not None and number not in kept):
                continue
            before = recorder.records
            events[word & 255](self, event)
            if recorder.records > before or kind in selection.faults:
                selection.played.append((number, kind))


AnyRunBase = RunBase[Any, Any]
