"""The common part of both groups' abstractions: the log, offsets, the consumers' positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tidemark.groups.messages import Request, Response, Token
from tidemark.groups.partitions import MemberId, TopicPartition
from tidemark.groups.table import HeaderTable
from tidemark.trace.cells import Abstract

Key = Any
"""Numbers, and tuples of them."""
IDLE: Key = ("idle",)
"""The key of an exchange that there is not."""


class AnyExchange(Protocol):
    """A request with its token, to the broker `broker`; `response` is None until there is one."""

    @property
    def broker(self) -> int:
        """The broker."""

    @property
    def token(self) -> Token:
        """The token that the broker's reply names."""

    @property
    def arrived(self) -> bool:
        """Whether the broker has it."""

    @property
    def request(self) -> Request:
        """The request."""

    @property
    def response(self) -> Response | None:
        """The reply."""


class Log(Protocol):
    """The partition of __consumer_offsets: its leader and epoch, the committed offsets."""

    leader: int
    epoch: int
    offsets: dict[TopicPartition, int]


class Network(Protocol):
    """The exchanges of every consumer."""

    @property
    def member(self) -> Sequence[Any]:
        """A JoinGroup or SyncGroup."""

    @property
    def heartbeat(self) -> Sequence[Any]:
        """A heartbeat."""

    @property
    def offset(self) -> Sequence[Any]:
        """A commit, or a fetch of offsets."""

    @property
    def stray(self) -> Sequence[Any]:
        """A request for whose reply nobody waits."""


class State(Protocol):
    """The state that the abstraction reads. `numbers`: each member id's rank among the issued ones. `counts`: each
    topic's number of partitions."""

    numbers: dict[MemberId, int]
    counts: dict[str, int]

    @property
    def log(self) -> Any:
        """A `Log`, with the group's committed records."""

    @property
    def network(self) -> Network:
        """The exchanges."""

    @property
    def coordinators(self) -> Sequence[Any]:
        """By broker."""

    @property
    def consumers(self) -> Sequence[Any]:
        """The processes, None where none runs."""


class GroupAbstraction(Abstract):
    """The abstraction function of one run: every method reads the key of a unit, and is given the number of its broker
    or consumer. Raises CapacityExceeded for a value that the table cannot hold."""

    def __init__(self, table: HeaderTable, state: State) -> None:
        self.header = table
        self.numbers = state.numbers
        self._counts = state.counts
        self._offsets_log: Log = state.log
        self._serving = state.coordinators
        self._processes = state.consumers

    def leader_and_epoch(self) -> Key:
        """The log's leader and leader epoch."""
        return self._offsets_log.leader, self._offsets_log.epoch

    def stored_offsets(self) -> Key:
        """The committed offsets."""
        return self.header.offsets(self._offsets_log.offsets)

    def offsets(self, broker: int) -> Key:
        """The offsets that a coordinator serves."""
        return self.header.offsets(self._serving[broker].offsets)

    def issued(self) -> Key:
        """How many member ids were issued."""
        return len(self.numbers)

    def position(self, client: int) -> Key:
        """The positions of the partitions that a consumer owns."""
        consumer = self._processes[client]
        return self.header.positions(None if consumer is None else consumer.subscriptions)

    def partitions(self) -> Key:
        """The topics that have a partition."""
        return self._topics(self._counts)

    def _topics(self, counts: Mapping[str, int]) -> int:
        return sum([1 << place for place, topic in enumerate(self.header.topics) if counts.get(topic)])
