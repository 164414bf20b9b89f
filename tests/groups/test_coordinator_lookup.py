"""Coordinator look-up against hash codes that a Java virtual machine printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemark.common.errors import BrokenInvariant
from tidemark.groups.coordinator_lookup import kafka_abs, partition_for
from tidemark.groups.java import INT_MIN, hash_code, string_order

FROM_JAVA = {
    "": 0,
    "a": 97,
    "Aa": 2112,
    "BB": 2112,
    "hello": 99162322,
    "my-group": -1906497762,
    "console-consumer-1": 35782224,
    "payments-eu-west": 1186306572,
    "groupe-é": 506365602,
    "polygenelubricants": INT_MIN,
    "\N{GRINNING FACE}": 1772899,
    "a\N{GRINNING FACE}b": 57849694,
    "\ud83d": 0xD83D,
}


@pytest.mark.parametrize(("text", "code"), FROM_JAVA.items(), ids=ascii)
def test_hash_code(text: str, code: int) -> None:
    assert hash_code(text) == code


@pytest.mark.parametrize(
    ("group", "partitions", "partition"),
    [
        ("my-group", 50, 12),
        ("console-consumer-1", 50, 24),
        ("payments-eu-west", 3, 0),
        ("polygenelubricants", 50, 0),
        ("\N{GRINNING FACE}", 50, 49),
        ("anything", 1, 0),
    ],
    ids=ascii,
)
def test_partition_for(group: str, partitions: int, partition: int) -> None:
    assert partition_for(group, partitions) == partition


def test_abs_of_the_smallest_integer_is_zero() -> None:
    assert [kafka_abs(number) for number in (INT_MIN, INT_MIN + 1, -1, 0, 7)] == [0, 2**31 - 1, 1, 0, 7]


def test_a_topic_without_partitions_is_a_defect() -> None:
    with pytest.raises(BrokenInvariant, match="at least one"):
        partition_for("group", 0)


def test_java_sorts_code_units() -> None:
    face, high = "\N{GRINNING FACE}", "\uffee"
    assert high < face
    assert string_order(face) < string_order(high)
    assert sorted(["b", "ab", "a", ""], key=string_order) == ["", "a", "ab", "b"]


@given(st.text(), st.text(), st.integers(1, 2000))
def test_hash_of_a_concatenation_and_range_of_the_partition(left: str, right: str, partitions: int) -> None:
    units = len(right.encode("utf-16-be", "surrogatepass")) // 2
    assert (hash_code(left) * 31**units + hash_code(right) - hash_code(left + right)) % 2**32 == 0
    assert 0 <= partition_for(left + right, partitions) < partitions
