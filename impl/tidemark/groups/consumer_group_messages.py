"""Requests, responses and records of a KIP-848 group.

Values: made once, shared, never changed. Names are those of Kafka's message schemas. OffsetCommit and OffsetFetch are
the classic group's, with a member epoch where that has a generation. A consumer leaves by a heartbeat of a negative
epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from tidemark.common.errors import Errors
from tidemark.common.structs import value
from tidemark.groups.partitions import MemberId, TopicPartition

JOIN_GROUP_MEMBER_EPOCH = 0
LEAVE_GROUP_MEMBER_EPOCH = -1
LEAVE_GROUP_STATIC_MEMBER_EPOCH = -2
"""A static member goes and means to be back within its session time-out."""
NOT_SAID = -1
"""No rebalance time-out in this heartbeat."""

Partitions = tuple[TopicPartition, ...]
Epochs = Mapping[TopicPartition, int]
"""Partitions that a member holds, each with the assignment epoch that gave it (KIP-1251)."""


class MemberState(Enum):
    """How far a member is on its way to its target assignment."""

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    STABLE = "STABLE"
    """It has what it should have had in its epoch. A heartbeat in a newer assignment epoch moves it on."""
    UNREVOKED_PARTITIONS = "UNREVOKED_PARTITIONS"
    """It was told to give partitions up, and stays in its epoch until a heartbeat reports that it owns none of them. It
    is removed after its rebalance time-out."""
    UNRELEASED_PARTITIONS = "UNRELEASED_PARTITIONS"
    """It is in the assignment epoch, and some of its target is still held by others. Every heartbeat tries again."""


@value
class ConsumerGroupHeartbeatRequest:
    """A member is alive, joins (epoch 0) or leaves (-1, -2). A field that is None has not changed since the last
    heartbeat. The time-out, in milliseconds, is in none but a full request."""

    member_id: MemberId
    member_epoch: int
    instance_id: str | None = None
    rebalance_timeout_ms: int = NOT_SAID
    subscribed_topic_names: frozenset[str] | None = None
    topic_partitions: Partitions | None = None

    @property
    def full(self) -> bool:
        """Whether it says everything, and so wants to be told everything."""
        return self.rebalance_timeout_ms != NOT_SAID

    @property
    def leaves(self) -> bool:
        """Whether the member goes."""
        return self.member_epoch < JOIN_GROUP_MEMBER_EPOCH


@value
class ConsumerGroupHeartbeatResponse:
    """The member's epoch, and its assignment if that has changed or was asked for; or an error."""

    error: Errors
    member_id: MemberId
    member_epoch: int = 0
    assignment: Partitions | None = None


# Records. The topic is compacted: the last record of a key counts, and one without a value removes the key.


class MemberMetadata(NamedTuple):
    """The metadata that a member has sent; the time is in milliseconds."""

    instance_id: str | None
    topics: frozenset[str]
    rebalance_timeout_ms: int


@value
class MemberMetadataRecord:
    """ConsumerGroupMemberMetadata: a member's identity and subscription."""

    member_id: MemberId
    metadata: MemberMetadata | None


@value
class GroupEpochRecord:
    """ConsumerGroupMetadata: the group epoch."""

    epoch: int


@value
class PartitionMetadataRecord:
    """ConsumerGroupPartitionMetadata: the partition counts of the subscribed topics, when the group last looked."""

    counts: Mapping[str, int]


@value
class TargetAssignmentRecord:
    """ConsumerGroupTargetAssignmentMetadata: the group epoch that the target assignment is of, and the time at which it
    was computed (milliseconds; 0: it was not)."""

    assignment_epoch: int
    assignment_timestamp_ms: int = 0


@value
class TargetAssignmentMemberRecord:
    """ConsumerGroupTargetAssignmentMember: the partitions that a member is to have."""

    member_id: MemberId
    partitions: Partitions | None


class CurrentAssignment(NamedTuple):
    """A member's progress towards its target: its epochs, the partitions that it may read, those that it was told to
    give up."""

    member_epoch: int
    previous_member_epoch: int
    state: MemberState
    assigned: Epochs
    pending_revocation: Epochs


@value
class CurrentMemberAssignmentRecord:
    """ConsumerGroupCurrentMemberAssignment: the same, on the log."""

    member_id: MemberId
    current: CurrentAssignment | None


ConsumerGroupRecord = (
    MemberMetadataRecord
    | GroupEpochRecord
    | PartitionMetadataRecord
    | TargetAssignmentRecord
    | TargetAssignmentMemberRecord
    | CurrentMemberAssignmentRecord
)
