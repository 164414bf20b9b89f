"""The behaviour of a group's coordinator without some rules. Nothing in production imports this file; the simulator
does."""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.common.rule_kinds import is_rule
from tidemark.consumer_group.coordinator import ConsumerGroupConfig, ConsumerGroupCoordinator
from tidemark.consumer_group.group import NO_EPOCHS, ConsumerGroup
from tidemark.consumer_group.rules import Rules
from tidemark.groups.consumer_group_messages import CurrentAssignment


class RemovesEpochsLast(ConsumerGroup):
    """Before KAFKA-16147: the epochs of partitions that a member was giving up are removed after its present ones are
    added. A partition that came back to it loses its new epoch."""

    def _update_partition_epochs(self, old: CurrentAssignment, new: CurrentAssignment) -> None:
        if self.loading:
            super()._update_partition_epochs(old, new)
            return
        super()._update_partition_epochs(old._replace(pending_revocation=NO_EPOCHS), new)
        for partition in old.pending_revocation:
            if partition in new.assigned:
                self.partition_epochs.pop(partition, None)
            elif partition not in new.pending_revocation:
                self._remove((partition,), old.member_epoch)


class CoordinatorRemovesEpochsLast(ConsumerGroupCoordinator):
    """A coordinator of such groups."""

    def _new_group(self) -> ConsumerGroup:
        return RemovesEpochsLast(self._rules)


FLAWED = {"remove_epochs_first": RemovesEpochsLast}
"""Rule -> what stands in its place."""


def coordinator_of(rules: Rules, config: ConsumerGroupConfig, image: Mapping[str, int]) -> ConsumerGroupCoordinator:
    """A broker's coordinator with these rules: without `remove_epochs_first`, an older one."""
    if is_rule(rules.remove_epochs_first):
        return ConsumerGroupCoordinator(rules, config, image)
    return CoordinatorRemovesEpochsLast(rules, config, image)
