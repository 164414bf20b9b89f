"""The safety rules of replication, one small pure function each, under the names that the specification gives them.

A guard answers "may this go ahead", a case "does this case arise"; the mechanism that asks is in the other files.
`Rules` gathers them; a broker or a controller is given one when it is built. flaws.py has the computations that replace
others without some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields

from tidemark.common.rule_kinds import case, guard
from tidemark.log.epoch_cache import NO_EPOCH, EpochEndOffset, LeaderEpochCache
from tidemark.log.log import Log
from tidemark.replication.messages import UNKNOWN_BROKER_EPOCH, BrokerId, FetchResponse


@case
def truncate_by_epoch(cache: LeaderEpochCache) -> bool:
    """KIP-101 (KAFKA-1211): a follower that knows epochs asks its leader where they end. Without it the follower cuts
    its log to its own high watermark, which may lag: committed records vanish (row 1) and logs diverge (row 2)."""
    return bool(cache.entries)


@case
def end_of_another_epoch(own: EpochEndOffset, asked_epoch: int) -> bool:
    """KIP-279 (KAFKA-6361): a leader that is asked for the end of an epoch says which epoch its answer is for. Another
    one than asked is a divergence. Without it leader and follower compare offsets alone: logs diverge (row 3)."""
    return own.epoch != asked_epoch


@case
def cache_epoch_at_election(leader_epoch: int, latest_epoch: int) -> bool:
    """KAFKA-7415: a new leader notes where its epoch begins. Without it a follower of a later epoch gets an undefined
    answer and cuts its log to its high watermark (row 4)."""
    return leader_epoch > latest_epoch


@guard
def fetch_epoch_not_older(fetch_epoch: int, leader_epoch: int) -> bool:
    """KIP-320: a fetch of an older leader epoch is refused. Without it a follower of an older epoch is counted in the
    high watermark, then truncates (row 5; with the next rule, row 7)."""
    return fetch_epoch >= leader_epoch


@guard
def fetch_epoch_not_newer(fetch_epoch: int, leader_epoch: int) -> bool:
    """KIP-320: a leader that has not heard of the fetch's epoch does not answer. Without it a stale leader gives the
    truncation point (row 6)."""
    return fetch_epoch <= leader_epoch


@case
def truncate_on_every_epoch_change(known_epoch: int, new_epoch: int) -> bool:
    """KAFKA-7164: a follower checks for divergence in every new epoch. Without it one that missed epochs of an
    unchanged leader skips the check (row 8)."""
    return new_epoch != known_epoch


@guard
def reached_epoch_start(follower_end_offset: int, epoch_start_offset: int) -> bool:
    """KAFKA-7128: a follower joins the ISR when it has the leader's records up to the start of its epoch. Without it
    one at the new leader's stale high watermark joins, is elected, and acknowledged records vanish (row 9)."""
    return follower_end_offset >= epoch_start_offset


@guard
def fetch_does_not_diverge(response: FetchResponse) -> bool:
    """KAFKA-13141: a fetch that diverges says nothing of how far the follower is. Without it the follower counts as
    having reached an offset that it is about to truncate (row 10)."""
    return response.diverging is None


@guard
def nothing_to_truncate(response: FetchResponse) -> bool:
    """KAFKA-14704: a follower takes the leader's high watermark only after it truncated. Without it the high watermark
    covers records that are about to go (row 11)."""
    return response.diverging is None


@guard
def slice_not_truncated(truncated: bool) -> bool:
    """CAND-3, this project's find; Kafka 4.x lacks it: bytes that are read late are those that were validated. Without
    it a slow response brings what was written since. The two rules of a batch's epoch are no repair then (rows 12, 104
    and 139)."""
    return not truncated


@guard
def no_batch_above_fetch_epoch(batch_epoch: int, fetch_epoch: int) -> bool:
    """KAFKA-18723: a batch of a later epoch than the fetch's is dropped. Without it and `slice_not_truncated`, logs
    diverge: a former leader's slow response brings records of an epoch that the follower never reconciled with (row
    12)."""
    return batch_epoch <= fetch_epoch


@guard
def ack_all_only_below_hw(high_watermark: int, required_offset: int) -> bool:
    """acks=all means committed. Without it a produce is acknowledged before the ISR has it (row 17)."""
    return high_watermark >= required_offset


@guard
def complete_own_record(epoch_there: int, epoch_of_append: int) -> bool:
    """CAND-17, CAND-18; Kafka 4.x lacks it: a produce is completed only while its record is at its offset. The lock was
    let go since the append. Without it a record that is gone is acknowledged: by a leader that has followed and
    truncated before the produce began to wait (row 148), or after the purgatory saw that it leads (row 149)."""
    return epoch_there == epoch_of_append


@guard
def elect_from_isr(broker: BrokerId, isr: Collection[BrokerId], elr: Collection[BrokerId]) -> bool:
    """Unclean leader election is off: an ISR member leads, or one of the ELR when the ISR is empty. Without it a
    laggard is elected (row 18)."""
    return broker in isr or (not isr and broker in elr)


