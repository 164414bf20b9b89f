"""One trace, decoded: every record's step, and the states in between."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidemark_conformance.explain.text import label
from tidemark_conformance.tla.values import Value
from tidemark_conformance.trace.beyond import Beyond
from tidemark_conformance.trace.observing import Told

State = dict[str, Value]
"""Variable -> value."""

INITIAL, STEP, BLOCKED, STUTTER = "initial", "step", "blocked", "stutter"
"""The kinds of a record."""
CAPACITY = "a value exceeds a capacity of the layout"
"""How the damage of a run begins that a capacity ended. An earlier failure counts."""


@dataclass(frozen=True, slots=True)
class Event:
    """One record: `state` is the state after it, as far as traces carry it. `action` and `params` are empty where it
    has none. `told`: its observations."""

    number: int
    kind: str
    node: str
    action: str
    params: tuple[Value, ...]
    state: State
    told: tuple[Told, ...] = ()

    @property
    def label(self) -> str:
        """`Action(params)`, or what kind of record it is."""
        if self.kind in (INITIAL, STUTTER):
            return "initial state" if self.kind == INITIAL else "stutter"
        return label(self.action, self.params)


@dataclass(frozen=True, slots=True)
class Run:
    """A whole trace: `events` start with the initial state (none if even that cannot be read).

    `nodes`: the nodes that the header names. `quiescent`: its end says that faults have stopped. `damage`: why it must
    not be judged (no end record, a wrong sum, ...), None for a sound trace. `beyond`: the value of the last event that
    TypeOK or the action's domain does not allow; the state there is that before it.
    """

    id: str
    source: str
    nodes: tuple[str, ...]
    events: tuple[Event, ...] = field(repr=False)
    quiescent: bool
    damage: str | None
    beyond: Beyond | None = None
