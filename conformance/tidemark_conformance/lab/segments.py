"""Kafka's log segments on disk, read without Kafka: batches of magic 2, uncompressed, up to the first torn one.

KIP-98 has the format of batches and of control records, KIP-890 that of the transaction log's version 1.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

TRANSACTIONS = "__transaction_state"
STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "Fencing")
"""By TransactionState.id; the last one is PrepareEpochFence."""
HEAD = struct.Struct(">qiibIhiqqqhii")
"""Offset, length, leader epoch, magic, CRC, attributes, last offset delta, two timestamps, producer id and epoch, first
sequence, count."""
LONGEST = 100
"""Characters of a value that is shown."""
CODEC, CONTROL = 0x07, 0x20
"""Bits of a batch's attributes."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a log. `leader_epoch`, `producer_id`, `producer_epoch`, `sequence`: of its batch (-1: none).
    `text`: the value, "ABORT" or "COMMIT" for a marker, and state and epoch for one of the transaction log."""

    offset: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    sequence: int
    text: str


def log(partition: Path) -> list[Record]:
    """The records of a partition's folder; [] where there is none."""
    decode = _transaction if partition.name.startswith(TRANSACTIONS) else _text
    found: list[Record] = []
    for file in sorted(partition.glob("*.log")):
        try:
            content = file.read_bytes()
        except OSError:  # deleted meanwhile
            continue
        found.extend(_records(content, decode))
    return found


def _records(content: bytes, decode: Callable[[bytes | None], str]) -> Iterator[Record]:
    place = 0
    while place + HEAD.size <= len(content):
        (base, length, leader, magic, _, attributes, _, _, _, producer, epoch, sequence, count) = HEAD.unpack_from(
            content, place
        )
        end = place + 12 + length
        if length <= 0 or end > len(content) or magic != 2 or attributes & CODEC:
            return
        at = place + HEAD.size
        for number in range(count):
            at, delta, key, value = _record(content, at)
            text = _marker(key) if attributes & CONTROL else decode(value)
            yield Record(base + delta, leader, producer, epoch, sequence + number if sequence >= 0 else -1, text)
        place = end


def _record(content: bytes, at: int) -> tuple[int, int, bytes | None, bytes | None]:
    """Where the next record begins, and offset delta, key and value of this one."""
    length, at = _varint(content, at)
    end = at + length
    _, at = _varint(content, at + 1)  # behind the attributes: the time
    delta, at = _varint(content, at)
    key, at = _bytes(content, at)
    value, at = _bytes(content, at)
    return end, delta, key, value


def _bytes(content: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = _varint(content, at)
    return (None, at) if length < 0 else (content[at : at + length], at + length)


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A zigzag number of variable length, and where it ends."""
    shift = number = 0
    while True:
        byte = content[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return (number >> 1) ^ -(number & 1), at


def _marker(key: bytes | None) -> str:
    _, kind = struct.unpack_from(">hh", key or bytes(4))
    return "COMMIT" if kind else "ABORT"


def _text(value: bytes | None) -> str:
    if value is None:
        return "null"
    return brief(value.decode(errors="replace"))


def brief(text: str) -> str:
    """A value as it is shown: a long one by its length."""
    return text if len(text) <= LONGEST else f"{len(text)} characters"


def _transaction(value: bytes | None) -> str:
    """State and producer epoch of a value of the transaction log (TransactionLogValue.json, version 0 or 1)."""
    if value is None:
        return "null"
    _, _, epoch, _, state = struct.unpack_from(">hqhib", value)
    return f"{STATES[state]} e{epoch}"
