"""The records that an accepted heartbeat writes. The code reads the group and changes nothing.

In this order: the member as it is found (new; a successor of its instance; known), then the subscription in its
request. Then come the group's epoch and target assignment if they have to change and may, and one step of the member
towards its target.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.common.errors import BrokenInvariant
from tidemark.consumer_group.assignment import CurrentAssignmentBuilder
from tidemark.consumer_group.group import NO_EPOCHS, NOTHING_YET, ConsumerGroup, ConsumerGroupMember
from tidemark.consumer_group.rules import Rules
from tidemark.consumer_group.states import MemberEvent, next_state
from tidemark.groups.assignors import SERVER
from tidemark.groups.consumer_group_messages import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    NOT_SAID,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupRecord,
    CurrentAssignment,
    CurrentMemberAssignmentRecord,
    GroupEpochRecord,
    MemberMetadata,
    MemberMetadataRecord,
    PartitionMetadataRecord,
    Partitions,
    TargetAssignmentMemberRecord,
    TargetAssignmentRecord,
)
from tidemark.groups.partitions import MemberId, Subscription

Members = dict[MemberId, ConsumerGroupMember]
Target = dict[MemberId, Partitions]


class Heartbeats:
    """`image`: partition counts of all topics, as the broker knows them; `assignor`: the group's."""

    __slots__ = ("_assignor", "_group", "_image", "_rules")

    def __init__(self, group: ConsumerGroup, rules: Rules, assignor: str, image: Mapping[str, int]) -> None:
        self._group = group
        self._rules = rules
        self._assignor = SERVER[assignor]
        self._image = image

    # --- the member ---------------------------------------------------------------------------------------------

    def replaced(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupMember | None:
        """The member whose place a static consumer takes that joins."""
        if request.instance_id is None or request.member_epoch != JOIN_GROUP_MEMBER_EPOCH:
            return None
        instance = self._group.instance_member(request.instance_id)
        return instance if instance is not None and instance.member_id != request.member_id else None

    def found(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupMember:
        """The member as the heartbeat finds it: new, a successor that takes over what its instance holds, or known. A
        static member is the one that its instance is mapped to."""
        group, member_id = self._group, request.member_id
        if request.instance_id is not None and request.member_epoch != JOIN_GROUP_MEMBER_EPOCH:
            known = group.instance_member(request.instance_id)
        else:
            known = group.members.get(member_id)
        old = self.replaced(request)
        if old is not None:
            return ConsumerGroupMember(member_id, old.metadata, _fresh(old.current))
        if known is None:
            return ConsumerGroupMember(
                member_id, MemberMetadata(request.instance_id, frozenset(), request.rebalance_timeout_ms)
            )
        if known.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH:
            return ConsumerGroupMember(known.member_id, known.metadata, _fresh(known.current))
        return known

    def _heard(self, found: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupMember:
        """The member with what the request says of it."""
        before = found.metadata
        if request.rebalance_timeout_ms == NOT_SAID and request.subscribed_topic_names is None:
            return found
        timeout_ms = (
            before.rebalance_timeout_ms if request.rebalance_timeout_ms == NOT_SAID else (request.rebalance_timeout_ms)
        )
        topics = before.topics if request.subscribed_topic_names is None else request.subscribed_topic_names
        metadata = MemberMetadata(before.instance_id, topics, timeout_ms)
        return found if metadata == before else ConsumerGroupMember(found.member_id, metadata, found.current)

    # --- does the group have to be assigned anew? ---------------------------------------------------------------

    def bumps(self, request: ConsumerGroupHeartbeatRequest, looks: bool) -> bool:
        """Whether the group epoch has to go up. `looks`: it is time to look which partitions there are."""
        group = self._group
        found = self.found(request)
        heard = self._heard(found, request)
        if heard.metadata.topics != found.metadata.topics:
            return True
        return looks and subscribed(self._with(heard, request), self._image) != group.metadata

    def may_wait(self, request: ConsumerGroupHeartbeatRequest) -> bool:
        """Whether the next target assignment may wait although the group epoch goes up."""
        heard = self._heard(self.found(request), request)
        return self._rules.bump_revokes_nothing(heard.current.assigned.keys(), heard.metadata.topics)

    def _with(self, heard: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest) -> Members:
        """The group's members, this one and its predecessor considered."""
        old = self.replaced(request)
        others = {one: member for one, member in self._group.members.items() if old is None or one != old.member_id}
        return others | {heard.member_id: heard}

    # --- the records --------------------------------------------------------------------------------------------

    def records(self, request: ConsumerGroupHeartbeatRequest) -> list[ConsumerGroupRecord]:
        """The last target assignment stands, and the group epoch."""
        return self._of_last_target(request, [], self._group.assignment_epoch)

    def records_of_bump(self, request: ConsumerGroupHeartbeatRequest) -> list[ConsumerGroupRecord]:
        """The group epoch goes up, and the last target assignment stands: the next one has to wait. For a member that
        joins the last one counts again, as that of a new epoch, and is as old as it was."""
        group, found = self._group, self.found(request)
        metadata = subscribed(self._with(self._heard(found, request), request), self._image)
        epoch = group.group_epoch + 1
        if not self._rules.join_in_new_epoch(found.member_epoch):
            return self._of_last_target(request, self._of_epoch(metadata, epoch), group.assignment_epoch)
        again = TargetAssignmentRecord(epoch, group.assignment_timestamp_ms)
        return self._of_last_target(request, [*self._of_epoch(metadata, epoch + 1), again], epoch)

    def records_of_assignment(self, request: ConsumerGroupHeartbeatRequest, now_ms: int) -> list[ConsumerGroupRecord]:
        """The group is assigned anew, in a new epoch unless there is one already that nobody has assigned."""
        group, found = self._group, self.found(request)
        heard = self._heard(found, request)
        members = self._with(heard, request)
        metadata = subscribed(members, self._image)
        records = self._of_member(found, request)
        epoch = group.group_epoch
        if metadata != group.metadata or heard.metadata.topics != found.metadata.topics:
            epoch += 1
            records += self._of_epoch(metadata, epoch)
        target = self._assigned(members, metadata, found.member_id, request)
        for member_id, partitions in target.items():
            if group.target.get(member_id) != partitions:
                records.append(TargetAssignmentMemberRecord(member_id, partitions))
        if epoch != group.assignment_epoch:
            records.append(TargetAssignmentRecord(epoch, now_ms))
        records += self._of_step(found, request, target[found.member_id], epoch)
        return records

    def _assigned(
        self, members: Members, metadata: Mapping[str, int], member_id: MemberId, request: ConsumerGroupHeartbeatRequest
    ) -> Target:
        """The target assignment that the assignor computes. A successor starts from its predecessor's target."""
        old = self.replaced(request)
        held = dict(self._group.target)
        if old is not None:
            held[member_id] = held.pop(old.member_id, ())
        subscriptions = {
            one: Subscription(member.metadata.topics, group_instance_id=member.instance_id)
            for one, member in members.items()
        }
        return self._assignor(metadata, subscriptions, held)

    def _of_epoch(self, metadata: Mapping[str, int], epoch: int) -> list[ConsumerGroupRecord]:
        """The group's new epoch, and the partitions that it has found if they are others."""
        records: list[ConsumerGroupRecord] = []
        if metadata != self._group.metadata:
            records.append(PartitionMetadataRecord(metadata))
        return [*records, GroupEpochRecord(epoch)]

    def _of_last_target(
        self, request: ConsumerGroupHeartbeatRequest, of_group: list[ConsumerGroupRecord], epoch: int
    ) -> list[ConsumerGroupRecord]:
        """The member is served from the last target assignment, which is that of this epoch, a successor from its
        predecessor's; `of_group`: the group's own records."""
        group, found = self._group, self.found(request)
        old = self.replaced(request)
        target = group.target.get(found.member_id if old is None else old.member_id, ())
        records = self._of_member(found, request) + of_group
        if old is not None and target:
            records.append(TargetAssignmentMemberRecord(found.member_id, target))
        return records + self._of_step(found, request, target, epoch)

    def _of_member(
        self, found: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest
    ) -> list[ConsumerGroupRecord]:
        """That a predecessor goes, and what the member says of itself."""
        old, heard = self.replaced(request), self._heard(found, request)
        records = [] if old is None else tombstones(self._group, old.member_id)
        known = self._group.members.get(found.member_id)
        if known is None or known.metadata != heard.metadata:
            records.append(MemberMetadataRecord(found.member_id, heard.metadata))
        return records

    def _of_step(
        self, found: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest, target: Partitions, epoch: int
    ) -> list[ConsumerGroupRecord]:
        """How far the member comes."""
        heard = self._heard(found, request)
        builder = CurrentAssignmentBuilder(self._group, heard, request.topic_partitions, self._rules)
        current = builder.build(target, epoch)
        known = self._group.members.get(found.member_id)
        before = NOTHING_YET if known is None else known.current
        return [CurrentMemberAssignmentRecord(found.member_id, current)] if current != before else []


def _fresh(current: CurrentAssignment) -> CurrentAssignment:
    """The current assignment that a static member takes over from itself or its predecessor. The member is in no epoch
    yet."""
    return current._replace(member_epoch=JOIN_GROUP_MEMBER_EPOCH, previous_member_epoch=JOIN_GROUP_MEMBER_EPOCH)


def subscribed(members: Members, image: Mapping[str, int]) -> dict[str, int]:
    """The topics that exist and that one of these members subscribes to, with their partitions."""
    topics = {topic for member in members.values() for topic in member.metadata.topics}
    return {topic: count for topic, count in image.items() if count and topic in topics}


def tombstones(group: ConsumerGroup, member_id: MemberId) -> list[ConsumerGroupRecord]:
    """That a member is in the group no more."""
    records: list[ConsumerGroupRecord] = [CurrentMemberAssignmentRecord(member_id, None)]
    if member_id in group.target:
        records.append(TargetAssignmentMemberRecord(member_id, None))
    return [*records, MemberMetadataRecord(member_id, None)]


def fencing(
    group: ConsumerGroup, member_id: MemberId, image: Mapping[str, int], rules: Rules
) -> list[ConsumerGroupRecord]:
    """The records by which a member is removed: the group epoch goes up, and a later heartbeat computes the target
    assignment. That of an empty group has no time, so the next member to join need not wait."""
    records = tombstones(group, member_id)
    others = {one: member for one, member in group.members.items() if one != member_id}
    metadata = subscribed(others, image)
    if metadata != group.metadata:
        records.append(PartitionMetadataRecord(metadata))
    records.append(GroupEpochRecord(group.group_epoch + 1))
    if rules.empty_group_is_assigned(group.members.keys(), member_id):
        records.append(TargetAssignmentRecord(group.group_epoch + 1))
    return records


def left(member: ConsumerGroupMember, rules: Rules) -> CurrentMemberAssignmentRecord:
    """The record by which a static member goes for a while: it keeps its assignment, given by no epoch."""
    if member.instance_id is None:
        raise BrokenInvariant(f"{member.member_id} is no static member and cannot leave for a while")
    kept = dict.fromkeys(member.current.assigned, 0)
    state = member.current.state
    current = member.current._replace(
        member_epoch=LEAVE_GROUP_STATIC_MEMBER_EPOCH,
        state=next_state(state, MemberEvent.LEAVE) if rules.leave_ends_revocation(state) else state,
        assigned=kept,
        pending_revocation=NO_EPOCHS,
    )
    return CurrentMemberAssignmentRecord(member.member_id, current)
