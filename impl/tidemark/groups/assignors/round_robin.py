"""The round-robin assignor (RoundRobinAssignor).

All partitions in order are dealt to all members in order. A member that does not subscribe to the partition's topic is
passed over and loses its turn. So with unlike subscriptions the loads may be uneven.
"""

from __future__ import annotations

from itertools import cycle

from tidemark.groups.partitions import (
    Assignment,
    PartitionCounts,
    Subscriptions,
    TopicPartition,
    in_member_order,
    partitions_of,
    sorted_assignment,
    subscribers_by_topic,
)


def assign_round_robin(counts: PartitionCounts, subscriptions: Subscriptions) -> Assignment:
    """Every subscribed partition, by topic and number, to the next member in turn that subscribes to its topic."""
    ordered = in_member_order(subscriptions)
    held: dict[str, list[TopicPartition]] = {member: [] for member in ordered}
    turns = cycle(ordered)
    for partition in partitions_of(subscribers_by_topic(counts, ordered), counts):
        member = next(turns)
        while partition.topic not in ordered[member].topics:
            member = next(turns)
        held[member].append(partition)
    return sorted_assignment(held)
