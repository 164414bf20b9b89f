"""The coordinator of a group's offsets, at one broker (GroupCoordinatorShard, OffsetMetadataManager). No I/O, no clock.

    requests, sweeps    a handler answers, or writes a record; who waits for the record is answered when it commits
    commit_entry        the oldest record is replicated: it counts
    become_coordinator  replays the log: all that this broker knows then is what was committed
    resign              another broker leads the partition of __consumer_offsets: this one knows nothing any more

The caller appends the record of an outcome to the log, in order, and sends the replies. A broker that is not the
coordinator refuses with NOT_COORDINATOR, and does nothing at a sweep or at a commit of the log (CoordinatorRuntime).
Every handler is an action of the specification, under its name. A transactional commit is handled in two parts, because
the transaction coordinator is asked in between (CoordinatorRuntime.scheduleTransactionalWriteOperation):
`verify_txn_offset_commit`, then `handle_txn_offset_commit`, which validates it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import field

from tidemark.common.errors import Errors
from tidemark.common.structs import value
from tidemark.groups.messages import NO_OFFSET, Token
from tidemark.groups.offset_records import (
    Cause,
    EndTransactionMarker,
    LogRecord,
    OffsetCommitValue,
    OffsetOutcome,
    OffsetRecord,
    OffsetReply,
    OffsetsGroup,
    OffsetsGroupState,
    OffsetTombstone,
    ProducerId,
    StableOffsetFetchResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkerRequest,
    WriteTxnMarkerResponse,
)
from tidemark.groups.partitions import TopicPartition
from tidemark.offsets.group import Group
from tidemark.offsets.metadata import UNKNOWN_PRODUCER, OffsetMetadata, ProducerState, produced
from tidemark.offsets.rules import OffsetRules

REFUSED_AS_ABSENT = StableOffsetFetchResponse(Errors.NOT_COORDINATOR, {})
ELSEWHERE = OffsetOutcome(error=Errors.NOT_COORDINATOR)
"""Another broker is the coordinator."""


@value
class Written:
    """A record that has not committed; `token` is who waits for it, None nobody. `fetches`: the replies to stable
    fetches that have read up to here."""

    entry: LogRecord
    token: Token | None
    fetches: list[OffsetReply] = field(default_factory=list)


class OffsetCoordinator:
    """A broker's coordinator of one group's offsets; it serves while `epoch` is not 0. `retention_ms`: for how long an
    offset is kept that nobody uses. `group` validates transactional commits."""

    def __init__(self, rules: OffsetRules, retention_ms: int, group: Group) -> None:
        self._rules = rules
        self._retention_ms = retention_ms
        self._group = group
        self._forget()

    def _forget(self) -> None:
        self.epoch = 0
        self.end = 0
        """The position after the last record that is known to be committed."""
        self.committed = OffsetMetadata(self._rules)
        self.written = OffsetMetadata(self._rules)
        self.producers: dict[ProducerId, ProducerState] = {}
        self.written_producers: dict[ProducerId, ProducerState] = {}
        self.waiting: deque[Written] = deque()

    @property
    def serving(self) -> bool:
        """Whether this broker believes to be the coordinator."""
        return self.epoch > 0

    def _write(self, record: OffsetRecord, token: Token | None = None) -> LogRecord:
        entry = LogRecord(self.end + len(self.waiting), record)
        self.waiting.append(Written(entry, token))
        self.written.replay(entry)
        produced(self.written_producers, entry)
        return entry

    # --- the group, plain commits, expiry, deletion -------------------------------------------------------------

    def rebalance(self, subscribed: tuple[TopicPartition, ...], now_ms: int) -> OffsetOutcome:
        """The group has a new generation, whose members subscribe to these partitions; (): all have gone."""
        if not self.serving:
            return ELSEWHERE
        state = OffsetsGroupState.STABLE if subscribed else OffsetsGroupState.EMPTY
        group = OffsetsGroup(state, self.written.group.generation + 1, subscribed, now_ms)
        return OffsetOutcome(self._write(group))

    def commit_offset(self, partition: TopicPartition, offset: int, now_ms: int) -> OffsetOutcome:
        """An OffsetCommit that the group has accepted."""
        if not self.serving:
            return ELSEWHERE
        return OffsetOutcome(self._write(OffsetCommitValue(partition, offset, now_ms)))

    def _expired(self, partition: TopicPartition, now_ms: int) -> bool:
        """OffsetExpirationCondition, and the rules that forbid it."""
        rules, written = self._rules, self.written
        group, committed = written.group, written.offsets[partition]
        begins = committed.commit_timestamp_ms
        if rules.count_from_empty(group.state) and not rules.count_from_commit(group.since_ms, begins):
            begins = group.since_ms
        return (
            now_ms - begins >= self._retention_ms
            and rules.expire_only_unsubscribed(partition, group.subscribed)
            and rules.expire_only_unstaged(written.is_staged(partition))
        )

    def expire_offsets(self, now_ms: int) -> OffsetOutcome | None:
        """The sweep. A group that keeps no offset, has no member and no staged offset goes, too. None: nothing is
        due, or this broker is not the coordinator."""
        if not self.serving:
            return None
        written = self.written
        expired = tuple([one for one in sorted(written.offsets) if self._expired(one, now_ms)])
        group = (
            written.group.state in (OffsetsGroupState.SIMPLE, OffsetsGroupState.EMPTY)
            and len(expired) == len(written.offsets)
            and self._rules.group_has_no_open_transaction([one for one, staged in written.pending.items() if staged])
        )
        if not expired and not group:
            return None
        return OffsetOutcome(self._write(OffsetTombstone(Cause.EXPIRY, expired, group)))

    def delete_offset(self, partition: TopicPartition) -> OffsetOutcome:
        """An OffsetDelete. A partition without an offset is not refused, and nothing is written for it."""
        if not self.serving:
            return ELSEWHERE
        if self.written.group.state is OffsetsGroupState.NONE:
            return OffsetOutcome(error=Errors.GROUP_ID_NOT_FOUND)
        if not self._rules.delete_only_unsubscribed(partition, self.written.group.subscribed):
            return OffsetOutcome(error=Errors.GROUP_SUBSCRIBED_TO_TOPIC)
        if not self.written.has_offset(partition):
            return OffsetOutcome()
        return OffsetOutcome(self._write(OffsetTombstone(Cause.DELETE, (partition,))))

    def delete_group(self) -> OffsetOutcome:
        """A DeleteGroups."""
        if not self.serving:
            return ELSEWHERE
        state = self.written.group.state
        if state is OffsetsGroupState.NONE:
            return OffsetOutcome(error=Errors.GROUP_ID_NOT_FOUND)
        if not self._rules.delete_only_empty_group(state):
            return OffsetOutcome(error=Errors.NON_EMPTY_GROUP)
        return OffsetOutcome(self._write(OffsetTombstone(Cause.DELETE, tuple(self.written.partitions()), True)))

    def drop_topic(self, partition: TopicPartition) -> OffsetOutcome | None:
        """The topic was deleted. None: there is no offset of it, or this broker is not the coordinator."""
        if not self.serving or not self.written.has_offset(partition):
            return None
        return OffsetOutcome(self._write(OffsetTombstone(Cause.TOPIC, (partition,))))

    # --- transactional commits ----------------------------------------------------------------------------------

    def group_error(self, request: TxnOffsetCommitRequest) -> Errors:
        """The group's error for a TxnOffsetCommit."""
        return self._group.group_error(request, self.written.group)

    def open_here(self, request: TxnOffsetCommitRequest) -> bool:
        """The transaction is open at the partition, so that the transaction coordinator need not be asked."""
        known = self.written_producers.get(request.producer_id, UNKNOWN_PRODUCER)
        return known.open and known.epoch == request.producer_epoch

    def verify_txn_offset_commit(self, request: TxnOffsetCommitRequest) -> Errors:
        """A TxnOffsetCommit arrives; Errors.NONE: the transaction coordinator is asked, unless the transaction is
        `open_here`, and then it is handled."""
        return Errors.NONE if self.serving else Errors.NOT_COORDINATOR

    def _txn_commit_error(self, request: TxnOffsetCommitRequest) -> Errors:
        if not self.serving:
            return Errors.NOT_COORDINATOR
        error = self.group_error(request)
        if not self._rules.validate_after_verification(error):
            return error
        known = self.written_producers.get(request.producer_id, UNKNOWN_PRODUCER)
        if not self._rules.producer_epoch_not_older(request.producer_epoch, known.epoch):
            return Errors.INVALID_PRODUCER_EPOCH
        return Errors.NONE

    def handle_txn_offset_commit(self, request: TxnOffsetCommitRequest, token: Token, now_ms: int) -> OffsetOutcome:
        """A verified TxnOffsetCommit: its offset is staged, and it is answered when that has committed; or it is
        refused."""
        error = self._txn_commit_error(request)
        if error is not Errors.NONE:
            return self.reject_txn_offset_commit(token, error)
        record = OffsetCommitValue(
            request.partition, request.offset, now_ms, request.producer_id, request.producer_epoch
        )
        return OffsetOutcome(self._write(record, token))

    def reject_txn_offset_commit(self, token: Token, error: Errors) -> OffsetOutcome:
        """A TxnOffsetCommit is refused."""
        return OffsetOutcome(replies=(OffsetReply(token, TxnOffsetCommitResponse(error)),))

    # --- markers ------------------------------------------------------------------------------------------------

    def marker_error(self, request: WriteTxnMarkerRequest) -> Errors:
        """The error for a marker."""
        if not self.serving:
            return Errors.NOT_COORDINATOR
        known, epoch = self.written_producers.get(request.producer_id, UNKNOWN_PRODUCER), request.producer_epoch
        if epoch < known.epoch or not self._rules.marker_ends_older_epoch(epoch, known.epoch, known.open):
            return Errors.INVALID_PRODUCER_EPOCH
        return Errors.NONE

    def handle_marker(self, request: WriteTxnMarkerRequest, token: Token) -> OffsetOutcome:
        """A marker: it is written, and answered when it has committed; or it is refused."""
        error = self.marker_error(request)
        if error is not Errors.NONE:
            return self.reject_marker(token, error)
        return OffsetOutcome(
            self._write(EndTransactionMarker(request.producer_id, request.producer_epoch, request.commit), token)
        )

    def reject_marker(self, token: Token, error: Errors) -> OffsetOutcome:
        """A marker is refused."""
        return OffsetOutcome(replies=(OffsetReply(token, WriteTxnMarkerResponse(error)),))

    # --- OffsetFetch --------------------------------------------------------------------------------------------

    def fetch_offsets(self, partitions: Iterable[TopicPartition], stable: bool, token: Token) -> OffsetOutcome:
        """Somebody asks for offsets. With `stable` (require_stable) it is told what is written, when that has
        committed, and nothing of partitions with staged offsets."""
        if not self.serving:
            return OffsetOutcome(replies=(OffsetReply(token, REFUSED_AS_ABSENT),))
        read = self.written if stable else self.committed
        unstable = tuple(
            [one for one in partitions if stable and not self._rules.fetch_only_stable(read.is_staged(one))]
        )
        response = StableOffsetFetchResponse(Errors.NONE, _found(read, partitions, unstable), unstable)
        if stable and self._rules.fetch_waits_for_commit(len(self.waiting)):
            self.waiting[-1].fetches.append(OffsetReply(token, response))
            return OffsetOutcome()
        return OffsetOutcome(replies=(OffsetReply(token, response),))

    # --- the log ------------------------------------------------------------------------------------------------

    def commit_entry(self) -> OffsetOutcome:
        """The oldest record is replicated: it counts, and the requests that waited for it are answered. Nothing waits
        at a broker that is not the coordinator."""
        if not self.waiting:
            return OffsetOutcome()
        written = self.waiting.popleft()
        entry, token = written.entry, written.token
        self.committed.replay(entry)
        produced(self.producers, entry)
        self.end = entry.position + 1
        replies: list[OffsetReply] = []
        if token is not None:
            replies.append(OffsetReply(token, _answer(entry.record, Errors.NONE)))
        return OffsetOutcome(replies=(*replies, *written.fetches))

    def become_coordinator(
        self, epoch: int, end: int, records: Iterable[LogRecord], producers: Mapping[ProducerId, ProducerState]
    ) -> None:
        """This broker leads the partition in `epoch`; `records` is the log up to the position `end`, `producers` what
        the partition keeps of producers."""
        self._forget()
        self.epoch = epoch
        self.end = end
        for one in records:
            self.committed.replay(one)
        self.written = self.committed.copy()
        self.producers = dict(producers)
        self.written_producers = dict(producers)

    def resign(self) -> OffsetOutcome:
        """Another broker leads: waiting requests are refused, and nothing is known any more."""
        error = Errors.NOT_COORDINATOR
        replies = [
            OffsetReply(one.token, _answer(one.entry.record, error)) for one in self.waiting if one.token is not None
        ]
        replies += [OffsetReply(reply.token, REFUSED_AS_ABSENT) for one in self.waiting for reply in one.fetches]
        self._forget()
        return OffsetOutcome(replies=tuple(replies))


def _answer(record: OffsetRecord, error: Errors) -> TxnOffsetCommitResponse | WriteTxnMarkerResponse:
    """The reply to the request that waited for a record."""
    if isinstance(record, EndTransactionMarker):
        return WriteTxnMarkerResponse(error)
    return TxnOffsetCommitResponse(error)


def _found(
    read: OffsetMetadata, partitions: Iterable[TopicPartition], unstable: tuple[TopicPartition, ...]
) -> dict[TopicPartition, int]:
    """The offsets of these partitions; of a group that is not there, none."""
    if read.group.state is OffsetsGroupState.NONE:
        return dict.fromkeys(partitions, NO_OFFSET)
    return {
        one: read.offsets[one].offset if one in read.offsets and one not in unstable else NO_OFFSET
        for one in partitions
    }
