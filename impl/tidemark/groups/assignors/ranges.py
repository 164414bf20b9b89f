"""The range assignor, which is the same for classic groups (RangeAssignor) and on the server (KIP-848).

Topic by topic the partitions are cut into as many contiguous ranges as there are subscribers. The first ranges are one
partition longer where they do not come out even. Topics with equally many partitions and the same subscribers are
thereby co-partitioned: a member has the same partition numbers of each of them.
"""

from __future__ import annotations

from tidemark.groups.partitions import (
    Assignment,
    PartitionCounts,
    Subscriptions,
    TopicPartition,
    in_member_order,
    sorted_assignment,
    subscribers_by_topic,
)


def assign_range(counts: PartitionCounts, subscriptions: Subscriptions) -> Assignment:
    """Contiguous ranges of each topic to its subscribers in member order; topics that do not exist are left out."""
    ordered = in_member_order(subscriptions)
    held: dict[str, list[TopicPartition]] = {member: [] for member in ordered}
    for topic, members in subscribers_by_topic(counts, ordered).items():
        quota, extra = divmod(counts[topic], len(members))
        start = 0
        for index, member in enumerate(members):
            end = start + quota + (index < extra)
            held[member] += [TopicPartition(topic, number) for number in range(start, end)]
            start = end
    return sorted_assignment(held)
