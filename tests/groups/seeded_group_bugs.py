"""Bugs in groups for the auditor to find: handlers changed at run time, no named rule among them.

The specifications first lacked four things: instance ids in a roster, and the time-out that a timer is set to. They
lacked the assignment under which a classic consumer asks for offsets, and the partitions for which one of KIP-848 asks.
Then the auditor passed 300 traces of each bug but two: `sync_not_timed` (2 of 300 failed at rest) and `never_expires`
(171).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seeded_bugs import Bug
from tidemark.classic_group.coordinator import GroupCoordinator
from tidemark.classic_group.group import ClassicGroup, ClassicGroupMember
from tidemark.classic_group.rebalance import Rebalance
from tidemark.consumer_group.consumer import AsyncConsumer
from tidemark.consumer_group.coordinator import ConsumerGroupCoordinator
from tidemark.consumer_group.group import ConsumerGroupMember
from tidemark.consumer_group.heartbeat import Heartbeats
from tidemark.groups.consumer_group_messages import ConsumerGroupHeartbeatRequest, MemberMetadata, MemberState
from tidemark.groups.messages import JoinGroupRequest, JoinGroupResponseMember, OffsetFetchResponse, Outcome
from tidemark.groups.partitions import MemberId
from tidemark.groups.purgatory import Purgatory, Timer, TimerKind
from tidemark.groups.reader import Reader
from tidemark.groups.subscription_state import Asked

# --- classic groups: the leader's reply -------------------------------------------------------------------------------


def _roster_without_instances(self: ClassicGroup) -> tuple[JoinGroupResponseMember, ...]:
    return tuple(
        JoinGroupResponseMember(member.member_id, None, member.metadata(self.protocol))  # member.group_instance_id
        for member in self.members.values()
    )


def _roster_mixed_up(self: ClassicGroup) -> tuple[JoinGroupResponseMember, ...]:
    members = list(self.members.values())
    return tuple(
        JoinGroupResponseMember(member.member_id, other.group_instance_id, member.metadata(self.protocol))
        for member, other in zip(members, [*members[1:], *members[:1]], strict=True)  # member.group_instance_id
    )


# --- classic groups: the time-out of a timer --------------------------------------------------------------------------


def _shortest(self: ClassicGroup) -> int:
    return min((member.rebalance_timeout_ms for member in self.members.values()), default=0)  # max


def _leaders(self: ClassicGroup) -> int:
    leader = self.members.get(self.leader or "")
    return 0 if leader is None else leader.rebalance_timeout_ms  # of the slowest member


_original_update = ClassicGroupMember.update
_original_heard_of = Rebalance.heard_of
_original_forget = Purgatory.forget
_original_expire_join = GroupCoordinator.expire_join
_original_complete_join = Rebalance.complete_join
_original_become = GroupCoordinator.become_coordinator


def _update_swapped(self: ClassicGroupMember, request: JoinGroupRequest) -> None:
    _original_update(self, request)
    self.session_timeout_ms, self.rebalance_timeout_ms = self.rebalance_timeout_ms, self.session_timeout_ms


def _update_keeps(self: ClassicGroupMember, request: JoinGroupRequest) -> None:
    before = self.session_timeout_ms, self.rebalance_timeout_ms
    _original_update(self, request)
    self.session_timeout_ms, self.rebalance_timeout_ms = before  # those of the request


def _session_by_rebalance(self: Rebalance, member: ClassicGroupMember, now_ms: int) -> None:
    session = Timer(TimerKind.SESSION, member.member_id)
    self.purgatory.arm(session, now_ms, member.rebalance_timeout_ms)  # session_timeout_ms


# --- classic groups: timers that are forgotten ------------------------------------------------------------------------


def _timers_not_forgotten(self: Purgatory, member_id: MemberId) -> None:
    self.disarm(Timer(TimerKind.SESSION, member_id))  # and the one of a pending id


def _sessions_not_begun(self: GroupCoordinator, epoch: int, records: Any, now_ms: int) -> None:
    _original_become(self, epoch, records, now_ms)
    for member_id in self.group.members:  # every member of the group has a session from now on
        self._purgatory.disarm(Timer(TimerKind.SESSION, member_id))


def _sync_not_timed(self: Rebalance, now_ms: int) -> None:
    _original_complete_join(self, now_ms)
    self.purgatory.disarm(Timer(TimerKind.SYNC))  # it is armed


def _never_expires(self: GroupCoordinator, member_id: MemberId, now_ms: int) -> Outcome:
    return self._purgatory.outcome()  # the member is removed, and the others are told


def _departure_not_told(self: Rebalance, now_ms: int) -> None:
    pass  # a rebalance begins, or the one under way may end


# --- classic groups: where a consumer goes on -------------------------------------------------------------------------

_original_receive_offsets = Reader.receive_offsets


def _offsets_of_earlier(self: Reader, response: OffsetFetchResponse, assignment_id: int) -> bool:
    return _original_receive_offsets(self, response, self.subscriptions.assignment_id)  # assignment_id


# --- groups of KIP-848 ------------------------------------------------------------------------------------------------

_original_heard = Heartbeats._heard
_original_arm = ConsumerGroupCoordinator._arm
_original_found = Heartbeats.found
_original_receive_asked = AsyncConsumer.receive_asked


def _never_revoked(self: ConsumerGroupCoordinator, member: ConsumerGroupMember, now_ms: int, moved: bool) -> None:
    _original_arm(self, member, now_ms, moved)
    self.delayed.disarm(Timer(TimerKind.REBALANCE, member.member_id))  # it is armed in UNREVOKED_PARTITIONS


def _not_disarmed(self: ConsumerGroupCoordinator, member: ConsumerGroupMember, now_ms: int, moved: bool) -> None:
    if member.current.state is MemberState.UNREVOKED_PARTITIONS:
        _original_arm(self, member, now_ms, moved)
    else:  # a member that has acknowledged has its rebalance timer cancelled
        self.delayed.arm(Timer(TimerKind.SESSION, member.member_id), now_ms, self._config.session_timeout_ms)


def _revocation_by_session(
    self: ConsumerGroupCoordinator, member: ConsumerGroupMember, now_ms: int, moved: bool
) -> None:
    _original_arm(self, member, now_ms, moved)
    timer = Timer(TimerKind.REBALANCE, member.member_id)
    if timer in self.timers:
        self.delayed.arm(timer, now_ms, self._config.session_timeout_ms)  # the member's rebalance time-out


def _predecessors_timeout(
    self: Heartbeats, found: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupMember:
    heard, old = _original_heard(self, found, request), self.replaced(request)
    if old is None:
        return heard
    metadata = MemberMetadata(heard.metadata.instance_id, heard.metadata.topics, old.metadata.rebalance_timeout_ms)
    return ConsumerGroupMember(heard.member_id, metadata, heard.current)  # that of the request


def _offsets_of_all(self: AsyncConsumer, response: OffsetFetchResponse, asked: Asked) -> None:
    _original_receive_asked(self, response, self.subscriptions.asking())  # asked


def _timers_kept(self: ConsumerGroupCoordinator, member_id: MemberId) -> None:
    self.delayed.disarm(Timer(TimerKind.REBALANCE, member_id))  # and the session's


CLASSIC = {
    "roster_without_instances": Bug(
        "the leader hears of no instance id", ClassicGroup, "roster", _roster_without_instances
    ),
    "roster_mixed_up": Bug(
        "the leader hears of each instance id as its neighbour's", ClassicGroup, "roster", _roster_mixed_up
    ),
    "update_swaps_timeouts": Bug(
        "who joins again has its session and rebalance time-outs swapped", ClassicGroupMember, "update", _update_swapped
    ),
    "update_keeps_timeouts": Bug(
        "a replacement of a static member keeps its predecessor's time-outs",
        ClassicGroupMember,
        "update",
        _update_keeps,
    ),
    "session_by_rebalance": Bug("a session lasts as long as a rebalance", Rebalance, "heard_of", _session_by_rebalance),
    "pending_not_forgotten": Bug(
        "the timer of an issued id goes on when its consumer has joined", Purgatory, "forget", _timers_not_forgotten
    ),
    "sessions_not_begun": Bug(
        "members that were loaded never expire", GroupCoordinator, "become_coordinator", _sessions_not_begun
    ),
    "sync_not_timed": Bug("members have for ever to send their SyncGroup", Rebalance, "complete_join", _sync_not_timed),
    "never_expires": Bug(
        "a session runs out, and nobody is removed or told", GroupCoordinator, "expire_session", _never_expires
    ),
    "departure_not_told": Bug(
        "a member leaves or expires, and nobody hears of it", Rebalance, "after_removal", _departure_not_told
    ),
    "offsets_of_earlier": Bug(
        "offsets that were asked for under an earlier assignment are taken",
        Reader,
        "receive_offsets",
        _offsets_of_earlier,
    ),
}
TIMEOUTS: dict[str, Callable[[Any], int]] = {"shortest": _shortest, "leaders": _leaders}
"""A stand-in for the property `rebalance_timeout_ms` of a classic group: that of the slowest member."""

MODERN = {
    "never_revoked": Bug("a revocation may take for ever", ConsumerGroupCoordinator, "_arm", _never_revoked),
    "not_disarmed": Bug("who has acknowledged still expires", ConsumerGroupCoordinator, "_arm", _not_disarmed),
    "revocation_by_session": Bug(
        "a revocation may take as long as a session lasts", ConsumerGroupCoordinator, "_arm", _revocation_by_session
    ),
    "predecessors_timeout": Bug(
        "a successor of a static member has its predecessor's rebalance time-out",
        Heartbeats,
        "_heard",
        _predecessors_timeout,
    ),
    "offsets_of_all": Bug(
        "offsets are taken for partitions that the consumer owns since it asked",
        AsyncConsumer,
        "receive_asked",
        _offsets_of_all,
    ),
    "timers_kept": Bug(
        "the session of a member that is gone goes on", ConsumerGroupCoordinator, "_forget_timers", _timers_kept
    ),
}
