"""A state machine as one table: (state, event) -> next state, and why."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from tidemark.common.errors import BrokenInvariant

S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)


class Transition(NamedTuple, Generic[S]):
    """Where an event leads, and why."""

    to: S
    why: str


Table = Mapping[tuple[Any, Any], Transition[Any]]
"""The table of some state machine."""


def after(table: Mapping[tuple[S, E], Transition[S]], who: str, state: S, event: E) -> S:
    """The state of `who` after `event`; raises BrokenInvariant if it cannot happen in `state`."""
    transition = table.get((state, event))
    if transition is None:
        raise BrokenInvariant(f"{who} in state {state.value} has no event '{event.value}'")
    return transition.to
