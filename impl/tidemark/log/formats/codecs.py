"""The kinds of a message's fields, each with its reader and its writer (KIP-482 for those of flexible versions).

A value is an int, bool, float, str, bytes, list or dict; a UUID is the text that Kafka prints, base64url without
padding. `what` names a field in an error.
"""

from __future__ import annotations

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from tidemark.log.formats.errors import Malformed, Unwritable
from tidemark.log.formats.wire import Cursor, put_unsigned_varint

UNKNOWN_TAGS = "unknownTaggedFields"
"""The key under which a message keeps the tagged fields that its schema does not have: tag -> bytes."""
_SHORT, _INT, _BYTE = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">b")


class Codec(Protocol):
    """Reader and writer of one kind."""

    def read(self, cursor: Cursor, what: str) -> Any:
        """The value at the cursor, which moves behind it. Raises Malformed."""

    def write(self, out: bytearray, value: Any, what: str) -> None:
        """Append a value. Raises Unwritable."""


@dataclass(frozen=True)
class Fixed:
    """A number of fixed size, or a truth value."""

    form: struct.Struct

    def read(self, cursor: Cursor, what: str) -> Any:
        return cursor.fixed(self.form, what)

    def write(self, out: bytearray, value: Any, what: str) -> None:
        try:
            out += self.form.pack(value)
        except struct.error as problem:
            raise Unwritable(f"{what} is {value!r} ({problem})") from None


@dataclass(frozen=True)
class Uuid:
    """Sixteen bytes."""

    def read(self, cursor: Cursor, what: str) -> Any:
        return urlsafe_b64encode(cursor.take(16, what)).decode().rstrip("=")

    def write(self, out: bytearray, value: Any, what: str) -> None:
        try:
            data = urlsafe_b64decode(value + "==")
        except (TypeError, ValueError):
            data = b""
        if len(data) != 16:
            raise Unwritable(f"{what} is {value!r}, which is no UUID")
        out += data


FIXED: dict[str, Codec] = {
    **{
        kind: Fixed(struct.Struct(f">{form}"))
        for kind, form in {
            "bool": "?",
            "int8": "b",
            "int16": "h",
            "int32": "i",
            "int64": "q",
            "uint16": "H",
            "uint32": "I",
            "float64": "d",
        }.items()
    },
    "uuid": Uuid(),
}
"""By the name of the kind."""


@dataclass(frozen=True)
class _Sized:
    """A thing with its length before it: a varint of length + 1 in flexible versions, else a number of fixed size."""

    flexible: bool
    nullable: bool

    def _length(self, cursor: Cursor, form: struct.Struct, what: str) -> int | None:
        at = cursor.at
        length = cursor.unsigned_varint(what) - 1 if self.flexible else int(cursor.fixed(form, what))
        if length < 0:
            if length == -1 and self.nullable:
                return None
            raise Malformed(at, f"{what} has the length {length}")
        if length > cursor.left:
            raise Malformed(at, f"{what} has the length {length:,}, and {cursor.left:,} bytes are left")
        return length

    def _put_length(self, out: bytearray, length: int | None, form: struct.Struct, what: str) -> None:
        if length is None and not self.nullable:
            raise Unwritable(f"{what} is null, which it may not be")
        number = -1 if length is None else length
        if self.flexible:
            put_unsigned_varint(out, number + 1)
            return
        try:
            out += form.pack(number)
        except struct.error:
            raise Unwritable(f"{what} has the length {number:,}, which is too long") from None


class Text(_Sized):
    """A string in UTF-8."""

    def read(self, cursor: Cursor, what: str) -> Any:
        if (length := self._length(cursor, _SHORT, what)) is None:
            return None
        at = cursor.at
        try:
            return cursor.take(length, what).decode()
        except UnicodeDecodeError as problem:
            raise Malformed(at + problem.start, f"{what} is no text") from None

    def write(self, out: bytearray, value: Any, what: str) -> None:
        data = None if value is None else value.encode()
        self._put_length(out, None if data is None else len(data), _SHORT, what)
        out += data or b""


class Binary(_Sized):
    """Bytes."""

    def read(self, cursor: Cursor, what: str) -> Any:
        length = self._length(cursor, _INT, what)
        return None if length is None else cursor.take(length, what)

    def write(self, out: bytearray, value: Any, what: str) -> None:
        self._put_length(out, None if value is None else len(value), _INT, what)
        out += value or b""


