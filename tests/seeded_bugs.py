"""Ten bugs for the auditor to find: handlers of the implementation changed at run time, no named rule among them.

They were chosen from the implementation alone and committed before the auditor saw any of them; none was exchanged
afterwards. Each is one slip that could pass a review. Examples are an offset off by one, a lost update, a forgotten
reset or flush, the wrong one of two variables. `BUGS["..."].seeded()` puts one in for the length of a `with`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tidemark.common.errors import NONE
from tidemark.log.epoch_cache import LeaderEpochCache
from tidemark.replication.broker import Broker
from tidemark.replication.controller.records import PartitionChangeRecord, Record
from tidemark.replication.controller.replication_control import ReplicationControl
from tidemark.replication.fetcher import ReplicaFetcher
from tidemark.replication.messages import (
    REFUSED,
    BrokerId,
    FetchRequest,
    FetchResponse,
    PendingRead,
    ProduceResponse,
    Refused,
)
from tidemark.replication.partition import Partition, PartitionState
from tidemark.replication.purgatory import ProducePurgatory


@dataclass(frozen=True, slots=True)
class Bug:
    """`replacement` takes the place of method `method` of `owner`."""

    description: str
    owner: type
    method: str
    replacement: Callable[..., Any]

    @contextmanager
    def seeded(self) -> Iterator[None]:
        """The implementation with the bug. Methods are looked up at every call, so all existing objects have it too."""
        original = self.owner.__dict__[self.method]
        setattr(self.owner, self.method, self.replacement)
        try:
            yield
        finally:
            setattr(self.owner, self.method, original)


# --- log and epoch cache ----------------------------------------------------------------------------------------------


def _truncate_from_end(self: LeaderEpochCache, end_offset: int) -> None:
    entries = self.entries
    if entries and entries[-1].start_offset > end_offset:  # >=
        while entries and entries[-1].start_offset > end_offset:  # >=
            entries.pop()
        self._written()


# --- a leader's side --------------------------------------------------------------------------------------------------


def _read_fetch(self: Partition, read: PendingRead) -> FetchResponse | Refused:
    if not self._rules.slice_not_truncated(read.truncated):
        return REFUSED
    records = self.log.read(read.fetch_offset, read.limit)
    return FetchResponse(NONE, self.log.high_watermark, records)  # read.high_watermark


def _count(self: Partition, request: FetchRequest, now: int) -> None:
    replica = self.remote[request.replica_id]
    offset = request.fetch_offset
    if offset >= self.log.end_offset:
        replica.last_caught_up_ms = now
    if replica.log_end_offset != offset:  # or replica.broker_epoch != request.broker_epoch
        replica.log_end_offset = offset
        replica.broker_epoch = request.broker_epoch
    self._maybe_advance_high_watermark()


_original_make_leader = Partition.make_leader


def _make_leader(self: Partition, state: PartitionState, now: int) -> None:
    led, start = self.is_leader, self.epoch_start_offset
    _original_make_leader(self, state, now)
    if led:  # "it leads already": but perhaps in a new epoch
        self.epoch_start_offset = start


# --- a follower's side ------------------------------------------------------------------------------------------------


def _follower_append(self: ReplicaFetcher, request: FetchRequest, response: FetchResponse) -> None:
    log, batches = self._log, response.records
    if batches:
        accepted = self._accepted(request, response)
        if accepted:
            log.append_as_follower(batches if accepted == len(batches) else batches[:accepted])
            self._partition.last_fetched_epoch = batches[0].leader_epoch  # batches[accepted - 1]
    self.follower_adopt_hw(response)


# --- the purgatory ----------------------------------------------------------------------------------------------------


_original_forget = ProducePurgatory._forget
_original_complete_produce = ProducePurgatory.complete_produce


def _forget(self: ProducePurgatory, payload: int) -> None:
    _original_forget(self, next(iter(self.waiting)))  # payload


def _complete_produce(self: ProducePurgatory, payload: int) -> ProduceResponse | Refused | None:
    delayed = self.waiting.get(payload)
    response = _original_complete_produce(self, payload)
    if delayed is None or not isinstance(response, ProduceResponse):
        return response
    return ProduceResponse(payload, NONE, delayed.required_offset)  # delayed.base_offset


# --- the controller ---------------------------------------------------------------------------------------------------


def _partition_change(
    self: ReplicationControl, isr: frozenset[BrokerId], unclean: frozenset[BrokerId], leader: BrokerId | None
) -> tuple[Record, ...]:
    old = self.partition
    elr = self._next_elr(isr, unclean)
    if leader is not None and leader not in isr:
        isr = frozenset([leader])
    elr -= isr
    leader_epoch = old.leader_epoch + (leader is not None and leader != old.leader)  # leader != old.leader
    if leader == old.leader and isr == old.isr and elr == old.elr:
        return ()
    return (PartitionChangeRecord(leader, leader_epoch, old.partition_epoch + 1, isr, elr),)


def _next_elr(self: ReplicationControl, isr: frozenset[BrokerId], unclean: frozenset[BrokerId]) -> frozenset[BrokerId]:
    if len(isr) >= self._effective_min_isr:
        return frozenset()
    return (self.partition.isr - isr) - unclean  # (self.partition.elr | self.partition.isr) - isr


# --- crash and restart ------------------------------------------------------------------------------------------------


def _stop_broker(self: Broker) -> None:
    self.log.checkpoint_high_watermark()  # after self.log.flush_log()
    self.storage.clean_shutdown_epoch = self.epoch


BUGS: dict[str, Bug] = {
    "cache_trim_off_by_one": Bug(
        "truncation keeps a cache entry that begins exactly at the truncation offset",
        LeaderEpochCache,
        "truncate_from_end",
        _truncate_from_end,
    ),
    "late_high_watermark": Bug(
        "a fetch that is read late carries the high watermark of the reading, not of the validation",
        Partition,
        "read_fetch",
        _read_fetch,
    ),
    "broker_epoch_update_lost": Bug(
        "a restarted follower that fetches at the offset it had keeps its old broker epoch at the leader",
        Partition,
        "_count",
        _count,
    ),
    "epoch_start_not_moved": Bug(
        "a leader elected again within one delta keeps the start offset of its earlier epoch",
        Partition,
        "make_leader",
        _make_leader,
    ),
    "epoch_of_first_batch": Bug(
        "after an append the follower's last fetched epoch is that of the first batch, not of the last",
        ReplicaFetcher,
        "follower_append",
        _follower_append,
    ),
    "wrong_produce_forgotten": Bug(
        "the purgatory answers a produce and removes the oldest one that waits",
        ProducePurgatory,
        "_forget",
        _forget,
    ),
    "acknowledged_offset_off_by_one": Bug(
        "an acknowledgement carries the required offset instead of the record's",
        ProducePurgatory,
        "complete_produce",
        _complete_produce,
    ),
    "no_bump_when_leaderless": Bug(
        "the controller does not bump the leader epoch when the partition loses its leader",
        ReplicationControl,
        "_partition_change",
        _partition_change,
    ),
    "elr_not_carried_over": Bug(
        "who was in the ELR before leaves it when the ISR changes again below the minimum",
        ReplicationControl,
        "_next_elr",
        _next_elr,
    ),
    "stop_without_flush": Bug(
        "a clean stop does not flush the log",
        Broker,
        "stop_broker",
        _stop_broker,
    ),
}
