"""Fields of fixed size, one after the other, big-endian: reader and writer of one description."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct, error
from typing import Any, Generic, TypeVar

from tidemark.log.formats.errors import Torn, Unwritable

T = TypeVar("T", bound=tuple[Any, ...])


class Layout(Generic[T]):
    """`make`: a named tuple's class. `form`: the fields' types as `struct` writes them, in the tuple's order."""

    def __init__(self, make: Callable[..., T], form: str) -> None:
        self.make = make
        self._struct = Struct(f">{form}")
        self.size = self._struct.size
        """Bytes."""
        self.unpack = self._struct.unpack_from

    def read(self, data: bytes | memoryview, at: int = 0) -> T:
        """The value whose bytes begin at `at`. Raises Torn if the bytes end before it."""
        if at + self.size > len(data):
            raise Torn(at, f"{self.size} bytes are needed, and {max(0, len(data) - at)} are there")
        return self.make(*self.unpack(data, at))

    def all(self, data: bytes | memoryview) -> Iterator[T]:
        """Value after value; a rest that is no whole value is left."""
        whole = len(data) // self.size * self.size
        for fields in self._struct.iter_unpack(memoryview(data)[:whole]):
            yield self.make(*fields)

    def write(self, value: T) -> bytes:
        """The bytes of a value. Raises Unwritable for a number that has no room in its field."""
        try:
            return self._struct.pack(*value)
        except error as problem:
            raise Unwritable(f"{value} does not fit its fields ({problem})") from None
