"""The coordinator of one transactional id, at one broker (TransactionCoordinator, TransactionStateManager,
TransactionMarkerChannelManager). No I/O, no clock.

    requests, time-outs     `answer_rpc` says what needs no record; else a handler prepares a transition and hands out
                            its record, and who asked is parked
    commit_record           the record is replicated: the transition is completed, who is parked is answered
    fail_append             the record cannot be written: nothing has happened
    markers                 what is decided is told to the partitions; when all have it, the transaction is completed
    load_transactions       replays the log: all that this broker knows then is what the log has
    resign                  another broker leads the partition of __transaction_state: nothing is known any more

The caller appends the records to the log and sends the replies. Nothing is prepared while something is pending, so one
record at most is a handler's own. A coordinator that was deposed and has not heard of it goes on as if nothing were;
its appends never commit.
"""

from __future__ import annotations

from enum import Enum

from tidemark.common.errors import BrokenInvariant, Errors
from tidemark.idempotence.producer_ids import ProducerIdManager
from tidemark.transactions.messages import (
    NO_PARTITIONS,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TRANSACTION_VERSION,
    AddPartitionsToTxnRequest,
    CoordinatorRequest,
    CoordinatorResponse,
    EndTxnRequest,
    InitProducerIdRequest,
    Partition,
    Partitions,
    ProducerId,
    Reply,
    Token,
    TransactionLogValue,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tidemark.transactions.rules import Rules, is_exhausted
from tidemark.transactions.states import TransactionState


class InitVerdict(Enum):
    """The outcome of an InitProducerId that is not refused."""

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    BUMP = "the next epoch"
    SAME = "the current epoch again, for who did not hear of it"
    ROTATE = "another producer id"
    FENCE = "what is open is aborted first"


class PendingCompleteTxn:
    """A decided transaction's entry in transactionsWithPendingMarkers: its coordinator epoch, and the state that the
    completion leads to. Every decision has its own, and is told from others by identity: in TV1 the next one may
    have equal records. Kafka compares the metadata, with its times."""

    __slots__ = ("coordinator_epoch", "state")

    def __init__(self, coordinator_epoch: int, decision: TransactionState) -> None:
        self.coordinator_epoch = coordinator_epoch
        self.state = TransactionState.COMPLETE_COMMIT if decision.commits else TransactionState.COMPLETE_ABORT


Replies = tuple[Reply, ...]


class TransactionCoordinator:
    """A broker's coordinator of one transactional id; it serves while `epoch`, that of the partition's leadership, is
    not 0. `last_epoch`: the last producer epoch of an id, which only its last markers use (32,767 in Kafka);
    `producer_ids`: where the id behind that comes from; `transaction_version`: the finalized feature level.

    `value`: its view of the transaction; once decided, `partitions` are those without a marker. `pending`: the
    state that a record leads to that has not committed. `pending_markers`: the entry of the decided transaction while
    its markers are sent. `has_failed_epoch_fence`: the epoch of `value` was to fence with, and could not be written;
    `timestamp_ms`: the time of `value` (txnLastUpdateTimestamp).
    """

    __slots__ = (
        "_completing",
        "_error",
        "_last_epoch",
        "_producer_ids",
        "_retried",
        "_rules",
        "_tells",
        "_token",
        "_tv2",
        "epoch",
        "has_failed_epoch_fence",
        "pending",
        "pending_markers",
        "timestamp_ms",
        "value",
    )

    def __init__(
        self,
        rules: Rules,
        last_epoch: int,
        producer_ids: ProducerIdManager,
        transaction_version: int = TRANSACTION_VERSION,
    ) -> None:
        self._rules = rules
        self._last_epoch = last_epoch
        self._producer_ids = producer_ids
        self._tv2 = transaction_version >= 2
        self._forget()

    def _forget(self) -> None:
        self.epoch = 0
        self.value = TransactionLogValue()
        self.pending: TransactionState | None = None
        self.pending_markers: PendingCompleteTxn | None = None
        self._completing: PendingCompleteTxn | None = None
        self._retried: PendingCompleteTxn | None = None
        self.has_failed_epoch_fence = False
        self.timestamp_ms = 0
        self._token: Token = None
        self._error = Errors.NONE
        self._tells = False

    @property
    def serving(self) -> bool:
        """Whether this broker believes to be the coordinator."""
        return self.epoch > 0

    def _is_exhausted(self, epoch: int) -> bool:
        """Whether a producer id has no epoch behind this one but that of its last markers."""
        return is_exhausted(epoch, self._last_epoch)

    # --- what needs no record ---------------------------------------------------------------------------------------

    def answer_rpc(self, request: CoordinatorRequest, elected: bool) -> CoordinatorResponse | None:
        """The answer to a request that changes nothing; None: it is handled by appending a record. `elected`: this
        broker still leads the partition, as its log has made sure."""
        answer = self._answer(request)
        kept = answer is None or self._rules.answer_of_elected(elected)
        return answer if kept else CoordinatorResponse(Errors.NOT_COORDINATOR)

    def _answer(self, request: CoordinatorRequest) -> CoordinatorResponse | None:
        if isinstance(request, InitProducerIdRequest):
            verdict = self.init_verdict(request)
            return CoordinatorResponse(verdict) if isinstance(verdict, Errors) else None
        if isinstance(request, AddPartitionsToTxnRequest):
            error = self.add_partitions_error(request)
            added = self._is_open_at(request.partition)
            return CoordinatorResponse(error) if error is not Errors.NONE or added else None
        return self.end_txn_answer(request)

    def _is_open_at(self, partition: Partition) -> bool:
        return self.value.state is TransactionState.ONGOING and partition in self.value.partitions

    # --- InitProducerId ---------------------------------------------------------------------------------------------

    def init_verdict(self, request: InitProducerIdRequest) -> InitVerdict | Errors:
        """The outcome of an InitProducerId, or the error that it is refused with."""
        value, expected = self.value, request.producer_epoch
        anew = request.producer_id == NO_PRODUCER_ID
        if not self.serving:
            return Errors.NOT_COORDINATOR
        if self.pending is not None:
            return Errors.CONCURRENT_TRANSACTIONS
        if not anew and value.producer_epoch != NO_PRODUCER_EPOCH and not self._is_known(request):
            return Errors.PRODUCER_FENCED
        if value.state.decided:
            return Errors.CONCURRENT_TRANSACTIONS
        if self._rules.fence_open_transaction(value.state):
            return InitVerdict.FENCE
        if self._is_exhausted(value.producer_epoch):
            return InitVerdict.ROTATE if anew or expected == value.producer_epoch else Errors.PRODUCER_FENCED
        if anew or value.producer_epoch in (NO_PRODUCER_EPOCH, expected):
            return InitVerdict.BUMP
        return InitVerdict.SAME if expected == value.last_producer_epoch else Errors.PRODUCER_FENCED

    def _is_known(self, request: InitProducerIdRequest) -> bool:
        """Whether its producer id is the current one, or the one before, of which the epochs are used up."""
        value = self.value
        before = request.producer_id == value.previous_producer_id and self._is_exhausted(request.producer_epoch)
        return request.producer_id == value.producer_id or before

    def append_init_producer_id(self, request: InitProducerIdRequest, token: Token) -> TransactionLogValue:
        """The process gets the next epoch, or a new id; all processes before it are fenced."""
        value, verdict = self.value, self.init_verdict(request)
        last = NO_PRODUCER_EPOCH if request.producer_id == NO_PRODUCER_ID else value.producer_epoch
        producer_id, epoch = value.producer_id, value.producer_epoch
        if verdict is InitVerdict.ROTATE:
            producer_id, epoch = self._producer_ids.generate_producer_id(), 0
        elif verdict is InitVerdict.BUMP:
            epoch += 1
        elif verdict is InitVerdict.SAME:
            last = value.last_producer_epoch
        else:
            raise BrokenInvariant(f"an InitProducerId of which is said '{verdict}' is not written down")
        state = TransactionState.EMPTY
        return self._prepare(
            TransactionLogValue(state, producer_id, value.producer_id, NO_PRODUCER_ID, epoch, last), token, tells=True
        )

    def fence_producer(self, token: Token) -> TransactionLogValue:
        """A process takes the id over while a transaction is open: its producer is fenced, and it is aborted. The
        process is told to come again."""
        return self._prepare(self._decided(None), token, Errors.CONCURRENT_TRANSACTIONS)

    def abort_timed_out_transaction(self) -> TransactionLogValue | None:
        """transaction.timeout.ms is over for what is open; None if nothing is, or something is pending."""
        if not self.serving or self.pending is not None or self.value.state is not TransactionState.ONGOING:
            return None
        return self._prepare(self._decided(None), None)

    # --- AddPartitionsToTxn -----------------------------------------------------------------------------------------

    def _producer_error(self, producer_id: ProducerId, epoch: int) -> Errors:
        if producer_id != self.value.producer_id:
            return Errors.INVALID_PRODUCER_ID_MAPPING
        if not self._rules.request_of_current_epoch(epoch, self.value.producer_epoch):
            return Errors.PRODUCER_FENCED
        return Errors.NONE

    def add_partitions_error(self, request: AddPartitionsToTxnRequest) -> Errors:
        """The error for an AddPartitionsToTxn; Errors.NONE if the coordinator accepts it."""
        if not self.serving:
            return Errors.NOT_COORDINATOR
        if self.pending is not None:
            return Errors.CONCURRENT_TRANSACTIONS
        if self._rules.await_next_id(request.producer_id, self.value.next_producer_id):
            return Errors.CONCURRENT_TRANSACTIONS
        error = self._producer_error(request.producer_id, request.producer_epoch)
        if error is Errors.NONE and self.value.state.decided:
            return Errors.CONCURRENT_TRANSACTIONS
        return error

    def append_add_partitions(self, request: AddPartitionsToTxnRequest, token: Token) -> TransactionLogValue:
        """One more partition; the first one begins the transaction."""
        value = self.value
        record = value._replace(
            state=TransactionState.ONGOING,
            previous_producer_id=value.producer_id,
            partitions=value.partitions | {request.partition},
        )
        return self._prepare(record, token)

    def verify_partition(self, request: AddPartitionsToTxnRequest, elected: bool) -> Errors | None:
        """The reply to a partition's leader that asks whether a batch's transaction is open there (KIP-890). NONE, an
        error, or None where the partition must be added first (TV2). `elected`: as of `answer_rpc`."""
        error = self._verification_error(request)
        return error if error is None or self._rules.answer_of_elected(elected) else Errors.NOT_COORDINATOR

    def _verification_error(self, request: AddPartitionsToTxnRequest) -> Errors | None:
        if self._tv2:
            error = self.add_partitions_error(request)
            return None if error is Errors.NONE and not self._is_open_at(request.partition) else error
        if not self.serving:
            return Errors.NOT_COORDINATOR
        error = self._producer_error(request.producer_id, request.producer_epoch)
        if error is not Errors.NONE:
            return error
        if self.value.state.decided:
            return Errors.CONCURRENT_TRANSACTIONS
        return Errors.NONE if request.partition in self.value.partitions else Errors.TRANSACTION_ABORTABLE

    # --- EndTxn -----------------------------------------------------------------------------------------------------

    def end_txn_answer(self, request: EndTxnRequest) -> CoordinatorResponse | None:
        """The answer to an EndTxn, if it is not to be written down."""
        if not self.serving:
            return CoordinatorResponse(Errors.NOT_COORDINATOR)
        return self._end_txn_tv2(request) if self._tv2 else self._end_txn_tv1(request)

    def _end_txn_tv1(self, request: EndTxnRequest) -> CoordinatorResponse | None:
        state = self.value.state
        error = self._producer_error(request.producer_id, request.producer_epoch)
        if error is not Errors.NONE:
            return CoordinatorResponse(error)
        if self.pending is not None:
            return CoordinatorResponse(Errors.CONCURRENT_TRANSACTIONS)
        if state is TransactionState.ONGOING:
            return None
        if state is TransactionState.EMPTY or state.commits is not request.committed:
            return CoordinatorResponse(Errors.INVALID_TXN_STATE)
        return CoordinatorResponse(Errors.CONCURRENT_TRANSACTIONS if state.decided else Errors.NONE)

    def _end_txn_tv2(self, request: EndTxnRequest) -> CoordinatorResponse | None:
        value, state, committed = self.value, self.value.state, request.committed
        if self.pending is not None:
            return CoordinatorResponse(Errors.CONCURRENT_TRANSACTIONS)
        if self._rules.await_next_id(request.producer_id, value.next_producer_id):
            return CoordinatorResponse(Errors.CONCURRENT_TRANSACTIONS)
        overflow = self._is_before_overflow(request)
        if request.producer_id != value.producer_id and not overflow:
            return CoordinatorResponse(Errors.INVALID_PRODUCER_ID_MAPPING)
        if state.decided and self._rules.await_completion(request.producer_epoch, value.producer_epoch):
            return CoordinatorResponse(Errors.CONCURRENT_TRANSACTIONS)
        if not self._is_valid_epoch(request, overflow):
            return CoordinatorResponse(Errors.PRODUCER_FENCED)
        if state is TransactionState.ONGOING:
            return None
        if state.decided:
            same = state.commits is committed
            return CoordinatorResponse(Errors.CONCURRENT_TRANSACTIONS if same else Errors.INVALID_TXN_STATE)
        if state is TransactionState.EMPTY or self._rules.epoch_per_transaction(
            request.producer_epoch, value.producer_epoch
        ):
            return CoordinatorResponse(Errors.INVALID_TXN_STATE) if committed else None  # None: nothing is aborted
        if state.commits is not committed:
            return CoordinatorResponse(Errors.INVALID_TXN_STATE)
        return CoordinatorResponse(Errors.NONE, value.producer_id, value.producer_epoch)

    def _is_before_overflow(self, request: EndTxnRequest) -> bool:
        """Whether it was sent in the last epoch but one of the producer id before this one, as its last EndTxn is
        (retryOnOverflow). Without `RotateOnFence` in the very last, too."""
        value = self.value
        before = request.producer_id == value.previous_producer_id and self._is_exhausted(request.producer_epoch)
        return before and value.producer_epoch == 0

    def _is_valid_epoch(self, request: EndTxnRequest, overflow: bool) -> bool:
        """Whether it is of the current epoch, or, sent again, of the one before."""
        value, epoch = self.value, request.producer_epoch
        if value.state.decided:
            return epoch + 1 == value.producer_epoch
        if value.state.completed:
            return overflow or epoch in (value.producer_epoch, value.producer_epoch - 1)
        return self._rules.request_of_current_epoch(epoch, value.producer_epoch)

    def append_end_txn(self, request: EndTxnRequest, token: Token) -> TransactionLogValue:
        """The outcome is decided."""
        return self._prepare(self._decided(request), token, tells=self._tv2)

    def _decided(self, request: EndTxnRequest | None) -> TransactionLogValue:
        """The decision that a producer has asked for; None: it is fenced, and the transaction aborted. A fence takes
        the next epoch (prepareFenceProducerEpoch), but in TV1 behind a failed one. In TV2 so does every other decision
        (prepareAbortOrCommit). Where the epochs are used up in TV2 a new id follows with the completion."""
        value, rules, tv2, fenced = self.value, self._rules, self._tv2, request is None
        epoch, fences = value.producer_epoch, rules.fence_on_time_out(request)
        if fences and not rules.fence_once(self.has_failed_epoch_fence):
            epoch += 1
        if tv2 and not rules.bump_once(fences):
            epoch += 1
        last = NO_PRODUCER_EPOCH if fences else value.last_producer_epoch
        used_up = rules.rotate_on_fence if fenced else is_exhausted
        rotates = tv2 and used_up(value.producer_epoch, self._last_epoch)
        committed = request is not None and request.committed
        return value._replace(
            state=TransactionState.PREPARE_COMMIT if committed else TransactionState.PREPARE_ABORT,
            previous_producer_id=value.producer_id,
            producer_epoch=epoch,
            last_producer_epoch=epoch - 1 if tv2 else last,
            next_producer_id=self._producer_ids.generate_producer_id() if rotates else NO_PRODUCER_ID,
        )

    # --- the log ----------------------------------------------------------------------------------------------------

    def _prepare(
        self, record: TransactionLogValue, token: Token, error: Errors = Errors.NONE, tells: bool = False
    ) -> TransactionLogValue:
        """`token` waits for the record, for `error` or with `tells` to hear which producer id and epoch it has."""
        if self.pending not in (None, record.state):
            raise BrokenInvariant(f"{record.state.value} is prepared while {self.pending} is pending")
        self.pending, self._token, self._error, self._tells = record.state, token, error, tells
        return record

    def _answered(self, response: CoordinatorResponse) -> Replies:
        """The reply to the waiting client, if there is one."""
        token, self._token = self._token, None
        return () if token is None else (Reply(token, response),)

    def commit_record(self, record: TransactionLogValue, timestamp_ms: int = 0) -> Replies:
        """The record of the pending transition is replicated: it counts, and its request is answered. `timestamp_ms`:
        its time, by this broker's clock. That may be before the time of `value`: clocks differ, and are set."""
        if self.pending is not record.state:
            raise BrokenInvariant(f"{record.state.value} has committed, and {self.pending} is pending")
        self.pending = None
        self.timestamp_ms = timestamp_ms
        self.value = record
        if record.state.decided:
            self.pending_markers = PendingCompleteTxn(self.epoch, record.state)
            self.has_failed_epoch_fence = False
        if not self._tells:
            return self._answered(CoordinatorResponse(self._error))
        if self._rules.tell_next_id(record.next_producer_id):
            return self._answered(CoordinatorResponse(Errors.NONE, record.next_producer_id, 0))
        return self._answered(CoordinatorResponse(Errors.NONE, record.producer_id, record.producer_epoch))

    def fail_append(self, record: TransactionLogValue) -> Replies:
        """Too few replicas are in sync for the record of the pending transition. A completion stays pending, and is
        written again (txnLogAppendRetryQueue). Anything else has not happened, but that TV1 keeps the epoch that was to
        fence with."""
        pending, rules = self.pending, self._rules
        abort = record.state is TransactionState.PREPARE_ABORT
        if abort and not self._tv2 and record.producer_epoch > self.value.producer_epoch:
            self.has_failed_epoch_fence = True
            self.value = self.value._replace(
                producer_epoch=record.producer_epoch, last_producer_epoch=NO_PRODUCER_EPOCH
            )
        if pending is None:
            raise BrokenInvariant("no record waits that could fail")
        kept = rules.keep_pending_on_retry(pending)
        if kept:
            self._retried = self._completing
        if rules.clear_pending_on_failure(kept):
            self.pending = None
        return self._answered(CoordinatorResponse(Errors.COORDINATOR_NOT_AVAILABLE))

    # --- markers ----------------------------------------------------------------------------------------------------

    def send_marker(self, partition: Partition) -> WriteTxnMarkersRequest | None:
        """The marker to send to a partition's leader; None if there is none."""
        value = self.value
        if self.pending_markers is None or self.pending is not None or partition not in value.partitions:
            return None
        if not self.serving or not value.state.decided:
            return None
        return WriteTxnMarkersRequest(value.producer_id, value.producer_epoch, value.state.commits, self.epoch)

    def receive_marker_reply(self, partition: Partition, response: WriteTxnMarkersResponse) -> None:
        """A partition has the marker, or refuses it for good, or its leader has changed and is to be told again."""
        entry, epoch = self.pending_markers, response.coordinator_epoch
        own = self.serving and epoch == self.epoch
        fenced = response.error in (Errors.INVALID_PRODUCER_EPOCH, Errors.TRANSACTION_COORDINATOR_FENCED)
        ends = fenced or not own
        if ends and entry is not None and self._rules.cancel_own_entry(entry.coordinator_epoch, epoch):
            self.pending_markers = None
        if own and response.error is Errors.NONE and self.value.state.decided:
            self.value = self.value._replace(partitions=self.value.partitions - {partition})

    def _unmarked(self) -> Partitions:
        """The partitions that have no marker of what is decided."""
        return self.value.partitions if self.value.state.decided else NO_PARTITIONS

    def may_complete(self) -> bool | None:
        """Whether the transaction is over; None: nothing is decided, or it is completed already. One whose completion
        could not be written is not."""
        if not self.serving or not self.value.state.decided:
            return None
        if self._retried is None and (self.pending is not None or self.pending_markers is None):
            return None
        return self._rules.complete_after_markers(self._unmarked())

    def completion(self) -> PendingCompleteTxn | None:
        """The entry that a thread finds when it has read the last reply to a marker, or when a completion could not
        be written. Two threads may find the same one."""
        return self.pending_markers if self._retried is None else self._retried

    def complete_transaction(self, completion: PendingCompleteTxn) -> TransactionLogValue | None:
        """A thread completes the transaction (maybeWriteTxnCompletion). Where the epochs of the producer id are used up
        the next id follows. None: another thread does it, or has: the entry is gone, or is that of a later transaction;
        or a marker is missing. A completion that could not be written is pending, and is written again."""
        value, rules = self.value, self._rules
        if completion is not self._retried and not rules.complete_once(self.pending_markers, completion):
            return None
        if not rules.complete_after_markers(self._unmarked()):
            return None
        rotates = value.next_producer_id != NO_PRODUCER_ID
        record = TransactionLogValue(
            completion.state,
            value.next_producer_id if rotates else value.producer_id,
            value.producer_id,
            NO_PRODUCER_ID,
            0 if rotates else value.producer_epoch,
            value.last_producer_epoch,
        )
        self.pending_markers, self._completing, self._retried = None, completion, None
        return self._prepare(record, None)

    # --- fail-over --------------------------------------------------------------------------------------------------

    def may_load(self, unreplicated: int) -> bool:
        """Whether this broker may load a log of which so many records are not replicated."""
        return self._rules.act_on_committed(unreplicated)

    def load_transactions(self, epoch: int, record: TransactionLogValue, unreplicated: int) -> bool:
        """This broker leads the partition in `epoch`. `record` is the last of its log, and `unreplicated` how many
        records are not replicated yet. It sends the markers of a decision there again. False if it must wait."""
        if not self.may_load(unreplicated):
            return False
        self._forget()
        self.epoch = epoch
        kept = self._rules.persist_last_epoch(record.last_producer_epoch)
        self.value = record if kept else record._replace(last_producer_epoch=NO_PRODUCER_EPOCH)
        if self._rules.resume_on_load(record.state):
            self.pending_markers = PendingCompleteTxn(epoch, record.state)
        return True

    def resign(self) -> Replies:
        """Another broker leads: waiting requests are refused, and nothing is known any more."""
        replies = self._answered(CoordinatorResponse(Errors.NOT_COORDINATOR))
        self._forget()
        return replies
