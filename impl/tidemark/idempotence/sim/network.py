"""The network between producers and leaders: a connection is FIFO, and requests that outlive it may still be read."""

from __future__ import annotations

from typing import NamedTuple

from tidemark.common.errors import Errors
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse, ProducerId
from tidemark.idempotence.partition import Broker, Parked


class Exchange:
    """A request on its connection: on the way, parked at the leader until its batch is committed, or answered. It
    reaches its broker by `until`, or never."""

    __slots__ = ("broker", "parked", "request", "response", "until")

    def __init__(self, broker: Broker, request: ProduceRequest, until: int) -> None:
        self.broker = broker
        self.request = request
        self.until = until
        self.parked: Parked | None = None
        self.response: ProduceResponse | None = None


class Late(NamedTuple):
    """A request whose connection is gone, and that its broker may still read, by `until`."""

    broker: Broker
    request: ProduceRequest
    until: int


class Connections:
    """A producer's exchanges under way for one partition. `wire`: oldest first, of all brokers. `late`: oldest first.
    `deadlines`: by batch number, when the producer gives that batch up."""

    __slots__ = ("deadlines", "late", "wire")

    def __init__(self) -> None:
        self.deadlines: dict[int, int] = {}
        self.wire: list[Exchange] = []
        self.late: list[Late] = []

    def send(self, broker: Broker, request: ProduceRequest, life_ms: int) -> None:
        """A request leaves, and lives so much longer than its batch."""
        self.wire.append(Exchange(broker, request, self.deadlines[request.payload] + life_ms))

    def under_way(self, producer_id: ProducerId) -> list[tuple[int, int]]:
        """The requests of a producer id that a broker may still handle: the number of the batch, and until when."""
        return [
            (one.request.payload, one.until)
            for one in self.wire
            if one.parked is None and one.response is None and one.request.producer_id == producer_id
        ] + [(one.request.payload, one.until) for one in self.late if one.request.producer_id == producer_id]

    def crash(self) -> None:
        """The process is gone, and its connections with it."""
        self.wire.clear()
        self.deadlines.clear()

    def next_at(self, broker: Broker) -> Exchange | None:
        """The exchange that a broker handles next."""
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
        unhandled = [one for one in gone if one.parked is None and one.response is None]
        self.late += [Late(broker, one.request, one.until) for one in unhandled[:keep]]
        return [one.request.payload for one in gone]
