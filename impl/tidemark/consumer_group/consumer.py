"""A consumer of a KIP-848 group, without sockets and clock: its requests, and the effects of their replies.

A handler is an action of the specification and has its name. Only heartbeats tell it of its membership. Beside the
epoch they carry only the changes since the last one, or everything after an error (HeartbeatState).
"""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.common.errors import Errors
from tidemark.common.structs import value
from tidemark.consumer_group.membership import ConsumerGroupMembership, MemberState
from tidemark.consumer_group.rules import Rules
from tidemark.groups.consumer_group_messages import (
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    NOT_SAID,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tidemark.groups.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from tidemark.groups.reader import Reader
from tidemark.groups.rebalance_listener import RebalanceListener
from tidemark.groups.subscription_state import Asked

FENCED = (Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_MEMBER_EPOCH)
"""Errors that say: you are not in the group, or not in your epoch."""


@value
class AsyncConsumerConfig:
    """A consumer's configuration: group.instance.id, and max.poll.interval.ms, which bounds a revocation."""

    group_instance_id: str | None = None
    max_poll_interval_ms: int = 300_000


class AsyncConsumer(Reader):
    """One process; `member_id` is its own invention and its for life (KIP-1082)."""

    def __init__(
        self,
        config: AsyncConsumerConfig,
        member_id: str,
        topics: Iterable[str],
        rules: Rules,
        listener: RebalanceListener | None = None,
    ) -> None:
        super().__init__(topics)
        self.config = config
        self.membership = ConsumerGroupMembership(member_id, self.subscriptions, rules, listener or RebalanceListener())
        self.say_all = True
        """The next heartbeat says everything."""
        self.told_topics: frozenset[str] = frozenset()
        """The subscription that was last said."""

    # --- heartbeats ---------------------------------------------------------------------------------------------

    def send_heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        """A heartbeat that keeps it alive, or joins; it carries the changes since the last one."""
        membership, topics = self.membership, self.subscriptions.topics
        full = self.say_all or membership.state is MemberState.JOINING
        request = ConsumerGroupHeartbeatRequest(
            membership.member_id,
            membership.member_epoch,
            self.config.group_instance_id,
            self.config.max_poll_interval_ms if full else NOT_SAID,
            topics if full or topics != self.told_topics else None,
            membership.report(full),
        )
        self.say_all = False
        self.told_topics = topics
        membership.on_heartbeat_sent()
        return request

    def receive_heartbeat(self, response: ConsumerGroupHeartbeatResponse) -> None:
        """The answer: its epoch and perhaps an assignment; or it is fenced, or has to ask another broker, or to end."""
        error = response.error
        if error is Errors.NONE:
            self.membership.on_heartbeat(response.member_epoch, response.assignment)
        elif error.fatal:
            self.fatal = error
        else:
            self.say_all = True
            if error in FENCED:
                self.membership.on_fenced()
            else:
                self.coordinator = None

    def lose_heartbeat(self) -> None:
        """The heartbeat is lost; the coordinator may have processed it."""
        self.say_all = True

    def reconcile(self) -> bool:
        """The rebalance listener begins; False if there is nothing for it to do."""
        return self.membership.reconcile()

    def finish_reconciliation(self) -> bool:
        """The rebalance listener has returned; False if it was not at work."""
        return self.membership.finish_reconciliation()

    def leave_group(self) -> ConsumerGroupHeartbeatRequest | None:
        """It closes, and says so if it is in the group; a static member will be back."""
        membership, instance = self.membership, self.config.group_instance_id
        was_in = membership.member_epoch > 0
        membership.on_leave()
        if not was_in:
            return None
        epoch = LEAVE_GROUP_MEMBER_EPOCH if instance is None else LEAVE_GROUP_STATIC_MEMBER_EPOCH
        return ConsumerGroupHeartbeatRequest(membership.member_id, epoch, instance)

    # --- offsets ------------------------------------------------------------------------------------------------

    def send_commit(self) -> OffsetCommitRequest | None:
        """The positions of all that it owns, also of partitions it is about to revoke."""
        membership = self.membership
        offsets = self.subscriptions.all_consumed()
        if not membership.member_epoch or not offsets:
            return None
        return OffsetCommitRequest(
            membership.member_id, membership.member_epoch, offsets, self.config.group_instance_id
        )

    def receive_commit(self, request: OffsetCommitRequest, response: OffsetCommitResponse) -> None:
        """A commit's reply says nothing of the membership; the next heartbeat's reply does."""
        if response.error is Errors.NOT_COORDINATOR:
            self.coordinator = None

    def send_offset_fetch(self) -> OffsetFetchRequest | None:
        """Where does the group stand? Asked for partitions without a position."""
        membership = self.membership
        if not membership.member_epoch or not self.subscriptions.initializing():
            return None
        return OffsetFetchRequest(membership.member_id, membership.member_epoch)

    def receive_asked(self, response: OffsetFetchResponse, asked: Asked) -> None:
        """Go on from the committed offsets where it asked for them: `asked`. Another assignment meanwhile does not
        matter, but to partitions that it has lost since."""
        self._take_offsets(response, self.subscriptions.still(asked))
