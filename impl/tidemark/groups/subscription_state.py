"""A consumer's partitions and its positions in them (SubscriptionState).

The position of a partition is the next offset that the application gets. The coordinator keeps the committed offset for
the group, and that lags behind. A partition that is newly owned has no position: it goes on from the committed offset,
and without one from where `auto.offset.reset` says. Offsets are told to this object; it asks nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from tidemark.groups.partitions import TopicPartition

Offsets = dict[TopicPartition, int]
"""Partition -> offset, sorted by partition."""


class NoOffsetForPartition(Exception):
    """Nothing is committed, and auto.offset.reset is none: the application has to say where to begin."""


class OffsetResetStrategy(Enum):
    """auto.offset.reset: where to begin without a committed offset."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


class FetchState(Enum):
    """The fetch state of an owned partition (SubscriptionState.FetchStates, without the validation of positions)."""

    INITIALIZING = "INITIALIZING"
    """The committed offset; the coordinator's answer moves it on."""
    AWAIT_RESET = "AWAIT_RESET"
    """The log's first or last offset, because nothing is committed or the position is out of range."""
    FETCHING = "FETCHING"
    """Nothing: it has a position."""


class TopicPartitionState:
    """One owned partition."""

    __slots__ = ("fetch_state", "paused", "pending_revocation", "position")

    def __init__(self) -> None:
        self.fetch_state = FetchState.INITIALIZING
        self.position = -1
        self.paused = False
        self.pending_revocation = False

    @property
    def fetchable(self) -> bool:
        """Whether the application may get records of it now."""
        return self.fetch_state is FetchState.FETCHING and not self.paused and not self.pending_revocation


Asked = Mapping[TopicPartition, TopicPartitionState]
"""The partitions whose committed offset was asked for, as they were then."""


class SubscriptionState:
    """The topics that a consumer subscribes to and the partitions that it owns, sorted."""

    __slots__ = ("_assigned", "_reset_strategy", "assignment_id", "owned", "topics")

    def __init__(
        self, topics: Iterable[str], reset_strategy: OffsetResetStrategy = OffsetResetStrategy.EARLIEST
    ) -> None:
        self.topics = frozenset(topics)
        self.assignment_id = 0
        """Counts the assignments, so that an answer can be told to belong to an earlier one."""
        self.owned: tuple[TopicPartition, ...] = ()
        """The partitions that are owned."""
        self._reset_strategy = reset_strategy
        self._assigned: dict[TopicPartition, TopicPartitionState] = {}

    def subscribe(self, topics: Iterable[str]) -> None:
        """Other topics; the owned partitions change at the next rebalance only."""
        self.topics = frozenset(topics)

    def matches(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether all `partitions` are of subscribed topics: not always, if the subscription changed since the join."""
        return all(one.topic in self.topics for one in partitions)

    def assign_from_subscribed(self, partitions: Iterable[TopicPartition]) -> None:
        """Own exactly `partitions`: those owned before go on as they were, the others have no position yet."""
        before = self._assigned
        self.owned = tuple(sorted(set(partitions)))
        self._assigned = {one: before.get(one) or TopicPartitionState() for one in self.owned}
        self.assignment_id += 1

    def initializing(self) -> tuple[TopicPartition, ...]:
        """The partitions whose committed offset is to be asked for."""
        return self._in(FetchState.INITIALIZING)

    def asking(self) -> Asked:
        """Likewise, to be kept with the question."""
        return {one: self._assigned[one] for one in self.initializing()}

    def still(self, asked: Asked) -> tuple[TopicPartition, ...]:
        """Of the partitions of a question those that are owned since; one that went and came back is not among them."""
        return tuple([one for one, state in asked.items() if self._assigned.get(one) is state])

    def awaiting_reset(self) -> tuple[TopicPartition, ...]:
        """The partitions whose log is to be asked for its first or last offset."""
        return self._in(FetchState.AWAIT_RESET)

    def refresh_committed(
        self, committed: Mapping[TopicPartition, int | None], assignment_id: int | None = None
    ) -> bool:
        """The coordinator's answer: go on from these offsets; None: nothing is committed.

        Partitions that are gone or have a position meanwhile are not touched. False, and nothing happens, if the
        question was asked under another assignment than `assignment_id` says. A partition that went and came back has
        been committed by others since. Raises NoOffsetForPartition without a committed offset and a reset strategy.
        """
        if assignment_id is not None and assignment_id != self.assignment_id:
            return False
        for partition, offset in committed.items():
            state = self._assigned.get(partition)
            if state is None or state.fetch_state is not FetchState.INITIALIZING:
                continue
            if offset is not None:
                self.seek(partition, offset)
            elif self._reset_strategy is OffsetResetStrategy.NONE:
                raise NoOffsetForPartition(f"{partition} has no committed offset, and auto.offset.reset is none")
            else:
                state.fetch_state = FetchState.AWAIT_RESET
        return True

    def request_reset(self, partition: TopicPartition) -> None:
        """The position is out of range: start over where `auto.offset.reset` says. Raises ValueError if not owned."""
        state = self._state(partition)
        state.fetch_state, state.position = FetchState.AWAIT_RESET, -1

    def on_reset_offset(self, partition: TopicPartition, offset: int) -> None:
        """The log's answer; without effect if the partition is gone or the application sought elsewhere meanwhile."""
        state = self._assigned.get(partition)
        if state is not None and state.fetch_state is FetchState.AWAIT_RESET:
            self.seek(partition, offset)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at `offset`. Raises ValueError if that is negative or the partition is not owned."""
        if offset < 0:
            raise ValueError(f"{partition} cannot go on at offset {offset}")
        state = self._state(partition)
        state.fetch_state, state.position = FetchState.FETCHING, offset

    def position(self, partition: TopicPartition) -> int:
        """The next offset to read; -1 if it is not known yet or the partition is not owned."""
        state = self._assigned.get(partition)
        return -1 if state is None else state.position

    def fetchable(self) -> tuple[TopicPartition, ...]:
        """The partitions of which the application may get records."""
        return tuple([one for one, state in self._assigned.items() if state.fetchable])

    def consume(self, partition: TopicPartition, fetch_offset: int, next_offset: int) -> bool:
        """Hand the records of a fetch at `fetch_offset` to the application, which is at `next_offset` then.

        False, and they are thrown away, if the partition is not fetchable any more or its position is another.
        """
        state = self._assigned.get(partition)
        if state is None or not state.fetchable or state.position != fetch_offset or next_offset <= fetch_offset:
            return False
        state.position = next_offset
        return True

    def all_consumed(self) -> Offsets:
        """The offsets to commit: the positions of the owned partitions that have one."""
        return {
            one: state.position for one, state in self._assigned.items() if state.fetch_state is FetchState.FETCHING
        }

    def mark_pending_revocation(self) -> None:
        """No more records to the application: positions are being committed, and must not run ahead of that."""
        for state in self._assigned.values():
            state.pending_revocation = True

    def pause(self, partition: TopicPartition, paused: bool = True) -> None:
        """Withhold its records until it is paused no more, or goes. Raises ValueError if it is not owned."""
        self._state(partition).paused = paused

    def _in(self, fetch_state: FetchState) -> tuple[TopicPartition, ...]:
        return tuple([one for one, state in self._assigned.items() if state.fetch_state is fetch_state])

    def _state(self, partition: TopicPartition) -> TopicPartitionState:
        state = self._assigned.get(partition)
        if state is None:
            raise ValueError(f"{partition} is not owned")
        return state
