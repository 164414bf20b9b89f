"""A KIP-848 group as its coordinator holds it (ConsumerGroup, ConsumerGroupMember): changed by `replay` alone.

A partition has an *epoch* while a member holds it, to read it or to give it up: the epoch of that member. Nobody else
gets a partition that has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from tidemark.common.structs import value
from tidemark.consumer_group.rules import RELEASED, Rules
from tidemark.groups.consumer_group_messages import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_MEMBER_EPOCH,
    NOT_SAID,
    ConsumerGroupRecord,
    CurrentAssignment,
    CurrentMemberAssignmentRecord,
    Epochs,
    GroupEpochRecord,
    MemberMetadata,
    MemberMetadataRecord,
    MemberState,
    PartitionMetadataRecord,
    Partitions,
    TargetAssignmentMemberRecord,
    TargetAssignmentRecord,
)
from tidemark.groups.partitions import MemberId, TopicPartition

NO_EPOCHS: Epochs = {}
NOTHING_YET = CurrentAssignment(JOIN_GROUP_MEMBER_EPOCH, -1, MemberState.STABLE, NO_EPOCHS, NO_EPOCHS)
"""Of a member that has just joined."""
GONE = CurrentAssignment(LEAVE_GROUP_MEMBER_EPOCH, -1, MemberState.STABLE, NO_EPOCHS, NO_EPOCHS)
"""Of one whose current assignment was removed from the log."""
UNHEARD = MemberMetadata(None, frozenset(), NOT_SAID)
"""Of a member of whom only the assignment was read yet."""


class UnreadableLog(Exception):
    """A record cannot be replayed on top of those loaded so far: the load fails."""


@value
class ConsumerGroupMember:
    """A member: its own statements, and its progress towards the target."""

    member_id: MemberId
    metadata: MemberMetadata
    current: CurrentAssignment = field(default_factory=lambda: NOTHING_YET)

    @property
    def instance_id(self) -> str | None:
        """Its group.instance.id; None: it is a dynamic member."""
        return self.metadata.instance_id

    @property
    def member_epoch(self) -> int:
        """The epoch that it is in; -2: a static member that means to be back."""
        return self.current.member_epoch

    def assignment_epoch(self, partition: TopicPartition) -> int:
        """The epoch that gave it the partition, -1: it does not hold it."""
        current = self.current
        return current.assigned.get(partition, current.pending_revocation.get(partition, -1))


class ConsumerGroup:
    """`metadata`: partition counts of the subscribed topics when the group last looked. `target`: the partitions that
    members are to have, by `assignment_epoch`. `assignment_timestamp_ms`: when it was computed, 0 if nobody knows.
    `partition_epochs`: of the partitions that have a holder. `loading`: the
    replayed records come from a log that the cleaner may have compacted meanwhile."""

    __slots__ = (
        "_rules", "assignment_epoch", "assignment_timestamp_ms", "group_epoch", "loading", "members", "metadata",
        "partition_epochs", "static_members", "target",
    )  # fmt: skip

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.group_epoch = 0
        self.loading = False
        self.assignment_epoch = 0
        self.assignment_timestamp_ms = 0
        self.metadata: Mapping[str, int] = {}
        self.members: dict[MemberId, ConsumerGroupMember] = {}
        self.static_members: dict[str, MemberId] = {}
        """group.instance.id -> the member that it is mapped to."""
        self.target: dict[MemberId, Partitions] = {}
        self.partition_epochs: dict[TopicPartition, int] = {}

    def partition_epoch(self, partition: TopicPartition) -> int:
        """The epoch of the partition's holder; -1: it is released."""
        return self.partition_epochs.get(partition, RELEASED)

    def instance_member(self, instance_id: str | None) -> ConsumerGroupMember | None:
        """The member that an instance is mapped to."""
        return self.members.get(self.static_members.get(instance_id, "")) if instance_id is not None else None

    # --- replay -------------------------------------------------------------------------------------------------

    def replay(self, record: ConsumerGroupRecord) -> None:
        """A record of the log, read, or about to be appended: the group takes over its contents. Raises UnreadableLog
        where a load cannot go on."""
        if isinstance(record, CurrentMemberAssignmentRecord):
            self._replay_current(record.member_id, record.current or GONE)
        elif isinstance(record, MemberMetadataRecord):
            self._replay_metadata(record.member_id, record.metadata)
        elif isinstance(record, TargetAssignmentMemberRecord):
            if record.partitions is None:
                self.target.pop(record.member_id, None)
            else:
                self.target[record.member_id] = record.partitions
        elif isinstance(record, TargetAssignmentRecord):
            self.assignment_epoch = record.assignment_epoch
            self.assignment_timestamp_ms = record.assignment_timestamp_ms
        elif isinstance(record, GroupEpochRecord):
            self.group_epoch = record.epoch
        elif isinstance(record, PartitionMetadataRecord):
            self.metadata = record.counts

    def _replay_metadata(self, member_id: MemberId, metadata: MemberMetadata | None) -> None:
        member = self.members.get(member_id)
        if metadata is not None:
            self.members[member_id] = (
                ConsumerGroupMember(member_id, metadata)
                if member is None
                else ConsumerGroupMember(member_id, metadata, member.current)
            )
            if metadata.instance_id is not None:
                self.static_members[metadata.instance_id] = member_id
            if member is not None:
                self._update_partition_epochs(member.current, member.current)  # as for any record of a member
        elif member is not None:
            del self.members[member_id]
            if member.instance_id is not None and self.static_members.get(member.instance_id) == member_id:
                del self.static_members[member.instance_id]

    def _replay_current(self, member_id: MemberId, current: CurrentAssignment) -> None:
        old = self.members.get(member_id)
        if old is None:
            if current is GONE:
                return
            old = ConsumerGroupMember(member_id, UNHEARD)
        self.members[member_id] = ConsumerGroupMember(member_id, old.metadata, current)
        self._update_partition_epochs(old.current, current)

    def _update_partition_epochs(self, old: CurrentAssignment, new: CurrentAssignment) -> None:
        """The old record's epochs are removed, each only if it is the member's, then the new record's are added."""
        if self.loading:
            self._load_partition_epochs(old, new)
            return
        for held in (old.assigned, old.pending_revocation):
            self._remove(held, old.member_epoch)
        for held in (new.assigned, new.pending_revocation):
            self.partition_epochs.update(dict.fromkeys(held, new.member_epoch))

    def _remove(self, partitions: Iterable[TopicPartition], member_epoch: int) -> None:
        for partition in partitions:
            if self.partition_epochs.get(partition) == member_epoch:
                del self.partition_epochs[partition]

    def _load_partition_epochs(self, old: CurrentAssignment, new: CurrentAssignment) -> None:
        """The same while the log is read. The member's record may be out of date by now, and a partition that it held
        then another's: the epoch of the later holder stays."""
        rules, epochs = self._rules, self.partition_epochs
        for partition in (*old.assigned, *old.pending_revocation):
            found = epochs.get(partition, RELEASED)
            if found == old.member_epoch:
                del epochs[partition]
            elif not rules.tolerant_replay(found, old.member_epoch):
                raise UnreadableLog(f"{partition} is held in epoch {found}, not in {old.member_epoch}")
        for partition in (*new.assigned, *new.pending_revocation):
            found = epochs.get(partition, RELEASED)
            if found == RELEASED or (found < new.member_epoch and rules.tolerant_replay(found, RELEASED)):
                epochs[partition] = new.member_epoch
            elif found < new.member_epoch or not rules.keep_newer_epoch(found, new.member_epoch):
                raise UnreadableLog(f"{partition} is held in epoch {found} already, {new.member_epoch} comes late")
