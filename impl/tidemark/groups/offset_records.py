"""Records of __consumer_offsets, requests and replies about a group's committed offsets.

Values, as in messages.py; here are those of transactions, deletion and expiry, which the classic group does not need.
Records and requests are tuples, because the observers of a log compare them all the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from tidemark.common.errors import Errors
from tidemark.common.structs import value
from tidemark.groups.messages import Token
from tidemark.groups.partitions import NO_GENERATION, UNKNOWN_MEMBER_ID, MemberId, TopicPartition

ProducerId = int
NO_PRODUCER_ID = -1
"""A record of no transaction (RecordBatch.NO_PRODUCER_ID)."""


class OffsetsGroupState(StrEnum):
    """The group's state, as far as its offsets depend on it."""

    __hash__ = str.__hash__  # Enum's own is slow

    NONE = "None"
    """There is no group."""
    SIMPLE = "Simple"
    """Offsets were committed for it, and nobody ever was a member."""
    EMPTY = "Empty"
    """Its members have gone."""
    STABLE = "Stable"
    """It has members."""


class OffsetsGroup(NamedTuple):
    """The group: its generation, the partitions that members subscribe to, and since when (ms) it is as it is."""

    state: OffsetsGroupState = OffsetsGroupState.NONE
    generation: int = 0
    subscribed: tuple[TopicPartition, ...] = ()
    since_ms: int = 0


NO_GROUP, SIMPLE_GROUP = OffsetsGroup(), OffsetsGroup(OffsetsGroupState.SIMPLE)


class OffsetCommitValue(NamedTuple):
    """An offset of a partition; with a producer id it is staged until that transaction ends."""

    partition: TopicPartition
    offset: int
    commit_timestamp_ms: int
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: int = -1


class Cause(StrEnum):
    """The cause of a removal of offsets."""

    __hash__ = str.__hash__  # Enum's own is slow

    EXPIRY = "expiry"
    DELETE = "delete"
    TOPIC = "topic"


class OffsetTombstone(NamedTuple):
    """The offsets of these partitions go, and with `group` the group."""

    cause: Cause
    partitions: tuple[TopicPartition, ...]
    group: bool = False


class EndTransactionMarker(NamedTuple):
    """The transaction of a producer has ended."""

    producer_id: ProducerId
    producer_epoch: int
    commit: bool


OffsetRecord = OffsetCommitValue | OffsetTombstone | OffsetsGroup | EndTransactionMarker


class LogRecord(NamedTuple):
    """A record at its position in the log."""

    position: int
    record: OffsetRecord


class ConsumerGroupMetadata(NamedTuple):
    """A consumer's identity in its group (Consumer.groupMetadata). Clients before KIP-447 send none."""

    member_id: MemberId = UNKNOWN_MEMBER_ID
    generation_id: int = NO_GENERATION
    group_instance_id: str | None = None


class TxnOffsetCommitRequest(NamedTuple):
    """A producer commits an offset of its consumer within its transaction. `generation_id`: -1 from clients before
    KIP-447."""

    producer_id: ProducerId
    producer_epoch: int
    generation_id: int
    partition: TopicPartition
    offset: int
    member_id: MemberId = UNKNOWN_MEMBER_ID
    group_instance_id: str | None = None


@value
class TxnOffsetCommitResponse:
    """It comes when the record has committed."""

    error: Errors


class WriteTxnMarkerRequest(NamedTuple):
    """The transaction coordinator ends a producer's transaction. The epoch is the one after the transaction's."""

    producer_id: ProducerId
    producer_epoch: int
    commit: bool


@value
class WriteTxnMarkerResponse:
    """It comes when the marker has committed."""

    error: Errors


@value
class StableOffsetFetchResponse:
    """The offsets that there are; those of `unstable` are withheld with UNSTABLE_OFFSET_COMMIT."""

    error: Errors
    offsets: Mapping[TopicPartition, int]
    unstable: tuple[TopicPartition, ...] = ()


OffsetResponse = TxnOffsetCommitResponse | WriteTxnMarkerResponse | StableOffsetFetchResponse


@value
class OffsetReply:
    """An answer, now, to a request that came now or that was parked."""

    token: Token
    response: OffsetResponse


@value
class OffsetOutcome:
    """A handler's outcome: a record to be appended, or none, and replies to be sent. `error`: the refusal of a request
    that has no token."""

    record: LogRecord | None = None
    replies: tuple[OffsetReply, ...] = ()
    error: Errors = Errors.NONE
