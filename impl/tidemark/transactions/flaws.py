"""The reading of a partition, and a coordinator's transitions, without some rules. Nothing in production imports this
file; the simulator does.
"""

from __future__ import annotations

from tidemark.common.rule_kinds import is_rule
from tidemark.transactions.coordinator import Replies, TransactionCoordinator
from tidemark.transactions.messages import FetchResponse, TransactionLogValue
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


def committed_record(
    rules: Rules, coordinator: TransactionCoordinator, record: TransactionLogValue, timestamp_ms: int
) -> Replies:
    """The replies when the record of the pending transition is replicated. Without `accept_earlier_time` the transition
    stays pending if its time is before the last one's (before KAFKA-8803)."""
    if timestamp_ms >= coordinator.timestamp_ms or is_rule(rules.accept_earlier_time):
        return coordinator.commit_record(record, timestamp_ms)
    return ()


FLAWED = {
    "read_high_watermark_once": read_end_of,
    "aborted_list_of_delayed_fetch": answer_of,
    "accept_earlier_time": committed_record,
}
"""Rule -> what stands in its place."""
