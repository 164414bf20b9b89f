"""Messages between brokers, the controller and clients. Values: made once, shared, never changed."""

from __future__ import annotations

from tidemark.common.errors import NONE
from tidemark.common.structs import value
from tidemark.log.epoch_cache import EpochEndOffset
from tidemark.log.log import Segment
from tidemark.log.storage import Payload, RecordBatch

BrokerId = int
"""Brokers are numbered from 0."""
UNKNOWN_BROKER_EPOCH = -1


@value
class FetchRequest:
    """A follower asks its leader for records from `fetch_offset`, its log's end.

    `last_fetched_epoch` is the epoch of its tail, -1 if it does not say.
    """

    replica_id: BrokerId
    broker_epoch: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int


@value
class FetchResponse:
    """The answer: records, or a diverging epoch with its end offset, or an error with the leader's log end offset."""

    error: str
    high_watermark: int
    records: tuple[RecordBatch, ...] = ()
    diverging: EpochEndOffset | None = None
    log_end_offset: int = -1


@value
class PendingRead:
    """A validated fetch whose bytes are still to be read: file records are sent when the socket takes them. The slice
    is `limit` records from `fetch_offset`, the last of them in `segment`."""

    fetch_offset: int
    limit: int
    high_watermark: int
    segment: Segment

    @property
    def truncated(self) -> bool:
        """Whether a truncation has reached the slice since it was validated."""
        return self.segment.lacks(self.fetch_offset + self.limit)


@value
class ReadRequest:
    """A consumer asks for records from `fetch_offset`; it knows of that leader epoch."""

    current_leader_epoch: int
    fetch_offset: int


@value
class ReadResponse:
    """The answer to a consumer: records or an error."""

    error: str
    records: tuple[RecordBatch, ...] = ()


@value
class MemberState:
    """A proposed ISR member with the broker epoch of its last fetch, -1 if none was counted."""

    broker_id: BrokerId
    broker_epoch: int


@value
class AlterPartitionRequest:
    """A leader proposes a new ISR, made on the partition epoch that it knows."""

    broker_id: BrokerId
    broker_epoch: int
    leader_epoch: int
    partition_epoch: int
    members: tuple[MemberState, ...]

    @property
    def isr(self) -> frozenset[BrokerId]:
        """The proposed ISR."""
        return frozenset([member.broker_id for member in self.members])


@value
class AlterPartitionResponse:
    """The controller's decision; `partition_epoch` is the one that holds now, `leader_epoch` the request's."""

    error: str
    leader_epoch: int
    partition_epoch: int


@value
class ProduceRequest:
    """One produce attempt; `acks` is "0", "1" or "all"."""

    payload: Payload
    acks: str


@value
class ProduceResponse:
    """The answer to a produce attempt; `base_offset` -1 with an error."""

    payload: Payload
    error: str = NONE
    base_offset: int = -1


@value
class BrokerRegistrationRequest:
    """A new incarnation; `previous_broker_epoch` is the one that stopped cleanly, None if it did not."""

    broker_id: BrokerId
    previous_broker_epoch: int | None


@value
class BrokerHeartbeatRequest:
    """A broker is alive, has applied the metadata log up to `metadata_offset` and perhaps wants to stop."""

    broker_id: BrokerId
    broker_epoch: int
    metadata_offset: int
    want_shut_down: bool = False


class Refused:
    """The type of `REFUSED`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "REFUSED"


REFUSED = Refused()
"""A handler's answer when all else would allow it, but a safety rule says no."""
