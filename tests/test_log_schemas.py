"""The notation of messages, and all messages of internal topics: whatever is written is read back, in every version."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tidemark.log.formats import internal, records
from tidemark.log.formats.codecs import UNKNOWN_TAGS
from tidemark.log.formats.errors import Malformed, Torn, Unwritable
from tidemark.log.formats.schema import Field, Schema, Values, schemas
from tidemark.log.formats.schemas import control, groups, metadata, other_groups, transactions

TEXTS = (control.TEXT, groups.TEXT, other_groups.TEXT, transactions.TEXT, metadata.TEXT)
ALL = [one for text in TEXTS for one in schemas(text).values()]
VERSIONS = [(one, version) for one in ALL for version in range(one.versions.first, one.versions.last + 1)]
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "string": st.text(max_size=4),
    "bytes": st.binary(max_size=4),
    "uuid": st.binary(min_size=16, max_size=16).map(lambda data: base64.urlsafe_b64encode(data).decode().rstrip("=")),
    "float64": st.floats(allow_nan=False),
    **{f"int{bits}": st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": st.integers(0, 2**bits - 1) for bits in (16, 32)},
}


def values_of(fields: tuple[Field, ...], version: int, flexible: bool) -> st.SearchStrategy[Values]:
    """Messages of a version: all of its fields."""
    present = [one for one in fields if version in one.versions and (one.tag is None or flexible)]
    return st.fixed_dictionaries({one.name: value_of(one, version, flexible) for one in present})


def value_of(one: Field, version: int, flexible: bool) -> st.SearchStrategy[Any]:
    inner = KINDS[one.kind] if one.kind else values_of(one.fields, version, flexible)
    made: st.SearchStrategy[Any] = st.lists(inner, max_size=2) if one.array else inner
    return st.none() | made if version in one.nullable else made


@pytest.mark.parametrize(("one", "version"), VERSIONS, ids=lambda it: it.name if isinstance(it, Schema) else str(it))
@given(data=st.data())
@settings(max_examples=15)
def test_a_message_is_read_as_it_was_written(one: Schema, version: int, data: st.DataObject) -> None:
    values = data.draw(values_of(one.fields, version, version in one.flexible))
    stored = one.write(version, values)
    assert one.read(version, stored) == values
    for size in range(len(stored)):
        with pytest.raises(Malformed):
            one.read(version, stored[:size])
    with pytest.raises(Malformed, match="1 bytes follow"):
        one.read(version, stored + b"\0")


EXAMPLE = schemas("""
Example 1-3 flexible 2+ type 7
    name string? 2+
    counts []int32
    parts []
        size int16 = 4
        more {}? tag 3 3+ = null
            id int8
    inner {}?
        id int32
    late int64 tag 1 3+ = -5
    shape {} tag 2
        side int8 = 9
