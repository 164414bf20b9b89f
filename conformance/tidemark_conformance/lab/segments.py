"""The records of Kafka's log segments on disk, as a verdict reads them: up to the first batch that cannot be read.

A node may be writing while they are read, so a torn batch ends a log. The codec is the implementation's (log/formats).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidemark.log.formats import batch, control, internal, records
from tidemark.log.formats.errors import Malformed

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "Fencing")
"""By TransactionState.id; the last one is PrepareEpochFence."""
LONGEST = 100
"""Characters of a value that is shown."""


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
    topic = partition.name.rpartition("-")[0]
    found: list[Record] = []
    for file in sorted(partition.glob("*.log")):
        try:
            content = file.read_bytes()
        except OSError:  # deleted meanwhile
            continue
        try:
            for one in batch.batches(batch.Stored(content)):
                found += _records(one, topic)
        except Malformed:
            continue
    return found


def _records(one: batch.Batch, topic: str) -> Iterator[Record]:
    head = one.header
    for number, record in enumerate(records.records(one)):
        sequence = head.base_sequence + number if head.base_sequence >= 0 else -1
        text = control.read(record).type.name if head.control else _text(topic, record)
        yield Record(record.offset, head.leader_epoch, head.producer_id, head.producer_epoch, sequence, text)


def _text(topic: str, record: records.Record) -> str:
    if record.value is None:
        return "null"
    message = internal.read(topic, record) if topic == internal.TRANSACTIONS else None
    if message is not None and message.value is not None:
        return f"{STATES[message.value['transactionStatus']]} e{message.value['producerEpoch']}"
    return brief(record.value.decode(errors="replace"))


def brief(text: str) -> str:
    """A value as it is shown: a long one by its length."""
    return text if len(text) <= LONGEST else f"{len(text)} characters"
