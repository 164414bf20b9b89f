"""The safety rules of committed offsets, one small pure function each, under the specification's names.

A guard answers "may this go ahead", a case "does this case arise"; the mechanism that asks is in the other files.
Nobody asks `load_replaces` and `materialise_first`: a coordinator does as they say, and flaws.py has what does
otherwise. `OffsetRules` gathers them; a coordinator is given one when it is built.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, fields

from tidemark.common.errors import Errors
from tidemark.common.rule_kinds import case, guard
from tidemark.groups.offset_records import OffsetsGroupState, ProducerId
from tidemark.groups.partitions import TopicPartition


@guard
def expire_only_unsubscribed(partition: TopicPartition, subscribed: Collection[TopicPartition]) -> bool:
    """KIP-211 (KAFKA-4682). Without it the offset of a partition that a member reads expires (row 53)."""
    return partition not in subscribed


@case
def count_from_empty(state: OffsetsGroupState) -> bool:
    """KIP-211; in the groups of KIP-848 Kafka 4.x lacks it. Without it the offsets of a group expire as soon as its
    last member has gone, if it committed seldom (row 147)."""
    return state is OffsetsGroupState.EMPTY


@case
def count_from_commit(since_ms: int, commit_timestamp_ms: int) -> bool:
    """This project's; Kafka 4.x lacks it: an offset that is committed into an empty group counts from its commit.
    Without it, if the group has been empty for long, the next sweep removes what was committed a moment ago (row
    110)."""
    return since_ms <= commit_timestamp_ms


@guard
def expire_only_unstaged(staged: bool) -> bool:
    """Without it an offset expires although a transaction has staged another; the staged one goes with the tombstone,
    and the transaction commits nothing (row 58)."""
    return not staged


@guard
def group_has_no_open_transaction(open_transactions: Collection[ProducerId]) -> bool:
    """KAFKA-19163 (`open_transactions`: those that have staged offsets of the group). Without it a group that has only
    staged offsets is removed as empty; its transaction commits offsets that no fetch finds (row 111)."""
    return not open_transactions


@guard
def delete_only_unsubscribed(partition: TopicPartition, subscribed: Collection[TopicPartition]) -> bool:
    """KIP-496. Without it an operator deletes the offset of a partition that a member reads."""
    return partition not in subscribed


@guard
def delete_only_empty_group(state: OffsetsGroupState) -> bool:
    """KIP-229. Without it an operator deletes a group with its members."""
    return state is not OffsetsGroupState.STABLE


@case
def tombstone_clears_staged(partition: TopicPartition, removed: Collection[TopicPartition]) -> bool:
    """KAFKA-14505. Without it a deleted offset comes back with a transaction that staged it before, but not after
    compaction."""
    return partition in removed


@case
def keep_later_record(existing: int, new: int) -> bool:
    """KAFKA-5247: of two records the one at the higher position counts (positions, -1 for no record). Without it the
    marker of a transaction puts its offset over one that was committed later; after compaction only the later is there
    (row 59)."""
    return existing > new


@case
def load_replaces(existing: int) -> bool:
    """KAFKA-5600: an offset that a load has read is replaced by one that it reads later. Without it what was read
    first stays (row 55)."""
    return existing >= 0


@guard
def txn_commit_of_current_generation(generation: int, current: int) -> bool:
    """KIP-447 (KAFKA-9365). Without it a producer whose consumer was removed from the group commits offsets of
    partitions that others read by now (row 51)."""
    return generation == current


@guard
def validate_after_verification(group_error: Errors) -> bool:
    """KAFKA-15784: the group validates a transactional commit when the transaction coordinator has answered. Without it
    the group did so when the commit arrived, and has another generation by now (row 57)."""
    return group_error is Errors.NONE


@guard
def commit_of_ongoing_transaction(ongoing: bool, epoch: int, producer_epoch: int) -> bool:
    """KIP-890: the transaction coordinator has this transaction of the producer. Without it a late request opens one
    that nobody will end."""
    return ongoing and epoch == producer_epoch


@guard
def producer_epoch_not_older(producer_epoch: int, known: int) -> bool:
    """KIP-98. Without it a late request of an older transaction falls into the next, or opens one that nobody will
    end."""
    return producer_epoch >= known


@guard
def marker_ends_older_epoch(producer_epoch: int, known: int, is_open: bool) -> bool:
    """KIP-890 (KAFKA-19446, KAFKA-19999): a marker ends a transaction of an older epoch than its own; where none is
    open it may come again. Without it a copy of the last transaction's marker ends the next."""
    return not is_open or producer_epoch > known


