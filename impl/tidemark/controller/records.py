"""What the controller writes to the metadata log, and the log itself."""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.replication.messages import BrokerId
from tidemark.replication.partition import PartitionState
from tidemark.structs import value


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
    """The committed metadata: `records`, and `ends`, the offsets at which a batch ends (a broker applies whole
    batches).

    `partition_changes` are the partition's records alone, oldest first.
    """

    __slots__ = ("ends", "partition_changes", "records")

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.ends: list[int] = []
        self.partition_changes: list[PartitionChangeRecord] = []

    @property
    def end_offset(self) -> int:
        """The offset after the last record."""
        return len(self.records)

    def append(self, batch: Sequence[Record]) -> None:
        """Commit records as one batch."""
        self.records.extend(batch)
        self.ends.append(len(self.records))
        self.partition_changes.extend([record for record in batch if type(record) is PartitionChangeRecord])

    def delta(self, start: int, end: int) -> PartitionState | None:
        """What the records from offset `start` up to `end` make of the partition, None if they leave it alone.

        However many changes there are, a broker sees the last: they are applied as one delta.
        """
        for record in reversed(self.records[start:end]):
            if type(record) is PartitionChangeRecord:
                return PartitionState(record.leader, record.leader_epoch, record.partition_epoch, record.isr)
        return None

    def changes_before(self, end: int) -> int:
        """How many of the partition's changes lie below offset `end`."""
        return sum([type(record) is PartitionChangeRecord for record in self.records[:end]])
