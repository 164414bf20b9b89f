"""A `.snapshot`: the last batch of each producer below the offset that the file's name says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from crc32c import crc32c

from tidemark.log.formats.errors import Malformed, Torn
from tidemark.log.formats.layout import Layout
from tidemark.log.formats.schema import NEWER

VERSION = 1
_CRC_FROM = 6


class _Head(NamedTuple):
    version: int
    crc: int
    producers: int


class ProducerEntry(NamedTuple):
    """A producer's state, and its last batch, which begins at `last_offset - offset_delta`. -1: none."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    """Milliseconds."""
    coordinator_epoch: int
    current_txn_first_offset: int


_HEAD = Layout(_Head, "hIi")
ENTRY = Layout(ProducerEntry, "qhiqiqiq")
FIRST = _HEAD.size
"""The byte at which the first producer's entry begins."""


def read(data: bytes) -> tuple[ProducerEntry, ...]:
    """Raises Malformed for another version, another size or another CRC."""
    head = _HEAD.read(data)
    if head.version != VERSION:
        raise Malformed(0, f"the snapshot's version is {head.version}, and {VERSION} is known", NEWER)
    if head.producers < 0 or (wanted := _HEAD.size + head.producers * ENTRY.size) < len(data):
        raise Malformed(_CRC_FROM, f"{head.producers:,} producers cannot be in {len(data):,} bytes")
    if wanted > len(data):
        raise Torn(_CRC_FROM, f"{head.producers:,} producers need {wanted:,} bytes, and the file has {len(data):,}")
    if (found := crc32c(data[_CRC_FROM:])) != head.crc:
        raise Malformed(2, f"the snapshot's CRC is 0x{head.crc:08x}, and that of its bytes 0x{found:08x}")
    return tuple(ENTRY.all(data[_HEAD.size :]))


def write(producers: Sequence[ProducerEntry]) -> bytes:
    """Raises Unwritable for a number without room."""
    head = _HEAD.write(_Head(VERSION, 0, len(producers)))
    data = head + b"".join(map(ENTRY.write, producers))
    return _HEAD.write(_Head(VERSION, crc32c(data[_CRC_FROM:]), len(producers))) + data[_HEAD.size :]
