"""One heartbeat's step of a member towards its target (CurrentAssignmentBuilder): (member, target, owned) -> member.

Assigned partitions that are not in the target go first, and this has to be acknowledged. Released partitions of the
target come after that. So a partition has one holder at any time, and no two members have to act at once. What a member
does not subscribe to is not in its target. It goes also where the member does not come closer to its target.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.consumer_group.group import ConsumerGroup, ConsumerGroupMember
from tidemark.consumer_group.rules import Rules
from tidemark.consumer_group.states import MemberEvent, next_state
from tidemark.groups.consumer_group_messages import CurrentAssignment, Epochs, MemberState, Partitions
from tidemark.groups.partitions import TopicPartition


class CurrentAssignmentBuilder:
    """`member` as the heartbeat finds it in `group`, with its new subscription; `owned`: the partitions that the
    heartbeat reports, None: nothing new."""

    __slots__ = ("_group", "_member", "_owned", "_rules", "_target", "_target_epoch")

    def __init__(
        self, group: ConsumerGroup, member: ConsumerGroupMember, owned: Partitions | None, rules: Rules
    ) -> None:
        self._group = group
        self._member = member
        self._owned = owned
        self._rules = rules
        self._target: Partitions = ()
        self._target_epoch = 0

    def build(self, target: Partitions, target_epoch: int) -> CurrentAssignment:
        """How far the member is after the heartbeat, if `target` is its share of that epoch's assignment."""
        self._target = self._subscribed(target)
        self._target_epoch = target_epoch
        current = self._member.current
        if current.state is MemberState.STABLE and current.member_epoch == target_epoch:
            return self._shrink(current)
        if current.state is MemberState.UNREVOKED_PARTITIONS:
            if not self._acknowledged(current.pending_revocation):
                return self._shrink(current)
            ends = self._rules.acknowledged_revocation_ends_epoch(current.state)
            return self._approach(current, current.member_epoch + ends)
        return self._approach(current, current.member_epoch)

    def _subscribed(self, partitions: Iterable[TopicPartition]) -> Partitions:
        """Those of these partitions that the member subscribes to."""
        topics = self._member.metadata.topics
        return tuple([one for one in partitions if self._rules.assign_subscribed(one, topics)])

    def _shrink(self, current: CurrentAssignment) -> CurrentAssignment:
        """The member loses what it no longer subscribes to (`updateCurrentAssignment`)."""
        wanted = self._subscribed(current.assigned)
        if len(wanted) == len(current.assigned):
            return current
        kept = {one: at for one, at in current.assigned.items() if one in wanted}
        revoked = {one: at for one, at in current.assigned.items() if one not in wanted}
        pending = dict(current.pending_revocation) | revoked
        epoch = current.member_epoch
        if self._acknowledged(pending):
            return CurrentAssignment(epoch, epoch, current.state, kept, current.pending_revocation)
        return CurrentAssignment(epoch, epoch, next_state(current.state, MemberEvent.REVOKE), kept, pending)

    def _acknowledged(self, revoked: Epochs) -> bool:
        return self._rules.revocation_reported(self._owned, revoked.keys())

    def _approach(self, current: CurrentAssignment, epoch: int) -> CurrentAssignment:
        """One step closer; `epoch` is the member's as long as it has to give something up."""
        kept = {one: at for one, at in current.assigned.items() if one in self._target}
        revoked = {one: at for one, at in current.assigned.items() if one not in self._target}
        if revoked and not self._acknowledged(revoked):
            state = next_state(current.state, MemberEvent.REVOKE)
            return CurrentAssignment(epoch, current.member_epoch, state, kept, revoked)
        released = self._rules.assign_released
        new = [one for one in self._target if one not in kept]
        ready = [one for one in new if released(self._group.partition_epoch(one), one, current.pending_revocation)]
        state = next_state(current.state, MemberEvent.ARRIVE if len(ready) == len(new) else MemberEvent.WAIT)
        assigned = kept | dict.fromkeys(ready, self._target_epoch)
        return CurrentAssignment(self._target_epoch, current.member_epoch, state, assigned, {})