@case
def reset_remote_leo_on_new_leader_epoch(known_epoch: int, new_epoch: int) -> bool:
    """CAND-1, this project's find; Kafka 4.x lacks it: a leader of a new epoch forgets what its followers had. Without
    it a leader that is elected again within one delta counts records that they have truncated (row 19)."""
    return new_epoch != known_epoch


@case
def unclean_leaves_isr(previous_broker_epoch: int | None, registered_epoch: int) -> bool:
    """KIP-966: an incarnation after an unclean stop leaves ISR and ELR. Without it a broker that may have lost records
    stays electable (row 20)."""
    return previous_broker_epoch != registered_epoch


@guard
def hw_only_at_min_isr(isr_size: int, effective_min_isr: int) -> bool:
    """KIP-966 (KAFKA-15583): the high watermark waits while the ISR is below min.insync.replicas. Without it the high
    watermark passes records that members of the ELR lack (row 21)."""
    return isr_size >= effective_min_isr


@guard
def broker_epoch_per_isr_member(member_epoch: int, registered_epoch: int) -> bool:
    """KIP-903 (KAFKA-14139): a proposed member is the incarnation that fetched. Without it a proposal made before a
    member's restart adds it again without its records (row 22)."""
    return member_epoch in (UNKNOWN_BROKER_EPOCH, registered_epoch)


@case
def count_members_being_removed(isr: frozenset[BrokerId], proposed: frozenset[BrokerId]) -> bool:
    """KIP-497: a member counts until the controller has removed it. Without it the high watermark passes a member that
    can still be elected (row 25)."""
    return proposed <= isr


@case
def count_members_being_added(isr: frozenset[BrokerId], proposed: frozenset[BrokerId]) -> bool:
    """KIP-497: a proposed member counts at once, since the controller may have added it already. Without it the high
    watermark passes a member that can be elected (row 26)."""
    return isr <= proposed


@guard
def match_fetch_epoch(fetch_epoch: int, leader_epoch: int) -> bool:
    """KAFKA-18991: a response counts only in the leader epoch of its request. Without it one to a fetch of an older
    epoch truncates committed records (row 103)."""
    return fetch_epoch == leader_epoch


@guard
def match_epoch_at_truncation(fetch_epoch: int, leader_epoch: int) -> bool:
    """CAND-14; Kafka 4.x lacks it: an answer that was checked truncates only in the leader epoch of its request. The
    lock was let go since the check. Without it a follower that has been through another epoch meanwhile truncates
    committed records (row 141)."""
    return fetch_epoch == leader_epoch


@guard
def count_in_fetch_epoch(fetch_epoch: int, leader_epoch: int) -> bool:
    """CAND-15; Kafka 4.x lacks it: a fetch counts only in the leader epoch in which it was validated, for the lock was
    let go since. Without it a leader that was elected again within one delta counts records that its follower has
    truncated (row 142)."""
    return fetch_epoch == leader_epoch


@guard
def tail_epoch_monotone(batch_epoch: int, tail_epoch: int) -> bool:
    """The first repair of CAND-3; Kafka 4.x lacks it: no batch goes behind a record of a later epoch. Without it and
    `slice_not_truncated` bytes that the leader read late hide a divergence from every later fetch (row 104). Alone it
    is no repair (row 139)."""
    return batch_epoch >= tail_epoch


@case
def keep_proposal_at_known_epoch(partition_epoch: int, known_partition_epoch: int) -> bool:
    """CAND-4; Kafka 4.x lacks it: metadata that only repeats what an AlterPartition reply has told leaves a proposal
    alone that the leader has made since. Without it the proposal is forgotten while the controller may accept it: the
    high watermark does not count a member of the ISR (row 105)."""
    return partition_epoch == known_partition_epoch


@guard
def alter_of_leader_epoch(request_epoch: int, leader_epoch: int) -> bool:
    """KIP-497. Without it a leader that was elected again takes a decision of its new epoch for one of its old epoch.
    It does so without `alter_of_partition_epoch` only: a new leader's epoch comes with a new partition epoch."""
    return request_epoch >= leader_epoch


@guard
def alter_of_partition_epoch(request_epoch: int, partition_epoch: int) -> bool:
    """KIP-497. Without it a proposal that was made on an older ISR is taken."""
    return request_epoch >= partition_epoch


@guard
def alter_of_broker_epoch(request_epoch: int, registered_epoch: int) -> bool:
    """KIP-497. Without it the proposal of a leader's earlier incarnation is still refused: the broker has registered
    anew, and leads in another leader epoch or not at all."""
    return request_epoch == registered_epoch


@guard
def isr_members_active(active: bool) -> bool:
    """KIP-841: a fenced or stopping broker is no ISR member. Without it such a broker joins the ISR."""
    return active


