"""The states of a transaction at its coordinator, and which may follow which (TransactionState).

A coordinator's decision is its *pending* state; it becomes the state when its record has committed. So a
request that comes meanwhile is answered by the state that every later coordinator would know, too: with
CONCURRENT_TRANSACTIONS, because something is pending.
"""

from __future__ import annotations

from enum import StrEnum


class TransactionState(StrEnum):
    """Where a transaction is; each member says what it waits for and how it answers."""

    __hash__ = str.__hash__  # Enum's own is slow

    EMPTY = "Empty"
    """The producer id was given out, and no partition was written to since. InitProducerId, AddPartitionsToTxn: fine.
    EndTxn: INVALID_TXN_STATE, but an abort of TV2 is fine."""
    ONGOING = "Ongoing"
    """Partitions were added. It waits for EndTxn, for a process that takes the id over, or for its time to be over."""
    PREPARE_COMMIT = "PrepareCommit"
    """It is decided to commit, for good. It waits for the partitions to have their markers: CONCURRENT_TRANSACTIONS."""
    PREPARE_ABORT = "PrepareAbort"
    """It is decided to abort, for good. It waits for the partitions to have their markers: CONCURRENT_TRANSACTIONS."""
    COMPLETE_COMMIT = "CompleteCommit"
    """All partitions have their markers. As Empty; a repeated EndTxn of the same outcome is fine."""
    COMPLETE_ABORT = "CompleteAbort"
    """All partitions have their markers. As Empty; a repeated EndTxn of the same outcome is fine."""

    @property
    def decided(self) -> bool:
        """Whether the outcome is on the log, and the markers are not all written."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def completed(self) -> bool:
        """Whether the last transaction is over."""
        return self in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

    @property
    def commits(self) -> bool:
        """Whether it is, or was, decided to commit."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
