"""Two coordinators of a KIP-848 group over one log, and members that are no more than their heartbeats."""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.common.errors import Errors
from tidemark.consumer_group.coordinator import ConsumerGroupConfig, ConsumerGroupCoordinator, HeartbeatVerdict
from tidemark.consumer_group.flaws import coordinator_of
from tidemark.consumer_group.group import ConsumerGroup, ConsumerGroupMember
from tidemark.consumer_group.rules import Rules
from tidemark.groups.consumer_group_messages import (
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    NOT_SAID,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    Partitions,
)
from tidemark.groups.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Outcome,
    Record,
    Response,
)
from tidemark.groups.partitions import TopicPartition
from tidemark.groups.purgatory import Timer, TimerKind

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
BOTH = (P0, P1)


class ConsumerGroupBrokers:
    """Brokers 0 and 1; broker 0 is the coordinator of an empty group. Topic "t" has two partitions, "u" is not
    there. `interval_ms`: the least time between two target assignments."""

    def __init__(self, rules: Rules | None = None, interval_ms: int = 0) -> None:
        self.image = {"t": 2, "u": 0}
        config = ConsumerGroupConfig(assignment_interval_ms=interval_ms, metadata_refresh_interval_ms=1_000)
        self.brokers = [coordinator_of(rules or Rules(), config, self.image) for _ in range(2)]
        self.log: list[Record] = []
        self.now = 0
        self.acting = 0
        self.replies: dict[object, list[Response]] = {}
        self.brokers[0].become_coordinator(1, self.log, self.now)

    # --- the log and fail-over ----------------------------------------------------------------------------------

    def commit(self) -> None:
        """All that was appended commits."""
        coordinator = self.at(None)
        while coordinator.waiting:
            self.log.extend(coordinator.waiting[0].batch)
            self.take(coordinator.commit_entry(self.now))

    def fail_over(self, keep: int = 0) -> None:
        """The other broker leads; it has the first `keep` of the uncommitted batches."""
        old = self.brokers[self.acting]
        for written in list(old.waiting)[:keep]:
            self.log.extend(written.batch)
        self.acting = 1 - self.acting
        self.brokers[self.acting].become_coordinator(old.epoch + 1, self.log, self.now)

    # --- requests -----------------------------------------------------------------------------------------------

    def heartbeat(
        self, member_id: str, epoch: int = 0, owned: Iterable[TopicPartition] | None = None,
        topics: str | None = None, instance: str | None = None, commits: bool = True, full: bool = False,
    ) -> ConsumerGroupHeartbeatResponse:  # fmt: skip
        """A heartbeat, and its answer once all has committed; a joining one says all."""
        full = full or epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            member_id,
            epoch,
            instance,
            300_000 if full else NOT_SAID,
            frozenset((topics or "t").split()) if full or topics else None,
            tuple(owned or ()) if full or owned is not None else None,
        )
        self.send(request, "heartbeat")
        if commits:
            self.commit()
        return self.answer("heartbeat")

    def send(self, request: ConsumerGroupHeartbeatRequest, token: object) -> HeartbeatVerdict:
        """A heartbeat arrives. Returns its outcome."""
        coordinator = self.at(None)
        verdict = coordinator.heartbeat_verdict(request, self.now)
        self.take(coordinator.handle(verdict, request, token, self.now))
        return verdict

    def answer(self, token: object) -> ConsumerGroupHeartbeatResponse:
        """The one answer to a heartbeat."""
        (response,) = self.replies.pop(token)
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        return response

    def leave(self, member_id: str, instance: str | None = None) -> Errors:
        """A member goes, a static one for a while."""
        epoch = LEAVE_GROUP_MEMBER_EPOCH if instance is None else LEAVE_GROUP_STATIC_MEMBER_EPOCH
        self.send(ConsumerGroupHeartbeatRequest(member_id, epoch, instance), "leave")
        self.commit()
        return self.answer("leave").error

    def commit_offsets(self, member_id: str, epoch: int, offsets: dict[TopicPartition, int]) -> Errors:
        """An OffsetCommit; its reply once all has committed."""
        coordinator, request = self.at(None), OffsetCommitRequest(member_id, epoch, offsets)
        error = coordinator.commit_error(request)
        if error is Errors.NONE:
            self.take(coordinator.handle_commit(request, "commit", self.now))
        else:
            self.take(coordinator.reject_commit("commit", error))
        self.commit()
        (response,) = self.replies.pop("commit")
        assert isinstance(response, OffsetCommitResponse)
        return response.error

    def fetch_offsets(self, member_id: str, epoch: int, elected: bool = True) -> OffsetFetchResponse:
        """The offsets that are told to an OffsetFetch without a wait."""
        self.ask_offsets(member_id, epoch, elected)
        return self.found()

    def ask_offsets(self, member_id: str, epoch: int, elected: bool = True) -> None:
        """An OffsetFetch arrives at a broker that is `elected` still."""
        self.take(self.at(None).handle_offset_fetch(OffsetFetchRequest(member_id, epoch), "fetch", elected))

    def found(self) -> OffsetFetchResponse:
        """The answer to it."""
        (response,) = self.replies.pop("fetch")
        assert isinstance(response, OffsetFetchResponse)
        return response

    def expire(self, kind: TimerKind, member_id: str) -> bool:
        """A timer that runs runs out; whether that changed anything."""
        assert Timer(kind, member_id) in self.at(None).timers
        outcome = self.at(None).expire(Timer(kind, member_id))
        if outcome is not None:
            self.take(outcome)
            self.commit()
        return outcome is not None

    # --- for tests to look at -----------------------------------------------------------------------------------

    def at(self, broker: int | None) -> ConsumerGroupCoordinator:
        """That broker's coordinator; None: the acting one."""
        return self.brokers[self.acting if broker is None else broker]

    def take(self, outcome: Outcome) -> None:
        """Replies go out."""
        for reply in outcome.replies:
            self.replies.setdefault(reply.token, []).append(reply.response)

    @property
    def group(self) -> ConsumerGroup:
        """The acting coordinator's group."""
        return self.at(None).group

    def member(self, member_id: str) -> ConsumerGroupMember:
        """One of its members."""
        return self.group.members[member_id]

    # --- common beginnings --------------------------------------------------------------------------------------

    def revoking(self) -> tuple[Partitions, Partitions]:
        """ "a" had both partitions, "b" has joined, and "a" was told to give one up. Returns the partition it keeps
        and the one it gives up."""
        assert self.heartbeat("a").assignment == BOTH
        self.heartbeat("a", 1, owned=BOTH)
        assert self.heartbeat("b").assignment == ()
        kept = self.heartbeat("a", 1).assignment
        assert kept is not None
        return kept, tuple(one for one in BOTH if one not in kept)
