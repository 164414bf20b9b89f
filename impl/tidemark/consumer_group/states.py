"""The states of a member of a KIP-848 group at its coordinator, and the one table of the events that move it between
them.

Which event a heartbeat is, is decided in assignment.py (CurrentAssignmentBuilder); nothing else moves a member.
"""

from __future__ import annotations

from enum import Enum

from tidemark.groups.consumer_group_messages import MemberState
from tidemark.groups.transitions import Transition, after


class MemberEvent(Enum):
    """The outcomes of a heartbeat for a member that has not reached its target yet."""

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    REVOKE = "it has to give something up first"
    WAIT = "others still hold some of its target"
    ARRIVE = "all of its target is released"


_REVOKE = Transition(
    MemberState.UNREVOKED_PARTITIONS, "an assigned partition outside the target must be acknowledged as revoked first"
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