@dataclass(frozen=True)
class Array(_Sized):
    """Things of one kind. Each has a byte at least, so a number of them beyond the bytes that are left is wrong."""

    item: Codec

    def read(self, cursor: Cursor, what: str) -> Any:
        count = self._length(cursor, _INT, what)
        return None if count is None else [self.item.read(cursor, what) for _ in range(count)]

    def write(self, out: bytearray, value: Any, what: str) -> None:
        self._put_length(out, None if value is None else len(value), _INT, what)
        for one in value or ():
            self.item.write(out, one, what)


@dataclass(frozen=True)
class Tagged:
    """A tagged field: it is written where it differs from its default."""

    name: str
    codec: Codec
    default: Any


class Presence(Enum):
    """How a struct says that it is there: not at all where it may not be null; by a byte, 1 or -1 for null; among
    tagged fields by a varint, 1 or 0 for null."""

    ALWAYS = "always"
    BYTE = "byte"
    VARINT = "varint"


@dataclass(frozen=True)
class Struct:
    """Fields in order, then in flexible versions the tagged ones, by their tags."""

    fields: tuple[tuple[str, Codec], ...]
    tagged: Mapping[int, Tagged]
    flexible: bool
    presence: Presence

    def read(self, cursor: Cursor, what: str) -> Any:
        if self.presence is Presence.BYTE and cursor.fixed(_BYTE, what) < 0:
            return None
        if self.presence is Presence.VARINT and cursor.unsigned_varint(what) == 0:
            return None
        values = {name: codec.read(cursor, name) for name, codec in self.fields}
        if self.flexible:
            values |= {one.name: one.default for one in self.tagged.values()}
            self._read_tagged(cursor, values)
        return values

    def _read_tagged(self, cursor: Cursor, values: dict[str, Any]) -> None:
        before = -1
        for _ in range(cursor.unsigned_varint("the number of tagged fields")):
            at = cursor.at
            tag = cursor.unsigned_varint("a tag")
            size = cursor.unsigned_varint("the size of a tagged field")
            if tag <= before:
                raise Malformed(at, f"the tag {tag} follows the tag {before}")
            before, one = tag, self.tagged.get(tag)
            if one is None:
                values.setdefault(UNKNOWN_TAGS, {})[tag] = cursor.take(size, f"the field of tag {tag}")
                continue
            begin = cursor.at
            if size > cursor.left:
                raise Malformed(begin, f"{one.name} has {size:,} bytes, and {cursor.left:,} are left")
            values[one.name] = one.codec.read(cursor, one.name)
            if cursor.at != begin + size:
                raise Malformed(begin, f"{one.name} has {cursor.at - begin} bytes, and its size says {size}")

    def write(self, out: bytearray, value: Any, what: str) -> None:
        if value is None and self.presence is Presence.ALWAYS:
            raise Unwritable(f"{what} is null, which it may not be")
        if self.presence is not Presence.ALWAYS:
            absent = b"\xff" if self.presence is Presence.BYTE else b"\0"
            out += absent if value is None else b"\1"
            if value is None:
                return
        known = {name for name, _ in self.fields} | {UNKNOWN_TAGS} | {one.name for one in self.tagged.values()}
        if extra := sorted(set(value) - known):
            raise Unwritable(f"{what} has no field {extra[0]} in this version")
        for name, codec in self.fields:
            if name not in value:
                raise Unwritable(f"{what} has no {name}")
            codec.write(out, value[name], name)
        if self.flexible:
            self._write_tagged(out, value)

    def _write_tagged(self, out: bytearray, value: Mapping[str, Any]) -> None:
        written: dict[int, bytes] = dict(value.get(UNKNOWN_TAGS, {}))
        for tag, one in self.tagged.items():
            if value.get(one.name, one.default) != one.default:
                data = bytearray()
                one.codec.write(data, value[one.name], one.name)
                written[tag] = bytes(data)
        put_unsigned_varint(out, len(written))
        for tag, field in sorted(written.items()):
            put_unsigned_varint(out, tag)
            put_unsigned_varint(out, len(field))
            out += field
