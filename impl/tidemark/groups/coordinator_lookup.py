"""The partition of __consumer_offsets for a group; the leader of that partition is the group's coordinator."""

from __future__ import annotations

from tidemark.common.errors import BrokenInvariant
from tidemark.groups.java import INT_MIN, hash_code

GROUP_METADATA_TOPIC_NAME = "__consumer_offsets"
DEFAULT_PARTITIONS = 50
"""offsets.topic.num.partitions."""


def kafka_abs(number: int) -> int:
    """Utils.abs: the absolute value of a 32-bit integer, and 0 for the smallest, which has none in 32 bits."""
    return 0 if number == INT_MIN else abs(number)


def partition_for(group_id: str, partitions: int = DEFAULT_PARTITIONS) -> int:
    """The partition of __consumer_offsets, which has `partitions`, that holds the group's metadata and offsets."""
    if partitions < 1:
        raise BrokenInvariant(f"{GROUP_METADATA_TOPIC_NAME} has {partitions} partitions; it has at least one")
    return kafka_abs(hash_code(group_id)) % partitions
