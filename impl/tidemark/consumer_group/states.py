"""The states of a member of a KIP-848 group at its coordinator, and the one table of what moves it between them.

Which event a heartbeat is, is decided in assignment.py (CurrentAssignmentBuilder); nothing else moves a member.
"""

from __future__ import annotations

from enum import Enum

from tidemark.groups.transitions import Transition, after


class MemberState(Enum):
    """How far a member is on its way to its target assignment."""

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    STABLE = "STABLE"
    """It has what it should have had in its epoch. A heartbeat in a newer assignment epoch moves it on."""
    UNREVOKED_PARTITIONS = "UNREVOKED_PARTITIONS"
    """It was told to give partitions up and stays in its epoch until a heartbeat reports that it owns none of them; it
    is removed if that takes longer than its rebalance time-out."""
    UNRELEASED_PARTITIONS = "UNRELEASED_PARTITIONS"
    """It is in the assignment epoch, and some of its target is still held by others. Every heartbeat tries again."""


class MemberEvent(Enum):
    """What a heartbeat can come to for a member that has not arrived yet."""

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    REVOKE = "it has to give something up first"
    WAIT = "others still hold some of its target"
    ARRIVE = "all of its target is released"


_REVOKE = Transition(
    MemberState.UNREVOKED_PARTITIONS, "what is assigned and not in the target must be acknowledged as revoked first"
)
_WAIT = Transition(
    MemberState.UNRELEASED_PARTITIONS, "it takes the assignment epoch, and of its target what is released"
)
_ARRIVE = Transition(MemberState.STABLE, "it takes the assignment epoch, and has its whole target")

TRANSITIONS: dict[tuple[MemberState, MemberEvent], Transition[MemberState]] = {
    (state, event): transition
    for state in MemberState
    for event, transition in (
        (MemberEvent.REVOKE, _REVOKE), (MemberEvent.WAIT, _WAIT), (MemberEvent.ARRIVE, _ARRIVE),
    )
}  # fmt: skip


def next_state(state: MemberState, event: MemberEvent) -> MemberState:
    """The state after `event`; raises BrokenInvariant if it cannot happen in `state`."""
    return after(TRANSITIONS, "a member", state, event)
