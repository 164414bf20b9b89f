"""The coordinator of offsets without some rules. Nothing in production imports this file; the simulator does."""

from __future__ import annotations

from tidemark.common.errors import Errors
from tidemark.common.rule_kinds import is_rule
from tidemark.groups.messages import Token
from tidemark.groups.offset_records import (
    OffsetCommitValue,
    OffsetOutcome,
    OffsetReply,
    TxnOffsetCommitRequest,
    WriteTxnMarkerRequest,
    WriteTxnMarkerResponse,
)
from tidemark.offsets.coordinator import OffsetCoordinator, Written
from tidemark.offsets.group import LoggedGroup
from tidemark.offsets.metadata import UNKNOWN_PRODUCER
from tidemark.offsets.rules import OffsetRules


class ValidatesOnArrival(OffsetCoordinator):
    """Before KAFKA-15784: the group validates a TxnOffsetCommit before the transaction coordinator is asked."""

    def verify_txn_offset_commit(self, request: TxnOffsetCommitRequest) -> Errors:
        """The group's error, too."""
        error = super().verify_txn_offset_commit(request)
        return self.group_error(request) if error is Errors.NONE else error


class AnswersMarkerAtOnce(OffsetCoordinator):
    """Before KAFKA-17507: a marker is answered when it is written, before the staged offsets count."""

    def handle_marker(self, request: WriteTxnMarkerRequest, token: Token) -> OffsetOutcome:
        """A marker with nothing at stake waits."""
        return _answered_at_once(self, super().handle_marker(request, token), request, token)


class ValidatesAndAnswersAtOnce(ValidatesOnArrival):
    """Before KAFKA-15784 and KAFKA-17507."""

    def handle_marker(self, request: WriteTxnMarkerRequest, token: Token) -> OffsetOutcome:
        """A marker with nothing at stake waits."""
        return _answered_at_once(self, super().handle_marker(request, token), request, token)


def _answered_at_once(
    coordinator: OffsetCoordinator, outcome: OffsetOutcome, request: WriteTxnMarkerRequest, token: Token
) -> OffsetOutcome:
    """The outcome of a marker, whose answer waits no longer if the offsets of its transaction are at stake."""
    if outcome.record is None or not _at_stake(coordinator, request):
        return outcome
    coordinator.waiting[-1] = Written(outcome.record, None)
    return OffsetOutcome(outcome.record, (OffsetReply(token, WriteTxnMarkerResponse(Errors.NONE)),))


def _at_stake(coordinator: OffsetCoordinator, request: WriteTxnMarkerRequest) -> bool:
    """Whether the producer has a transaction open, or did when the records that wait were written."""
    producer = request.producer_id
    return coordinator.producers.get(producer, UNKNOWN_PRODUCER).open or any(
        isinstance(one.entry.record, OffsetCommitValue) and one.entry.record.producer_id == producer
        for one in coordinator.waiting
    )


FLAWED = {"validate_after_verification": ValidatesOnArrival, "materialise_first": AnswersMarkerAtOnce}
"""Rule -> what stands in its place."""


def coordinator_of(rules: OffsetRules, retention_ms: int) -> OffsetCoordinator:
    """The coordinator of a broker with these rules: without `validate_after_verification`, or `materialise_first`, an
    older one."""
    group = LoggedGroup(rules)
    if is_rule(rules.validate_after_verification):
        if is_rule(rules.materialise_first):
            return OffsetCoordinator(rules, retention_ms, group)
        return AnswersMarkerAtOnce(rules, retention_ms, group)
    if is_rule(rules.materialise_first):
        return ValidatesOnArrival(rules, retention_ms, group)
    return ValidatesAndAnswersAtOnce(rules, retention_ms, group)
