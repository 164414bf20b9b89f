"""A producer's transaction, as the transaction coordinator has it for the group's partition."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.common.errors import Errors
from tidemark.groups.offset_records import ProducerId, TxnOffsetCommitRequest, WriteTxnMarkerRequest
from tidemark.offsets.rules import OffsetRules


@dataclass(slots=True)
class Transaction:
    """`phase`: idle, ongoing or ending; `added`: the group's partition belongs to it; `failed`: the producer cannot
    commit it any more."""

    rules: OffsetRules
    producer_id: ProducerId
    phase: str = "idle"
    epoch: int = 0
    commit: bool = False
    added: bool = False
    failed: bool = False

    def begin(self) -> bool:
        """The producer begins a transaction; False if it has one."""
        if self.phase != "idle":
            return False
        self.phase, self.added, self.failed = "ongoing", False, False
        return True

    def add_partition(self, request: TxnOffsetCommitRequest) -> Errors:
        """AddPartitionsToTxn for a TxnOffsetCommit: the group's partition belongs to the transaction, if the commit
        does."""
        ongoing = self.phase == "ongoing"
        if not self.rules.commit_of_ongoing_transaction(ongoing, request.producer_epoch, self.epoch):
            return Errors.INVALID_PRODUCER_EPOCH
        self.added = True
        return Errors.NONE

    def receive_txn_offset_commit(self, error: Errors) -> None:
        """The producer hears of a TxnOffsetCommit."""
        self.failed = self.failed or error is not Errors.NONE

    def end(self, commit: bool) -> bool:
        """EndTxn: the outcome is decided, and the next epoch begins; False if it may not end so. A transaction without
        the group's partition is over."""
        if self.phase != "ongoing" or (commit and self.failed):
            return False
        self.phase = "ending" if self.added else "idle"
        self.epoch += 1
        self.commit = commit
        return True

    def send_marker(self) -> WriteTxnMarkerRequest | None:
        """The marker for the group's partition; None if there is nothing to be ended."""
        if self.phase != "ending":
            return None
        return WriteTxnMarkerRequest(self.producer_id, self.epoch, self.commit)

    def receive_marker_reply(self, error: Errors) -> None:
        """The transaction is over once its marker is written."""
        if error is Errors.NONE:
            self.phase = "idle"
