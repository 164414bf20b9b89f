"""The reading of a partition without some rules. Nothing in production imports this file; the simulator does."""

from __future__ import annotations

from tidemark.common.rule_kinds import is_rule
from tidemark.transactions.messages import FetchResponse
from tidemark.transactions.partition import LogRead, TransactionalPartition
from tidemark.transactions.rules import Rules


def read_end_of(rules: Rules, partition: TransactionalPartition, reading: LogRead, stable: bool) -> int:
    """The offset before which a fetch ends. `stable`: its end was the high watermark, because nothing below that was
    undecided. Without `read_high_watermark_once` it then ends at the high watermark of now (before KAFKA-9807)."""
    if not stable or is_rule(rules.read_high_watermark_once):
        return reading.end
    return partition.high_watermark


def answer_of(rules: Rules, response: FetchResponse, delayed: bool) -> FetchResponse:
    """The response to a fetch that is `delayed`, or is not: without `aborted_list_of_delayed_fetch` the one to a
    delayed fetch lists no aborted transaction."""
    if not delayed or is_rule(rules.aborted_list_of_delayed_fetch):
        return response
    return FetchResponse(response.records, ())


FLAWED = {"read_high_watermark_once": read_end_of, "aborted_list_of_delayed_fetch": answer_of}
"""Rule -> what stands in its place."""
