"""The safety rules of idempotent producers, one small pure function each, under the specification's names.

A guard answers "may this go ahead", a case "does this case arise". The mechanism that asks is in producer_state.py,
partition.py and producer.py. Nobody asks `snapshot_of_several_batches` and `only_batch_expired`: a leader and a
producer do as they say, and flaws.py has those that do otherwise. `Rules` gathers them; a leader or a producer is given
one when it is built.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields

from tidemark.common.rule_kinds import case, guard
from tidemark.idempotence.sequences import PartitionSequences, ProducerBatch


@case
def recognize_duplicate(sequence: int, remembered: Collection[int]) -> bool:
    """KIP-98: a batch of the same epoch that the leader remembers is not appended again. Without it (and the next) a
    retry after a lost reply is a second batch (row 60)."""
    return sequence in remembered


@guard
def in_sequence(sequence: int, expected: int | None) -> bool:
    """KIP-98: a batch follows the last one of its epoch. Without it a batch is written although the one before it was
    not (row 60)."""
    return sequence == expected


@case
def remember_window(known_epoch: int, epoch: int) -> bool:
    """KAFKA-5494: the leader remembers as many batches of an epoch as may be in flight. Without it it remembers one,
    and refuses the retries of the others (row 61)."""
    return known_epoch == epoch


@guard
def first_sequence_is_zero(sequence: int) -> bool:
    """KAFKA-15591, KAFKA-18202: a leader that knows nothing of a producer takes its sequence 0 only. Kafka 4.3 asks it
    of transactions of version 2 only (KAFKA-18202). Without it any sequence is taken, and the batches before it are
    refused for ever (row 63)."""
    return sequence == 0


@guard
def new_epoch_starts_at_zero(sequence: int) -> bool:
    """KIP-98: the first batch of an epoch has sequence 0. Without it a later one is taken before the first."""
    return sequence == 0


@guard
def epoch_not_older(epoch: int, known_epoch: int) -> bool:
    """KIP-98: nothing of an older epoch is taken. Without it a late request is written behind the batches that
    replaced it."""
    return epoch >= known_epoch


@case
def duplicate_waits_for_commit(offset: int, high_watermark: int) -> bool:
    """KIP-98: a duplicate is answered when the batch is committed. Without it a batch is acknowledged that is lost
    with its leader."""
    return offset >= high_watermark


@guard
def state_follows_append(appended: bool) -> bool:
    """KAFKA-6683: a producer's state changes with the log, not before. Without it a leader acknowledges
    the retry of a batch that it did not append (row 67)."""
    return appended


@guard
def state_outlives_retries(idle_ms: int, expiration_ms: int) -> bool:
    """KIP-360 (KAFKA-7190): a producer is forgotten producer.id.expiration.ms after its last batch was appended. These
    exceed delivery.timeout.ms and the life of any request. Without it that batch is retried, and taken again (row 62).
    """
    return idle_ms >= expiration_ms


@case
def state_follows_truncation(log_end_offset: int, map_end_offset: int) -> bool:
    """KIP-98: producer state is loaded again when the log ends before what it was taken from. Without it a leader
    acknowledges the retries of batches that it has truncated."""
    return log_end_offset < map_end_offset


@case
def snapshot_of_several_batches(batches: int) -> bool:
    """This project's repair; Kafka 4.x lacks it: a snapshot holds all that is remembered of a producer. Without it it
    holds the last batch, and a leader that starts from it refuses the retries of the others (CAND-7, row 112)."""
    return batches > 1


@guard
def resequence_only_refused(in_doubt: bool) -> bool:
    """This project's repair; Kafka 4.x lacks it: a batch that may be in the log gets no sequence of a new epoch.
    Without it it is written twice (CAND-8, row 113)."""
    return not in_doubt


@guard
def rewrite_only_requested(rewrite: bool) -> bool:
    """KIP-360: only the partitions that asked for a bump get new sequences at once. Without it another's batches, which
    may be in the log, get some, too (row 66)."""
    return rewrite


@case
def resequence_in_order(in_flight: list[ProducerBatch]) -> bool:
    """KAFKA-8483: three batches in flight or more get their new sequences in the order of the old ones. Without it they
    get them in the order of a heap, the third before the second (row 65)."""
    return len(in_flight) > 2


@case
def restart_sequence_per_partition(partition_epoch: int, epoch: int) -> bool:
    """KAFKA-12152: a partition that follows its producer into a new epoch counts from 0. Without it one that was idle
    goes on counting (row 64)."""
    return partition_epoch != epoch


@case
def only_batch_expired(sequences: PartitionSequences, expired: ProducerBatch) -> bool:
    """KAFKA-5494: the sequence of the only batch in flight, which expired, is not given to another. Without it another
    batch gets that sequence. The leader takes it for the first, and it is lost."""
    return sequences.in_flight == [expired]


@guard
def drain_before_wrap(sequence: int, in_flight: int) -> bool:
    """This project's repair; Kafka 4.x lacks it: where sequences wrap around nothing is in flight. Without it batches
    behind 0 count as those before it (CAND-9, row 114)."""
    return sequence != 0 or in_flight == 0


@case
def count_anew_behind_wrap(sequence: int, in_flight: int, last_acked: int) -> bool:
    """This project's repair; Kafka 4.x lacks it (TxnPartitionEntry only raises the last sequence that was
    acknowledged): behind the wrap-around it counts anew. Without it no batch follows what was acknowledged. A gap is
    not noticed, and the batch behind it is retried until it expires (row 146)."""
    return sequence == 0 and in_flight == 0 and last_acked >= 0


@guard
def span_within_window(span: int, window: int) -> bool:
    """This project's repair; Kafka 4.x lacks it: no batch is sent that pushes the first in flight out of the leader's
    window. Without it the retry of the first is refused, though it is written (CAND-11, row 115)."""
    return span < window


@dataclass(slots=True)
class Rules:
    """The rules in force, one callable each."""

    recognize_duplicate: Callable[[int, Collection[int]], bool] = recognize_duplicate
    in_sequence: Callable[[int, int | None], bool] = in_sequence
    remember_window: Callable[[int, int], bool] = remember_window
    first_sequence_is_zero: Callable[[int], bool] = first_sequence_is_zero
    new_epoch_starts_at_zero: Callable[[int], bool] = new_epoch_starts_at_zero
    epoch_not_older: Callable[[int, int], bool] = epoch_not_older
    duplicate_waits_for_commit: Callable[[int, int], bool] = duplicate_waits_for_commit
    state_follows_append: Callable[[bool], bool] = state_follows_append
    state_outlives_retries: Callable[[int, int], bool] = state_outlives_retries
    state_follows_truncation: Callable[[int, int], bool] = state_follows_truncation
    snapshot_of_several_batches: Callable[[int], bool] = snapshot_of_several_batches
    resequence_only_refused: Callable[[bool], bool] = resequence_only_refused
    rewrite_only_requested: Callable[[bool], bool] = rewrite_only_requested
    resequence_in_order: Callable[[list[ProducerBatch]], bool] = resequence_in_order
    restart_sequence_per_partition: Callable[[int, int], bool] = restart_sequence_per_partition
    only_batch_expired: Callable[[PartitionSequences, ProducerBatch], bool] = only_batch_expired
    drain_before_wrap: Callable[[int, int], bool] = drain_before_wrap
    count_anew_behind_wrap: Callable[[int, int, int], bool] = count_anew_behind_wrap
    span_within_window: Callable[[int, int], bool] = span_within_window


RULES = tuple(field.name for field in fields(Rules))
"""The rules' names, in the specification's order."""
