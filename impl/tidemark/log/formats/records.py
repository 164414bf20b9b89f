"""The records of a batch: varints, relative to the batch's base offset and base timestamp."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from crc32c import crc32c

from tidemark.log.formats import compression
from tidemark.log.formats.batch import CRC_FROM, HEADER, NO_TIMESTAMP, PREFIX, Batch, BatchHeader
from tidemark.log.formats.errors import Malformed, Unwritable
from tidemark.log.formats.wire import Cursor, put_varint, put_varlong

LEAST = 7
"""Bytes of a record without key, value and headers."""
_NULL = -1


class RecordHeader(NamedTuple):
    """A header of a record. `key`: text; `value`: bytes, or None."""

    key: str
    value: bytes | None


class Record(NamedTuple):
    """A record. `offset`: absolute; `timestamp`: in milliseconds; a `value` of None is a tombstone."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[RecordHeader, ...] = ()


def records(batch: Batch) -> list[Record]:
    """The records of a batch, decompressed. A batch that compaction has emptied has none.

    Raises Malformed, its position that of the file where the records are not compressed, else that of the batch. Raises
    compression.LibraryAbsent.
    """
    header = batch.header
    packed = header.codec != compression.NONE
    try:
        plain = compression.decompress(header.codec, batch.body) if header.record_count else b""
        if LEAST * header.record_count > len(plain):
            raise Malformed(0, f"{header.record_count:,} records cannot be in {len(plain):,} bytes")
        cursor = Cursor(plain)
        found = [_record(cursor, header) for _ in range(header.record_count)]
        if cursor.left:
            raise Malformed(cursor.at, f"{cursor.left:,} bytes follow the last record")
    except Malformed as problem:
        if packed:
            raise problem.moved(batch.position, "what is compressed in the batch") from None
        raise problem.moved(batch.position + HEADER.size) from None
    return found


def _record(cursor: Cursor, header: BatchHeader) -> Record:
    length = cursor.varint("a record's length")
    if not 0 <= length <= cursor.left:
        raise Malformed(cursor.at, f"a record has {length:,} bytes, and {cursor.left:,} are left of its batch")
    inner = Cursor(cursor.data, cursor.at, cursor.at + length)
    cursor.at += length
    if inner.take(1, "a record's attributes") != b"\0":
        raise Malformed(inner.at - 1, "a record's attributes are not 0")
    timestamp = header.base_timestamp + inner.varlong("a record's timestamp")
    offset = header.base_offset + inner.varint("a record's offset")
    if header.log_append_time:
        timestamp = header.max_timestamp
    key = _bytes(inner, "a record's key")
    value = _bytes(inner, "a record's value")
    headers = tuple(_headers(inner))
    if inner.left:
        raise Malformed(inner.at, f"a record has {inner.left:,} bytes too many")
    return Record(offset, timestamp, key, value, headers)


def _bytes(cursor: Cursor, what: str) -> bytes | None:
    length = cursor.varint(f"the length of {what}")
    return None if length == _NULL else cursor.take(length, what)


def _headers(cursor: Cursor) -> Iterator[RecordHeader]:
    count = cursor.varint("the number of a record's headers")
    if count < 0:
        raise Malformed(cursor.at, f"a record has {count} headers")
    for _ in range(count):
        begin = cursor.at
        key = _bytes(cursor, "a header's key")
        try:
            text = None if key is None else key.decode()
        except UnicodeDecodeError:
            text = None
        if text is None:
            raise Malformed(begin, "a header's key is no text")
        yield RecordHeader(text, _bytes(cursor, "a header's value"))


def batch_of(fields: BatchHeader, contents: Sequence[Record]) -> bytes:
    """The bytes of a batch.

    Of `fields` length, CRC and record count are computed, and the timestamps where the base timestamp is -1.
    Raises Unwritable for a number without room, and compression.LibraryAbsent.
    """
    if fields.base_timestamp == NO_TIMESTAMP and contents:
        times = [record.timestamp for record in contents]
        fields = fields._replace(base_timestamp=times[0], max_timestamp=max(times))
    body = bytearray()
    for record in contents:
        _put(body, record, fields)
    packed = compression.compress(fields.codec, bytes(body)) if contents else b""
    fields = fields._replace(length=HEADER.size - PREFIX + len(packed), crc=0, record_count=len(contents))
    data = HEADER.write(fields) + packed
    return HEADER.write(fields._replace(crc=crc32c(data[CRC_FROM:]))) + packed


def _put(out: bytearray, record: Record, header: BatchHeader) -> None:
    inner = bytearray(1)
    put_varlong(inner, record.timestamp - header.base_timestamp, f"the timestamp of offset {record.offset}")
    put_varint(inner, record.offset - header.base_offset, f"offset {record.offset} relative to its batch")
    _put_bytes(inner, record.key)
    _put_bytes(inner, record.value)
    put_varint(inner, len(record.headers))
    for key, value in record.headers:
        _put_bytes(inner, key.encode())
        _put_bytes(inner, value)
    if len(inner) > compression.MOST:
        raise Unwritable(f"the record at offset {record.offset} has {len(inner):,} bytes, more than Kafka can count")
    put_varint(out, len(inner))
    out += inner


def _put_bytes(out: bytearray, value: bytes | None) -> None:
    if value is None:
        put_varint(out, _NULL)
    else:
        put_varint(out, len(value))
        out += value


def batch_header(
    base_offset: int,
    last_offset: int,
    leader_epoch: int,
    *,
    codec: int = compression.NONE,
    attributes: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    base_timestamp: int = NO_TIMESTAMP,
    max_timestamp: int = NO_TIMESTAMP,
) -> BatchHeader:
    """The fields of a batch that is to be written with `batch_of`; `attributes` without the codec."""
    delta = last_offset - base_offset
    return BatchHeader(
        base_offset,
        0,
        leader_epoch,
        2,
        0,
        attributes | codec,
        delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        0,
    )