""")["Example"]


def test_fields_belong_to_versions() -> None:
    inner = {"id": 7}
    assert EXAMPLE.read(1, EXAMPLE.write(1, {"counts": [1], "parts": [{"size": 2}], "inner": None})) == {
        "counts": [1],
        "parts": [{"size": 2}],
        "inner": None,
    }
    second = {"name": None, "counts": [], "parts": [], "inner": inner, "shape": {"side": 9}}
    assert EXAMPLE.read(2, EXAMPLE.write(2, second)) == second
    third = {**second, "late": -5, "parts": [{"size": 1, "more": {"id": 1}}]}
    assert EXAMPLE.read(3, EXAMPLE.write(3, third)) == third


def test_a_tagged_field_with_its_default_takes_no_bytes() -> None:
    values: Values = {"name": "", "counts": [], "parts": [], "inner": None, "late": -5, "shape": {"side": 9}}
    without = EXAMPLE.write(3, values)
    assert without[-1:] == b"\0"
    assert EXAMPLE.write(3, {name: one for name, one in values.items() if name not in ("late", "shape")}) == without
    assert EXAMPLE.write(3, {**values, "late": -4})[-11:-8] == b"\1\1\x08"


def test_unknown_tagged_fields_are_kept() -> None:
    values: Values = {"name": "n", "counts": [], "parts": [], "inner": None, "late": 2, "shape": {"side": 1}}
    values[UNKNOWN_TAGS] = {9: b"of a newer version"}
    assert EXAMPLE.read(3, EXAMPLE.write(3, values)) == values


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": 3 * "n"}, "no field name"),
        ({"counts": None}, "counts is null"),
        ({"counts": [2**31]}, "counts is 2147483648"),
        ({"parts": [{}]}, "parts has no size"),
        ({"parts": [None]}, "parts is null"),
        ({"inner": {"id": 1, "other": 2}}, "no field other"),
    ],
)
def test_what_a_version_cannot_say_is_not_written(change: Values, said: str) -> None:
    values: Values = {"counts": [], "parts": [], "inner": None}
    with pytest.raises(Unwritable, match=said):
        EXAMPLE.write(1, {**values, **change})


@pytest.mark.parametrize(
    ("version", "data", "said"),
    [
        (1, b"\x7f\xff\xff\xff", "counts has the length 2,147,483,647, and 0 bytes are left"),
        (1, b"\xff\xff\xff\xff", "counts has the length -1"),
        (2, b"\0\xff\xff\xff\xff\x0f", "counts has the length 4,294,967,294"),
        (2, b"\0\xff\xff\xff\xff\xff\x01", "more than 5 bytes"),
        (2, b"\0\1\1\xff\2\1\1\x09\1\1\x08", "the tag 1 follows the tag 1"),
        (3, b"\0\1\1\xff\1\1\x09" + bytes(9), "late has 8 bytes, and its size says 9"),
        (3, b"\0\1\1\xff\1\1\xff\xff\xff\x7f", "late has 268,435,455 bytes"),
        (2, b"\3\xff\xff", "name is no text"),
        (4, b"", "version 4, and 3 is the last that is known; read it with a Tidemark"),
    ],
)
def test_bytes_that_are_no_message(version: int, data: bytes, said: str) -> None:
    with pytest.raises(Malformed) as problem:
        EXAMPLE.read(version, data)
    assert said in str(problem.value)


@pytest.mark.parametrize("text", ["No head", "One 0\n    field", "One 0\n        too int8", "One 0\n    a int8 what"])
def test_a_text_that_is_no_notation_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no "):
        schemas(text)


def message(name: str, version: int | None, key: Values | None, value: Values | None) -> internal.Message:
    return internal.Message(name, key, version, value)


MESSAGES = [
    (internal.OFFSETS, message("GroupMetadata", None, {"group": "g"}, None)),
    (
        internal.OFFSETS,
        message(
            "OffsetCommit",
            3,
            {"group": "g", "topic": "t", "partition": 1},
            {"offset": 5, "leaderEpoch": 2, "metadata": "", "commitTimestamp": 7},
        ),
    ),
    (internal.METADATA, message("NoOpRecord", 0, None, {})),
    (internal.METADATA, message("FenceBrokerRecord", 0, None, {"id": 3, "epoch": 9})),
]


@pytest.mark.parametrize(("topic", "one"), MESSAGES, ids=[one.name for _, one in MESSAGES])
def test_a_message_finds_its_type(topic: str, one: internal.Message) -> None:
    key, value = internal.write(topic, one)
    assert internal.read(topic, records.Record(0, 0, key, value)) == one


def test_a_committed_offset_of_the_first_key_version_is_read() -> None:
    (_, (_, one)) = MESSAGES[:2]
    key, value = internal.write(internal.OFFSETS, one)
    assert key is not None
    assert internal.read(internal.OFFSETS, records.Record(0, 0, b"\0\0" + key[2:], value)) == one


@pytest.mark.parametrize(
    ("topic", "key", "value", "said"),
    [
        (internal.OFFSETS, b"\0\x63", b"", "type 99 is not known"),
        (internal.OFFSETS, b"", b"", "2 bytes are needed"),
        (internal.OFFSETS, b"\0\2\0\1g", b"\0\x09", "version 9, and 4 is the last"),
        (internal.TRANSACTIONS, b"\0\0\0\1x", b"\0", "2 bytes are needed"),
        (internal.METADATA, None, b"\2\0\0", "frame has version 2"),
        (internal.METADATA, None, b"\1\x63\0", "type 99 is not known"),
        (internal.METADATA, None, None, "varint that does not end"),
    ],
)
def test_a_record_that_is_no_message(topic: str, key: bytes | None, value: bytes | None, said: str) -> None:
    with pytest.raises(Malformed, match=said):
        internal.read(topic, records.Record(0, 0, key, value))


def test_records_of_other_topics_are_no_messages() -> None:
    assert internal.read("orders", records.Record(0, 0, b"\0\x63", b"")) is None


def test_messages_that_do_not_exist_are_not_written() -> None:
    for topic in (internal.OFFSETS, internal.METADATA):
        with pytest.raises(Unwritable, match="no message Nothing"):
            internal.write(topic, message("Nothing", 0, {}, {}))


def test_an_end_of_bytes_is_told_apart_from_wrong_bytes() -> None:
    with pytest.raises(Torn):
        EXAMPLE.read(1, b"\0\0")
