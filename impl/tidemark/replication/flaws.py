"""The protocol with rules removed: how Kafka was, or is, before the fix that each rule stands for.

Nothing in production imports this file. `rules_without({"TruncateByEpoch"})` gives the rules for the simulator; the
specification with the same names in `Without` allows exactly the steps that it then takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidemark.common.removal import remove_rules
from tidemark.log.epoch_cache import NO_EPOCH, EpochEndOffset
from tidemark.replication.rules import RULES, Rules


def _offset_only_point(own: EpochEndOffset, diverging: EpochEndOffset, log_end_offset: int, differs: bool) -> int:
    """Before KIP-279: the leader's offset is taken as it is, whatever epoch it belongs to."""
    return min(diverging.end_offset, log_end_offset)


def _high_watermark_point(leader_end_offset: int, log_end_offset: int, high_watermark: int) -> int:
    """Before the repair of KAFKA-7415: an undefined answer sends the follower back to its high watermark."""
    return min(high_watermark, log_end_offset)


def _unsaid_epoch(last_fetched_epoch: int, known_epoch: int, new_epoch: int) -> int:
    """Before KAFKA-7164: a follower whose leader stays fetches on in the new epoch without saying what it has."""
    return last_fetched_epoch if new_epoch == known_epoch else NO_EPOCH


GUARDS = {
    "fence_older_fetch",
    "fence_newer_fetch",
    "reached_epoch_start",
    "diverging_fetch_not_counted",
    "truncate_before_hw",
    "no_batch_above_fetch_epoch",
    "ack_all_only_below_hw",
    "elect_from_isr",
    "hw_blocked_under_min_isr",
    "broker_epoch_per_isr_member",
    "match_fetch_epoch",
    "tail_epoch_monotone",
    "fence_alter_by_leader_epoch",
    "fence_alter_by_partition_epoch",
    "fence_alter_by_broker_epoch",
    "isr_members_active",
    "min_isr_on_append",
    "read_below_hw",
}
"""Rules that refuse something: without one, nothing is refused. The others provide for a case: without one, the case is
not seen."""

COMPUTED: dict[str, tuple[str, Any]] = {
    "diverging_reply_carries_epoch": ("truncation_point", _offset_only_point),
    "cache_epoch_at_election": ("out_of_range_point", _high_watermark_point),
    "truncate_on_every_epoch_change": ("carried_epoch", _unsaid_epoch),
}
"""What is computed differently, beside the rule's own answer."""


def rules_without(names: Iterable[str]) -> Rules:
    """The rules with some removed; names as in the specification ("TruncateByEpoch") or as here ("truncate_by_epoch").

    Raises ValueError for a name that is no rule.
    """
    rules = Rules()
    for rule in remove_rules(rules, names, RULES, GUARDS):
        if rule in COMPUTED:
            computation, variant = COMPUTED[rule]
            setattr(rules, computation, variant)
    return rules
