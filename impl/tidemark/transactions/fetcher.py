"""A consumer's treatment of one partition's records (Fetcher, CompletedFetch). The consumer fetches from its position
on and skips markers. With read_committed it skips the records of aborted transactions, too.
"""

from __future__ import annotations

from heapq import heapify, heappop

from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.messages import FetchRequest, FetchResponse, IsolationLevel


class Fetcher:
    """A consumer of one partition; `position`: the offset that it asks for next."""

    __slots__ = ("isolation_level", "position")

    def __init__(self, isolation_level: IsolationLevel) -> None:
        self.isolation_level = isolation_level
        self.position = 0

    def send_fetch(self) -> FetchRequest:
        """Ask for what follows. One request is under way at a time."""
        return FetchRequest(self.position, self.isolation_level)

    def receive_fetch(self, response: FetchResponse) -> list[tuple[int, ProduceRequest]]:
        """The batches that the application gets, with their offsets, of a response to the last request.

        Batches of an aborted transaction are left out from the transaction's first offset to its marker.
        """
        aborted = [(one.first_offset, one.producer_id) for one in response.aborted_transactions]
        heapify(aborted)
        left_out: set[int] = set()
        found: list[tuple[int, ProduceRequest]] = []
        for offset, one in enumerate(response.records, self.position):
            while aborted and aborted[0][0] <= offset:
                left_out.add(heappop(aborted)[1])
            if not isinstance(one, ProduceRequest):
                if not one.committed:
                    left_out.discard(one.producer_id)
            elif one.producer_id not in left_out:
                found.append((offset, one))
        self.position += len(response.records)
        return found
