"""Appends that wait at a partition's leader for the high watermark (DelayedProduce): producers' batches, coordinators'
markers."""

from __future__ import annotations

from typing import NamedTuple

from tidemark.common.errors import Errors
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse
from tidemark.transactions.messages import Token, WriteTxnMarkersRequest, WriteTxnMarkersResponse

AppendRequest = ProduceRequest | WriteTxnMarkersRequest


class DelayedAppend(NamedTuple):
    """A request whose batch or marker is in the log at `offset`."""

    request: AppendRequest
    offset: int

    def answer(self, error: Errors) -> ProduceResponse | WriteTxnMarkersResponse:
        """Its response."""
        request = self.request
        if isinstance(request, ProduceRequest):
            return ProduceResponse(error, self.offset)
        return WriteTxnMarkersResponse(request.coordinator_epoch, error)


class PartitionReply(NamedTuple):
    """The response to a request that waited, by its token."""

    token: Token
    response: ProduceResponse | WriteTxnMarkersResponse


Replies = list[PartitionReply]


class AppendPurgatory:
    """The waiting appends of one partition, oldest first: token -> DelayedAppend."""

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting: dict[Token, DelayedAppend] = {}

    def park(self, token: Token, request: AppendRequest, offset: int) -> None:
        """A request waits until its offset is committed."""
        self.waiting[token] = DelayedAppend(request, offset)

    def complete(self, high_watermark: int) -> Replies:
        """The requests below the high watermark are answered."""
        done = [token for token, delayed in self.waiting.items() if delayed.offset < high_watermark]
        return [PartitionReply(token, self.waiting.pop(token).answer(Errors.NONE)) for token in done]

    def resign(self, of_batches: Errors) -> Replies:
        """The leader leads no more: batches are refused with this error, markers with NOT_LEADER_OR_FOLLOWER."""
        gone = [
            PartitionReply(
                token,
                delayed.answer(
                    of_batches if isinstance(delayed.request, ProduceRequest) else Errors.NOT_LEADER_OR_FOLLOWER
                ),
            )
            for token, delayed in self.waiting.items()
        ]
        self.waiting.clear()
        return gone