@guard
def min_isr_on_append(isr_size: int, effective_min_isr: int) -> bool:
    """acks=all needs min.insync.replicas. Without it a leader appends a record though its ISR is too small. No property
    falls, for the record is acknowledged only when the ISR is large enough."""
    return isr_size >= effective_min_isr


@guard
def read_below_hw(end_offset: int, high_watermark: int) -> bool:
    """Consumers read committed records only. Without it one is given a record that the ISR does not have, and that may
    vanish (row 138)."""
    return end_offset <= high_watermark


# Computations that are others without a rule. They are no rules by themselves, but are injected with them.


def truncation_point(own: EpochEndOffset, diverging: EpochEndOffset, log_end_offset: int, differs: bool) -> int:
    """Where a follower cuts its log: `own` is its end of the diverging epoch, `diverging` the leader's answer,
    `differs` what `end_of_another_epoch` says of them (KIP-279)."""
    if own.epoch == NO_EPOCH:
        return min(diverging.end_offset, log_end_offset)
    if differs:
        return min(own.end_offset, log_end_offset)
    return min(own.end_offset, diverging.end_offset, log_end_offset)


def out_of_range_point(log: Log, leader_end_offset: int) -> int:
    """Where a follower cuts its log when its offset is out of the leader's range: never below the leader's end."""
    return min(leader_end_offset, log.end_offset)


@dataclass(slots=True)
class Rules:
    """The rules in force, one callable each, and behind them the two computations that depend on a rule."""

    truncate_by_epoch: Callable[[LeaderEpochCache], bool] = truncate_by_epoch
    end_of_another_epoch: Callable[[EpochEndOffset, int], bool] = end_of_another_epoch
    cache_epoch_at_election: Callable[[int, int], bool] = cache_epoch_at_election
    fetch_epoch_not_older: Callable[[int, int], bool] = fetch_epoch_not_older
    fetch_epoch_not_newer: Callable[[int, int], bool] = fetch_epoch_not_newer
    truncate_on_every_epoch_change: Callable[[int, int], bool] = truncate_on_every_epoch_change
    reached_epoch_start: Callable[[int, int], bool] = reached_epoch_start
    fetch_does_not_diverge: Callable[[FetchResponse], bool] = fetch_does_not_diverge
    nothing_to_truncate: Callable[[FetchResponse], bool] = nothing_to_truncate
    slice_not_truncated: Callable[[bool], bool] = slice_not_truncated
    no_batch_above_fetch_epoch: Callable[[int, int], bool] = no_batch_above_fetch_epoch
    ack_all_only_below_hw: Callable[[int, int], bool] = ack_all_only_below_hw
    complete_own_record: Callable[[int, int], bool] = complete_own_record
    elect_from_isr: Callable[[BrokerId, Collection[BrokerId], Collection[BrokerId]], bool] = elect_from_isr
    reset_remote_leo_on_new_leader_epoch: Callable[[int, int], bool] = reset_remote_leo_on_new_leader_epoch
    unclean_leaves_isr: Callable[[int | None, int], bool] = unclean_leaves_isr
    hw_only_at_min_isr: Callable[[int, int], bool] = hw_only_at_min_isr
    broker_epoch_per_isr_member: Callable[[int, int], bool] = broker_epoch_per_isr_member
    count_members_being_removed: Callable[[frozenset[BrokerId], frozenset[BrokerId]], bool] = (
        count_members_being_removed
    )
    count_members_being_added: Callable[[frozenset[BrokerId], frozenset[BrokerId]], bool] = count_members_being_added
    match_fetch_epoch: Callable[[int, int], bool] = match_fetch_epoch
    match_epoch_at_truncation: Callable[[int, int], bool] = match_epoch_at_truncation
    count_in_fetch_epoch: Callable[[int, int], bool] = count_in_fetch_epoch
    tail_epoch_monotone: Callable[[int, int], bool] = tail_epoch_monotone
    keep_proposal_at_known_epoch: Callable[[int, int], bool] = keep_proposal_at_known_epoch
    alter_of_leader_epoch: Callable[[int, int], bool] = alter_of_leader_epoch
    alter_of_partition_epoch: Callable[[int, int], bool] = alter_of_partition_epoch
    alter_of_broker_epoch: Callable[[int, int], bool] = alter_of_broker_epoch
    isr_members_active: Callable[[bool], bool] = isr_members_active
    min_isr_on_append: Callable[[int, int], bool] = min_isr_on_append
    read_below_hw: Callable[[int, int], bool] = read_below_hw

    truncation_point: Callable[[EpochEndOffset, EpochEndOffset, int, bool], int] = truncation_point
    out_of_range_point: Callable[[Log, int], int] = out_of_range_point


COMPUTATIONS = ("truncation_point", "out_of_range_point")
RULES = tuple(field.name for field in fields(Rules) if field.name not in COMPUTATIONS)
"""The rules' names, in the specification's order."""
