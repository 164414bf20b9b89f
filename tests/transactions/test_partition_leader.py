"""A partition's leader: what is answered at once, what waits, and for what."""

from __future__ import annotations

import pytest
from tidemark.common.errors import BrokenInvariant, Errors
from tidemark.idempotence.messages import NO_SEQUENCE, ProduceRequest, ProduceResponse
from tidemark.transactions.messages import (
    AddPartitionsToTxnRequest,
    FetchRequest,
    IsolationLevel,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tidemark.transactions.partition import TransactionalPartition
from tidemark.transactions.partition_leader import Outcome, PartitionLeader, PendingProduce, ProduceStage
from tidemark.transactions.protocol import PROTOCOL
from tidemark.transactions.purgatory import PartitionReply
from tidemark.transactions.rules import Rules

NUMBER = 4
NOW = 1_000
UNVERIFIED = PROTOCOL.rules_without({"VerifyTransaction"})


def batch(epoch: int = 0, sequence: int = 0) -> ProduceRequest:
    return ProduceRequest(1, epoch, sequence, 1)


def leader(rules: Rules | None = None, is_offsets: bool = False) -> PartitionLeader:
    return PartitionLeader(NUMBER, TransactionalPartition(rules or Rules(), is_offsets=is_offsets))


def waits(outcome: Outcome) -> tuple[ProduceStage, int, bool]:
    assert isinstance(outcome, PendingProduce)
    return outcome.stage, outcome.offset, outcome.duplicate


def verified(one: PartitionLeader, request: ProduceRequest, token: str) -> PendingProduce:
    """A batch that is not handled again yet."""
    pending = one.handle_produce(request, token, NOW)
    assert isinstance(pending, PendingProduce)
    assert one.receive_verification(token, Errors.NONE) is None
    return pending


def test_the_first_batch_of_a_transaction_waits_for_the_coordinator_and_then_for_the_high_watermark() -> None:
    one = leader()
    assert waits(one.handle_produce(batch(), "t", NOW)) == (ProduceStage.VERIFYING, -1, False)
    assert one.verification_of("t") == AddPartitionsToTxnRequest(1, 0, NUMBER)
    assert one.receive_verification("t", Errors.NONE) is None
    assert one.partition.log == []
    assert waits(one.handle_verified("t", NOW)) == (ProduceStage.WAITING, 0, False)
    assert waits(one.handle_produce(batch(0, 1), "u", NOW)) == (ProduceStage.WAITING, 1, False), "it is open here"
    assert one.advance_high_watermark(1) == [PartitionReply("t", ProduceResponse(Errors.NONE, 0))]
    assert one.advance_high_watermark(1) is None
    assert one.advance_high_watermark(2) == [PartitionReply("u", ProduceResponse(Errors.NONE, 1))]
    assert (one.verifying, one.purgatory.waiting) == ({}, {})
    assert one.partition.timestamps == [NOW, NOW]


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        (Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_EPOCH),
        (Errors.CONCURRENT_TRANSACTIONS, Errors.CONCURRENT_TRANSACTIONS),
    ],
)
def test_a_batch_is_refused_by_the_coordinator(said: Errors, answered: Errors) -> None:
    one = leader()
    one.handle_produce(batch(), "t", NOW)
    assert one.receive_verification("t", said) == ProduceResponse(answered, 0)
    assert one.receive_verification("t", Errors.NONE) is None
    assert one.verifying == {}


def test_a_duplicate_waits_if_the_batch_is_not_committed() -> None:
    one = leader(UNVERIFIED)
    one.handle_produce(batch(), "t", NOW)
    assert waits(one.handle_produce(batch(), "again", NOW)) == (ProduceStage.WAITING, 0, True)
    assert [reply.token for reply in one.advance_high_watermark(1) or ()] == ["t", "again"]
    assert one.handle_produce(batch(), "late", NOW) == ProduceResponse(Errors.NONE, 0)
    assert one.handle_produce(batch(0, 2), "gap", NOW) == ProduceResponse(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, 0)


def test_a_batch_does_not_go_on_before_the_coordinator_has_answered() -> None:
    one = leader()
    one.handle_produce(batch(), "t", NOW)
    with pytest.raises(BrokenInvariant, match="goes on that is verifying"):
        one.handle_verified("t", NOW)
    assert one.partition.log == []


