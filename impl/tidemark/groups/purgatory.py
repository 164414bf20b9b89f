"""Everything that waits at a coordinator: parked requests, uncommitted batches, timers, replies about to go out.

`Delayed` is the part that coordinators of all groups have. In a classic group's `Purgatory` a JoinGroup waits for the
join phase, a SyncGroup for the assignment, an OffsetCommit for its batch. Several requests may wait for one member: a
client that gave one up sends another, and the transport may deliver one late. The latest one waits, and the others are
answered at once. An OffsetFetch waits for the last batch that it has read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import field
from enum import Enum, StrEnum
from typing import Generic, NamedTuple, TypeVar

from tidemark.common.structs import value
from tidemark.groups.messages import Batch, JoinGroupResponse, Outcome, Reply, Response, SyncGroupResponse, Token
from tidemark.groups.partitions import UNKNOWN_MEMBER_ID, MemberId


class Cause(Enum):
    """Why a batch was appended; its commit sets off something else for each."""

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    SYNC = "sync"
    """The leader's assignment: it is handed out."""
    STATIC = "static"
    """A static member was replaced: its JoinGroup is answered."""
    EMPTY = "empty"
    """The last member has gone: nobody waits."""
    COMMIT = "commit"
    """An OffsetCommit: the offsets count, and it is answered."""


@value
class Appended:
    """A batch that was handed out and has not committed."""

    batch: Batch


@value
class Waiting(Appended):
    """One of a classic group: with STATIC for the JoinGroup of `member_id`, with COMMIT for the request of `token`.
    `fetches`: the replies to those that have read up to here."""

    cause: Cause
    member_id: MemberId = UNKNOWN_MEMBER_ID
    token: Token = None
    fetches: list[Reply] = field(default_factory=list)


class TimerKind(StrEnum):
    """The event that has to happen before the deadline."""

    __hash__ = str.__hash__  # Enum's own is slow

    SESSION = "session"
    """A member has to be heard of; a new one has to get through its first join phase."""
    PENDING_MEMBER = "pending member"
    """Somebody has to join with a member id that was issued."""
    JOIN = "join"
    """Members have to join, while the initial delay or the rebalance time-out lasts."""
    SYNC = "sync"
    """Members have to send their SyncGroup."""
    REBALANCE = "rebalance"
    """A member of a KIP-848 group has to acknowledge what it was told to give up."""


class Timer(NamedTuple):
    """A timer; `member_id` is empty for those of the whole group."""

    kind: TimerKind
    member_id: MemberId = UNKNOWN_MEMBER_ID


JOIN_TIMER, SYNC_TIMER = Timer(TimerKind.JOIN), Timer(TimerKind.SYNC)


W = TypeVar("W", bound=Appended)


class Delayed(Generic[W]):
    """`waiting`: the batches that have not committed, oldest first. `timers`: their deadlines in milliseconds;
    `delays`: how many milliseconds each was set to, another dict after every change."""

    __slots__ = ("_batch", "_replies", "delays", "timers", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[W] = deque()
        self.timers: dict[Timer, int] = {}
        self.delays: dict[Timer, int] = {}
        self._batch: Batch = ()
        self._replies: list[Reply] = []

    # --- what a handler comes to --------------------------------------------------------------------------------

    def append(self, waiting: W) -> None:
        """The handler writes this; no handler writes twice."""
        self.waiting.append(waiting)
        self._batch = waiting.batch

    def reply(self, token: Token, response: Response) -> None:
        """An answer goes out."""
        self._replies.append(Reply(token, response))

    def outcome(self) -> Outcome:
        """All that was written and answered since this was asked last."""
        outcome = Outcome(self._batch, tuple(self._replies))
        self._batch, self._replies = (), []
        return outcome

    # --- timers -------------------------------------------------------------------------------------------------

    def arm(self, timer: Timer, now_ms: int, delay_ms: int) -> None:
        """The timer runs for `delay_ms` from now on, even if it ran before."""
        self.timers[timer] = now_ms + delay_ms
        if self.delays.get(timer) != delay_ms:
            self.delays = {**self.delays, timer: delay_ms}

    def disarm(self, timer: Timer) -> None:
        """The timer does not run any more."""
        self.timers.pop(timer, None)
        if timer in self.delays:
            self.delays = {one: delay_ms for one, delay_ms in self.delays.items() if one != timer}

    def due(self, now_ms: int) -> Iterable[Timer]:
        """The timers whose deadline has come, the earliest first."""
        return sorted(
            (timer for timer, deadline_ms in self.timers.items() if deadline_ms <= now_ms),
            key=lambda timer: (self.timers[timer], timer),
        )


class Purgatory(Delayed[Waiting]):
    """`joins`, `syncs`: tokens of parked requests, with the member that each is parked for."""

    __slots__ = ("joins", "syncs")

    def __init__(self) -> None:
        super().__init__()
        self.joins: dict[Token, MemberId] = {}
        self.syncs: dict[Token, MemberId] = {}

    def answer_joins(self, member_id: MemberId, response: JoinGroupResponse) -> None:
        """Every JoinGroup that waits for the member is answered."""
        for token in taken(self.joins, member_id):
            self.reply(token, response)

    def answer_syncs(self, member_id: MemberId, response: SyncGroupResponse) -> None:
        """Every SyncGroup that waits for the member is answered."""
        for token in taken(self.syncs, member_id):
            self.reply(token, response)

    def forget(self, member_id: MemberId) -> None:
        """The member's timers do not run any more."""
        self.disarm(Timer(TimerKind.SESSION, member_id))
        self.disarm(Timer(TimerKind.PENDING_MEMBER, member_id))


def taken(parked: dict[Token, MemberId], member_id: MemberId) -> list[Token]:
    """The tokens parked for the member, which are not parked any more."""
    tokens = [token for token, member in parked.items() if member == member_id]
    for token in tokens:
        del parked[token]
    return tokens
