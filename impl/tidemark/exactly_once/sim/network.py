"""The requests of instances: one that the instance waits for, and one that it has given up on."""

from __future__ import annotations

from typing import NamedTuple

from tidemark.common.errors import Errors
from tidemark.exactly_once.messages import Request
from tidemark.transactions.messages import CoordinatorResponse, WriteTxnMarkersRequest


class Exchange:
    """A request, or its reply; `end`: the answer to EndTxn."""

    __slots__ = ("end", "error", "request")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.error: Errors | None = None
        self.end: CoordinatorResponse | None = None

    @property
    def answered(self) -> bool:
        """Whether the reply is on its way."""
        return self.error is not None


class LateMarker(NamedTuple):
    """A copy of a marker, for the results or for the group's offsets."""

    target: int
    request: WriteTxnMarkersRequest
