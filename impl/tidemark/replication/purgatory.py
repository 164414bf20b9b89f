"""Delayed produces (DelayedProduce, the purgatory): acks=all waits here until the high watermark covers the record."""

from __future__ import annotations

from tidemark.common.errors import (
    NONE,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    NOT_LEADER_OR_FOLLOWER,
    REQUEST_TIMED_OUT,
)
from tidemark.common.structs import value
from tidemark.log.storage import Payload
from tidemark.replication.messages import REFUSED, ProduceResponse, Refused
from tidemark.replication.partition import Partition
from tidemark.replication.rules import Rules


@value
class DelayedProduce:
    """A produce that waits for the high watermark to reach `required_offset`, until `deadline_ms` at the longest.
    `leader_epoch`: that of its append."""

    payload: Payload
    base_offset: int
    required_offset: int
    deadline_ms: int
    leader_epoch: int


class ProducePurgatory:
    """The waiting produces of one partition, oldest first: payload -> DelayedProduce. `created`: those appended that
    their handlers have not added yet."""

    __slots__ = ("_partition", "_rules", "created", "waiting")

    def __init__(self, partition: Partition, rules: Rules) -> None:
        self._partition = partition
        self._rules = rules
        self.waiting: dict[Payload, DelayedProduce] = {}
        self.created: dict[Payload, DelayedProduce] = {}

    def park(self, payload: Payload, base_offset: int, deadline_ms: int, later: bool) -> None:
        """An appended acks=all produce waits; `later`: from `add_delayed_produce` on."""
        epoch = self._partition.leader_epoch
        delayed = DelayedProduce(payload, base_offset, base_offset + 1, deadline_ms, epoch)
        (self.created if later else self.waiting)[payload] = delayed

    def add_delayed_produce(self, payload: Payload) -> bool:
        """The handler of an appended produce goes on: whether it waits now. False: it is not here, or the broker
        leads no more; then it is to be failed."""
        if payload not in self.created or not self._partition.is_leader:
            return False
        self.waiting[payload] = self.created.pop(payload)
        return True

    def _own(self, delayed: DelayedProduce) -> bool:
        there = self._partition.log.epoch_at(delayed.base_offset)
        return self._rules.complete_own_record(there, delayed.leader_epoch)

    def complete_produce(self, payload: Payload) -> ProduceResponse | Refused | None:
        """Acknowledge a waiting produce. None: it does not wait here or cannot succeed now; REFUSED: not committed
        yet, or another record is at its offset. A broker that leads no more may do so: it was seen to lead before."""
        delayed, partition = self.waiting.get(payload), self._partition
        if delayed is None or (partition.is_leader and not partition.has_enough_replicas()):
            return None
        covered = self._rules.ack_all_only_below_hw(partition.log.high_watermark, delayed.required_offset)
        if not covered or not self._own(delayed):
            return REFUSED
        self._forget(payload)
        return ProduceResponse(payload, NONE, delayed.base_offset)

    def fail_produce(self, payload: Payload, now: int) -> ProduceResponse | None:
        """Answer a waiting produce with the error that is due, None if none is; the log stays as it is. One that
        was to wait is answered if the broker leads no more."""
        partition = self._partition
        if payload in self.created:
            if partition.is_leader:
                return None
            del self.created[payload]
            return ProduceResponse(payload, NOT_LEADER_OR_FOLLOWER)
        delayed = self.waiting.get(payload)
        if delayed is None:
            return None
        if not partition.is_leader or not self._own(delayed):
            error = NOT_LEADER_OR_FOLLOWER
        elif partition.log.high_watermark >= delayed.required_offset and not partition.has_enough_replicas():
            error = NOT_ENOUGH_REPLICAS_AFTER_APPEND
        elif now >= delayed.deadline_ms:
            error = REQUEST_TIMED_OUT
        else:
            return None
        self._forget(payload)
        return ProduceResponse(payload, error)

    def _forget(self, payload: Payload) -> None:
        del self.waiting[payload]
