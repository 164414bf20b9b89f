"""The records of internal topics as messages: their types are in the key, or in the value's frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tidemark.log.formats.errors import Malformed, Unwritable
from tidemark.log.formats.layout import Layout
from tidemark.log.formats.records import Record
from tidemark.log.formats.schema import NEWER, Schema, Values, schemas
from tidemark.log.formats.schemas import groups, metadata, other_groups, transactions
from tidemark.log.formats.wire import Cursor, put_unsigned_varint

OFFSETS, TRANSACTIONS, METADATA = "__consumer_offsets", "__transaction_state", "__cluster_metadata"
FRAME = 1
"""The version of the frame around a metadata record."""


class Message(NamedTuple):
    """A record of an internal topic. `name`: Kafka's, of its message; `version`: of its value, None without one.

    A `value` of None is a tombstone: the thing is forgotten.
    """

    name: str
    key: Values | None
    version: int | None
    value: Values | None


class _Number(NamedTuple):
    number: int


_SHORT = Layout(_Number, "h")
_KEY, _VALUE = "Key", "Value"


def _by_type(text: str, end: str) -> dict[int, Schema]:
    return {one.type: one for one in schemas(text).values() if one.type is not None and one.name.endswith(end)}


_TEXTS = {OFFSETS: groups.TEXT + "\n" + other_groups.TEXT.lstrip("\n"), TRANSACTIONS: transactions.TEXT}
_KEYS = {topic: _by_type(text, _KEY) for topic, text in _TEXTS.items()}
_VALUES = {topic: _by_type(text, _VALUE) for topic, text in _TEXTS.items()}
for _found in (_KEYS, _VALUES):
    _found[OFFSETS][0] = _found[OFFSETS][1]  # the first key version of a committed offset
_METADATA = _by_type(metadata.TEXT, "Record")
_EMBEDDED = {name: one for name, one in schemas(groups.TEXT).items() if name.startswith("ConsumerProtocol")}


def read(topic: str, record: Record) -> Message | None:
    """The message that a record of this topic is; None if the topic is no internal one.

    Raises Malformed, its position in the key or in the value.
    """
    if topic == METADATA:
        return _metadata(record)
    if topic not in _KEYS:
        return None
    key = record.key or b""
    number = _SHORT.read(key).number
    if number not in _KEYS[topic]:
        raise Malformed(0, f"the record's type {number} is not known", NEWER)
    keys, values = _KEYS[topic][number], _VALUES[topic][number]
    found, name = keys.read(0, key, _SHORT.size), values.name.removesuffix(_VALUE)
    if record.value is None:
        return Message(name, found, None, None)
    version = _SHORT.read(record.value).number
    return Message(name, found, version, values.read(version, record.value, _SHORT.size))


def read_embedded(name: str, data: bytes) -> Values:
    """A message inside GroupMetadataValue: `ConsumerProtocolSubscription` or `ConsumerProtocolAssignment`, of a classic
    consumer. Raises Malformed."""
    return _EMBEDDED[name].read(_SHORT.read(data).number, data, _SHORT.size)


def _metadata(record: Record) -> Message:
    cursor = Cursor(record.value or b"")
    frame = cursor.unsigned_varint("the frame's version")
    if frame != FRAME:
        raise Malformed(0, f"the metadata record's frame has version {frame}, and {FRAME} is known", NEWER)
    number, version = cursor.unsigned_varint("the record's type"), cursor.unsigned_varint("the record's version")
    if number not in _METADATA:
        raise Malformed(1, f"the metadata record's type {number} is not known", NEWER)
    schema = _METADATA[number]
    return Message(schema.name, None, version, schema.read(version, cursor.data, cursor.at))


def write(topic: str, message: Message) -> tuple[bytes | None, bytes | None]:
    """Key and value of the record that a message is in this topic. Raises Unwritable."""
    if topic == METADATA:
        return None, _write_metadata(message)
    number = _number(_VALUES[topic], lambda one: one.name == message.name + _VALUE, message.name)
    key = _SHORT.write(_Number(number)) + _KEYS[topic][number].write(0, message.key or {})
    if message.value is None or message.version is None:
        return key, None
    body = _VALUES[topic][number].write(message.version, message.value)
    return key, _SHORT.write(_Number(message.version)) + body


def _write_metadata(message: Message) -> bytes:
    number = _number(_METADATA, lambda one: one.name == message.name, message.name)
    out, version = bytearray(), message.version or 0
    for part in (FRAME, number, version):
        put_unsigned_varint(out, part)
    return bytes(out) + _METADATA[number].write(version, message.value or {})


def _number(known: dict[int, Schema], wanted: Callable[[Schema], bool], name: str) -> int:
    """The largest type, if a message has several: 0 and 1 are both of a committed offset."""
    if not (found := [number for number, one in known.items() if wanted(one)]):
        raise Unwritable(f"there is no message {name} in this topic")
    return max(found)
