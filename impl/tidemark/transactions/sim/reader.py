"""Compares the records that consumers returned after healing with the replies that applications received. This check
does not use the specification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidemark.idempotence.messages import NO_SEQUENCE, ProduceRequest, ProducerId
from tidemark.transactions.messages import LogEntry
from tidemark.transactions.sim.state import Acknowledged


def amiss(
    seen: Sequence[Sequence[ProduceRequest]],
    logs: Sequence[Iterable[LogEntry]],
    told: Mapping[int, bool],
    acked: Sequence[Acknowledged],
) -> int:
    """How much of what applications were told is not so, by what a consumer of committed records has `seen` of each
    partition: batches of committed transactions that it does not get, those that it gets twice, batches of aborted
    transactions that it gets, and transactions of which it gets a part of what is in the `logs`. Offsets, which have no
    sequence, may be there twice."""
    missing = sum(told.get(one.request.payload, False) and one.request not in seen[one.partition] for one in acked)
    counted = [[batch for batch in one if batch.sequence != NO_SEQUENCE] for one in seen]
    twice = sum(len(one) - len(set(one)) for one in counted)
    shown = {batch.payload for one in seen for batch in one}
    undone = sum(transaction in shown for transaction, committed in told.items() if not committed)
    hidden = {
        batch.payload
        for log, got in zip(logs, seen, strict=True)
        for batch in log
        if isinstance(batch, ProduceRequest) and batch not in got
    }
    return missing + twice + undone + len(shown & hidden)


def by_markers(log: Iterable[LogEntry]) -> list[ProduceRequest]:
    """The batches of committed transactions, by their markers alone: without an index, a last stable offset, or
    anything else that a leader makes of its log."""
    undecided: dict[ProducerId, list[ProduceRequest]] = {}
    found: list[ProduceRequest] = []
    for one in log:
        if isinstance(one, ProduceRequest):
            undecided.setdefault(one.producer_id, []).append(one)
        else:
            batches = undecided.pop(one.producer_id, [])
            if one.committed:
                found += batches
    return found
