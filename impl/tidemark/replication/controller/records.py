"""The records that the controller writes to the metadata log, and the log itself."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from tidemark.common.structs import value
from tidemark.replication.messages import BrokerId
from tidemark.replication.partition import PartitionState


@value
class PartitionChangeRecord:
    """A new state of the partition; `elr` are the eligible leader replicas (KIP-966)."""

    leader: BrokerId | None
    leader_epoch: int
    partition_epoch: int
    isr: frozenset[BrokerId]
    elr: frozenset[BrokerId]


@value
class RegisterBrokerRecord:
    """A new incarnation of a broker; it starts fenced."""

    broker_id: BrokerId
    broker_epoch: int


@value
class BrokerRegistrationChangeRecord:
    """A broker was fenced or unfenced, or has begun a controlled shutdown."""

    broker_id: BrokerId
    broker_epoch: int
    fenced: bool
    in_controlled_shutdown: bool


Record = PartitionChangeRecord | RegisterBrokerRecord | BrokerRegistrationChangeRecord


class MetadataLog:
    """The committed metadata: `records`; `end_offset`, the offset after the last of them; `ends`, the offsets at which
    a batch ends (a broker applies whole batches).

    `partition_changes` are the partition's records alone, oldest first, and `change_offsets` their offsets.
    """

    __slots__ = ("change_offsets", "end_offset", "ends", "partition_changes", "records")

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.ends: list[int] = []
        self.partition_changes: list[PartitionChangeRecord] = []
        self.change_offsets: list[int] = []
        self.end_offset = 0

    def copy(self) -> MetadataLog:
        """Another log with the same records."""
        log = MetadataLog()
        log.records, log.ends = self.records[:], self.ends[:]
        log.partition_changes, log.change_offsets = self.partition_changes[:], self.change_offsets[:]
        log.end_offset = self.end_offset
        return log

    def append(self, batch: Sequence[Record]) -> None:
        """Commit records as one batch."""
        for offset, record in enumerate(batch, self.end_offset):
            if type(record) is PartitionChangeRecord:
                self.partition_changes.append(record)
                self.change_offsets.append(offset)
        self.records.extend(batch)
        self.end_offset = len(self.records)
        self.ends.append(self.end_offset)

    def delta(self, start: int, end: int) -> PartitionState | None:
        """The partition's state after the records from offset `start` up to `end`; None if they leave it unchanged.

        However many changes there are, a broker sees the last: they are applied as one delta.
        """
        last = self.changes_before(end) - 1
        if last < 0 or self.change_offsets[last] < start:
            return None
        record = self.partition_changes[last]
        return PartitionState(record.leader, record.leader_epoch, record.partition_epoch, record.isr)

    def changes_before(self, end: int) -> int:
        """How many of the partition's changes lie below offset `end`."""
        return bisect_left(self.change_offsets, end)
