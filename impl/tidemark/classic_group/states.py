"""The states of a classic group, and the one table of the events that move it between them (ClassicGroupState).

A group stores its state; everything else asks here. Which event it is, is decided in rebalance.py; that an event has a
place in the table at all is checked on every transition.
"""

from __future__ import annotations

from enum import Enum

from tidemark.common.transitions import Transition, after


class GroupState(Enum):
    """Where a group is in its life; each member of the enum says how it answers."""

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    EMPTY = "Empty"
    """No members; offsets may still be committed here and fetched.
    JoinGroup begins the first join phase. All else of members: UNKNOWN_MEMBER_ID."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Members are asked to join; JoinGroup is parked until all have, or the time-out.
    SyncGroup, Heartbeat: REBALANCE_IN_PROGRESS. OffsetCommit of the last generation is still taken."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """The generation is named, its leader assigns; SyncGroup is parked until the assignment is on the log.
    JoinGroup with other metadata begins another rebalance. Heartbeat: fine. OffsetCommit: REBALANCE_IN_PROGRESS."""
    STABLE = "Stable"
    """The assignment of the generation is on the log. SyncGroup is answered at once; Heartbeat, OffsetCommit: fine.
    JoinGroup of a new member, of the leader or with other metadata begins a rebalance."""
    DEAD = "Dead"
    """This broker is not the coordinator: NOT_COORDINATOR."""


class GroupEvent(Enum):
    """The events of a group as a whole."""

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    LOADED_EMPTY = "loaded, without members"
    LOADED = "loaded, with members"
    REBALANCE = "a rebalance begins"
    JOINED = "the join phase ends"
    DESERTED = "the join phase ends without members"
    ASSIGNED = "the assignment has committed"
    UNLOADED = "another broker leads the partition"


_UNLOADED = Transition(GroupState.DEAD, "its memory may be out of date, and its successor has the log")

TRANSITIONS: dict[tuple[GroupState, GroupEvent], Transition[GroupState]] = {
    (GroupState.DEAD, GroupEvent.LOADED_EMPTY): Transition(
        GroupState.EMPTY, "the log holds no group record, or one of a group that everybody had left"
    ),
    (GroupState.DEAD, GroupEvent.LOADED): Transition(
        GroupState.STABLE, "only assigned generations and empty ones are ever written down"
    ),
    (GroupState.EMPTY, GroupEvent.REBALANCE): Transition(
        GroupState.PREPARING_REBALANCE, "the first member has joined; others that start now get a while to do so"
    ),
    (GroupState.STABLE, GroupEvent.REBALANCE): Transition(
        GroupState.PREPARING_REBALANCE, "a member has come, gone, or joined with something new to say"
    ),
    (GroupState.COMPLETING_REBALANCE, GroupEvent.REBALANCE): Transition(
        GroupState.PREPARING_REBALANCE, "the membership that the leader assigns for is not the group's any more"
    ),
    (GroupState.PREPARING_REBALANCE, GroupEvent.JOINED): Transition(
        GroupState.COMPLETING_REBALANCE, "all members have joined, or those that have not are dropped"
    ),
    (GroupState.PREPARING_REBALANCE, GroupEvent.DESERTED): Transition(
        GroupState.EMPTY, "nobody is left; that is written down as a generation of its own"
    ),
    (GroupState.COMPLETING_REBALANCE, GroupEvent.ASSIGNED): Transition(
        GroupState.STABLE, "every member can be told what it got, now and after any fail-over"
    ),
    (GroupState.EMPTY, GroupEvent.UNLOADED): _UNLOADED,
    (GroupState.PREPARING_REBALANCE, GroupEvent.UNLOADED): _UNLOADED,
    (GroupState.COMPLETING_REBALANCE, GroupEvent.UNLOADED): _UNLOADED,
    (GroupState.STABLE, GroupEvent.UNLOADED): _UNLOADED,
}


def next_state(state: GroupState, event: GroupEvent) -> GroupState:
    """The state after `event`; raises BrokenInvariant if it cannot happen in `state`."""
    return after(TRANSITIONS, "a group", state, event)
