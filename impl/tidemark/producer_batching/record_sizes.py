"""How many bytes records take in a batch of Kafka's format 2 (DefaultRecord, DefaultRecordBatch), uncompressed and
without headers. All sizes are in bytes; a key or value of None is a null, which is not an empty one.
"""

from __future__ import annotations

RECORD_BATCH_OVERHEAD = 61
"""RECORD_BATCH_OVERHEAD: the bytes before the first record."""
MAX_RECORD_OVERHEAD = 21
"""MAX_RECORD_OVERHEAD: attributes, and the longest length, offset and timestamp."""
NO_HEADERS = 1
"""Their number, 0, as a varint."""


def size_of_varint(number: int) -> int:
    """ByteUtils.sizeOfVarint and sizeOfVarlong: seven bits a byte, of 0, -1, 1, -2, ... in this order."""
    zigzag = -2 * number - 1 if number < 0 else 2 * number
    return max(1, (zigzag.bit_length() + 6) // 7)


def _size_of_field(field: bytes | None) -> int:
    return size_of_varint(-1) if field is None else size_of_varint(len(field)) + len(field)


def record_size(offset_delta: int, timestamp_delta: int, key: bytes | None, value: bytes | None) -> int:
    """DefaultRecord.sizeInBytes: of a record so far (offsets, milliseconds) behind the first of its batch."""
    body = 1 + size_of_varint(offset_delta) + size_of_varint(timestamp_delta)
    body += _size_of_field(key) + _size_of_field(value) + NO_HEADERS
    return body + size_of_varint(body)


def batch_size_upper_bound(key: bytes | None, value: bytes | None) -> int:
    """estimateBatchSizeUpperBound: no batch of this record alone is larger."""
    return RECORD_BATCH_OVERHEAD + MAX_RECORD_OVERHEAD + _size_of_field(key) + _size_of_field(value) + NO_HEADERS
