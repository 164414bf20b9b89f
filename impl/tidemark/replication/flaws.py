"""Replication's computations without some rules, as in Kafka before the fix that each rule stands for.

Nothing in production imports this file; `rules_without` of removal.py takes it.
"""

from __future__ import annotations

from tidemark.common.removal import Variant
from tidemark.log.epoch_cache import NO_EPOCH, EpochEndOffset


def _offset_only_point(own: EpochEndOffset, diverging: EpochEndOffset, log_end_offset: int, differs: bool) -> int:
    """Before KIP-279: the leader's offset is taken as it is, whatever epoch it belongs to."""
    return min(diverging.end_offset, log_end_offset)


def _high_watermark_point(leader_end_offset: int, log_end_offset: int, high_watermark: int) -> int:
    """Before the repair of KAFKA-7415: an undefined answer sends the follower back to its high watermark."""
    return min(high_watermark, log_end_offset)


def _unsaid_epoch(last_fetched_epoch: int, known_epoch: int, new_epoch: int) -> int:
    """Before KAFKA-7164: a follower whose leader stays fetches on in the new epoch without its last fetched epoch."""
    return last_fetched_epoch if new_epoch == known_epoch else NO_EPOCH


VARIANTS = (
    Variant("end_of_another_epoch", "truncation_point", _offset_only_point),
    Variant("cache_epoch_at_election", "out_of_range_point", _high_watermark_point),
    Variant("truncate_on_every_epoch_change", "carried_epoch", _unsaid_epoch),
)
"""The computation that replaces each removed rule, beside the rule's own answer."""
