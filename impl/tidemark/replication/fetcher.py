"""The follower's fetcher (AbstractFetcherThread, ReplicaFetcherThread): ask the leader, take its answer.

A fetch carries the partition's fetch state: the leader epoch, the log's end and the epoch of its tail. A response
counts only if that state has not changed since the request. Then it brings records, or says where the logs part, or
that the offset lies beyond the leader's log.
"""

from __future__ import annotations

from tidemark.common.errors import NONE, OFFSET_OUT_OF_RANGE
from tidemark.log.log import Log
from tidemark.replication.messages import BrokerId, FetchRequest, FetchResponse
from tidemark.replication.partition import Partition
from tidemark.replication.rules import Rules

APPEND, TRUNCATE, OUT_OF_RANGE, DROP = "append", "truncate", "out of range", "drop"
"""The results of `verdict` for a response."""


class ReplicaFetcher:
    """The fetcher of one partition on one broker; `broker_epoch` is that of the running incarnation."""

    __slots__ = ("_log", "_partition", "_rules", "broker_epoch")

    def __init__(self, partition: Partition, broker_epoch: int, rules: Rules) -> None:
        self._partition = partition
        self._log: Log = partition.log
        self._rules = rules
        self.broker_epoch = broker_epoch

    def send_fetch(self) -> FetchRequest:
        """The next fetch to the leader that the partition follows."""
        partition = self._partition
        return FetchRequest(
            partition.broker_id,
            self.broker_epoch,
            partition.leader_epoch,
            self._log.end_offset,
            partition.last_fetched_epoch,
        )

    def verdict(self, source: BrokerId, request: FetchRequest, response: FetchResponse) -> str:
        """The action for the response of broker `source` to `request`: one of the constants of this module."""
        partition = self._partition
        if (
            partition.leader_id != source
            or request.fetch_offset != self._log.end_offset
            or not self._rules.match_fetch_epoch(request.current_leader_epoch, partition.leader_epoch)
        ):
            return DROP
        if response.error is not NONE:
            return OUT_OF_RANGE if response.error is OFFSET_OUT_OF_RANGE else DROP
        return APPEND if response.diverging is None else TRUNCATE

    def check_diverging(self, source: BrokerId, request: FetchRequest, response: FetchResponse) -> bool:
        """Whether a response diverges and is the current fetch's, so that it may be put aside: the lock is let go, and
        `still_truncates` asks again."""
        return self.verdict(source, request, response) is TRUNCATE

    def still_truncates(self, source: BrokerId, request: FetchRequest) -> bool:
        """Whether a diverging answer that was checked some time ago may truncate now. The lock was free since: the
        partition may have another leader, or another leader epoch."""
        partition = self._partition
        return partition.leader_id == source and self._rules.match_epoch_at_truncation(
            request.current_leader_epoch, partition.leader_epoch
        )

    def follower_append(self, request: FetchRequest, response: FetchResponse) -> None:
        """Append the response's batches up to the first that a rule refuses, then take the leader's high watermark."""
        log, batches = self._log, response.records
        if batches:
            accepted = self._accepted(request, response)
            if accepted:
                log.append_as_follower(batches if accepted == len(batches) else batches[:accepted])
                self._partition.last_fetched_epoch = batches[accepted - 1].leader_epoch
        self.follower_adopt_hw(response)

    def _accepted(self, request: FetchRequest, response: FetchResponse) -> int:
        """How many of the batches may be appended."""
        rules, fetch_epoch = self._rules, request.current_leader_epoch
        tail = self._log.tail_epoch()
        for index, batch in enumerate(response.records):
            epoch = batch.leader_epoch
            if not rules.no_batch_above_fetch_epoch(epoch, fetch_epoch) or not rules.tail_epoch_monotone(epoch, tail):
                return index
            tail = epoch
        return len(response.records)

    def follower_truncate(self, response: FetchResponse) -> None:
        """The logs part: cut the own one where they do, as far as the answer tells; the next fetch asks again."""
        log, diverging = self._log, response.diverging
        if diverging is None:
            return
        own = log.end_offset_for_epoch(diverging.epoch)
        differs = self._rules.end_of_another_epoch(own, diverging.epoch)
        point = self._rules.truncation_point(own, diverging, log.end_offset, differs)
        log.truncate_to(point)
        self.follower_adopt_hw(response)
        self._partition.last_fetched_epoch = log.epoch_cache.latest_epoch

    def follower_adopt_hw(self, response: FetchResponse) -> bool:
        """Take a response's high watermark, up to the log's end; False if a rule refuses."""
        if not self._rules.nothing_to_truncate(response):
            return False
        self._log.set_high_watermark(response.high_watermark)
        return True

    def follower_out_of_range(self, response: FetchResponse) -> None:
        """The leader's log cannot tell where this one goes on: cut to the leader's end if it is shorter."""
        log = self._log
        log.truncate_to(self._rules.out_of_range_point(log, response.log_end_offset))
        self._partition.last_fetched_epoch = log.epoch_cache.latest_epoch
