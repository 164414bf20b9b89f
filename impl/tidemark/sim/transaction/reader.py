"""A read_committed consumer, which knows nothing of the specification: what it gets after healing is held against what
applications were told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop

from tidemark.idempotence.messages import ProduceRequest
from tidemark.sim.transaction.state import Acknowledged
from tidemark.transaction.partition import TransactionalPartition


def read_committed(partition: TransactionalPartition) -> list[ProduceRequest]:
    """The batches that a consumer with isolation.level=read_committed hands out: it leaves out what belongs to an
    aborted transaction, from the transaction's first offset to its marker (CompletedFetch)."""
    entries, index = partition.fetch(True)
    aborted = [(one.first_offset, one.producer_id) for one in index]
    heapify(aborted)
    left_out: set[int] = set()
    found: list[ProduceRequest] = []
    for offset, one in enumerate(entries):
        while aborted and aborted[0][0] <= offset:
            left_out.add(heappop(aborted)[1])
        if not isinstance(one, ProduceRequest):
            if not one.committed:
                left_out.discard(one.producer_id)
        elif one.producer_id not in left_out:
            found.append(one)
    return found


def lost(partitions: Sequence[TransactionalPartition], told: Mapping[int, bool], acked: Sequence[Acknowledged]) -> int:
    """How much of what applications were told is not so: batches of committed transactions that a reader does not get,
    those that it gets twice, batches of aborted transactions that it gets, and transactions of which it gets a part."""
    seen = [read_committed(one) for one in partitions]
    missing = sum(told.get(one.request.payload, False) and one.request not in seen[one.partition] for one in acked)
    twice = sum(len(one) - len(set(one)) for one in seen)
    shown = {batch.payload for one in seen for batch in one}
    undone = sum(transaction in shown for transaction, committed in told.items() if not committed)
    hidden = {
        batch.payload
        for partition, got in zip(partitions, seen, strict=True)
        for batch in partition.log
        if isinstance(batch, ProduceRequest) and batch not in got
    }
    return missing + twice + undone + len(shown & hidden)
