"""The network between producers and leaders: a connection is FIFO, and what outlives it may still be read."""

from __future__ import annotations

from typing import NamedTuple

from tidemark.common.errors import Errors
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse
from tidemark.idempotence.partition import Broker, Parked


class Exchange:
    """A request on its connection: on the way, parked at the leader until its batch is committed, or answered."""

    __slots__ = ("broker", "parked", "request", "response")

    def __init__(self, broker: Broker, request: ProduceRequest) -> None:
        self.broker = broker
        self.request = request
        self.parked: Parked | None = None
        self.response: ProduceResponse | None = None


class Late(NamedTuple):
    """A request whose connection is gone, and that its broker may still read."""

    broker: Broker
    request: ProduceRequest


class Connections:
    """What a producer has on the way for one partition. `wire`: oldest first, of all brokers; `late`: oldest first."""

    __slots__ = ("late", "wire")

    def __init__(self) -> None:
        self.wire: list[Exchange] = []
        self.late: list[Late] = []

    def next_at(self, broker: Broker) -> Exchange | None:
        """What a broker handles next."""
        for one in self.wire:
            if one.broker == broker and one.response is None:
                return one
        return None

    def next_from(self, broker: Broker) -> Exchange | None:
        """The oldest exchange with a broker."""
        for one in self.wire:
            if one.broker == broker:
                return one
        return None

    def depose(self) -> None:
        """The leader leads no more: it tells who waits."""
        for one in self.wire:
            if one.parked is not None and one.response is None:
                one.response = ProduceResponse(Errors.NOT_LEADER_OR_FOLLOWER)

    def disconnect(self, broker: Broker, keep: int) -> list[int]:
        """The connection to a broker is gone; of the requests that it has not handled it may still read the first
        `keep`. Which batches were on it."""
        gone = [one for one in self.wire if one.broker == broker]
        self.wire = [one for one in self.wire if one.broker != broker]
        unhandled = [one.request for one in gone if one.parked is None and one.response is None]
        self.late += [Late(broker, request) for request in unhandled[:keep]]
        return [one.request.payload for one in gone]