@case
def materialise_first(at_stake: bool) -> bool:
    """KAFKA-17507: a marker is answered when it has committed and the staged offsets count. Without it, it is answered
    before, and nobody sends it again if it is lost (row 56)."""
    return at_stake


@guard
def fetch_only_stable(staged: bool) -> bool:
    """KIP-447: a fetch of stable offsets gets none of a partition for which a transaction has staged another. Without
    it a new owner reads from before a transaction that has been committed (row 52)."""
    return not staged


@case
def fetch_waits_for_commit(waiting: int) -> bool:
    """A stable fetch is answered when the records (`waiting`: how many) that it has read have committed. Without it, it
    is told an offset that the next coordinator does not have."""
    return waiting > 0


@guard
def clean_below_unstable(position: int, first_offsets: Iterable[int]) -> bool:
    """KAFKA-13194: records from the first of an open transaction on are not compacted. Without it compaction drops the
    last committed offset for one whose transaction aborts later (row 102)."""
    return all(position < first for first in first_offsets)


@case
def marker_outlives_its_data(surviving: bool) -> bool:
    """KAFKA-14055: a marker stays as long as there are records of its transaction. Without it they are open for ever
    after the next load (row 89)."""
    return surviving


@dataclass(slots=True)
class OffsetRules:
    """The rules in force, one callable each."""

    expire_only_unsubscribed: Callable[[TopicPartition, Collection[TopicPartition]], bool] = expire_only_unsubscribed
    count_from_empty: Callable[[OffsetsGroupState], bool] = count_from_empty
    count_from_commit: Callable[[int, int], bool] = count_from_commit
    expire_only_unstaged: Callable[[bool], bool] = expire_only_unstaged
    group_has_no_open_transaction: Callable[[Collection[ProducerId]], bool] = group_has_no_open_transaction
    delete_only_unsubscribed: Callable[[TopicPartition, Collection[TopicPartition]], bool] = delete_only_unsubscribed
    delete_only_empty_group: Callable[[OffsetsGroupState], bool] = delete_only_empty_group
    tombstone_clears_staged: Callable[[TopicPartition, Collection[TopicPartition]], bool] = tombstone_clears_staged
    keep_later_record: Callable[[int, int], bool] = keep_later_record
    load_replaces: Callable[[int], bool] = load_replaces
    txn_commit_of_current_generation: Callable[[int, int], bool] = txn_commit_of_current_generation
    validate_after_verification: Callable[[Errors], bool] = validate_after_verification
    commit_of_ongoing_transaction: Callable[[bool, int, int], bool] = commit_of_ongoing_transaction
    producer_epoch_not_older: Callable[[int, int], bool] = producer_epoch_not_older
    marker_ends_older_epoch: Callable[[int, int, bool], bool] = marker_ends_older_epoch
    materialise_first: Callable[[bool], bool] = materialise_first
    fetch_only_stable: Callable[[bool], bool] = fetch_only_stable
    fetch_waits_for_commit: Callable[[int], bool] = fetch_waits_for_commit
    clean_below_unstable: Callable[[int, Iterable[int]], bool] = clean_below_unstable
    marker_outlives_its_data: Callable[[bool], bool] = marker_outlives_its_data


RULES = tuple(field.name for field in fields(OffsetRules))
"""The rules' names, in the specification's order."""
