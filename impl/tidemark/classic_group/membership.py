"""A consumer's place in a classic group, without sockets and clock (ConsumerCoordinator, AbstractCoordinator).

The steps in their order, and the listener's callbacks:

    on_join_prepare     before each JoinGroup: first the positions are committed (with auto-commit), then
                        lost        everything, if the generation or the member id was reset: others may own it already
                        revoked     eager: everything, even if nothing; cooperative: topics no more subscribed to
    on_joined, on_synced    the replies of JoinGroup and SyncGroup
    on_join_complete    cooperative: `revoked` the owned partitions not assigned, then it joins again;
                        `assigned` the newly owned partitions, even if none
    on_generation_reset an error reply says that the member is out; nothing is heard until the next on_join_prepare
    on_leave_prepare    `revoked` everything; `lost` if it is out or rebalancing

`revoked` is told while the partitions are still owned, so that the listener can commit; `lost` comes too late for that.
A cooperative revocation takes its time: between on_join_complete and `finish_revocation` offsets may be committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum

from tidemark.common.errors import BrokenInvariant, Errors
from tidemark.common.rule_kinds import case
from tidemark.common.structs import value
from tidemark.groups.assignors import RebalanceProtocol
from tidemark.groups.partitions import NO_GENERATION, UNKNOWN_MEMBER_ID, StickyUserData, Subscription, TopicPartition
from tidemark.groups.rebalance_listener import Partitions, RebalanceListener
from tidemark.groups.subscription_state import Offsets, SubscriptionState


class MemberState(Enum):
    """Where a consumer is in a rebalance (AbstractCoordinator.MemberState)."""

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    UNJOINED = "UNJOINED"
    """Not a member; the next poll joins."""
    PREPARING_REBALANCE = "PREPARING_REBALANCE"
    """JoinGroup is sent; its reply moves it on. No heartbeats, no commits."""
    COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
    """SyncGroup is sent; its reply moves it on. Heartbeats, no commits."""
    STABLE = "STABLE"
    """It has an assignment. Heartbeats and commits; a rejoin moves it on."""


@value
class Generation:
    """A consumer's generation and member id; `protocol_name` is the assignor that the group voted for."""

    generation_id: int
    member_id: str
    protocol_name: str | None = None


NO_GENERATION_YET = Generation(NO_GENERATION, UNKNOWN_MEMBER_ID)


class _CommitBeforeJoin(Enum):
    """The state of the commit that precedes a JoinGroup."""

    UNSENT = "UNSENT"
    IN_FLIGHT = "IN_FLIGHT"
    DONE = "DONE"


class RebalanceListenerError(Exception):
    """The listener raised an exception (its cause). The rebalance is not held up by it: the state is as without."""


@value
class AutoCommit:
    """enable.auto.commit and its times, in milliseconds."""

    interval_ms: int
    retry_backoff_ms: int = 100


@value
class JoinPrepare:
    """The result of on_join_prepare. `ready`: JoinGroup may be sent. Otherwise `commit` is to be sent, or, if None,
    awaited."""

    ready: bool
    commit: Offsets | None = None


@case
def lose_what_was_missed(missed: bool) -> bool:
    """This project's rule; Kafka 4.x lacks it: a consumer that was left out of a generation has lost what its next
    assignment takes away. Without it a static member revokes, and commits, partitions that another has owned since (row
    107)."""
    return missed


