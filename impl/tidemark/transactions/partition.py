"""A partition at a broker, as far as transactions need it (UnifiedLog, ProducerAppendInfo): batches, markers, and the
end of readable records. Its leader's handlers are in partition_leader.py.

How the log is replicated is replication's affair: here a follower is given entries, and may be told to truncate. A
batch is checked in Kafka's order: whether it is a duplicate, its epoch, whether the transaction is open or
verified, its sequence (since KAFKA-19690; before, the epoch came third).

A partition of __consumer_offsets is led by a group's coordinator. Its batches in a transaction have no sequence
(AppendOrigin.COORDINATOR: no duplicate, no gap), and counts when the marker says so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from tidemark.common.errors import Errors
from tidemark.groups.offset_records import TxnOffsetCommitRequest
from tidemark.idempotence.messages import NO_EPOCH, NO_SEQUENCE, ProduceRequest, ProducerId
from tidemark.idempotence.producer_state import (
    NO_TIMESTAMP,
    PRODUCER_ID_EXPIRATION_MS,
    ProducerStateEntry,
    ProducerStateManager,
)
from tidemark.idempotence.rules import Rules as SequenceRules
from tidemark.transactions.messages import (
    TRANSACTION_VERSION,
    AbortedTransaction,
    EndTransactionMarker,
    FetchRequest,
    FetchResponse,
    IsolationLevel,
    LogEntry,
    WriteTxnMarkersRequest,
)
from tidemark.transactions.ongoing_transactions import KnownProducer, OngoingTransactions, VerificationGuard
from tidemark.transactions.rules import Rules

LAST_SEQUENCE = 2**31 - 1
NO_OFFSETS = 0
"""No transaction's offsets count."""
_last_offset = attrgetter("last_offset")


class LogRead(NamedTuple):
    """How far a fetch reads, decided before it does: to before `end`."""

    request: FetchRequest
    end: int


