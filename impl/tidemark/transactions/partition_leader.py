"""The leader of a partition: its handlers, and the requests that wait there (ReplicaManager, AddPartitionsToTxnManager,
the purgatories). No I/O.

    handle_produce          a batch is appended and waits for the high watermark, or the coordinator is asked first,
                            or it is answered
    receive_verification    the coordinator has answered: the batch may go on, or is refused
    handle_verified         a request handler thread goes on with it
    handle_marker           the marker is appended and waits for the high watermark, or is refused
    advance_high_watermark  appends that waited for it are answered
    receive_fetch           a consumer's fetch is read, or waits (DelayedFetch)
    resign                  another broker leads: requests that wait here are refused

A token names a request; its answer is given to the caller with it. A leader keeps what is pending until it is answered,
also if nobody waits for the answer any more.
"""

from __future__ import annotations

from enum import StrEnum

from tidemark.common.errors import BrokenInvariant, Errors
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse
from tidemark.transactions.messages import (
    AddPartitionsToTxnRequest,
    FetchRequest,
    Partition,
    Token,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tidemark.transactions.ongoing_transactions import VerificationGuard
from tidemark.transactions.partition import LogRead, TransactionalPartition
from tidemark.transactions.purgatory import AppendPurgatory, PartitionReply, Replies


class ProduceStage(StrEnum):
    """How far a batch is at its leader."""

    __hash__ = str.__hash__  # Enum's own is slow

    VERIFYING = "verifying"
    """The leader has asked the coordinator."""
    VERIFIED = "verified"
    """The coordinator has said yes."""
    WAITING = "waiting"
    """It is in the log, and not committed."""


class PendingProduce:
    """A batch at its leader that is not answered. `guard`: the one that it has to show once it is verified, None if it
    need not be; `offset`: where it is in the log, -1 before; `duplicate`: an earlier request wrote it there."""

    __slots__ = ("duplicate", "guard", "offset", "request", "stage")

    def __init__(self, request: ProduceRequest, guard: VerificationGuard | None) -> None:
        self.request = request
        self.guard = guard
        self.stage = ProduceStage.VERIFYING
        self.offset = -1
        self.duplicate = False


Outcome = PendingProduce | ProduceResponse
"""A batch waits, or is answered."""


def verification_error(answer: Errors) -> Errors:
    """A transaction coordinator's refusal, as a partition's leader tells it to the producer
    (AddPartitionsToTxnManager)."""
    return Errors.INVALID_PRODUCER_EPOCH if answer is Errors.PRODUCER_FENCED else answer


class PartitionLeader:
    """A broker that leads `partition`, the one of that `number`. `verifying`: batches whose transaction the coordinator
    is asked about, or has confirmed; `purgatory`: appends that wait for the high watermark."""

    __slots__ = ("number", "partition", "purgatory", "verifying")

    def __init__(self, number: Partition, partition: TransactionalPartition) -> None:
        self.number = number
        self.partition = partition
        self.verifying: dict[Token, PendingProduce] = {}
        self.purgatory = AppendPurgatory()

    # --- batches ----------------------------------------------------------------------------------------------------

    def handle_produce(self, request: ProduceRequest, token: Token, now: int) -> Outcome:
        """A batch arrives. With stage VERIFYING it waits for the coordinator: send `verification_of` it. `now`: the
        time in milliseconds."""
        partition = self.partition
        if not partition.must_verify(request):
            return self._append(PendingProduce(request, None), token, now)
        pending = PendingProduce(request, partition.start_verification(request))
        self.verifying[token] = pending
        return pending

    def verification_of(self, token: Token) -> AddPartitionsToTxnRequest:
        """The request to the coordinator about a batch that waits for its verification (KIP-890)."""
        batch = self.verifying[token].request
        return AddPartitionsToTxnRequest(batch.producer_id, batch.producer_epoch, self.number)

    def receive_verification(self, token: Token, error: Errors) -> ProduceResponse | None:
        """The coordinator's answer. Returns that of the batch; None if it goes on, or does not wait here any more."""
        pending = self.verifying.get(token)
        if pending is None:
            return None
        if error is Errors.NONE:
            pending.stage = ProduceStage.VERIFIED
            return None
        del self.verifying[token]
        return ProduceResponse(verification_error(error))

    def handle_verified(self, token: Token, now: int) -> Outcome:
        """A verified batch goes on."""
        pending = self.verifying.pop(token)
        if pending.stage is not ProduceStage.VERIFIED:
            raise BrokenInvariant(f"a batch goes on that is {pending.stage.value}")
        return self._append(pending, token, now)

    def refuse_offsets(self, request: ProduceRequest, token: Token, error: Errors) -> ProduceResponse | None:
        """The group refuses a TxnOffsetCommit with this error. The group is asked when the transaction is verified, or
        needs not be; None: it is not asked now."""
        pending, partition = self.verifying.get(token), self.partition
        if pending is not None:
            if pending.stage is not ProduceStage.VERIFIED:
                return None
            del self.verifying[token]
        elif token in self.purgatory.waiting or partition.is_stale(request) or partition.must_verify(request):
            return None
        return ProduceResponse(error)

    def _append(self, pending: PendingProduce, token: Token, now: int) -> Outcome:
        request, partition = pending.request, self.partition
        old = partition.duplicate_of(request)
        if old is not None:
            if old < partition.high_watermark:
                return ProduceResponse(Errors.NONE, old)
            pending.duplicate = True
            return self._park(pending, token, old)
        error = partition.append_error(request, pending.guard)
        if error is not Errors.NONE:
            return ProduceResponse(error)
        return self._park(pending, token, partition.append_batch(request, now))

    def _park(self, pending: PendingProduce, token: Token, offset: int) -> PendingProduce:
        pending.stage, pending.offset = ProduceStage.WAITING, offset
        self.purgatory.park(token, pending.request, offset)
        return pending

    # --- markers ----------------------------------------------------------------------------------------------------

    def handle_marker(self, request: WriteTxnMarkersRequest, token: Token, now: int) -> int | WriteTxnMarkersResponse:
        """A marker arrives. Returns its offset, and its answer waits for the high watermark; or the answer that refuses
        it."""
        error = self.partition.marker_error(request)
        if error is not Errors.NONE:
            return WriteTxnMarkersResponse(request.coordinator_epoch, error)
        offset = self.partition.append_marker(request, now)
        self.purgatory.park(token, request, offset)
        return offset

    # --- fetches ----------------------------------------------------------------------------------------------------

    def receive_fetch(self, request: FetchRequest) -> LogRead | None:
        """A consumer's fetch arrives. None: there is nothing to be read, and it waits."""
        return self.complete_fetch(request, False)

    def complete_fetch(self, request: FetchRequest, timed_out: bool) -> LogRead | None:
        """A fetch that waits is read: there is something to be read, or fetch.max.wait.ms are over. None: it waits
        on."""
        partition = self.partition
        if not timed_out and partition.last_readable(request.isolation_level) <= request.fetch_offset:
            return None
        return partition.start_read(request)

    # --- replication ------------------------------------------------------------------------------------------------

    def advance_high_watermark(self, offset: int) -> Replies | None:
        """The replicas have all below `offset`. Returns the answers to appends that waited for that; None if it is
        nothing new."""
        if not self.partition.advance_high_watermark(offset):
            return None
        return self.purgatory.complete(offset)

    def resign(self) -> Replies:
        """Another broker leads: what waits here is refused. A group's clients are told NOT_COORDINATOR."""
        error = Errors.NOT_COORDINATOR if self.partition.is_offsets else Errors.NOT_LEADER_OR_FOLLOWER
        gone = [PartitionReply(token, ProduceResponse(error)) for token in self.verifying]
        self.verifying.clear()
        return gone + self.purgatory.resign(error)
