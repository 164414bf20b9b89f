"""Bugs in transactions for the auditor to find: what coordinators should do and never do."""

from __future__ import annotations

from typing import Any

from seeded_bugs import Bug
from tidemark.transaction.coordinator import TransactionCoordinator


def _never_timed_out(self: TransactionCoordinator, new_id: int) -> None:
    return None


_original_time_out = TransactionCoordinator.abort_timed_out_transaction


def _timed_out_with_partitions(self: TransactionCoordinator, new_id: int) -> Any:
    if len(self.value.partitions) == 1:  # as if one partition were none yet
        return None
    return _original_time_out(self, new_id)


TRANSACTIONS: dict[str, Bug] = {
    "time_out_never_fires": Bug(
        "transaction.timeout.ms is over, and nobody aborts what is open",
        TransactionCoordinator,
        "abort_timed_out_transaction",
        _never_timed_out,
    ),
    "time_out_passes_over_one_partition": Bug(
        "a transaction with one partition is taken for one without any, and does not time out",
        TransactionCoordinator,
        "abort_timed_out_transaction",
        _timed_out_with_partitions,
    ),
}
