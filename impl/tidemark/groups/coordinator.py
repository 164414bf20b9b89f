"""The common part of the coordinators of all groups: the epoch in which one serves, and all that waits at it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar

from tidemark.common.errors import Errors
from tidemark.groups.committed_offsets import CommittedOffsets
from tidemark.groups.messages import OffsetCommitResponse, Outcome, Reply, Response, Token
from tidemark.groups.partitions import TopicPartition
from tidemark.groups.purgatory import Appended, Delayed, Timer

W = TypeVar("W", bound=Appended)


def answered(token: Token, response: Response) -> Outcome:
    """The outcome of a handler that only answers."""
    return Outcome(replies=(Reply(token, response),))


class Coordinator(Generic[W]):
    """A broker's coordinator of one group; it serves while `epoch`, that of the partition's leadership, is not 0.

    `delayed`: the batches that have not committed, and the timers.
    """

    __slots__ = ("_served", "delayed", "epoch")

    def _begin(self, offsets: CommittedOffsets, delayed: Delayed[W]) -> None:
        """Know nothing of the group, and serve it in no epoch."""
        self.epoch = 0
        self._served = offsets
        self.delayed = delayed

    @property
    def serving(self) -> bool:
        """Whether this broker believes to be the coordinator."""
        return self.epoch > 0

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """The committed offsets that it serves."""
        return self._served.committed

    @property
    def waiting(self) -> deque[W]:
        """The batches that it has handed out and that have not committed, oldest first."""
        return self.delayed.waiting

    @property
    def timers(self) -> dict[Timer, int]:
        """The timers that run, with their deadlines in milliseconds."""
        return self.delayed.timers

    @property
    def delays(self) -> dict[Timer, int]:
        """The timers that run, with how many milliseconds they were set to."""
        return self.delayed.delays

    def due(self, now_ms: int) -> Iterable[Timer]:
        """The timers that have run out."""
        return self.delayed.due(now_ms)

    def reject_commit(self, token: Token, error: Errors) -> Outcome:
        """An OffsetCommit is refused with the coordinator's `commit_error`."""
        return answered(token, OffsetCommitResponse(error))
