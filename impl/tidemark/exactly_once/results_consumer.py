"""A consumer of the results with max.poll.records=1.

Sans-IO: `send_fetch` returns the request, and the caller brings the response. Its application polls one record at a
time, and counts the results that it has got.
"""

from __future__ import annotations

from tidemark.transactions.fetcher import Fetcher
from tidemark.transactions.messages import FetchRequest, FetchResponse, IsolationLevel


class ResultsConsumer:
    """A consumer of one partition of the results. `position`: the next offset to poll; `returned`: the payloads that
    the application has got, in order."""

    __slots__ = ("_fetched", "_fetcher", "position", "returned")

    def __init__(self, isolation_level: IsolationLevel) -> None:
        self._fetcher = Fetcher(isolation_level)
        self._fetched: dict[int, int] = {}
        self.position = 0
        self.returned: list[int] = []

    def send_fetch(self) -> FetchRequest | None:
        """Ask for the records from the position on; None while fetched records are left."""
        return self._fetcher.send_fetch() if self.position == self._fetcher.position else None

    def receive_fetch(self, response: FetchResponse) -> None:
        """Keep the results of a response, which has one record at least, for the application."""
        self._fetched = {offset: batch.payload for offset, batch in self._fetcher.receive_fetch(response)}

    def poll(self) -> None:
        """The application gets past the next record, and gets the result if there is one to be returned."""
        if self.position in self._fetched:
            self.returned.append(self._fetched[self.position])
        self.position += 1
