"""The network of a group under simulation: exchanges between consumers and brokers, and the log of one partition.

A consumer has one request of each kind outstanding: JoinGroup or SyncGroup, Heartbeat, OffsetCommit or OffsetFetch. An
exchange waits until the simulator moves it on (that is delay), and goes when it is lost or given up. It may be
repeated: then a second copy of the request arrives some time, and nobody waits for its reply.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import chain

from tidemark.groups.messages import Batch, GroupMetadataRecord, OffsetCommitRecord, Record, Request, Response
from tidemark.groups.partitions import TopicPartition
from tidemark.groups.subscription_state import Asked

Broker = int
Client = int

NOT_ASKED: Asked = {}


class Exchange:
    """A request and, some time, its response.

    `arrived`: the broker has it, and parks it if there is no response. `assignment_id`: for an OffsetFetch, the
    consumer's assignment when it asked; `asked`: the partitions that it is for.
    """

    __slots__ = ("arrived", "asked", "assignment_id", "broker", "request", "response", "token")

    def __init__(
        self, broker: Broker, request: Request, token: int, assignment_id: int = 0, asked: Asked = NOT_ASKED
    ) -> None:
        self.broker = broker
        self.request = request
        self.token = token
        self.assignment_id = assignment_id
        self.asked = asked
        self.arrived = False
        self.response: Response | None = None


class Network:
    """The exchanges of every consumer; None where there is none."""

    __slots__ = ("heartbeat", "member", "offset", "stray", "tokens", "waiting")

    def __init__(self, clients: int) -> None:
        self.member: list[Exchange | None] = [None] * clients
        self.heartbeat: list[Exchange | None] = [None] * clients
        self.offset: list[Exchange | None] = [None] * clients
        self.stray: list[Exchange | None] = [None] * clients
        self.waiting: dict[int, Exchange] = {}
        """Token -> the exchange that its reply is for."""
        self.tokens = 0

    def exchange(self, broker: Broker, request: Request, assignment_id: int = 0, asked: Asked = NOT_ASKED) -> Exchange:
        """A new one."""
        self.tokens += 1
        return Exchange(broker, request, self.tokens, assignment_id, asked)

    def arrive(self, exchange: Exchange) -> None:
        """The broker has the request; its reply is for this exchange."""
        exchange.arrived = True
        self.waiting[exchange.token] = exchange

    def answer(self, token: object, response: Response) -> None:
        """A reply; it goes nowhere if its exchange was given up."""
        exchange = self.waiting.pop(token, None)  # type: ignore[call-overload]
        if exchange is not None:
            exchange.response = response

    def hang_up(self, client: Client) -> None:
        """The process is gone, and with it everything in it that waited for a reply."""
        self.member[client] = self.heartbeat[client] = self.offset[client] = None


class OffsetsPartition:
    """The group's partition of __consumer_offsets, as a logical log with delayed commit.

    `leader` and `epoch` are the election's; `appended`: per broker the batches that it appended and that have not
    committed, oldest first. Of the committed log only the last record of each key counts: the topic is compacted.
    """

    __slots__ = ("appended", "epoch", "group", "leader", "offsets")

    def __init__(self, brokers: int, leader: Broker) -> None:
        self.leader = leader
        self.epoch = 1
        self.group: GroupMetadataRecord | None = None
        self.offsets: dict[TopicPartition, int] = {}
        self.appended: list[deque[Batch]] = [deque() for _ in range(brokers)]

    def commit(self) -> None:
        """The leader's oldest batch is replicated."""
        self._keep(self.appended[self.leader].popleft())

    def elect(self, broker: Broker, keep: int) -> Iterable[Record]:
        """Another broker leads; it has the first `keep` of the old leader's batches, the others are lost. Returns the
        records that it reads when it loads."""
        for batch in list(self.appended[self.leader])[:keep]:
            self._keep(batch)
        self.leader = broker
        self.epoch += 1
        return self.read()

    def read(self) -> Iterable[Record]:
        """The committed log's latest records, in the log's order."""
        group: list[Record] = [] if self.group is None else [self.group]
        return chain(group, [OffsetCommitRecord(one, offset) for one, offset in self.offsets.items()])

    def _keep(self, batch: Batch) -> None:
        for record in batch:
            if isinstance(record, GroupMetadataRecord):
                self.group = record
            elif isinstance(record, OffsetCommitRecord):
                self.offsets[record.partition] = record.offset
