"""A leader's state of the transactions in its log (ProducerStateEntry's transactional half, VerificationStateEntry,
AbortedTxn). It keeps the first offset of each open transaction, the aborted ones, and the guards of verified producers.

Epochs and sequences of producers are in idempotence/producer_state.py. All but the guards follows from the log.
"""

from __future__ import annotations

from typing import NamedTuple

from tidemark.idempotence.messages import NO_EPOCH, ProducerId


class VerificationGuard:
    """A verification that is under way or done; another one is another object."""

    __slots__ = ()


class VerificationStateEntry(NamedTuple):
    """A producer's verification: the guard that a batch must show, and the epoch that it was begun in."""

    guard: VerificationGuard
    epoch: int


class KnownProducer(NamedTuple):
    """A leader's knowledge of a producer when a marker arrives: the epoch of its last batch or marker, and whether it
    has a transaction open."""

    epoch: int
    is_open: bool


class AbortedTxn(NamedTuple):
    """An aborted transaction, by the offsets of its first batch and of its marker."""

    producer_id: ProducerId
    first_offset: int
    last_offset: int


class OngoingTransactions:
    """The transactions of one partition. `first_offsets`: producer -> where its open transaction begins;
    `coordinator_epochs`: producer -> the coordinator epoch of its last marker; `ended`: where transactions began and
    ended whose markers may be above the high watermark; `aborted`: all that were, in the order of their markers;
    `guards`: producer -> its verification."""

    __slots__ = ("aborted", "coordinator_epochs", "ended", "first_offsets", "guards")

    def __init__(self) -> None:
        self.guards: dict[ProducerId, VerificationStateEntry] = {}
        self.reset()

    def reset(self) -> None:
        """Forget everything, to start anew from a log."""
        self.guards.clear()
        self.first_offsets: dict[ProducerId, int] = {}
        self.coordinator_epochs: dict[ProducerId, int] = {}
        self.ended: list[tuple[int, int]] = []
        self.aborted: list[AbortedTxn] = []

    def coordinator_epoch(self, producer_id: ProducerId) -> int:
        """The coordinator epoch of the producer's last marker."""
        return self.coordinator_epochs.get(producer_id, NO_EPOCH)

    def is_open(self, producer_id: ProducerId) -> bool:
        """Whether the producer has a transaction open."""
        return producer_id in self.first_offsets

    # --- verification -----------------------------------------------------------------------------------------------

    def maybe_start_verification(self, producer_id: ProducerId, epoch: int) -> VerificationGuard:
        """The guard that a batch of the producer has to show once it is verified."""
        known = self.guards.get(producer_id)
        guard = VerificationGuard() if known is None else known.guard
        self.guards[producer_id] = VerificationStateEntry(guard, max(epoch, NO_EPOCH if known is None else known.epoch))
        return guard

    def guard(self, producer_id: ProducerId) -> VerificationGuard | None:
        """The guard that is good now."""
        known = self.guards.get(producer_id)
        return None if known is None else known.guard

    def clear_verification(self, producer_id: ProducerId) -> None:
        """No guard of the producer is good any more."""
        self.guards.pop(producer_id, None)

    # --- the log ----------------------------------------------------------------------------------------------------

    def add_batch(self, producer_id: ProducerId, offset: int) -> None:
        """A batch was written; the first one opens the transaction."""
        self.first_offsets.setdefault(producer_id, offset)

    def add_marker(self, producer_id: ProducerId, committed: bool, coordinator_epoch: int, offset: int) -> None:
        """A marker was written: the open transaction has ended."""
        self.coordinator_epochs[producer_id] = coordinator_epoch
        first = self.first_offsets.pop(producer_id, None)
        if first is None:
            return
        self.ended.append((first, offset))
        if not committed:
            self.aborted.append(AbortedTxn(producer_id, first, offset))

    def forget(self, producer_id: ProducerId) -> None:
        """A producer that has nothing open is not known any more, nor who wrote its last marker."""
        self.coordinator_epochs.pop(producer_id, None)

    def replicated(self, high_watermark: int) -> None:
        """Markers below the high watermark decide."""
        self.ended = [one for one in self.ended if one[1] >= high_watermark]
