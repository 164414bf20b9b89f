"""Varints, and a cursor that never reads beyond its end: the bytes of records and of messages."""

from __future__ import annotations

from struct import Struct
from typing import Any

from tidemark.log.formats.errors import Malformed, Torn, Unwritable

VARINT_BYTES, VARLONG_BYTES = 5, 10
"""The most bytes of a number of 32 and of 64 bits."""


class Cursor:
    """A position in bytes. `at`: the next byte; `end`: the byte after the last one."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes | memoryview, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end

    @property
    def left(self) -> int:
        """Bytes to the end."""
        return self.end - self.at

    def take(self, count: int, what: str) -> bytes:
        """The next bytes. Nothing is allocated for a count beyond the end: Torn."""
        if count < 0:
            raise Malformed(self.at, f"{what} has the length {count}")
        if count > self.end - self.at:
            raise Torn(self.at, f"{what} has {count:,} bytes, and {self.left:,} are left")
        begin = self.at
        self.at += count
        return bytes(self.data[begin : self.at])

    def fixed(self, form: Struct, what: str) -> Any:
        """A number of fixed size."""
        if form.size > self.end - self.at:
            raise Torn(self.at, f"{what} has {form.size} bytes, and {self.left} are left")
        (value,) = form.unpack_from(self.data, self.at)
        self.at += form.size
        return value

    def unsigned_varint(self, what: str, most: int = VARINT_BYTES) -> int:
        """A number in groups of seven bits, the lowest first."""
        data, at, end = self.data, self.at, self.end
        value = shift = 0
        while at < end:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> (32 if most == VARINT_BYTES else 64):
                    raise Malformed(self.at, f"{what} is a varint of more bits than it may have")
                self.at = at
                return value
            shift += 7
            if at - self.at == most:
                raise Malformed(self.at, f"{what} is a varint of more than {most} bytes")
        raise Torn(self.at, f"{what} is a varint that does not end")

    def varint(self, what: str) -> int:
        """A signed number of 32 bits, zigzag."""
        value = self.unsigned_varint(what)
        return (value >> 1) ^ -(value & 1)

    def varlong(self, what: str) -> int:
        """A signed number of 64 bits, zigzag."""
        value = self.unsigned_varint(what, VARLONG_BYTES)
        return (value >> 1) ^ -(value & 1)


def put_unsigned_varint(out: bytearray, value: int) -> None:
    """Append a number that is not negative."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def put_varint(out: bytearray, value: int, what: str = "a number") -> None:
    """Append a signed number of 32 bits, zigzag. Raises Unwritable beyond them."""
    _signed(out, value, 31, what)


def put_varlong(out: bytearray, value: int, what: str = "a number") -> None:
    """Append a signed number of 64 bits, zigzag. Raises Unwritable beyond them."""
    _signed(out, value, 63, what)


def _signed(out: bytearray, value: int, bits: int, what: str) -> None:
    if not -(1 << bits) <= value < 1 << bits:
        raise Unwritable(f"{what} is {value}, which has no {bits + 1} bits")
    put_unsigned_varint(out, value << 1 if value >= 0 else (~value << 1) | 1)
