"""Requests and responses of a group, and the records that its coordinator writes to __consumer_offsets.

Values: made once, shared, never changed. Names and fields are those of Kafka's message schemas; left out is what the
protocol does not depend on (client ids, reasons, throttle times). A request is of one group, and so is a coordinator.
Messages of KIP-848's groups alone are in consumer_group_messages.py; offsets are common, with a member epoch for the
generation there.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from tidemark.common.errors import Errors
from tidemark.common.structs import value
from tidemark.groups.consumer_group_messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupRecord,
)
from tidemark.groups.partitions import NO_GENERATION, UNKNOWN_MEMBER_ID, MemberId, Subscription, TopicPartition

Token = Hashable
"""The receiver of a request's reply; the transport makes the token and knows its meaning."""
Partitions = tuple[TopicPartition, ...]
NO_OFFSET = -1
"""No offset is committed (OffsetFetchResponse.INVALID_OFFSET)."""


@value
class JoinGroupRequestProtocol:
    """An assignor that the member could work with, and the member's data for that assignor's leader."""

    name: str
    metadata: Subscription


Protocols = tuple[JoinGroupRequestProtocol, ...]
"""A member's assignors, the most preferred first; no name twice."""


@value
class JoinGroupRequest:
    """A consumer wants to be in the next generation. Times are in milliseconds."""

    member_id: MemberId
    protocols: Protocols
    group_instance_id: str | None = None
    session_timeout_ms: int = 45_000
    rebalance_timeout_ms: int = 300_000


@value
class JoinGroupResponseMember:
    """A member of the generation, as its leader hears of it."""

    member_id: MemberId
    group_instance_id: str | None
    metadata: Subscription


@value
class JoinGroupResponse:
    """The generation that the member is in, or an error.

    `members` is for the member with the id `leader` alone. `skip_assignment`: it leads and need not assign. With
    MEMBER_ID_REQUIRED `member_id` is the one to join with; with UNKNOWN_MEMBER_ID it may be empty.
    """

    error: Errors
    member_id: MemberId
    generation_id: int = NO_GENERATION
    protocol_name: str | None = None
    leader: MemberId = UNKNOWN_MEMBER_ID
    skip_assignment: bool = False
    members: tuple[JoinGroupResponseMember, ...] = ()


@value
class SyncGroupRequest:
    """A member asks for its assignment. The leader sends everybody's; the others leave `assignments` empty."""

    member_id: MemberId
    generation_id: int
    group_instance_id: str | None = None
    assignments: Mapping[MemberId, Partitions] | None = None


@value
class SyncGroupResponse:
    """The member's partitions, or an error."""

    error: Errors
    assignment: Partitions = ()


@value
class HeartbeatRequest:
    """A member is alive, in this generation as far as it knows."""

    member_id: MemberId
    generation_id: int
    group_instance_id: str | None = None


@value
class HeartbeatResponse:
    """Whether it is; REBALANCE_IN_PROGRESS asks it to join again."""

    error: Errors


@value
class LeaveGroupRequest:
    """A member goes, or a process that has only been issued a member id."""

    member_id: MemberId


@value
class LeaveGroupResponse:
    """UNKNOWN_MEMBER_ID if there was none to go."""

    error: Errors


@value
class OffsetCommitRequest:
    """A member has read its partitions up to these offsets: the next ones to read."""

    member_id: MemberId
    generation_id: int
    offsets: Mapping[TopicPartition, int]
    group_instance_id: str | None = None


@value
class OffsetCommitResponse:
    """The answer for all partitions of the request; it comes when the offsets are committed."""

    error: Errors


@value
class OffsetFetchRequest:
    """Asks for the committed offsets of all the group's partitions. A member of a KIP-848 group sends its id and
    epoch."""

    member_id: MemberId = UNKNOWN_MEMBER_ID
    member_epoch: int = NO_GENERATION


@value
class OffsetFetchResponse:
    """The committed offsets of the partitions that have one, or an error."""

    error: Errors
    offsets: Mapping[TopicPartition, int]


Request = (
    JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
    | ConsumerGroupHeartbeatRequest
)
Response = (
    JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | ConsumerGroupHeartbeatResponse
)


# The records of __consumer_offsets. The topic is compacted: the last record of a key counts.


@value
class MemberMetadata:
    """A member as the log knows it: of its assignors only the one that the group has chosen (GroupMetadataValue)."""

    member_id: MemberId
    group_instance_id: str | None
    subscription: Subscription
    assignment: Partitions
    session_timeout_ms: int
    rebalance_timeout_ms: int


@value
class GroupMetadataRecord:
    """The group in one generation, with its assignment; an empty group has no members, protocol and leader."""

    generation: int
    protocol: str | None
    leader: MemberId | None
    members: tuple[MemberMetadata, ...]


@value
class OffsetCommitRecord:
    """The offset of one partition."""

    partition: TopicPartition
    offset: int


Record = GroupMetadataRecord | OffsetCommitRecord | ConsumerGroupRecord
Batch = tuple[Record, ...]
"""Records that are appended together: all of them commit, at once, or none."""


@value
class Reply:
    """An answer, now, to a request that came now or that was parked."""

    token: Token
    response: Response


@value
class Outcome:
    """A handler's outcome: `batch` is to be appended to the log (empty: nothing), `replies` are to be sent.

    A request that gets no reply is parked: a later outcome brings it.
    """

    batch: Batch = ()
    replies: tuple[Reply, ...] = ()
