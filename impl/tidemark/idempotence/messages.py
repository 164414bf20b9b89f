"""Requests and responses between producers and leaders, and the leader's record of them."""

from __future__ import annotations

from typing import NamedTuple

from tidemark.common.errors import Errors

ProducerId = int
"""From 1; 0 is none."""

NO_EPOCH = -1
"""Nothing is known of a producer."""

NO_SEQUENCE = -1


class ProduceRequest(NamedTuple):
    """A batch for a partition, acks=all. It counts as one record; `payload` is what the application sent: the number of
    the batch among those of the process for that partition."""

    producer_id: ProducerId
    producer_epoch: int
    sequence: int
    payload: int


class RecordBatch(NamedTuple):
    """A batch in a log. `timestamp`: when the leader appended it, in milliseconds of its clock
    (message.timestamp.type=LogAppendTime); a follower copies it."""

    request: ProduceRequest
    timestamp: int


class ProduceResponse(NamedTuple):
    """The answer: the batch's offset, or an error."""

    error: Errors
    offset: int = 0
