"""The values that all groups' abstractions take from a trace header: names, masks, capacities, time-outs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tidemark.groups.partitions import TopicPartition
from tidemark.groups.subscription_state import SubscriptionState
from tidemark.trace.cells import CapacityExceeded, Cells


class Timeouts(NamedTuple):
    """A consumer's session.timeout.ms, and its max.poll.interval.ms, which bounds a rebalance."""

    session_ms: int
    rebalance_ms: int


HASTY, PATIENT, OTHER = Timeouts(6_000, 60_000), Timeouts(45_000, 600_000), Timeouts(10_000, 120_000)
"""Those of the consumers that the specification calls so, and of all others."""


NOWHERE = ("Repeat", "Lose")
"""Actions of the network begin so: they happen nowhere. So does one of a partition (`AddPartition`), whose parameter is
no node."""


class _Masks(dict[Any, int]):
    """Bit masks of sets that are needed again and again, each made once."""

    def __init__(self, make: Callable[[Any], int]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, what: Any) -> int:
        found = self[what] = self._make(what)
        return found


class HeaderTable:
    """The values that all groups' abstractions take from a trace header: names, masks, capacities."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        constants = header["constants"]
        self.brokers: tuple[str, ...] = tuple(sorted(constants["Brokers"]))
        self.dynamic: tuple[str, ...] = tuple(sorted(constants["Dynamic"]))
        self.static: tuple[str, ...] = tuple(sorted(constants["Static"]))
        self.clients = tuple(sorted([*self.dynamic, *self.static]))
        self.parties = {"b": self.brokers, "c": self.clients}
        hasty, patient = constants.get("Hasty", ()), constants.get("Patient", ())
        self.timed = bool(hasty or patient)
        """Whether the specification tells consumers' time-outs apart."""
        self.timeouts = [HASTY if one in hasty else PATIENT if one in patient else OTHER for one in self.clients]
        self.topics: tuple[str, ...] = tuple(sorted(constants["Partitions"]))
        self.partitions = tuple([TopicPartition(topic, 0) for topic in self.topics])
        self.max_member: int = constants["MaxMember"]
        self.max_epoch: int = constants["MaxEpoch"]
        self.max_offset: int = constants["MaxOffset"]
        self.max_appended: int = constants["MaxAppended"]
        self.nothing: Cells = (-1,) * len(self.topics)
        self.mask: Callable[[Iterable[TopicPartition]], int] = _Masks(
            lambda partitions: sum(1 << self.topics.index(one.topic) for one in partitions)
        ).__getitem__
        """Partitions as a bit mask over the sorted topics."""
        self.topic_mask: Callable[[frozenset[str]], int] = _Masks(
            lambda topics: sum(1 << self.topics.index(topic) for topic in topics)
        ).__getitem__
        """The partitions of topics, likewise."""

    def offsets(self, offsets: Mapping[TopicPartition, int]) -> Cells:
        """Offsets by topic, -1 none. Raises CapacityExceeded."""
        if not offsets:
            return self.nothing
        cells = tuple([offsets.get(partition, -1) for partition in self.partitions])
        if max(cells) > self.max_offset:
            raise CapacityExceeded("an offset")
        return cells

    def positions(self, subscriptions: SubscriptionState | None) -> Cells:
        """A consumer's positions by topic, -1 where it has none; None: no process runs."""
        if subscriptions is None or not subscriptions.owned:
            return self.nothing
        return tuple([subscriptions.position(partition) for partition in self.partitions])
