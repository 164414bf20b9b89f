"""A leader's answer for the end of a partition (ListOffsets for the latest offset; Partition.fetchOffset).

The rules are those of the specification EndOffsets. They are not among replication's (rules.py): this request changes
nothing, and no replica depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidemark.common.errors import Errors
from tidemark.common.rule_kinds import guard
from tidemark.replication.partition import Partition

UNKNOWN_END = -1


@guard
def reached_own_epoch(high_watermark: int, epoch_start_offset: int) -> bool:
    """KIP-207 (KAFKA-2334): a leader knows the committed records when its high watermark has passed the start of its
    epoch. Without it the end of the partition goes back when a leader is elected whose high watermark lags
    (number 100 of the wider zoo, docs/zoo.md)."""
    return high_watermark >= epoch_start_offset


@guard
def match_client_epoch(leader_epoch: int, client_epoch: int) -> bool:
    """KIP-320: a leader answers a client that knows the same leader epoch. Without it one that was deposed, and does
    not know it, tells an end that its successor's answers have passed."""
    return leader_epoch == client_epoch


@dataclass(slots=True)
class EndOffsetRules:
    """The rules in force, one callable each."""

    reached_own_epoch: Callable[[int, int], bool] = reached_own_epoch
    match_client_epoch: Callable[[int, int], bool] = match_client_epoch


def list_offsets(partition: Partition, client_epoch: int, rules: EndOffsetRules) -> tuple[Errors, int]:
    """The end of the partition for a client that knows of that leader epoch, or an error and UNKNOWN_END. In Kafka's
    order (Partition.getLocalLog): epochs, leadership."""
    if not rules.match_client_epoch(partition.leader_epoch, client_epoch):
        older = client_epoch < partition.leader_epoch
        return Errors.FENCED_LEADER_EPOCH if older else Errors.UNKNOWN_LEADER_EPOCH, UNKNOWN_END
    if not partition.is_leader:
        return Errors.NOT_LEADER_OR_FOLLOWER, UNKNOWN_END
    end = partition.log.high_watermark
    if not rules.reached_own_epoch(end, partition.epoch_start_offset):
        return Errors.OFFSET_NOT_AVAILABLE, UNKNOWN_END
    return Errors.NONE, end
