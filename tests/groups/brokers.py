"""Two coordinators over one log, and consumers that are no more than their requests: for the coordinator's tests."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from tidemark.classic_group.coordinator import GroupCoordinator, JoinVerdict
from tidemark.classic_group.flaws import coordinator_of
from tidemark.classic_group.group import ClassicGroup
from tidemark.classic_group.rebalance import GroupConfig
from tidemark.classic_group.rules import Rules
from tidemark.classic_group.states import GroupState
from tidemark.common.errors import Errors
from tidemark.groups.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Outcome,
    Partitions,
    Record,
    Response,
    SyncGroupRequest,
)
from tidemark.groups.partitions import Subscription, TopicPartition
from tidemark.groups.purgatory import Timer, TimerKind

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
PER_EPOCH = 20


class Brokers:
    """Brokers 0 and 1; broker 0 is the coordinator of an empty group. A token is whatever a test calls its request."""

    def __init__(self, rules: Rules | None = None, initial_rebalance_delay_ms: int = 3_000) -> None:
        ids = count(1)
        config = GroupConfig(initial_rebalance_delay_ms, epoch_generations=PER_EPOCH)
        self.brokers = [coordinator_of(rules or Rules(), config, lambda: f"member-{next(ids):06d}") for _ in range(2)]
        self.log: list[Record] = []
        self.now = 0
        self.acting = 0
        self.replies: dict[object, list[Response]] = {}
        self.brokers[0].become_coordinator(1, self.log, self.now)

    # --- the log and fail-over ----------------------------------------------------------------------------------

    def commit(self, at_most: int = 100) -> None:
        """The coordinator's oldest batches commit."""
        coordinator = self.brokers[self.acting]
        for _ in range(min(at_most, len(coordinator.waiting))):
            self.log.extend(coordinator.waiting[0].batch)
            self.take(coordinator.commit_entry(self.now))

    def fail_over(self, keep: int = 0) -> None:
        """The other broker leads; it has the first `keep` of the uncommitted batches."""
        old = self.brokers[self.acting]
        for waiting in list(old.waiting)[:keep]:
            self.log.extend(waiting.batch)
        self.acting = 1 - self.acting
        self.brokers[self.acting].become_coordinator(old.epoch + 1, self.log, self.now)

    def resign(self, broker: int) -> None:
        """A deposed coordinator hears of it."""
        self.take(self.brokers[broker].resign())

    # --- requests -----------------------------------------------------------------------------------------------

    def join(
        self, token: object, member_id: str = "", instance: str | None = None, names: str = "range",
        owned: Partitions = (), at: int | None = None, topics: str = "t", timeout_ms: int = 300_000,
        session_ms: int = 45_000,
    ) -> JoinVerdict:  # fmt: skip
        """A JoinGroup with these assignors. Returns its outcome."""
        coordinator = self.at(at)
        metadata = Subscription(frozenset(topics.split()), owned)
        protocols = tuple(JoinGroupRequestProtocol(name, metadata) for name in names.split())
        request = JoinGroupRequest(
            member_id, protocols, instance, session_timeout_ms=session_ms, rebalance_timeout_ms=timeout_ms
        )
        verdict = coordinator.join_verdict(request)
        self.take(coordinator.handle_join(verdict, request, token, self.now))
        return verdict

    def sync(
        self, token: object, member_id: str, generation: int, given: Mapping[str, Partitions] | None = None,
        instance: str | None = None, at: int | None = None,
    ) -> Errors:  # fmt: skip
        """A SyncGroup; the error that refused it, if any."""
        coordinator = self.at(at)
        request = SyncGroupRequest(member_id, generation, instance, given)
        error = coordinator.sync_error(request)
        if error is Errors.NONE:
            self.take(coordinator.handle_sync(request, token, self.now))
        else:
            self.take(coordinator.reject_sync(token, error))
        return error

    def heartbeat(self, member_id: str, generation: int, instance: str | None = None) -> Errors:
        """A heartbeat; its reply."""
        request = HeartbeatRequest(member_id, generation, instance)
        self.take(self.at(None).handle_heartbeat(request, "heartbeat", self.now))
        return self.replies.pop("heartbeat")[0].error

    def leave(self, member_id: str) -> Errors:
        """A LeaveGroup; its reply."""
        self.take(self.at(None).handle_leave(LeaveGroupRequest(member_id), "leave", self.now))
        return self.replies.pop("leave")[0].error

    def commit_offsets(
        self, token: object, member_id: str, generation: int, offsets: Mapping[TopicPartition, int],
        instance: str | None = None,
    ) -> Errors:  # fmt: skip
        """An OffsetCommit; the error that refused it, if any."""
        coordinator = self.at(None)
        request = OffsetCommitRequest(member_id, generation, offsets, instance)
        error = coordinator.commit_error(request)
        if error is Errors.NONE:
            self.take(coordinator.handle_commit(request, token, self.now))
        else:
            self.take(coordinator.reject_commit(token, error))
        return error

    def fetch_offsets(self, elected: bool = True) -> OffsetFetchResponse:
        """The offsets that are told to an OffsetFetch without a wait."""
        self.ask_offsets(elected)
        response = self.reply("fetch")
        assert isinstance(response, OffsetFetchResponse)
        return response

    def ask_offsets(self, elected: bool = True) -> None:
        """An OffsetFetch arrives at a broker that is `elected` still."""
        self.take(self.at(None).handle_offset_fetch(OffsetFetchRequest(), "fetch", elected))

    def expire(self, kind: TimerKind, member_id: str = "") -> bool:
        """A timer that runs runs out; whether that changed anything."""
        coordinator = self.at(None)
        timer = Timer(kind, member_id)
        self.now = max(self.now, coordinator.timers[timer])
        outcome = coordinator.expire(timer, self.now)
        if outcome is not None:
            self.take(outcome)
        return outcome is not None

    # --- for tests to look at -----------------------------------------------------------------------------------

    def at(self, broker: int | None) -> GroupCoordinator:
        """That broker's coordinator; None: the acting one."""
        return self.brokers[self.acting if broker is None else broker]

    def take(self, outcome: Outcome) -> None:
        """Replies go out."""
        for reply in outcome.replies:
            self.replies.setdefault(reply.token, []).append(reply.response)

    def reply(self, token: object) -> Response:
        """The one reply to a request, which a test looks at once."""
        (response,) = self.replies.pop(token)
        return response

    def joined(self, token: object) -> JoinGroupResponse:
        """The one reply to a JoinGroup."""
        response = self.reply(token)
        assert isinstance(response, JoinGroupResponse)
        return response

    @property
    def group(self) -> ClassicGroup:
        """The acting coordinator's group."""
        return self.at(None).group

    # --- common beginnings --------------------------------------------------------------------------------------

    def member(self, token: object, names: str = "range") -> str:
        """A dynamic consumer joins in its two steps; it is parked afterwards."""
        assert self.join(token, names=names) is JoinVerdict.ISSUE_MEMBER_ID
        response = self.joined(token)
        assert response.error is Errors.MEMBER_ID_REQUIRED
        assert self.join(token, response.member_id, names=names) is JoinVerdict.ADD_MEMBER
        return response.member_id

    def two_joined(self, names: str = "range") -> tuple[str, str]:
        """Two members are in generation 1; "a" leads, and nobody has synced."""
        first, second = self.member("a", names), self.member("b", names)
        while self.group.state is GroupState.PREPARING_REBALANCE:
            self.expire(TimerKind.JOIN)
        return first, second

    def stable(self, static: bool = False) -> tuple[str, str]:
        """Two members in a stable generation 1, with a partition each; `static`: the second one is instance "i"."""
        if static:
            first = self.member("a")
            self.join("b", instance="i")
            while self.group.state is GroupState.PREPARING_REBALANCE:
                self.expire(TimerKind.JOIN)
            second = self.group.static_members["i"]
        else:
            first, second = self.two_joined()
        instance = "i" if static else None
        self.sync("a", first, 1, {first: (P0,), second: (P1,)})
        self.sync("b", second, 1, instance=instance)
        self.commit()
        self.replies.clear()
        assert self.group.state is GroupState.STABLE
        return first, second
