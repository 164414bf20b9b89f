"""A consumer of a classic group, without sockets and clock: its requests, and the effects of their replies.

A handler is an action of the specification and has its name. Requests are returned, for the caller to carry to
`coordinator`. A reply is given back together with its request, because some are judged by the generation that the
request was sent in.

membership.py has the rebalance; subscription_state.py and reader.py have the owned partitions and the positions. This
file has the errors: the response handlers of AbstractCoordinator and ConsumerCoordinator.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.classic_group.membership import Generation, Membership, MemberState
from tidemark.classic_group.rules import Rules
from tidemark.common.errors import Errors
from tidemark.common.structs import value
from tidemark.groups.assignors import CLASSIC, COOPERATIVE_STICKY, STICKY, rebalance_protocol
from tidemark.groups.assignors.sticky import assign_cooperative_sticky
from tidemark.groups.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from tidemark.groups.partitions import (
    UNKNOWN_MEMBER_ID,
    Assignment,
    MemberId,
    PartitionCounts,
    Subscription,
    Subscriptions,
)
from tidemark.groups.reader import Reader
from tidemark.groups.rebalance_listener import RebalanceListener

RESETS = (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION)
"""Errors that say: you are not in the group, or not in its generation."""


@value
class ConsumerConfig:
    """A consumer's configuration: partition.assignment.strategy, group.instance.id, and times in milliseconds."""

    assignors: tuple[str, ...]
    group_instance_id: str | None = None
    session_timeout_ms: int = 45_000
    max_poll_interval_ms: int = 300_000


