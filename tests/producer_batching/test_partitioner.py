"""Partitioners against the values of Kafka's own tests, and where they must not depend on chance."""

from __future__ import annotations

from collections import Counter
from itertools import count, repeat
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemark.producer_batching.partitioner import (
    BuiltInPartitioner,
    RoundRobinPartitioner,
    murmur2,
    partition_for_key,
    to_positive,
)

FROM_UTILS_TEST = {
    "21": -973932308,
    "foobar": -790332482,
    "a-little-bit-long-string": -985981536,
    "a-little-bit-longer-string": -1486304829,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    "abc": 479470107,
}


@pytest.mark.parametrize(("key", "code"), FROM_UTILS_TEST.items())
def test_murmur2(key: str, code: int) -> None:
    assert murmur2(key.encode()) == code
    assert partition_for_key(key.encode(), 2**31) == code % 2**31


def test_the_sign_is_left_out_and_not_turned() -> None:
    """Unlike the absolute value, by which a group's coordinator is looked up."""
    assert [to_positive(number) for number in (-(2**31), -1, 0, 7)] == [0, 2**31 - 1, 0, 7]
    assert partition_for_key(b"21", 7) == (-973932308 + 2**31) % 7


@given(st.binary(), st.integers(1, 200))
def test_a_key_has_one_partition(key: bytes, partitions: int) -> None:
    assert -(2**31) <= murmur2(key) < 2**31
    assert 0 <= partition_for_key(key, partitions) < partitions


def test_keys_spread() -> None:
    spread = Counter(partition_for_key(f"user-{number}".encode(), 6) for number in range(6000))
    assert all(900 < spread[partition] < 1100 for partition in range(6))


def test_round_robin_passes_over_what_has_no_leader() -> None:
    turns = RoundRobinPartitioner()
    assert [turns.partition([0, 1, 2]) for _ in range(4)] == [0, 1, 2, 0]
    assert [turns.partition([0, 2]) for _ in range(3)] == [0, 2, 0]


def test_sticky_stays_for_a_batch() -> None:
    """BuiltInPartitionerTest.testStickyPartitioning, with chance that counts."""
    sticky = BuiltInPartitioner(3, 10, count().__next__)
    seen = []
    for _ in range(12):
        seen.append(sticky.peek())
        assert sticky.peek() == seen[-1]
        sticky.update(4, may_switch=True)
    assert seen == [0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0]


def test_a_batch_with_room_is_not_left_before_twice_its_size() -> None:
    sticky = BuiltInPartitioner(2, 10, count().__next__)
    for _ in range(4):
        assert sticky.peek() == 0
        sticky.update(4, may_switch=False)
    assert sticky.peek() == 0
    sticky.update(4, may_switch=False)
    assert sticky.peek() == 1
    sticky.update(4, may_switch=False)
    sticky.update(6, may_switch=True)
    assert sticky.peek() == 0


def test_the_fewer_wait_the_likelier() -> None:
    """The example in updatePartitionLoadStats: sizes 0, 3, 1 make the running sum 4, 5, 8."""
    sticky = BuiltInPartitioner(3, 1, count().__next__)
    sticky.update_loads({0: 0, 1: 3, 2: 1})
    seen = []
    for _ in range(8):
        seen.append(sticky.peek())
        sticky.update(1, may_switch=True)
    assert seen == [0, 0, 0, 0, 1, 2, 2, 2]


def test_uniform_is_uniform_and_leaves_out_what_has_no_leader() -> None:
    chance = Random(0)
    sticky = BuiltInPartitioner(4, 1, lambda: chance.getrandbits(31))
    sticky.update_loads({0: 2, 1: 2, 3: 2})
    seen: Counter[int] = Counter()
    for _ in range(3000):
        seen[sticky.peek()] += 1
        sticky.update(1, may_switch=True)
    assert set(seen) == {0, 1, 3}
    assert all(900 < times < 1100 for times in seen.values())


def test_without_bytes_there_is_no_batch() -> None:
    with pytest.raises(ValueError, match="at least one byte, not 0"):
        BuiltInPartitioner(3, 0, repeat(0).__next__)