class Membership:
    """The state; `rejoin_needed` says that the next poll has to join again.

    `protocol` and the times are the consumer's configuration. Methods take the present time, in milliseconds, where it
    matters. They raise RebalanceListenerError after the state is complete.
    """

    def __init__(
        self,
        protocol: RebalanceProtocol,
        subscriptions: SubscriptionState,
        listener: RebalanceListener,
        rebalance_timeout_ms: int,
        auto_commit: AutoCommit | None = None,
        lose_what_was_missed: Callable[[bool], bool] = lose_what_was_missed,
    ) -> None:
        self.protocol = protocol
        self.subscriptions = subscriptions
        self.state = MemberState.UNJOINED
        self.generation = NO_GENERATION_YET
        self.rejoin_needed = True
        self.joined_topics: frozenset[str] | None = None
        """The subscription of the last JoinGroup."""
        self.owned_generation = NO_GENERATION
        """The generation of the last assignment."""
        self.revoking: Partitions | None = None
        """The assignment that is taken when `finish_revocation` comes; None: nothing is being revoked. A reset leaves
        it: the listener may still be at it."""
        self.missed = False
        """Since its last assignment the group had a generation without this member."""
        self.watched: dict[str, int] | None = None
        """It leads, and assigned by these partition counts; None: it does not lead."""
        self._listener = listener
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._auto_commit = auto_commit
        self._lose_what_was_missed = lose_what_was_missed
        self._last_assignment: Partitions | None = None
        self._next_auto_commit_ms = 0
        self._needs_join_prepare = True
        self._prepare_deadline_ms: int | None = None
        self._commit_before_join = _CommitBeforeJoin.UNSENT
        self._failure: Exception | None = None

    # Reading.

    @property
    def reset(self) -> bool:
        """Whether the generation or the member id is gone, so that all partitions may have other owners."""
        return self.generation.generation_id == NO_GENERATION or self.generation.member_id == UNKNOWN_MEMBER_ID

    @property
    def rebalancing(self) -> bool:
        """Whether JoinGroup or SyncGroup is under way."""
        return self.state in (MemberState.PREPARING_REBALANCE, MemberState.COMPLETING_REBALANCE)

    @property
    def generation_if_stable(self) -> Generation | None:
        """The generation to commit with; None: a commit is not sent, it would be refused."""
        return self.generation if self.state is MemberState.STABLE else None

    def join_needed(self) -> bool:
        """Whether the next poll has to join: asked to, in the middle of it, or the subscription is another one."""
        changed = self.joined_topics is not None and self.joined_topics != self.subscriptions.topics
        return self.rejoin_needed or self.rebalancing or changed

    # The rebalance, in order.

    def on_join_prepare(self, now_ms: int) -> JoinPrepare:
        """Get ready to join; called until it is ready.

        With auto-commit the positions go first: once, again after a retriable error, and at the longest for the
        rebalance time-out. So the group does not wait in vain. A revocation that is under way is waited for, unless all
        is lost anyway.
        """
        if self.revoking is not None and not self.reset:
            return JoinPrepare(False)
        commit = self._commit_first(now_ms) if self._needs_join_prepare else JoinPrepare(True)
        if not commit.ready:
            return commit
        owned = self.subscriptions.owned
        self.revoking = None
        if self.reset:
            if owned:
                self._tell(self._listener.on_partitions_lost, owned)
            kept: Partitions = ()
        elif self.protocol is RebalanceProtocol.EAGER:
            if owned or self._needs_join_prepare:
                self._tell(self._listener.on_partitions_revoked, owned)
            kept = ()
        else:
            kept = tuple([one for one in owned if one.topic in self.subscriptions.topics])
            if kept != owned:
                self._tell(self._listener.on_partitions_revoked, tuple([one for one in owned if one not in kept]))
        if kept != owned:
            self.subscriptions.assign_from_subscribed(kept)
        self.watched = None
        self._needs_join_prepare = False
        self._prepare_deadline_ms = None
        self._commit_before_join = _CommitBeforeJoin.UNSENT
        self._raise_failure()
        return JoinPrepare(True)

    def on_prepare_commit_reply(self, error: Errors) -> None:
        """The commit of on_join_prepare is answered: a retriable error sends it again, any other lets it be."""
        if self._commit_before_join is _CommitBeforeJoin.IN_FLIGHT:
            self._commit_before_join = _CommitBeforeJoin.UNSENT if error.retriable else _CommitBeforeJoin.DONE

    def on_join_sent(self) -> Subscription:
        """JoinGroup goes out with this subscription; this member claims to own its partitions."""
        if self._needs_join_prepare:
            raise BrokenInvariant("JoinGroup is sent without on_join_prepare")
        self.state = MemberState.PREPARING_REBALANCE
        self.rejoin_needed = False
        self.joined_topics = self.subscriptions.topics
        last = self._last_assignment
        user_data = None if last is None else StickyUserData(last, self.owned_generation)
        return Subscription(self.joined_topics, self.subscriptions.owned, self.owned_generation, user_data=user_data)

    def on_joined(self, generation: Generation) -> bool:
        """JoinGroup succeeded and SyncGroup follows; False, and nothing happens, if nobody waits for it any more."""
        if self.state is not MemberState.PREPARING_REBALANCE:
            self.rejoin_needed = True
            return False
        before = self.generation.generation_id
        if before != NO_GENERATION and generation.generation_id > before + 1:
            self.missed = True
        self.state = MemberState.COMPLETING_REBALANCE
        self.generation = generation
        return True

    def on_leader_elected(self, counts: Mapping[str, int]) -> None:
        """This member assigns for the group, by these partition counts of its topics: it watches them from now on."""
        self.watched = dict(counts)

    def on_metadata(self, counts: Mapping[str, int]) -> None:
        """The partition counts are these now; a leader that assigned by others joins again."""
        if self.sees_change(counts):
            self.rejoin_needed = True

    def sees_change(self, counts: Mapping[str, int]) -> bool:
        """Whether it leads and the group was assigned by other partition counts than these."""
        return self.watched is not None and any(counts.get(topic) != said for topic, said in self.watched.items())

    def on_join_complete(self, assigned: Iterable[TopicPartition], now_ms: int) -> bool:
        """SyncGroup succeeded: take the assignment.

        True if partitions are being revoked: the listener has been told, they are still owned, and `finish_revocation`
        has to follow. An assignment of topics that are not subscribed to any more is not taken. Then it joins again,
        and has lost the partitions that it was not given if it was left out of a generation. False, too, if nobody
        waits for it any more.
        """
        if self.state is not MemberState.COMPLETING_REBALANCE:
            self.rejoin_needed = True
            return False
        given = tuple(sorted(assigned))
        owned = self.subscriptions.owned
        lost = self._lose_what_was_missed(self.missed)
        self.state = MemberState.STABLE
        self.rejoin_needed = False
        self.missed = False
        self.owned_generation = self.generation.generation_id
        self._needs_join_prepare = True
        if not self.subscriptions.matches(given):
            self.rejoin_needed = True
            if lost and not set(given).issuperset(owned):
                self._tell(self._listener.on_partitions_lost, tuple([one for one in owned if one not in given]))
                self._take(tuple([one for one in owned if one in given]))
            return False
        self._last_assignment = given
        if self._auto_commit is not None:
            self._next_auto_commit_ms = now_ms + self._auto_commit.interval_ms
        gone = tuple([one for one in owned if one not in given])
        if gone and self.protocol is RebalanceProtocol.COOPERATIVE:
            self.rejoin_needed = True
            if not lost:
                self.revoking = given
                self._tell(self._listener.on_partitions_revoked, gone)
                self._raise_failure()
                return True
            self._tell(self._listener.on_partitions_lost, gone)
        self._take(given)
        return False

    def finish_revocation(self) -> None:
        """The listener has handled the revocation of on_join_complete: those partitions are gone now, and the rest is
        taken.

        It comes too late, and nothing happens, if the generation was reset meanwhile: then all is lost.
        """
        if self.revoking is None:
            raise BrokenInvariant("no revocation is under way")
        if self.reset:
            return
        given, self.revoking = self.revoking, None
        self._take(given)

    # Errors, leaving, commits.

    def on_member_id_required(self, member_id: str) -> None:
        """JoinGroup has to be sent again with this member id (KIP-394)."""
        self.generation = Generation(NO_GENERATION, member_id)
        self.rejoin_needed = True

    def on_generation_reset(self, error: Errors) -> None:
        """The coordinator says that this member, or its generation, is not in the group.

        ILLEGAL_GENERATION leaves the member id, which may still be known, so that nobody waits for it to expire. The
        owned partitions are lost, but the listener hears of it when the next poll gets ready to join.
        """
        keeps = error is Errors.ILLEGAL_GENERATION
        self.generation = Generation(NO_GENERATION, self.generation.member_id if keeps else UNKNOWN_MEMBER_ID)
        self.state = MemberState.UNJOINED
        self.rejoin_needed = True
        self.missed = False
        self._needs_join_prepare = True

    def on_leave_prepare(self) -> None:
        """Give up everything before leaving; the LeaveGroup that follows is the caller's."""
        owned = self.subscriptions.owned
        if owned:
            out = self.reset or self.rebalancing
            self._tell(self._listener.on_partitions_lost if out else self._listener.on_partitions_revoked, owned)
            self.subscriptions.assign_from_subscribed(())
        self.revoking = None
        self.on_generation_reset(Errors.UNKNOWN_MEMBER_ID)
        self._raise_failure()

    def auto_commit_due(self, now_ms: int) -> Offsets | None:
        """The periodic auto-commit: the offsets to send now, or None."""
        if self._auto_commit is None or now_ms < self._next_auto_commit_ms:
            return None
        self._next_auto_commit_ms = now_ms + self._auto_commit.interval_ms
        return self._committable()

    def on_auto_commit_reply(self, error: Errors, now_ms: int) -> None:
        """The periodic auto-commit is answered: after a retriable error the next one comes sooner."""
        if self._auto_commit is not None and error.retriable:
            self._next_auto_commit_ms = now_ms + self._auto_commit.retry_backoff_ms

    def commit_on_close(self) -> Offsets | None:
        """The last auto-commit, to be sent and waited for before `on_leave_prepare`."""
        return None if self._auto_commit is None else self._committable()

    # Parts.

    def _commit_first(self, now_ms: int) -> JoinPrepare:
        """The commit of on_join_prepare: to be sent, to be awaited, or (ready) done with."""
        if self._prepare_deadline_ms is None:
            self._prepare_deadline_ms = now_ms + self._rebalance_timeout_ms
        expired = now_ms >= self._prepare_deadline_ms
        if self._auto_commit is None or expired or self._commit_before_join is _CommitBeforeJoin.DONE:
            return JoinPrepare(True)
        if self._commit_before_join is _CommitBeforeJoin.IN_FLIGHT:
            return JoinPrepare(False)
        if self.protocol is RebalanceProtocol.EAGER:
            self.subscriptions.mark_pending_revocation()
        offsets = self._committable()
        if offsets is None:
            return JoinPrepare(True)
        self._commit_before_join = _CommitBeforeJoin.IN_FLIGHT
        return JoinPrepare(False, offsets)

    def _committable(self) -> Offsets | None:
        """The positions to commit; None if there are none or the commit would be refused."""
        return (self.generation_if_stable and self.subscriptions.all_consumed()) or None

    def _take(self, given: Partitions) -> None:
        """Own the assignment and tell the listener the new partitions."""
        owned = self.subscriptions.owned
        self.subscriptions.assign_from_subscribed(given)
        self._tell(self._listener.on_partitions_assigned, tuple([one for one in given if one not in owned]))
        self._raise_failure()

    def _tell(self, callback: Callable[[Partitions], None], partitions: Partitions) -> None:
        """Call the listener; its exception is kept until the state is complete, the first one only."""
        try:
            callback(partitions)
        except Exception as problem:
            self._failure = self._failure or problem

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise RebalanceListenerError("the rebalance listener raised an exception") from failure
