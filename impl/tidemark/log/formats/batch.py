"""Record batches of magic 2: their headers, and the way through a file from one to the next.

A segment, a metadata snapshot and `bootstrap.checkpoint` are batches, one after the other. Base offset, length and
leader epoch lie outside the CRC, as do magic and the CRC itself: a broker changes them without reading the records.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from crc32c import crc32c

from tidemark.log.formats.errors import Malformed, Torn
from tidemark.log.formats.layout import Layout

MAGIC = 2
PREFIX = 12
"""Bytes of base offset and length; the length counts the bytes behind them."""
MAGIC_AT, CRC_FROM = 16, 21
"""Where the magic byte is, in the older formats, too; where the bytes begin that the CRC covers."""
WINDOW = 1 << 20
"""Bytes that are read at once. A larger batch is read whole, if the file has it."""
NO_TIMESTAMP = NO_PRODUCER = NO_SEQUENCE = -1
_MOST = 2**31 - 1


class BatchHeader(NamedTuple):
    """The 61 bytes before a batch's records. Names are Kafka's."""

    base_offset: int
    length: int
    """Of what follows this field, in bytes."""
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    """Milliseconds; records are relative to it. With `has_delete_horizon` it is also the horizon (KIP-534)."""
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the batch, all of them."""
        return PREFIX + self.length

    @property
    def last_offset(self) -> int:
        """Of the last record that the batch had when it was written."""
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> int:
        """The number of the compression type."""
        return self.attributes & 7

    @property
    def log_append_time(self) -> bool:
        """Whether every record has the maximal timestamp, the leader's time."""
        return bool(self.attributes & 8)

    @property
    def transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return bool(self.attributes & 16)

    @property
    def control(self) -> bool:
        """Whether its records are control records."""
        return bool(self.attributes & 32)

    @property
    def has_delete_horizon(self) -> bool:
        """Whether compaction has set the time at which tombstones and markers may go."""
        return bool(self.attributes & 64)

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; it wraps from 2^31 - 1 to 0. -1 without sequences."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) % (_MOST + 1)


HEADER = Layout(BatchHeader, "qiibIhiqqqhii")


class Batch(NamedTuple):
    """A batch where it stands. `position`: of its first byte in the file. `data`: all of its bytes."""

    position: int
    header: BatchHeader
    data: memoryview

    @property
    def body(self) -> memoryview:
        """The records as they are stored, compressed perhaps."""
        return self.data[HEADER.size :]

    def crc_is(self) -> int:
        """The CRC-32C of the bytes that the header's CRC is of."""
        return int(crc32c(self.data[CRC_FROM:]))

    def check(self) -> None:
        """Raises Malformed if the bytes are not those that the CRC was made of."""
        if (found := self.crc_is()) != self.header.crc:
            wanted = f"0x{self.header.crc:08x}"
            raise Malformed(self.position, f"the batch's CRC is {wanted}, and that of its bytes 0x{found:08x}")


class Readable(Protocol):
    """A file, or bytes, of a size that does not change while it is read."""

    size: int

    def read(self, at: int, count: int) -> bytes:
        """The bytes from `at` on, `count` of them, fewer at the end."""


class Stored:
    """Bytes in memory as a file."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def read(self, at: int, count: int) -> bytes:
        return self._data[at : at + count]


def batches(file: Readable, at: int = 0) -> Iterator[Batch]:
    """Every batch from byte `at` on, in the order of the file. CRCs are not looked at (`Batch.check`).

    Raises Malformed at the first byte from which no way leads on: Torn if the file ends before the batch does. A batch
    keeps the window alive that its bytes are in.
    """
    size, unpack, header_size = file.size, HEADER.unpack, HEADER.size
    window = memoryview(b"")
    begin = at  # of the window, in the file
    while at < size:
        inside = at - begin
        if len(window) - inside < header_size or len(window) - inside < (
            PREFIX + int.from_bytes(window[inside + 8 : inside + PREFIX], signed=True)
        ):
            window, begin, inside = _window(file, at), at, 0
        header = BatchHeader(*unpack(window, inside))
        end = inside + PREFIX + header.length
        if header.magic != MAGIC or end > len(window) or end - inside < header_size or header.record_count < 0:
            raise _unreadable(file, at, header, len(window))
        yield Batch(at, header, window[inside:end])
        at += end - inside


def _window(file: Readable, at: int) -> memoryview:
    """The bytes from `at` on: enough for the batch there, if the file has it. Raises Malformed."""
    window = file.read(at, WINDOW)
    if len(window) < HEADER.size:
        raise _no_header(at, window)
    length = int.from_bytes(window[8:PREFIX], signed=True)
    if window[MAGIC_AT] == MAGIC and len(window) < PREFIX + length <= file.size - at:
        window = file.read(at, PREFIX + length)
    return memoryview(window)


def _no_header(at: int, rest: bytes) -> Malformed:
    if len(rest) > MAGIC_AT and rest[MAGIC_AT] in (0, 1) and any(rest):
        return _older(at, rest[MAGIC_AT], "")
    if not any(rest):
        return _zeros(at)
    return Torn(at, f"the file ends after {len(rest)} bytes of a batch's header, which has {HEADER.size}", _TAIL)


_TAIL = "if the log's last batch is still being written, copy the file again; else take another replica's"


def _zeros(at: int) -> Torn:
    return Torn(at, "zeros begin where a batch should", _TAIL)


def _older(at: int, magic: int, rest: str) -> Malformed:
    return Malformed(
        at,
        f"messages of magic {magic} begin, which Kafka wrote before 0.11{rest}",
        "have the topic's records copied by a broker of Kafka 3, whose batches are of magic 2",
    )


def _unreadable(file: Readable, at: int, header: BatchHeader, here: int) -> Malformed:
    """Why a batch cannot be read: `here` bytes of it, and of what follows, are there."""
    left = file.size - at
    rest = f"; the file's last {left:,} bytes are not read"
    if header.magic in (0, 1):
        if all(not any(file.read(one, WINDOW)) for one in range(at, file.size, WINDOW)):
            return _zeros(at)
        return _older(at, header.magic, rest.replace("; ", ", and "))
    if header.magic != MAGIC:
        return Malformed(at + MAGIC_AT, f"the magic byte is {header.magic}, so no batch begins at {at:,}{rest}")
    if header.length < HEADER.size - PREFIX:
        return Malformed(at + 8, f"the batch's length is {header.length}, and 49 is the least{rest}")
    if header.record_count < 0:
        return Malformed(at + 57, f"the batch has {header.record_count} records{rest}")
    if PREFIX + header.length > left:
        return Torn(at, f"the batch has {header.size:,} bytes, and the file ends after {left:,} of them", _TAIL)
    return Torn(at, f"the file became shorter while it was read: {here:,} bytes are there", _TAIL)
