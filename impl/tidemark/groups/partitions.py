"""An assignor's input and output: partitions, subscriptions, assignments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidemark.common.structs import value
from tidemark.groups.java import string_order

NO_GENERATION = -1
"""The generation of a consumer that is in none (Generation.NO_GENERATION)."""

MemberId = str
UNKNOWN_MEMBER_ID = ""
"""The member id of a consumer that has none (JoinGroupRequest.UNKNOWN_MEMBER_ID)."""


class TopicPartition(NamedTuple):
    """One partition of a topic; `partition` counts from 0."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@value
class StickyUserData:
    """The user data that a member of a sticky assignor sends beside its subscription: its last assignment and
    generation.

    An eager member owns nothing any more when it joins, so this is where its former partitions stand.
    """

    partitions: tuple[TopicPartition, ...]
    generation: int


@value
class Subscription:
    """One member's part of a rebalance: its subscription and the partitions it still owns
    (ConsumerProtocolSubscription).

    `generation` is the one that `owned_partitions` are from; `user_data` is for the sticky assignor alone.
    """

    topics: frozenset[str]
    owned_partitions: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    group_instance_id: str | None = None
    user_data: StickyUserData | None = None


PartitionCounts = Mapping[str, int]
"""Topic -> number of its partitions. A topic that is not in it does not exist, as far as the assignor knows."""
Subscriptions = Mapping[MemberId, Subscription]
Assignment = dict[MemberId, tuple[TopicPartition, ...]]
"""Member -> its partitions, sorted; every member is in it, with nothing perhaps."""


def partitions_of(topics: Iterable[str], counts: PartitionCounts) -> list[TopicPartition]:
    """The partitions of `topics` that exist, topic by topic in the given order."""
    return [TopicPartition(topic, number) for topic in topics for number in range(counts.get(topic, 0))]


def subscribers_by_topic(counts: PartitionCounts, subscriptions: Subscriptions) -> dict[str, list[MemberId]]:
    """The subscribers of each topic that exists; topics in Java's order, members in the order of `subscriptions`."""
    return {
        topic: members
        for topic in sorted(counts, key=string_order)
        if (members := [member for member, subscription in subscriptions.items() if topic in subscription.topics])
    }


def in_member_order(subscriptions: Subscriptions) -> dict[MemberId, Subscription]:
    """Static members by instance id, then dynamic ones by member id (AbstractPartitionAssignor.MemberInfo).

    So a static member that restarts with another member id keeps its place.
    """

    def place(member: MemberId) -> tuple[bool, bytes]:
        instance = subscriptions[member].group_instance_id
        return (instance is None, string_order(member if instance is None else instance))

    return {member: subscriptions[member] for member in sorted(subscriptions, key=place)}


def sorted_assignment(held: Mapping[MemberId, Iterable[TopicPartition]]) -> Assignment:
    """`held` with each member's partitions sorted by topic and number."""
    return {member: tuple(sorted(partitions)) for member, partitions in held.items()}
