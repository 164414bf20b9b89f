"""The server-side uniform assignor of KIP-848 (UniformAssignor and its two builders).

The coordinator knows the group's target assignment, so nothing is claimed and no partition has two owners. Loads are
made even first, then as little as possible moves. Topics with the most partitions per subscriber go first. Where all
members subscribe to the same topics, this order makes no difference to the loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import lcm

from tidemark.common.errors import BrokenInvariant
from tidemark.groups.assignors.balance import balance
from tidemark.groups.partitions import (
    Assignment,
    MemberId,
    PartitionCounts,
    Subscriptions,
    TopicPartition,
    partitions_of,
    sorted_assignment,
    subscribers_by_topic,
)


def assign_uniform(
    counts: PartitionCounts, subscriptions: Subscriptions, target: Mapping[MemberId, Iterable[TopicPartition]]
) -> Assignment:
    """The next target assignment; `target` is the present one, and members that left may still be in it.

    Raises BrokenInvariant if `target` gives a partition to two members.
    """
    subscribers = subscribers_by_topic(counts, subscriptions)
    owned: dict[TopicPartition, MemberId] = {}
    for member, partitions in target.items():
        for one in partitions:
            if one in owned:
                raise BrokenInvariant(f"the target assignment gives {one} to {owned[one]} and to {member}")
            owned[one] = member
    kept = {
        one: member
        for one, member in owned.items()
        if one.partition < counts.get(one.topic, 0) and member in subscribers.get(one.topic, ())
    }

    scale = lcm(*map(len, subscribers.values()))

    def fullest_first(topic: str) -> tuple[int, int]:
        """Partitions per subscriber, brought to one denominator."""
        members = len(subscribers[topic])
        return (-counts[topic] * (scale // members), members)

    topics = {member: subscription.topics for member, subscription in subscriptions.items()}
    order = sorted(subscribers, key=fullest_first)
    return sorted_assignment(balance(partitions_of(order, counts), topics, kept, {}))