class Consumer(Reader):
    """One process."""

    def __init__(
        self,
        config: ConsumerConfig,
        topics: Iterable[str],
        rules: Rules,
        listener: RebalanceListener | None = None,
    ) -> None:
        super().__init__(topics)
        self.config = config
        self.membership = Membership(
            rebalance_protocol(config.assignors),
            self.subscriptions,
            listener or RebalanceListener(),
            config.max_poll_interval_ms,
            lose_what_was_missed=rules.lose_what_was_missed,
        )
        self._rules = rules

    # --- the application ----------------------------------------------------------------------------------------

    def finish_revocation(self) -> bool:
        """The rebalance listener has returned; False if none was at work, or comes too late."""
        membership = self.membership
        if membership.revoking is None or membership.state is not MemberState.STABLE:
            return False
        membership.finish_revocation()
        return True

    def leave_group(self) -> LeaveGroupRequest | None:
        """It closes. A static member says nothing: it will be back."""
        member_id = self.membership.generation.member_id
        self.membership.on_leave_prepare()
        if self.config.group_instance_id is not None or member_id == UNKNOWN_MEMBER_ID:
            return None
        return LeaveGroupRequest(member_id)

    # --- joining ------------------------------------------------------------------------------------------------

    def notice_partitions(self, counts: PartitionCounts) -> bool:
        """The partitions are these now; whether the leader has to join again because of that."""
        membership = self.membership
        if membership.state is not MemberState.STABLE or membership.rejoin_needed:
            return False
        membership.on_metadata(counts)
        return membership.rejoin_needed

    def send_join(self, now_ms: int) -> JoinGroupRequest | None:
        """Join, or join again; None if there is no need to, or something is waited for first."""
        membership = self.membership
        if not membership.join_needed() or not membership.on_join_prepare(now_ms).ready:
            return None
        said = membership.on_join_sent()
        return JoinGroupRequest(
            membership.generation.member_id,
            tuple(JoinGroupRequestProtocol(name, _metadata(name, said)) for name in self.config.assignors),
            self.config.group_instance_id,
            self.config.session_timeout_ms,
            self.config.max_poll_interval_ms,
        )

    def receive_join(self, response: JoinGroupResponse, counts: PartitionCounts) -> SyncGroupRequest | None:
        """The answer to JoinGroup: SyncGroup follows, or (None) it has to join again. `counts` are of all topics."""
        if response.error is not Errors.NONE or self.membership.state is not MemberState.PREPARING_REBALANCE:
            self.receive_member_error(response.error, response.member_id)
            return None
        if response.leader == response.member_id and not response.skip_assignment:
            return self.join_as_leader(response, counts)
        return self.join_as_follower(response, counts)

    def join_as_follower(self, response: JoinGroupResponse, counts: PartitionCounts) -> SyncGroupRequest:
        """Another assigns; or it leads a generation that is assigned already, and only watches the partitions. It does
        not know the partitions of that time, and takes all for new."""
        self._take_generation(response)
        if response.leader == response.member_id:
            self.membership.on_leader_elected(dict.fromkeys(counts, 0))
        return self._sync_request()

    def join_as_leader(self, response: JoinGroupResponse, counts: PartitionCounts) -> SyncGroupRequest:
        """It assigns for the group."""
        self._take_generation(response)
        self.membership.on_leader_elected(counts)
        subscriptions = {
            member.member_id: _of_instance(member.metadata, member.group_instance_id) for member in response.members
        }
        return self._sync_request(self.assign(response.protocol_name or "", counts, subscriptions))

    def assign(self, assignor: str, counts: PartitionCounts, subscriptions: Subscriptions) -> Assignment:
        """The assignment that the leader's assignor of that name computes. Topics without partitions are left out."""
        there = {topic: count for topic, count in counts.items() if count}
        if assignor == COOPERATIVE_STICKY:
            return assign_cooperative_sticky(there, subscriptions, self._rules)
        return CLASSIC[assignor](there, subscriptions)

    def receive_member_error(self, error: Errors, member_id: MemberId = UNKNOWN_MEMBER_ID) -> None:
        """JoinGroup or SyncGroup failed, or (NONE) succeeded when nobody waits for it any more."""
        membership = self.membership
        if error is Errors.NOT_COORDINATOR:
            self.coordinator = None
        if error is Errors.NONE or not membership.rebalancing:
            membership.rejoin_needed = True
        elif error.fatal:
            self.fatal = error
        elif error is Errors.MEMBER_ID_REQUIRED:
            membership.on_member_id_required(member_id)
        elif error in RESETS:
            membership.on_generation_reset(error)
        else:
            membership.rejoin_needed = True

    def receive_assignment(self, response: SyncGroupResponse, now_ms: int) -> bool:
        """The answer to SyncGroup: whether the assignment was waited for."""
        if response.error is not Errors.NONE or self.membership.state is not MemberState.COMPLETING_REBALANCE:
            self.receive_member_error(response.error)
            return False
        self.membership.on_join_complete(response.assignment, now_ms)
        return True

    def _take_generation(self, response: JoinGroupResponse) -> None:
        self.membership.on_joined(Generation(response.generation_id, response.member_id, response.protocol_name))

    def _sync_request(self, assignments: Assignment | None = None) -> SyncGroupRequest:
        generation = self.membership.generation
        return SyncGroupRequest(
            generation.member_id, generation.generation_id, self.config.group_instance_id, assignments
        )

    # --- heartbeats ---------------------------------------------------------------------------------------------

    def send_heartbeat(self) -> HeartbeatRequest | None:
        """Not before it has joined."""
        membership = self.membership
        if membership.state not in (MemberState.COMPLETING_REBALANCE, MemberState.STABLE):
            return None
        generation = membership.generation
        return HeartbeatRequest(generation.member_id, generation.generation_id, self.config.group_instance_id)

    def receive_heartbeat(self, request: HeartbeatRequest, response: HeartbeatResponse) -> None:
        """An answer that is about another member id or generation than the present one is not believed."""
        error, membership = response.error, self.membership
        current = self._current(request.member_id, request.generation_id)
        if error is Errors.REBALANCE_IN_PROGRESS:
            if membership.state is MemberState.STABLE:
                membership.rejoin_needed = True
        elif error is Errors.NOT_COORDINATOR:
            self.coordinator = None
        elif current and error.fatal:
            self.fatal = error
        elif current and error in RESETS:
            membership.on_generation_reset(error)

    # --- offsets ------------------------------------------------------------------------------------------------

    def send_commit(self) -> OffsetCommitRequest | None:
        """The positions of all that it owns, also of partitions it is about to revoke; not while it rebalances."""
        generation = self.membership.generation_if_stable
        offsets = self.subscriptions.all_consumed()
        if generation is None or not offsets:
            return None
        return OffsetCommitRequest(
            generation.member_id, generation.generation_id, offsets, self.config.group_instance_id
        )

    def receive_commit(self, request: OffsetCommitRequest, response: OffsetCommitResponse) -> None:
        """A consumer that has begun to join meanwhile forgives an old generation's commit."""
        error, membership = response.error, self.membership
        current = self._current(request.member_id, request.generation_id)
        if error is Errors.REBALANCE_IN_PROGRESS:
            membership.rejoin_needed = True
        elif error is Errors.NOT_COORDINATOR:
            self.coordinator = None
        elif current and error.fatal:
            self.fatal = error
        elif error in RESETS and (current or membership.state is not MemberState.PREPARING_REBALANCE):
            membership.on_generation_reset(error)

    def send_offset_fetch(self) -> OffsetFetchRequest | None:
        """Where does the group stand? Asked for partitions without a position."""
        return OffsetFetchRequest() if self.subscriptions.initializing() else None

    def _current(self, member_id: MemberId, generation_id: int) -> bool:
        """Whether a request was sent by the present member in the present generation."""
        generation = self.membership.generation
        return (member_id, generation_id) == (generation.member_id, generation.generation_id)


def _metadata(assignor: str, said: Subscription) -> Subscription:
    """The subscription as the named assignor's leader receives it. Only the sticky assignor keeps user data."""
    if assignor == STICKY or said.user_data is None:
        return said
    return Subscription(said.topics, said.owned_partitions, said.generation, said.group_instance_id)


def _of_instance(said: Subscription, instance: str | None) -> Subscription:
    """A member's subscription with its instance, as assignors order members by it."""
    if instance is None:
        return said
    return Subscription(said.topics, said.owned_partitions, said.generation, instance, said.user_data)
