"""The common part of simulated runs of all protocols: random choices, and a run's result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar

WORD = 48
"""Bits drawn a step: 8 for the kind of event, the rest for the event itself."""
PLACES = 840
"""Numbers that stand for places. So many can be divided by 2 to 8: a number is one place, however many brokers, members
or producers there are."""
ANY = -1
"""In the place of such a number: any place."""


def at_place(word: int, place: int) -> int:
    """The word of an event as it is at a place: only that differs."""
    return word if place == ANY else word - word % PLACES + place


@cache
def orders(count: int, alone: bool) -> list[tuple[int, ...]]:
    """For each of so many places those at which an event is tried that should happen there, one after another: all,
    beginning with it, or that one alone."""
    places = tuple(range(count))
    return [(first,) if alone else places[first:] + places[:first] for first in places]


@dataclass(slots=True)
class SimResult:
    """One trace.

    `stream`: its delta stream. `steps`: its records after the initial one, `changing` of which changed something.
    `acked`: how many results clients were told to be safe (payloads acknowledged with acks=all; offset commits).
    `lost`: how many of these they did not find again (only after healing). `healed`: faults have stopped. `converged`:
    and the cluster came to rest. `capacity`: the trace was cut at a capacity.
    """

    seed: int
    stream: bytes
    steps: int
    changing: int
    acked: int
    lost: int
    healed: bool
    converged: bool
    capacity: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """A nemesis's schedule. It is data: a run's class says what each kind of event does.

    `weights`: kind of event -> how often it is tried, beside the others. `heals`: in so many of 256 runs faults stop in
    the end, and all comes to rest; the others stop in the midst of it. All chances of profiles are of 256. `length`: a
    run has so many times the steps that were asked for. `pace`: clocks go so many times as fast. `silent`: so many of
    the members or producers do nothing before the healing (one does in any case). `turns`: how often the place changes
    at which events happen (0: every event has a place of its own). `alone`: an event that is not possible at its place
    happens nowhere, not at the next place where it is. `leanings`: kinds of events that happen at some places only, or
    more often there: places (below PLACES) or ANY, in equal shares. `drawn`: swarm worlds take their chances from it,
    too; one that came later leaves the worlds as they were.
    """

    name: str
    weights: Mapping[str, int]
    heals: int = 128
    length: int = 1
    pace: int = 1
    silent: int = 0
    turns: int = 0
    alone: bool = False
    leanings: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    drawn: bool = True


S = TypeVar("S")


class Prepared(Generic[S]):
    """The results of `make`, kept for the last few different arguments.

    Arguments are the same if they are equal: every Spark task gets a header of its own, and one simulator serves all.
    """

    MOST = 8

    def __init__(self, make: Callable[..., S]) -> None:
        self._make = make
        self._kept: list[tuple[tuple[Any, ...], S]] = []

    def __call__(self, *given: Any, **named: Any) -> S:
        """The result for these arguments, kept or made now. Named arguments are compared in the order given."""
        kept, arguments = self._kept, (*given, *named.values())
        for index, (known, made) in enumerate(kept):
            if known == arguments:  # quick where they are the same objects
                if index or known[0] is not arguments[0]:
                    del kept[index]
                    kept.insert(0, (arguments, made))
                return made
        made = self._make(*given, **named)
        kept.insert(0, (arguments, made))
        del kept[self.MOST :]
        return made


def weight_table(weights: Mapping[str, int]) -> list[str]:
    """256 kinds of events, each as often as its weight says. Raises ValueError for one that would never be tried."""
    total = sum(weights.values())
    table: list[str] = []
    done = 0
    for kind, weight in weights.items():
        done += weight
        tried = done * 256 // total - len(table)
        if not tried:
            raise ValueError(f"{kind} has the weight {weight} of {total}, and would never be tried; give it more")
        table += [kind] * tried
    return table
