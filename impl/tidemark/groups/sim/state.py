"""The state of a group under simulation: coordinators, the log, consumers, the network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from tidemark.common.errors import BrokenInvariant, Errors
from tidemark.groups.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Outcome,
    Record,
    Request,
    Token,
)
from tidemark.groups.partitions import MemberId, TopicPartition
from tidemark.groups.purgatory import Timer
from tidemark.groups.sim.network import Broker, Network, OffsetsPartition
from tidemark.groups.subscription_state import SubscriptionState
from tidemark.trace.recording import Recorder

INSTANCE = "instance"
"""The group.instance.id of every static consumer."""


def new_member_id(numbers: dict[MemberId, int]) -> MemberId:
    """A member id more. Ids sort as they were issued; `numbers` has the rank of each."""
    number = len(numbers) + 1
    member_id = f"member-{number:06d}"
    numbers[member_id] = number
    return member_id


@dataclass(slots=True)
class Commits:
    """The commits that consumers know of. `acked`: how many were acknowledged. `safe`: each partition's last
    acknowledged offset. `since`: each partition's offsets that were accepted, not acknowledged, and may still count."""

    acked: int = 0
    safe: dict[TopicPartition, int] = field(default_factory=dict)
    since: dict[TopicPartition, set[int]] = field(default_factory=dict)

    def sent(self, offsets: dict[TopicPartition, int]) -> None:
        """A coordinator has accepted these; whether they will count is not known yet."""
        for partition, offset in offsets.items():
            self.since.setdefault(partition, set()).add(offset)

    def acknowledged(self, offsets: dict[TopicPartition, int]) -> None:
        """A coordinator says that these have committed."""
        self.acked += 1
        self.safe.update(offsets)
        for partition, offset in offsets.items():
            self.since[partition].discard(offset)

    def lost(self, found: dict[TopicPartition, int]) -> int:
        """For how many partitions a client finds another offset than the one acknowledged last, or sent since."""
        return sum(
            found.get(partition) != safe and found.get(partition) not in self.since.get(partition, ())
            for partition, safe in self.safe.items()
        )


class AnyCoordinator(Protocol):
    """The common interface of the coordinators of both kinds of group."""

    epoch: int

    @property
    def serving(self) -> bool:
        """Whether this broker believes to be the coordinator."""

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """The committed offsets that it serves."""

    @property
    def waiting(self) -> Sized:
        """The batches that it has handed out and that have not committed."""

    @property
    def timers(self) -> dict[Timer, int]:
        """The timers that run."""

    def commit_error(self, request: OffsetCommitRequest) -> Errors:
        """The error for an OffsetCommit; Errors.NONE if the coordinator accepts it."""

    def reject_commit(self, token: Token, error: Errors) -> Outcome:
        """It is refused."""

    def handle_commit(self, request: OffsetCommitRequest, token: Token, now_ms: int) -> Outcome:
        """It is accepted."""

    def handle_offset_fetch(self, request: OffsetFetchRequest, token: Token, elected: bool) -> Outcome:
        """Somebody asks for the committed offsets; `elected`: the broker still leads the partition."""

    def commit_entry(self, now_ms: int) -> Outcome:
        """The oldest batch is replicated."""

    def become_coordinator(self, epoch: int, records: Iterable[Record], now_ms: int) -> None:
        """It replays the log."""

    def resign(self) -> Outcome:
        """Another broker leads."""


class AnyConsumer(Protocol):
    """The common interface of the consumers of both kinds of group."""

    coordinator: int | None
    fatal: Errors | None
    subscriptions: SubscriptionState

    def change_subscription(self, topics: Iterable[str]) -> None:
        """Other topics."""

    def poll(self, partition: TopicPartition) -> int | None:
        """Read one record."""

    def send_commit(self) -> OffsetCommitRequest | None:
        """Commit positions."""

    def receive_commit(self, request: OffsetCommitRequest, response: OffsetCommitResponse) -> None:
        """The answer."""

    def send_offset_fetch(self) -> OffsetFetchRequest | None:
        """Where does the group stand?"""

    def receive_offsets(self, response: OffsetFetchResponse, assignment_id: int) -> bool:
        """The answer; False if it is of no use any more."""

    def leave_group(self) -> Request | None:
        """It closes; returns its last message."""


Coordinator = TypeVar("Coordinator", bound=AnyCoordinator)
Process = TypeVar("Process", bound=AnyConsumer)
Log = TypeVar("Log", bound=OffsetsPartition)


class GroupState(Generic[Coordinator, Process, Log]):
    """The parts of a group of either kind, without the events. `static`: per consumer whether it is a process of the
    instance. `counts`: topic -> number of its partitions, 0 for one that does not exist yet. `recorder` must be set
    before the first event, and `coordinators` by the subclass, which knows their kind."""

    __slots__ = (
        "commits",
        "consumers",
        "coordinators",
        "counts",
        "log",
        "network",
        "now",
        "numbers",
        "recorder",
        "static",
    )

    recorder: Recorder
    coordinators: list[Coordinator]

    def __init__(self, static: Sequence[bool], counts: dict[str, int], log: Log) -> None:
        self.now = 0
        self.static = tuple(static)
        self.counts = counts
        self.numbers: dict[MemberId, int] = {}
        self.consumers: list[Process | None] = [None] * len(static)
        self.network = Network(len(static))
        self.log = log
        self.commits = Commits()

    def settle(self, broker: Broker, outcome: Outcome) -> None:
        """Carries out a handler's outcome: its batch is appended, its replies are sent."""
        if outcome.batch:
            self.log.appended[broker].append(outcome.batch)
        for reply in outcome.replies:
            self.network.answer(reply.token, reply.response)

    def consumer(self, client: int) -> Process:
        """The process of a consumer that runs."""
        consumer = self.consumers[client]
        if consumer is None:
            raise BrokenInvariant(f"consumer {client} does not run")
        return consumer
