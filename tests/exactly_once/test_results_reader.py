"""A consumer of the results: up to the last stable offset, and no records of aborted transactions."""

from __future__ import annotations

from tidemark.exactly_once.protocol import PROTOCOL
from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim.reader import ResultsReader
from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.messages import WriteTxnMarkersRequest
from tidemark.transactions.partition import TransactionalPartition


def output(rules: Rules) -> TransactionalPartition:
    """Producer 1 commits 10 and leaves 12 open; producer 2 aborts 20 in between."""
    made = TransactionalPartition(rules.for_transactions(), rules.for_sequences())
    made.append_batch(ProduceRequest(1, 0, 0, 10))
    made.append_batch(ProduceRequest(2, 0, 0, 20))
    made.append_marker(WriteTxnMarkersRequest(1, 1, True, 1))
    made.append_marker(WriteTxnMarkersRequest(2, 1, False, 1))
    made.append_batch(ProduceRequest(1, 1, 0, 12))
    made.advance_high_watermark(len(made.log))
    return made


def all_read(rules: Rules) -> ResultsReader:
    reader = ResultsReader(output(rules), rules)
    while not reader.at_end and reader.may_read():
        reader.read()
    return reader


def test_it_reads_what_is_committed() -> None:
    reader = all_read(Rules())
    assert (reader.position, reader.returned, reader.at_end) == (4, [10], False)


def test_without_isolation_it_reads_everything() -> None:
    reader = all_read(PROTOCOL.rules_without({"ReadCommitted"}))
    assert (reader.position, reader.returned, reader.at_end) == (5, [10, 20, 12], True)
