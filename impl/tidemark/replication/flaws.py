"""Replication's computations without some rules, as in Kafka before the fix that each rule stands for.

Nothing in production imports this file; `rules_without` of removal.py takes it.
"""

from __future__ import annotations

from tidemark.common.removal import Variant
from tidemark.log.epoch_cache import EpochEndOffset
from tidemark.log.log import Log


def _offset_only_point(own: EpochEndOffset, diverging: EpochEndOffset, log_end_offset: int, differs: bool) -> int:
    """Before KIP-279: the leader's offset is taken as it is, whatever epoch it belongs to."""
    return min(diverging.end_offset, log_end_offset)


def _high_watermark_point(log: Log, leader_end_offset: int) -> int:
    """Before the repair of KAFKA-7415: an undefined answer sends the follower back to its high watermark."""
    return min(log.high_watermark, log.end_offset)


VARIANTS = (
    Variant("end_of_another_epoch", "truncation_point", _offset_only_point),
    Variant("cache_epoch_at_election", "out_of_range_point", _high_watermark_point),
)
"""The computation that replaces each removed rule, beside the rule's own answer."""
