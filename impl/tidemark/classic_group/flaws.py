"""The behaviour of a classic group without some rules. Nothing in production imports this file; the simulator and
the protocol's descriptor do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tidemark.classic_group.consumer import Consumer, ConsumerConfig
from tidemark.classic_group.coordinator import GroupCoordinator
from tidemark.classic_group.rebalance import GroupConfig, Rebalance
from tidemark.classic_group.rules import Rules
from tidemark.common.removal import Variant
from tidemark.common.rule_kinds import is_rule
from tidemark.groups.assignors.claims import Claim
from tidemark.groups.messages import JoinGroupResponse, Partitions, SyncGroupRequest
from tidemark.groups.partitions import MemberId, PartitionCounts


def lowest_claim_wins(claim: Claim, claims: Iterable[Claim]) -> bool:
    """Before KAFKA-12984: the member that has claimed a partition for longest is taken for its owner."""
    return all(other.generation >= claim.generation for other in claims)


VARIANTS = (Variant("highest_claim_wins", "highest_claim_wins", lowest_claim_wins),)
"""The function that replaces the removed rule."""


class DistributesAtOnce(Rebalance):
    """The members are told an assignment that has not committed."""

    def assign(self, assignments: Mapping[MemberId, Partitions], now_ms: int) -> None:
        """It is written down, and handed out."""
        record = self.group.record(assignments)
        super().assign(assignments, now_ms)
        self.distribute(record, now_ms)


class CoordinatorDistributesAtOnce(GroupCoordinator):
    """A coordinator with such rebalances."""

    def _new_rebalance(self) -> Rebalance:
        return DistributesAtOnce(self.group, self.epoch, self._purgatory, self._rules, self._config)


class WatchesFromNowOn(Consumer):
    """Kafka 4.x: a leader that need not assign takes the present partitions for those that the group was assigned
    by."""

    def join_as_follower(self, response: JoinGroupResponse, counts: PartitionCounts) -> SyncGroupRequest:
        """It watches for changes of the present counts."""
        request = super().join_as_follower(response, counts)
        if response.leader == response.member_id:
            self.membership.on_leader_elected(counts)
        return request


FLAWED = {"persist_assignment_first": DistributesAtOnce, "notice_what_was_missed": WatchesFromNowOn}
"""Rule -> what stands in its place."""


def coordinator_of(rules: Rules, config: GroupConfig, new_member_id: Callable[[], MemberId]) -> GroupCoordinator:
    """A broker's coordinator with these rules: without `persist_assignment_first`, one that does not wait."""
    if is_rule(rules.persist_assignment_first):
        return GroupCoordinator(rules, config, new_member_id)
    return CoordinatorDistributesAtOnce(rules, config, new_member_id)


def consumer_of(config: ConsumerConfig, topics: Iterable[str], rules: Rules) -> Consumer:
    """A process with these rules: without `notice_what_was_missed`, one as in Kafka."""
    if is_rule(rules.notice_what_was_missed):
        return Consumer(config, topics, rules)
    return WatchesFromNowOn(config, topics, rules)
