"""A partition of the results with its leader (ReplicaManager): it asks the transaction coordinator about a batch whose
transaction is not open here, and gives a read_committed consumer no record that is undecided.
"""

from __future__ import annotations

from tidemark.common.errors import Errors
from tidemark.exactly_once.rules import Rules
from tidemark.transactions.messages import (
    AddPartitionsToTxnRequest,
    FetchRequest,
    FetchResponse,
    IsolationLevel,
    Partition,
    ProduceRequest,
    WriteTxnMarkersRequest,
)
from tidemark.transactions.partition import TransactionalPartition
from tidemark.transactions.partition_leader import verification_error


class ResultsPartition(TransactionalPartition):
    """A partition of the results. `number`: its number as a partition of transactions; `window`: so many batches of a
    producer it remembers."""

    __slots__ = ("_leader_rules", "number")

    def __init__(self, rules: Rules, number: Partition, window: int) -> None:
        super().__init__(rules.for_transactions(), rules.for_sequences(), window=window)
        self._leader_rules = rules
        self.number = number

    # --- batches ----------------------------------------------------------------------------------------------------

    def verify_result(self, request: ProduceRequest) -> AddPartitionsToTxnRequest | None:
        """A batch arrives: the question to the transaction coordinator, which takes the partition into the transaction
        (KIP-890, part 2). None if the transaction is open here, or the batch is of an older epoch."""
        if not self.must_verify(request):
            return None
        return AddPartitionsToTxnRequest(request.producer_id, request.producer_epoch, self.number)

    def append_result(self, request: ProduceRequest, answer: Errors) -> Errors:
        """A batch that has been verified is written, and is replicated at once; or it is refused. `answer`: the
        transaction coordinator's, Errors.NONE if it was not asked. A duplicate is answered and not written."""
        if answer is not Errors.NONE:
            return verification_error(answer)
        if self.duplicate_of(request) is not None:
            return Errors.NONE
        error = self.append_error(request, None)
        if error is Errors.NONE:
            self.advance_high_watermark(self.append_batch(request) + 1)
        return error

    # --- markers ----------------------------------------------------------------------------------------------------

    def end_transaction(self, request: WriteTxnMarkersRequest) -> Errors:
        """A marker is written, and is replicated at once; or it is refused."""
        error = self.marker_error(request)
        if error is Errors.NONE:
            self.advance_high_watermark(self.append_marker(request) + 1)
        return error

    # --- reading ----------------------------------------------------------------------------------------------------

    def fetch(self, request: FetchRequest) -> FetchResponse | None:
        """A consumer's fetch; None: it waits until the record at its offset is decided (DelayedFetch)."""
        if request.isolation_level is IsolationLevel.READ_COMMITTED and not self._leader_rules.read_committed(
            request.fetch_offset, self.last_stable_offset()
        ):
            return None
        reading = self.start_read(request)
        return self.read(reading, reading.end)