def test_a_verification_is_good_for_one_batch() -> None:
    one = leader()
    verified(one, batch(), "first")
    verified(one, batch(), "second")
    assert waits(one.handle_verified("first", NOW)) == (ProduceStage.WAITING, 0, False)
    one.handle_marker(WriteTxnMarkersRequest(1, 1, False, 1), "m", NOW)
    assert one.handle_verified("second", NOW) == ProduceResponse(Errors.INVALID_PRODUCER_EPOCH, 0)


def test_a_marker_waits_for_the_high_watermark_or_is_refused() -> None:
    one = leader(UNVERIFIED)
    one.handle_produce(batch(), "t", NOW)
    assert one.handle_marker(WriteTxnMarkersRequest(1, 1, True, 7), "m", NOW) == 1
    refused = WriteTxnMarkersResponse(6, Errors.TRANSACTION_COORDINATOR_FENCED)
    assert one.handle_marker(WriteTxnMarkersRequest(1, 1, True, 6), "old", NOW) == refused
    assert one.advance_high_watermark(2) == [
        PartitionReply("t", ProduceResponse(Errors.NONE, 0)),
        PartitionReply("m", WriteTxnMarkersResponse(7, Errors.NONE)),
    ]


@pytest.mark.parametrize(
    ("is_offsets", "error"), [(False, Errors.NOT_LEADER_OR_FOLLOWER), (True, Errors.NOT_COORDINATOR)]
)
def test_who_leads_no_more_refuses_all_that_wait(is_offsets: bool, error: Errors) -> None:
    one = leader(is_offsets=is_offsets)
    verified(one, batch(), "written")
    one.handle_verified("written", NOW)
    one.handle_marker(WriteTxnMarkersRequest(1, 1, True, 7), "m", NOW)
    verified(one, batch(1), "verified")
    one.handle_produce(batch(1), "verifying", NOW)
    assert one.resign() == [
        PartitionReply("verified", ProduceResponse(error, 0)),
        PartitionReply("verifying", ProduceResponse(error, 0)),
        PartitionReply("written", ProduceResponse(error, 0)),
        PartitionReply("m", WriteTxnMarkersResponse(7, Errors.NOT_LEADER_OR_FOLLOWER)),
    ]
    assert one.receive_verification("verifying", Errors.NONE) is None
    assert one.resign() == []


def test_a_group_is_asked_behind_the_verification() -> None:
    one, error = leader(is_offsets=True), Errors.ILLEGAL_GENERATION
    request = ProduceRequest(1, 0, NO_SEQUENCE, 7)
    assert one.refuse_offsets(request, "t", error) is None
    one.handle_produce(request, "t", NOW)
    assert one.refuse_offsets(request, "t", error) is None
    one.receive_verification("t", Errors.NONE)
    assert one.refuse_offsets(request, "t", error) == ProduceResponse(error, 0)
    assert (one.verifying, one.partition.log) == ({}, [])
    verified(one, request, "written")
    one.handle_verified("written", NOW)
    assert one.refuse_offsets(request, "written", error) is None, "it is in the log"
    assert one.refuse_offsets(request, "new", error) == ProduceResponse(error, 0), "open here, not to be verified"
    one.handle_marker(WriteTxnMarkersRequest(1, 1, True, 7), "m", NOW)
    assert one.refuse_offsets(request, "stale", error) is None


def test_a_fetch_waits_for_something_to_be_read_but_not_for_ever() -> None:
    one = leader(UNVERIFIED)
    request = FetchRequest(0, IsolationLevel.READ_UNCOMMITTED)
    assert one.receive_fetch(request) is None
    assert one.complete_fetch(request, False) is None
    timed_out = one.complete_fetch(request, True)
    assert timed_out is not None
    assert timed_out.end == 0
    one.handle_produce(batch(), "t", NOW)
    one.advance_high_watermark(1)
    now = one.receive_fetch(request)
    assert now is not None
    assert now.end == 1
    later = one.complete_fetch(request, False)
    assert later is not None
    assert later.end == 1
