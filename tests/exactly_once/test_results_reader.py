"""The results with their leader, and a consumer of them: up to the last stable offset, without aborted records."""

from __future__ import annotations

import pytest
from tidemark.common.errors import Errors
from tidemark.exactly_once.flaws import heeded, isolation_level_of
from tidemark.exactly_once.protocol import PROTOCOL
from tidemark.exactly_once.results_partition import ResultsPartition
from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim.reader import ResultsReader
from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.messages import AddPartitionsToTxnRequest, WriteTxnMarkersRequest


def output(rules: Rules) -> ResultsPartition:
    """Producer 1 commits 10 and leaves 12 open; producer 2 aborts 20 in between."""
    made = ResultsPartition(rules, 0, 1)
    made.append_batch(ProduceRequest(1, 0, 0, 10))
    made.append_batch(ProduceRequest(2, 0, 0, 20))
    made.append_marker(WriteTxnMarkersRequest(1, 1, True, 1))
    made.append_marker(WriteTxnMarkersRequest(2, 1, False, 1))
    made.append_batch(ProduceRequest(1, 1, 0, 12))
    made.advance_high_watermark(len(made.log))
    return made


def all_read(rules: Rules) -> ResultsReader:
    reader = ResultsReader(output(rules), isolation_level_of(rules))
    while not reader.at_end and reader.read():
        assert reader.position
    assert reader.waits
    return reader


def test_it_reads_what_is_committed() -> None:
    reader = all_read(Rules())
    assert (reader.position, reader.returned, reader.at_end) == (4, [10], False)


def test_without_isolation_it_reads_everything() -> None:
    reader = all_read(PROTOCOL.rules_without({"ReadCommitted"}))
    assert (reader.position, reader.returned, reader.at_end) == (5, [10, 20, 12], True)


@pytest.mark.parametrize(
    ("without", "error"), [((), Errors.INVALID_PRODUCER_EPOCH), (("VerifyTransaction",), Errors.NONE)]
)
def test_a_batch_that_the_transaction_coordinator_refuses_is_refused(without: tuple[str, ...], error: Errors) -> None:
    rules = PROTOCOL.rules_without(without)
    made = output(rules)
    late, following = ProduceRequest(2, 1, 0, 21), ProduceRequest(1, 1, 1, 13)
    assert made.verify_result(following) is None, "its transaction is open here"
    assert made.append_result(following, Errors.NONE) is Errors.NONE
    assert made.verify_result(late) == AddPartitionsToTxnRequest(2, 1, 0)
    assert made.append_result(late, heeded(rules, Errors.PRODUCER_FENCED)) is error
    assert made.verify_result(ProduceRequest(2, 0, 1, 22)) is None, "of an older epoch"
    assert made.append_result(ProduceRequest(2, 0, 1, 22), Errors.NONE) is Errors.INVALID_PRODUCER_EPOCH


def test_a_duplicate_is_answered_and_not_written() -> None:
    made = output(Rules())
    end = len(made.log)
    assert made.append_result(ProduceRequest(1, 1, 0, 12), Errors.NONE) is Errors.NONE
    assert len(made.log) == made.high_watermark == end
    assert made.append_result(ProduceRequest(1, 1, 2, 14), Errors.NONE) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
