"""The keeping of offsets without some rules. Nothing in production imports this file; the simulator does.

Each function stands in the place of a handler; with its rule in force it is that handler.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.common.errors import Errors
from tidemark.common.rule_kinds import is_rule
from tidemark.groups.messages import Token
from tidemark.groups.offset_records import (
    NO_PRODUCER_ID,
    LogRecord,
    OffsetCommitValue,
    OffsetOutcome,
    OffsetReply,
    TxnOffsetCommitRequest,
    WriteTxnMarkerRequest,
    WriteTxnMarkerResponse,
)
from tidemark.offsets.coordinator import OffsetCoordinator, Written
from tidemark.offsets.metadata import UNKNOWN_PRODUCER, OffsetMetadata
from tidemark.offsets.rules import OffsetRules
from tidemark.offsets.transaction import Transaction


def verified_on_arrival(rules: OffsetRules, coordinator: OffsetCoordinator, request: TxnOffsetCommitRequest) -> Errors:
    """The error for a TxnOffsetCommit that arrives. Without `validate_after_verification` it is the group's, too: the
    group validated it before the transaction coordinator was asked (before KAFKA-15784)."""
    error = coordinator.verify_txn_offset_commit(request)
    if error is not Errors.NONE or is_rule(rules.validate_after_verification):
        return error
    return coordinator.group_error(request)


def added_partition(transaction: Transaction, request: TxnOffsetCommitRequest) -> Errors:
    """The answer to AddPartitionsToTxn. Without `commit_of_ongoing_transaction` a request of no ongoing transaction is
    accepted, and adds the partition to none."""
    ongoing = transaction.phase == "ongoing" and transaction.epoch == request.producer_epoch
    if ongoing or is_rule(transaction.rules.commit_of_ongoing_transaction):
        return transaction.add_partition(request)
    return Errors.NONE


def handled_marker(
    rules: OffsetRules, coordinator: OffsetCoordinator, request: WriteTxnMarkerRequest, token: Token
) -> OffsetOutcome:
    """A marker's outcome. Without `materialise_first` the answer waits no longer if the offsets of its transaction are
    at stake: it was given when the marker was written, before they count (before KAFKA-17507)."""
    outcome = coordinator.handle_marker(request, token)
    if outcome.record is None or is_rule(rules.materialise_first) or not at_stake(coordinator, request):
        return outcome
    coordinator.waiting[-1] = Written(outcome.record, None)
    return OffsetOutcome(outcome.record, (OffsetReply(token, WriteTxnMarkerResponse(Errors.NONE)),))


def at_stake(coordinator: OffsetCoordinator, request: WriteTxnMarkerRequest) -> bool:
    """Whether the producer has a transaction open, or did when the records that wait were written."""
    producer = request.producer_id
    return coordinator.producers.get(producer, UNKNOWN_PRODUCER).open or any(
        isinstance(one.entry.record, OffsetCommitValue) and one.entry.record.producer_id == producer
        for one in coordinator.waiting
    )


def records_that_load(rules: OffsetRules, records: Iterable[LogRecord]) -> Iterable[LogRecord]:
    """The records of the log that a new coordinator replays. Without `load_replaces` it passes over a commit of no
    transaction whose partition has an offset by then (before KAFKA-5600)."""
    if is_rule(rules.load_replaces):
        return records
    memory, read = OffsetMetadata(rules), []
    for one in records:
        record = one.record
        if (
            not isinstance(record, OffsetCommitValue)
            or record.producer_id != NO_PRODUCER_ID
            or record.partition not in memory.offsets
        ):
            memory.replay(one)
            read.append(one)
    return read


FLAWED = {
    "validate_after_verification": verified_on_arrival,
    "commit_of_ongoing_transaction": added_partition,
    "materialise_first": handled_marker,
    "load_replaces": records_that_load,
}
"""Rule -> what stands in its place."""
