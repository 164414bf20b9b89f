"""The common part of simulated runs of all protocols: random choices, and a run's result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

WORD = 48
"""Bits drawn a step: 8 for the kind of event, the rest for the event itself."""


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
    the members or producers do nothing before the healing (one does in any case). `leanings`: kinds of events that
    happen at one place half of the time, each with the byte that stands for the place.
    """

    name: str
    weights: Mapping[str, int]
    heals: int = 128
    length: int = 1
    pace: int = 1
    silent: int = 0
    leanings: Mapping[str, int] = field(default_factory=dict)


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
