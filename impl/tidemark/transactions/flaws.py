"""The reading of a partition without some rules. Nothing in production imports this file; the simulator does."""

from __future__ import annotations

from tidemark.common.rule_kinds import is_rule
from tidemark.transactions.messages import FetchRequest, FetchResponse
from tidemark.transactions.partition import LogRead, TransactionalPartition
from tidemark.transactions.rules import Rules


class ReadToHighWatermark(LogRead):
    """A read that found nothing undecided below the high watermark. It ends there, wherever that is by then."""


class ReadsHighWatermarkAgain(TransactionalPartition):
    """Before KAFKA-9807: a partition that reads the high watermark again for the reading."""

    def start_read(self, request: FetchRequest) -> LogRead:
        """It remembers whether the end is the high watermark."""
        reading = super().start_read(request)
        if self.last_readable(request.isolation_level) != self.high_watermark:
            return reading
        return ReadToHighWatermark(request, reading.end)

    def read_end(self, reading: LogRead) -> int:
        """The high watermark of now, if that was the end."""
        return self.high_watermark if isinstance(reading, ReadToHighWatermark) else super().read_end(reading)


def partition_of(rules: Rules, is_offsets: bool, transaction_version: int) -> TransactionalPartition:
    """A partition at a broker with these rules: without `read_high_watermark_once`, an older one."""
    if is_rule(rules.read_high_watermark_once):
        return TransactionalPartition(rules, None, is_offsets, transaction_version=transaction_version)
    return ReadsHighWatermarkAgain(rules, None, is_offsets, transaction_version=transaction_version)


def answer_of(rules: Rules, response: FetchResponse, delayed: bool) -> FetchResponse:
    """The response to a fetch that is `delayed`, or is not: without `aborted_list_of_delayed_fetch` the one to a
    delayed fetch lists no aborted transaction."""
    if not delayed or is_rule(rules.aborted_list_of_delayed_fetch):
        return response
    return FetchResponse(response.records, ())


FLAWED = {"read_high_watermark_once": ReadsHighWatermarkAgain, "aborted_list_of_delayed_fetch": answer_of}
"""Rule -> what stands in its place."""
