"""What a group under simulation consists of: coordinators, the log, consumers, the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tidemark.client.consumer import Consumer
from tidemark.errors import BrokenInvariant
from tidemark.group.coordinator import GroupCoordinator
from tidemark.group.messages import Outcome
from tidemark.group.partitions import MemberId, TopicPartition
from tidemark.group.rebalance import GroupConfig
from tidemark.group.rules import Rules
from tidemark.sim.group.network import Broker, Network, OffsetsPartition

INSTANCE = "instance"
"""The group.instance.id of every static consumer."""


class Recorder(Protocol):
    """What a cluster tells of its events: see recorder.py."""

    def did(self, *what: Any) -> None:
        """A handler has run: the action that it is, and its parameters' values."""

    def blocked(self, *what: Any) -> None:
        """A rule refused an action."""


@dataclass(slots=True)
class Commits:
    """What consumers were told of their commits: `acked`: how many were acknowledged; `safe`: per partition the offset
    acknowledged last; `since`: per partition what was accepted and not acknowledged, and may count yet."""

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
        """Of how many partitions a client finds something else than what was acknowledged last, or sent since."""
        return sum(
            found.get(partition) != safe and found.get(partition) not in self.since.get(partition, ())
            for partition, safe in self.safe.items()
        )


class GroupState:
    """The parts, without the events: see `GroupCluster`. `static`: per consumer whether it is a process of the
    instance; `counts`: topic -> number of its partitions, 0 for one that does not exist yet. `recorder` must be set
    before the first event."""

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
        "rules",
        "static",
    )

    recorder: Recorder

    def __init__(
        self,
        brokers: int,
        static: Sequence[bool],
        counts: dict[str, int],
        first: Broker,
        rules: Rules,
        config: GroupConfig,
    ) -> None:
        self.now = 0
        self.rules = rules
        self.static = tuple(static)
        self.counts = counts
        self.numbers: dict[MemberId, int] = {}
        self.consumers: list[Consumer | None] = [None] * len(static)
        self.network = Network(len(static))
        self.log = OffsetsPartition(brokers, first)
        self.commits = Commits()
        self.coordinators = [GroupCoordinator(rules, config, self._new_member_id) for _ in range(brokers)]
        self.coordinators[first].become_coordinator(1, (), 0)

    def _new_member_id(self) -> MemberId:
        """Ids sort as they were issued."""
        number = len(self.numbers) + 1
        member_id = f"member-{number:06d}"
        self.numbers[member_id] = number
        return member_id

    def settle(self, broker: Broker, outcome: Outcome) -> None:
        """What a handler came to: its batch is appended, its replies go out."""
        if outcome.batch:
            self.log.appended[broker].append(outcome.batch)
        for reply in outcome.replies:
            self.network.answer(reply.token, reply.response)

    def consumer(self, client: int) -> Consumer:
        """The process of a consumer that runs."""
        consumer = self.consumers[client]
        if consumer is None:
            raise BrokenInvariant(f"consumer {client} does not run")
        return consumer