class TransactionalPartition:
    """One partition at a broker. `log`: the batches and markers that it has, one offset each; `timestamps`: when the
    leader has appended each, in milliseconds of its clock (a follower copies it); `producers`: the last batches of each
    producer, `window` at most; `transactions`: the open ones. `sequences`: the rules of idempotence, if not all of them
    are in force.

    `is_offsets`: it is one of __consumer_offsets; `offsets`: the payload of the offsets that count there;
    `staged`: that of each producer's last, which await their marker."""

    __slots__ = (
        "_rules",
        "_tv2",
        "high_watermark",
        "is_offsets",
        "log",
        "offsets",
        "producers",
        "staged",
        "timestamps",
        "transactions",
    )

    def __init__(
        self,
        rules: Rules,
        sequences: SequenceRules | None = None,
        is_offsets: bool = False,
        window: int = 1,
        transaction_version: int = TRANSACTION_VERSION,
    ) -> None:
        self._rules = rules
        self._tv2 = transaction_version >= 2
        if sequences is None:
            sequences = SequenceRules(epoch_not_older=rules.epoch_not_older)
            if not self._tv2:
                sequences.first_sequence_is_zero = _any_sequence
        self.is_offsets = is_offsets
        self.offsets = NO_OFFSETS
        self.staged: dict[ProducerId, int] = {}
        self.log: list[LogEntry] = []
        self.timestamps: list[int] = []
        self.high_watermark = 0
        self.producers = ProducerStateManager(sequences, window, LAST_SEQUENCE)
        self.transactions = OngoingTransactions()

    # --- reading ----------------------------------------------------------------------------------------------------

    def epoch_of(self, producer_id: ProducerId) -> int:
        """The epoch of the producer's last batch or marker."""
        entry = self.producers.entries.get(producer_id)
        return NO_EPOCH if entry is None else entry.epoch

    def has_ongoing_transaction(self, producer_id: ProducerId, epoch: int) -> bool:
        """Whether a batch of this epoch belongs to what is open."""
        return self.transactions.is_open(producer_id) and self._rules.ongoing_of_its_epoch(
            epoch, self.epoch_of(producer_id)
        )

    def last_stable_offset(self) -> int:
        """Below it everything is decided: min(high watermark, the first offset of what is open or ended by a marker
        that is not replicated)."""
        stable = high_watermark = self.high_watermark
        for first in self.transactions.first_offsets.values():
            stable = min(stable, first)
        for first, marker in self.transactions.ended:
            if first < stable and self._rules.await_marker(marker, high_watermark):
                stable = first
        return stable

    def last_readable(self, isolation_level: IsolationLevel) -> int:
        """The offset before which a consumer of that isolation level may read."""
        if isolation_level is IsolationLevel.READ_UNCOMMITTED:
            return self.high_watermark
        return self.last_stable_offset()

    def start_read(self, request: FetchRequest) -> LogRead:
        """Decide how far a fetch reads. The log goes on, before it has been read."""
        return LogRead(request, max(self.last_readable(request.isolation_level), request.fetch_offset))

    def read(self, reading: LogRead, end: int) -> FetchResponse:
        """The records from the fetch offset to before `end`, which is not behind the decided one, and the aborted
        transactions that have any of them, or their marker among them (collectAbortedTransactions)."""
        request, aborted = reading.request, self.transactions.aborted
        first = request.fetch_offset
        lists = request.isolation_level is IsolationLevel.READ_COMMITTED
        ended = bisect_left(aborted, first, key=_last_offset) if lists else len(aborted)
        found = [one for one in aborted[ended:] if one.first_offset < end]
        return FetchResponse(
            tuple(self.log[first:end]),
            tuple([AbortedTransaction(one.producer_id, one.first_offset) for one in found]),
        )

    # --- batches ----------------------------------------------------------------------------------------------------

    def is_stale(self, request: ProduceRequest) -> bool:
        """Whether a batch is of an epoch that is over."""
        return not self._rules.epoch_not_older(request.producer_epoch, self.epoch_of(request.producer_id))

    def must_verify(self, request: ProduceRequest) -> bool:
        """Whether the coordinator is asked before a batch that has just come is looked at."""
        ongoing = self.has_ongoing_transaction(request.producer_id, request.producer_epoch)
        return not self.is_stale(request) and self._rules.verify_transaction(ongoing)

    def start_verification(self, request: ProduceRequest) -> VerificationGuard:
        """The coordinator is about to be asked; the batch has to show this guard afterwards."""
        return self.transactions.maybe_start_verification(request.producer_id, request.producer_epoch)

    def duplicate_of(self, request: ProduceRequest) -> int | None:
        """The offset of the batch that this one repeats; one without a sequence repeats none."""
        if request.sequence == NO_SEQUENCE:
            return None
        duplicate = self.producers.duplicate_of(request)
        return None if duplicate is None else duplicate.offset

    def append_error(self, request: ProduceRequest, guard: VerificationGuard | None) -> Errors:
        """The error for a batch that is no duplicate. `guard`: the guard that a verified batch shows; None if it need
        not be verified."""
        producer_id, epoch = request.producer_id, request.producer_epoch
        if self.is_stale(request):
            return Errors.INVALID_PRODUCER_EPOCH
        if (
            guard is not None
            and not self.has_ongoing_transaction(producer_id, epoch)
            and not self._rules.verification_guard(guard, self.transactions.guard(producer_id))
        ):
            return Errors.INVALID_TXN_STATE
        return Errors.NONE if request.sequence == NO_SEQUENCE else self.producers.validate(request)

    def append_batch(self, request: ProduceRequest, now: int = NO_TIMESTAMP) -> int:
        """Write a batch; returns its offset. It begins the producer's transaction if none is open. `now`: the time in
        milliseconds."""
        offset = len(self.log)
        self._append(request, now)
        self._remember(request, offset, now)
        self.transactions.clear_verification(request.producer_id)
        return offset

    def _append(self, entry: LogEntry, timestamp: int) -> None:
        self.log.append(entry)
        self.timestamps.append(timestamp)

    def _remember(self, request: ProduceRequest, offset: int, timestamp: int) -> None:
        self.producers.update(request, offset, timestamp)
        self.transactions.add_batch(request.producer_id, offset)
        if self.is_offsets:
            self.staged[request.producer_id] = request.payload

    # --- markers ----------------------------------------------------------------------------------------------------

    def marker_error(self, request: WriteTxnMarkersRequest) -> Errors:
        """The error for a marker; Errors.NONE if the leader accepts it."""
        rules, producer_id, epoch = self._rules, request.producer_id, request.producer_epoch
        known_epoch = self.epoch_of(producer_id)
        if epoch < known_epoch:
            return Errors.INVALID_PRODUCER_EPOCH
        known = KnownProducer(known_epoch, self.transactions.is_open(producer_id))
        if (
            self._tv2
            and not rules.marker_of_its_transaction(epoch, known)
            and not rules.accept_repeated_marker(known.is_open)
        ):
            return Errors.INVALID_PRODUCER_EPOCH
        if not rules.coordinator_not_older(request.coordinator_epoch, self.transactions.coordinator_epoch(producer_id)):
            return Errors.TRANSACTION_COORDINATOR_FENCED
        return Errors.NONE

    def append_marker(self, request: WriteTxnMarkersRequest, now: int = NO_TIMESTAMP) -> int:
        """Write a marker; returns its offset. A guard of the marker's own epoch is the next transaction's (TV2)."""
        offset = len(self.log)
        marker = EndTransactionMarker(*request)
        self._append(marker, now)
        self._end(marker, offset, now)
        guard = self.transactions.guards.get(request.producer_id)
        if guard is not None and not (self._tv2 and guard.epoch == request.producer_epoch):
            self.transactions.clear_verification(request.producer_id)
        return offset

    def _end(self, marker: EndTransactionMarker, offset: int, timestamp: int) -> None:
        entries, producer_id, epoch = self.producers.entries, marker.producer_id, marker.producer_epoch
        entry = entries.get(producer_id)
        batches = entry.batches if entry is not None and entry.epoch == epoch else ()
        entries[producer_id] = ProducerStateEntry(epoch, batches, timestamp)
        staged = self.staged.pop(producer_id, None)
        if staged is not None and marker.committed:
            self.offsets = staged
        self.transactions.add_marker(producer_id, marker.committed, marker.coordinator_epoch, offset)

    # --- expiry -----------------------------------------------------------------------------------------------------

    def expires_at(self, producer_id: ProducerId) -> int | None:
        """When a producer may be forgotten, in milliseconds; None if nothing is known of it, or its transaction is
        open."""
        return None if self.transactions.is_open(producer_id) else self.producers.expires_at(producer_id)

    def expire_producer(self, producer_id: ProducerId, now: int) -> bool:
        """Forget a producer that has nothing open, if producer.id.expiration.ms are over since its last batch or
        marker. Returns whether it is forgotten. Its verification is kept. `now`: the time in milliseconds."""
        entry = self.producers.entries.get(producer_id)
        if entry is None or self.transactions.is_open(producer_id):
            return False
        if not self._rules.track_marker_time(now - entry.last_timestamp, PRODUCER_ID_EXPIRATION_MS):
            return False
        del self.producers.entries[producer_id]
        self.transactions.forget(producer_id)
        return True

    # --- replication ------------------------------------------------------------------------------------------------

    def advance_high_watermark(self, offset: int) -> bool:
        """The replicas have all below `offset`; False if that is nothing new."""
        if offset <= self.high_watermark or offset > len(self.log):
            return False
        self.high_watermark = offset
        self.transactions.replicated(offset)
        return True

    # --- as a follower ----------------------------------------------------------------------------------------------

    def append_as_follower(self, entries: Iterable[LogEntry], timestamps: Iterable[int]) -> None:
        """Append what the leader has appended, at these times."""
        for entry, timestamp in zip(entries, timestamps, strict=True):
            self._append(entry, timestamp)
            self._replay(len(self.log) - 1)

    def truncate_to(self, offset: int) -> None:
        """Keep what is below an offset: the next leader has nothing behind it. What follows from the log is made of it
        anew; verifications do not."""
        if offset == len(self.log):
            return
        del self.log[offset:]
        del self.timestamps[offset:]
        self.producers.entries.clear()
        self.transactions.reset()
        self.staged.clear()
        self.offsets = NO_OFFSETS
        for place in range(offset):
            self._replay(place)
        self.transactions.replicated(self.high_watermark)

    def _replay(self, offset: int) -> None:
        one, timestamp = self.log[offset], self.timestamps[offset]
        if isinstance(one, EndTransactionMarker):
            self._end(one, offset, timestamp)
        else:
            self._remember(one, offset, timestamp)


def offsets_batch(request: TxnOffsetCommitRequest) -> ProduceRequest:
    """The batch that a group's coordinator writes for a TxnOffsetCommit; the payload is the offset."""
    return ProduceRequest(request.producer_id, request.producer_epoch, NO_SEQUENCE, request.offset)


def _any_sequence(_: int) -> bool:
    """A leader without state of a producer takes any sequence (TV1)."""
    return True
