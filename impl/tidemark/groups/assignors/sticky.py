"""The sticky assignor and its cooperative form (StickyAssignor, CooperativeStickyAssignor, AbstractStickyAssignor).

Both make the same assignment: as even as it can be, with as few moves as that needs. They differ in the partitions that
members claim and in those that are handed out. An eager member has revoked everything before it joins, and tells its
last assignment as user data. The whole assignment is handed out at once. A cooperative member still owns the partitions
that it claims; one that would move is withheld until it has been revoked.
"""

from __future__ import annotations

from tidemark.groups.assignors.balance import balance
from tidemark.groups.assignors.claims import (
    ALL_CLAIM_RULES,
    ClaimRules,
    MemberClaims,
    Ownership,
    ownership,
    without_withheld,
)
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


def assign_sticky(
    counts: PartitionCounts, subscriptions: Subscriptions, rules: ClaimRules = ALL_CLAIM_RULES
) -> Assignment:
    """All subscribed partitions at once; the members' former assignments are in their user data."""
    claims: MemberClaims = {
        member: (subscription.user_data.partitions, subscription.user_data.generation)
        for member, subscription in subscriptions.items()
        if subscription.user_data is not None
    }
    return _stick(counts, subscriptions, ownership(claims, rules))


def assign_cooperative_sticky(
    counts: PartitionCounts, subscriptions: Subscriptions, rules: ClaimRules = ALL_CLAIM_RULES
) -> Assignment:
    """The assignment that may be handed out now. Members that find a partition of theirs missing revoke it and join
    again."""
    claims: MemberClaims = {
        member: (subscription.owned_partitions, subscription.generation)
        for member, subscription in subscriptions.items()
    }
    owners = ownership(claims, rules)
    return without_withheld(_stick(counts, subscriptions, owners), owners, rules)


def _stick(counts: PartitionCounts, subscriptions: Subscriptions, owners: Ownership) -> Assignment:
    """The assignment that both forms aim at."""
    subscribers = subscribers_by_topic(counts, subscriptions)

    def may_keep(partition: TopicPartition, member: MemberId) -> bool:
        """Whether the partition exists and its owner takes part and subscribes to it."""
        return partition.partition < counts.get(partition.topic, 0) and member in subscribers.get(partition.topic, ())

    owned = {one: member for one, member in owners.owner().items() if may_keep(one, member)}
    formerly = {one: member for one, member in owners.formerly.items() if may_keep(one, member)}
    # Partitions that few members can take are handed out first, while they still decide which member is least loaded.
    scarce_first = sorted(subscribers, key=lambda topic: len(subscribers[topic]))
    topics = {member: subscription.topics for member, subscription in subscriptions.items()}
    return sorted_assignment(balance(partitions_of(scarce_first, counts), topics, owned, formerly))
