"""The states of a member of a KIP-848 group at its coordinator, and the one table of the events that move it between
them.

CurrentAssignmentBuilder (assignment.py) decides which event a heartbeat is. A static member that leaves for a while has
an event of its own (`heartbeat.left`); nothing else moves a member.
"""

from __future__ import annotations

from enum import Enum

from tidemark.common.transitions import Transition, after
from tidemark.groups.consumer_group_messages import MemberState


class MemberEvent(Enum):
    """The outcomes of a heartbeat for a member that has not reached its target yet, and its leave for a while."""

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    REVOKE = "it has to give something up first"
    WAIT = "others still hold some of its target"
    ARRIVE = "all of its target is released"
    LEAVE = "it is static, has something to give up, and leaves for a while"


_REVOKE = Transition(
    MemberState.UNREVOKED_PARTITIONS, "an assigned partition outside the target must be acknowledged as revoked first"
)
_WAIT = Transition(
    MemberState.UNRELEASED_PARTITIONS, "it takes the assignment epoch, and of its target what is released"
)
_ARRIVE = Transition(MemberState.STABLE, "it takes the assignment epoch, and has its whole target")
_LEAVE = Transition(MemberState.STABLE, "its epoch is -2, and nothing is left to revoke")

TRANSITIONS: dict[tuple[MemberState, MemberEvent], Transition[MemberState]] = {
    (state, event): transition
    for state in MemberState
    for event, transition in (
        (MemberEvent.REVOKE, _REVOKE), (MemberEvent.WAIT, _WAIT), (MemberEvent.ARRIVE, _ARRIVE),
    )
} | {(MemberState.UNREVOKED_PARTITIONS, MemberEvent.LEAVE): _LEAVE}  # fmt: skip


def next_state(state: MemberState, event: MemberEvent) -> MemberState:
    """The state after `event`; raises BrokenInvariant if it cannot happen in `state`."""
    return after(TRANSITIONS, "a member", state, event)
