"""A partition with its leader, as far as idempotence needs it: the log, the high watermark, producer state.

How the log is replicated is replication's affair: here a new leader has all that is committed, and as much more as is
said.
"""

from __future__ import annotations

from typing import NamedTuple

from tidemark.common.errors import Errors
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse, ProducerId
from tidemark.idempotence.producer_state import ProducerStateManager
from tidemark.idempotence.rules import Rules

Broker = int


class Parked(NamedTuple):
    """The batch is in the log at `offset`; the answer waits until it is committed."""

    offset: int
    duplicate: bool


class Partition:
    """One partition; `leader` leads it. `log`: the batches that it has, one offset each."""

    __slots__ = ("_rules", "high_watermark", "leader", "log", "producers")

    def __init__(self, rules: Rules, window: int, max_sequence: int, leader: Broker) -> None:
        self._rules = rules
        self.leader = leader
        self.log: list[ProduceRequest] = []
        self.high_watermark = 0
        self.producers = ProducerStateManager(rules, window, max_sequence)

    def append_batch(self, request: ProduceRequest) -> Parked | ProduceResponse:
        """Handle a produce: append it, or say why not. A duplicate is answered with its old offset."""
        duplicate = self.producers.duplicate_of(request)
        if duplicate is not None:
            if self._rules.duplicate_waits_for_commit(duplicate.offset, self.high_watermark):
                return Parked(duplicate.offset, True)
            return ProduceResponse(Errors.NONE, duplicate.offset)
        error = self.producers.validate(request)
        if error is not Errors.NONE:
            return ProduceResponse(error)
        offset = len(self.log)
        self.log.append(request)
        if self._rules.state_follows_append(True):
            self.producers.update(request, offset)
        return Parked(offset, False)

    def fail_append(self, request: ProduceRequest) -> ProduceResponse | None:
        """Handle a produce while too few replicas are in sync: what would be appended is refused. None for what would
        not be appended anyway."""
        if self.producers.duplicate_of(request) is not None or self.producers.validate(request) is not Errors.NONE:
            return None
        if self._rules.state_follows_append(False):
            self.producers.update(request, len(self.log))
        return ProduceResponse(Errors.NOT_ENOUGH_REPLICAS)

    def advance_high_watermark(self, offset: int) -> bool:
        """The replicas have all below `offset`; False if that is nothing new."""
        if offset <= self.high_watermark or offset > len(self.log):
            return False
        self.high_watermark = offset
        return True

    def expire_producer(self, producer_id: ProducerId, under_way: bool) -> bool | None:
        """producer.id.expiration.ms is over for a producer, of which something may be `under_way`. None if nothing is
        known of it, False if it is kept."""
        if producer_id not in self.producers.entries:
            return None
        if not self._rules.state_outlives_retries(under_way):
            return False
        self.producers.expire(producer_id)
        return True

    def elect_leader(self, leader: Broker, keep: int, snapshot_offset: int) -> None:
        """Another broker leads (or the same, started again). It has the first `keep` batches, and loads its producer
        state from a snapshot taken at `snapshot_offset`."""
        before = list(self.log)
        del self.log[keep:]
        self.leader = leader
        known = self.log if self._rules.state_follows_truncation(keep, len(before)) else before
        self.producers.load(known, snapshot_offset)
