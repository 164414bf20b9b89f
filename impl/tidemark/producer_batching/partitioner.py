"""The partition that a record goes to. The application's choice comes first, then the hash of the record's key. A
record without a key goes to one partition for as long as a batch (KIP-480, KIP-794), or to all of them in turn.

Chance is the caller's: `draw` returns another number, not negative, with each call.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

MASK = 0xFFFFFFFF
SEED = 0x9747B28C
M = 0x5BD1E995


def murmur2(data: bytes) -> int:
    """Utils.murmur2: a 32-bit signed integer."""
    h = SEED ^ len(data)
    whole = len(data) & ~3
    for (k,) in struct.iter_unpack("<I", data[:whole]):
        k = k * M & MASK
        k = (k ^ k >> 24) * M & MASK
        h = h * M & MASK ^ k
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * M & MASK
    h = (h ^ h >> 13) * M & MASK
    h ^= h >> 15
    return h - 2**32 if h >= 2**31 else h


def to_positive(number: int) -> int:
    """Utils.toPositive: a 32-bit integer without its sign bit, which is not the absolute value."""
    return number & 0x7FFFFFFF


def partition_for_key(key: bytes, partitions: int) -> int:
    """partitionForKey: equal keys go to one partition as long as there are as many `partitions`, available or not."""
    return to_positive(murmur2(key)) % partitions


class RoundRobinPartitioner:
    """All available partitions in turn, regardless of the key."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        self._next = 0

    def partition(self, available: Sequence[int]) -> int:
        """Of the next record. `available`: the partitions that have a leader, or all if none has."""
        chosen = available[to_positive(self._next) % len(available)]
        self._next += 1
        return chosen


class BuiltInPartitioner:
    """Uniform sticky: records without a key go to one partition until they make `sticky_batch_size` bytes; then chance
    chooses among all, the same again included. `loads`: of the available partitions, how many batches wait for each;
    those where fewer wait are likelier."""

    __slots__ = ("_chosen", "_draw", "_frequencies", "_partitions", "_produced", "_sticky_batch_size")

    def __init__(self, partitions: int, sticky_batch_size: int, draw: Callable[[], int]) -> None:
        if sticky_batch_size < 1:
            raise ValueError(f"a batch has at least one byte, not {sticky_batch_size}")
        self._sticky_batch_size = sticky_batch_size
        self._draw = draw
        self._chosen: int | None = None
        self._produced = 0
        self.update_loads(dict.fromkeys(range(partitions), 0))

    def update_loads(self, loads: dict[int, int]) -> None:
        """updatePartitionLoadStats: where the next choices are made, and how likely. A partition where one batch fewer
        waits counts once more."""
        most = max(loads.values()) + 1
        self._partitions = list(loads)
        self._frequencies = list(accumulate(most - load for load in loads.values()))

    def peek(self) -> int:
        """peekCurrentPartitionInfo: where the next record goes."""
        if self._chosen is None:
            self._chosen = self._partitions[bisect_right(self._frequencies, self._draw() % self._frequencies[-1])]
        return self._chosen

    def update(self, appended: int, may_switch: bool) -> None:
        """updatePartitionInfo: the record has added so many bytes to its batch. While that has room, it is not left
        (`may_switch`), but for twice as many bytes at most."""
        self._produced += appended
        if self._produced >= self._sticky_batch_size * (1 if may_switch else 2):
            self._chosen = None
            self._produced = 0
