"""The network: one connection per follower and source broker, one per broker and controller.

Connections are FIFO and repeat nothing, and at most one request is outstanding on each, so an exchange is all that a
connection can hold. It waits until the simulator moves it on (that is delay), goes when the connection breaks (loss),
and stands still while the way is cut. Ways are cut in one direction at a time.
"""

from __future__ import annotations

from tidemark.replication.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerId,
    FetchRequest,
    FetchResponse,
    PendingRead,
    ReadRequest,
    ReadResponse,
)
from tidemark.replication.partition import UncountedFetch


class FetchConnection:
    """The fetches of `follower` at `source`: idle, asked (`request`), read and not counted (`uncounted`), being read
    (`read`), or answered (`response`). The request stays all the time. A diverging answer may have been `checked`: the
    follower has taken it off the network, and has not truncated yet."""

    __slots__ = ("checked", "follower", "number", "read", "request", "response", "source", "uncounted")

    def __init__(self, number: int, follower: BrokerId, source: BrokerId) -> None:
        self.number = number
        self.follower = follower
        self.source = source
        self.request: FetchRequest | None = None
        self.uncounted: UncountedFetch | None = None
        self.read: PendingRead | None = None
        self.response: FetchResponse | None = None
        self.checked = False

    def clear(self) -> None:
        """The exchange is over, or the connection broke."""
        self.request = self.uncounted = self.read = self.response = None
        self.checked = False


class AlterConnection:
    """The AlterPartition exchange of one broker with the controller: idle, asked, or answered."""

    __slots__ = ("number", "request", "response")

    def __init__(self, number: int) -> None:
        self.number = number
        self.request: AlterPartitionRequest | None = None
        self.response: AlterPartitionResponse | None = None

    @property
    def idle(self) -> bool:
        """Nothing is outstanding."""
        return self.request is None and self.response is None

    def ask(self, request: AlterPartitionRequest) -> None:
        """The request is on its way."""
        self.request = request

    def answer(self, response: AlterPartitionResponse) -> None:
        """The reply is on its way."""
        self.request = None
        self.response = response

    def clear(self) -> None:
        """The exchange is over, or the connection broke."""
        self.request = self.response = None


class ReadConnection:
    """A consumer. `position`: the offset that it reads next. `source`: the broker that it takes for the leader;
    `epoch`: the leader epoch that it knows. Its exchange with a broker is idle, asked, or answered."""

    __slots__ = ("consumer", "epoch", "number", "position", "request", "response", "source")

    def __init__(self, number: int, consumer: int) -> None:
        self.number = number
        self.consumer = consumer
        self.position = 0
        self.source: BrokerId = 0
        self.epoch = 0
        self.request: ReadRequest | None = None
        self.response: ReadResponse | None = None

    def clear(self) -> None:
        """The exchange is over, or the connection broke."""
        self.request = self.response = None


CONSUMERS = 1
"""So many consumers read a simulated partition."""


class Network:
    """All connections among `count` brokers and the controller.

    `fetches[f][s]` is follower f's connection to source s, and `alters[b]` broker b's to the controller. `cut[a][b]`
    holds messages from a to b back, with the controller as number `count`. `reads` are the consumers'. `connections`
    are all of them, fetches row by row, then alters, then reads: a connection's number is its place there.
    """

    __slots__ = ("alters", "connections", "count", "cut", "fetches", "reads")

    def __init__(self, count: int) -> None:
        self.count = count
        self.fetches = [[FetchConnection(f * count + s, f, s) for s in range(count)] for f in range(count)]
        self.alters = [AlterConnection(count * count + b) for b in range(count)]
        self.reads = [ReadConnection(count * count + count + number, number) for number in range(CONSUMERS)]
        self.connections: list[FetchConnection | AlterConnection | ReadConnection] = [
            *[connection for row in self.fetches for connection in row],
            *self.alters,
            *self.reads,
        ]
        self.cut = [[False] * (count + 1) for _ in range(count + 1)]

    def heal(self) -> None:
        """Every way is open."""
        for row in self.cut:
            row[:] = [False] * len(row)
