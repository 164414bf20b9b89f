"""A consumer of any group: it subscribes, reads, and continues from the group's committed offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidemark.common.errors import Errors
from tidemark.groups.messages import OffsetFetchResponse
from tidemark.groups.partitions import TopicPartition
from tidemark.groups.subscription_state import SubscriptionState


class Reader:
    """`coordinator`: the broker that it takes for the group's; None: it has to look it up. `fatal` is set by an error
    that the application hears as an exception; the process ends then."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.coordinator: int | None = None
        self.fatal: Errors | None = None
        self.subscriptions = SubscriptionState(topics)

    def change_subscription(self, topics: Iterable[str]) -> None:
        """Other topics; the owned partitions change when the group has assigned by them."""
        self.subscriptions.subscribe(topics)

    def poll(self, partition: TopicPartition) -> int | None:
        """Read one record of an owned partition: the next position, or None if there is nothing to be had."""
        position = self.subscriptions.position(partition)
        if position < 0 or not self.subscriptions.consume(partition, position, position + 1):
            return None
        return position + 1

    def receive_offsets(
        self,
        response: OffsetFetchResponse,
        assignment_id: int,
        log_start: Callable[[TopicPartition], int] = lambda partition: 0,
    ) -> bool:
        """Go on from the committed offsets, or else from the start of the log (auto.offset.reset=earliest).

        False, and nothing happens, if it has been assigned something else since `assignment_id`, when it asked.
        """
        if assignment_id != self.subscriptions.assignment_id:
            return False
        self._take_offsets(response, self.subscriptions.initializing(), log_start)
        return True

    def _take_offsets(
        self,
        response: OffsetFetchResponse,
        asked: Iterable[TopicPartition],
        log_start: Callable[[TopicPartition], int] = lambda partition: 0,
    ) -> None:
        """Likewise, of the partitions `asked`."""
        if response.error is not Errors.NONE:
            if response.error is Errors.NOT_COORDINATOR:
                self.coordinator = None
            return
        self.subscriptions.refresh_committed({one: response.offsets.get(one) for one in asked})
        for partition in self.subscriptions.awaiting_reset():
            self.subscriptions.on_reset_offset(partition, log_start(partition))
