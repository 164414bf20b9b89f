"""The sequences of a producer for one partition (TxnPartitionEntry), and its batches in flight."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.idempotence.messages import NO_SEQUENCE


@dataclass(slots=True)
class ProducerBatch:
    """A batch in flight: sent, or waiting to be sent again. `in_doubt`: some attempt came to nothing that is known, so
    it may be in the log, or still get there."""

    number: int
    epoch: int
    sequence: int
    sent: bool = True
    in_doubt: bool = False


class PartitionSequences:
    """The sequences of one partition (TxnPartitionEntry); `in_flight` by sequence. `unresolved`: the sequence behind a
    batch that expired in flight, until its fate is known. `rewrite`: the batches in flight get new sequences at the
    next bump."""

    __slots__ = ("created", "epoch", "in_flight", "last_acked", "next_sequence", "rewrite", "unresolved")

    def __init__(self) -> None:
        self.epoch = 0
        self.next_sequence = 0
        self.last_acked = NO_SEQUENCE
        self.unresolved = NO_SEQUENCE
        self.rewrite = False
        self.created = 0
        self.in_flight: list[ProducerBatch] = []

    def is_next(self, sequence: int) -> bool:
        """Whether it follows the latest that was acknowledged."""
        return sequence == self.last_acked + 1

    def batch(self, number: int) -> ProducerBatch | None:
        """The batch in flight with that number."""
        return next((one for one in self.in_flight if one.number == number), None)

    def insert(self, batch: ProducerBatch) -> None:
        """One more batch in flight, where its sequence belongs."""
        before = sum(1 for one in self.in_flight if one.sequence < batch.sequence)
        self.in_flight.insert(before, batch)

    def start_sequences_at_beginning(self, epoch: int) -> None:
        """Number the batches in flight from 0, in a new epoch and in their order."""
        for sequence, batch in enumerate(self.in_flight):
            batch.epoch = epoch
            batch.sequence = sequence
        self.epoch = epoch
        self.next_sequence = len(self.in_flight)
        self.last_acked = self.unresolved = NO_SEQUENCE
        self.rewrite = False
