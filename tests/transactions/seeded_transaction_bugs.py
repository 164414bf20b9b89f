"""Bugs of coordinators and readers in transactions, for the auditor to find."""

from __future__ import annotations

from typing import Any

from seeded_bugs import Bug
from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.coordinator import TransactionCoordinator
from tidemark.transactions.fetcher import Fetcher
from tidemark.transactions.messages import FetchResponse


def _never_timed_out(self: TransactionCoordinator) -> None:
    return None


_original_time_out = TransactionCoordinator.abort_timed_out_transaction


def _timed_out_with_partitions(self: TransactionCoordinator) -> Any:
    if len(self.value.partitions) == 1:  # as if one partition were none yet
        return None
    return _original_time_out(self)


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

# --- two producers in one response ------------------------------------------------------------------------------------


def _forgets_all_aborted(self: Fetcher, response: FetchResponse) -> list[tuple[int, ProduceRequest]]:
    aborted = sorted((one.first_offset, one.producer_id) for one in response.aborted_transactions)
    left_out: set[int] = set()
    found: list[tuple[int, ProduceRequest]] = []
    for offset, one in enumerate(response.records, self.position):
        while aborted and aborted[0][0] <= offset:
            left_out.add(aborted.pop(0)[1])
        if not isinstance(one, ProduceRequest):
            left_out = left_out if one.committed else set()
        elif one.producer_id not in left_out:
            found.append((offset, one))
    self.position += len(response.records)
    return found


EXACTLY_ONCE = {
    "abort_marker_of_another": Bug(
        "an abort marker ends the leaving out of every producer's aborted records",
        Fetcher,
        "receive_fetch",
        _forgets_all_aborted,
    ),
}
