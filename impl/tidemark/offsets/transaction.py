"""A producer's transaction, as the transaction coordinator has it for the group's partition."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.groups.offset_records import TxnOffsetCommitRequest
from tidemark.offsets.rules import OffsetRules


@dataclass(slots=True)
class Transaction:
    """`phase`: idle, ongoing or ending; `added`: the group's partition belongs to it; `failed`: the producer cannot
    commit it any more."""

    rules: OffsetRules
    phase: str = "idle"
    epoch: int = 0
    commit: bool = False
    added: bool = False
    failed: bool = False

    def verify_partition(self, request: TxnOffsetCommitRequest) -> bool:
        """AddPartitionsToTxn for a TxnOffsetCommit: whether it is of this transaction."""
        return self.rules.commit_of_ongoing_transaction(self.phase == "ongoing", request.producer_epoch, self.epoch)

    def add_partition(self, request: TxnOffsetCommitRequest) -> None:
        """The group's partition belongs to the transaction, if it is ongoing in the request's epoch."""
        self.added = self.added or (self.phase == "ongoing" and self.epoch == request.producer_epoch)
