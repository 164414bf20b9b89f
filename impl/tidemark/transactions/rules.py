"""The safety rules of transactions, one small pure function each, under the specification's names.

A guard answers "may this go ahead", a case "does this case arise". The mechanism that asks is in coordinator.py,
partition.py and, of `bump_after_doubt` and `abort_on_invalid_epoch`, transactional_producer.py. Nobody asks
`read_high_watermark_once`, `aborted_list_of_delayed_fetch` and `accept_earlier_time`: production does as they say, and
flaws.py has what does otherwise. `Rules` gathers them; who asks is given one when it is built.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields

from tidemark.common.errors import Errors
from tidemark.common.rule_kinds import case, guard
from tidemark.transactions.messages import NO_PRODUCER_EPOCH, EndTxnRequest
from tidemark.transactions.ongoing_transactions import KnownProducer
from tidemark.transactions.states import TransactionState


@case
def epoch_per_transaction(epoch: int, known_epoch: int) -> bool:
    """KIP-890: every transaction has a producer epoch of its own (TV2), so that a request of the coordinator's epoch is
    of the next transaction. Without it, which is TV1, a late batch lands in the next transaction, and a late EndTxn
    ends it (rows 71 and 72)."""
    return epoch == known_epoch


@guard
def request_of_current_epoch(epoch: int, known_epoch: int) -> bool:
    """KIP-98: a coordinator hears only who has the current epoch. Without it a process that was replaced goes on with
    the transaction of its successor. In TV2 the EndTxn of a transaction that is over ends the next (row 128)."""
    return epoch == known_epoch


@case
def bump_after_doubt(bump: bool) -> bool:
    """KIP-360: a producer of TV1 asks for the next epoch when it has aborted a transaction with a batch of which it
    does not know whether it is written. Without it the batch comes late, and belongs to the next transaction."""
    return bump


@case
def fence_open_transaction(state: TransactionState) -> bool:
    """KIP-98: a process that takes the id over has what is open aborted first. Without it what is open stays so for
    ever."""
    return state is TransactionState.ONGOING


@case
def fence_on_time_out(request: EndTxnRequest | None) -> bool:
    """KAFKA-5231, KAFKA-6119: a transaction that its producer has not ended (`request` is None: a takeover or a
    time-out) is aborted in the next epoch. Without it, in TV1, the producer goes on, and commits what is left (row 69).
    """
    return request is None


@case
def rotate_on_fence(producer_epoch: int, last_epoch: int) -> bool:
    """KAFKA-20090: a transaction that its producer has not ended takes the next producer id, too, if the epochs of this
    one are used up. Without it the producer is told the last epoch, and a transaction that it begins in it never ends
    (row 78)."""
    return is_exhausted(producer_epoch, last_epoch)


@case
def bump_once(fences: bool) -> bool:
    """KAFKA-19367: a transaction that is aborted because it is fenced takes one epoch, not one for the fence and one
    for the abort (TV2). Without it the producer that asks for that abort is two epochs behind, and ends (row 78)."""
    return fences


@case
def tell_next_id(next_producer_id: int) -> bool:
    """KAFKA-18660: a producer that ends the last transaction of its id is told the next one. Without it it goes on in
    the last epoch (row 79)."""
    return next_producer_id != 0


@case
def await_next_id(producer_id: int, next_producer_id: int) -> bool:
    """KAFKA-18660: a producer that was told its next id waits until the last transaction of this one is complete.
    Without it it is told that its id is none (row 79)."""
    return producer_id == next_producer_id


@case
def await_completion(epoch: int, known_epoch: int) -> bool:
    """KAFKA-18464: a producer that ends its next transaction waits until the last one is complete (TV2). Without it,
    when it aborts one in which nothing was written, it is told that it is replaced, and ends (row 154)."""
    return epoch == known_epoch


@case
def abort_on_invalid_epoch(error: Errors) -> bool:
    """KIP-588: a partition that refuses an epoch does not know whether the process was replaced or timed out; it may
    abort. Without it the process ends (row 92)."""
    return error is Errors.INVALID_PRODUCER_EPOCH


@case
def fence_once(failed_fence: bool) -> bool:
    """KAFKA-9666: an epoch that was taken to fence with, and could not be written, is used by the next attempt (TV1).
    Without it every attempt takes another one, until none is left (row 80)."""
    return failed_fence


@case
def accept_earlier_time(timestamp_ms: int, last_timestamp_ms: int) -> bool:
    """KAFKA-8803, KAFKA-5415: a transition may be of an earlier time than the last one, as clocks differ. Without it it
    is written, and stays pending (row 88)."""
    return timestamp_ms < last_timestamp_ms


@guard
def complete_once(entry: object, found: object) -> bool:
    """KAFKA-10080: the thread that removes the transaction's entry of markers to send completes it. Without it two
    threads do, one of them in the next transaction (row 85)."""
    return entry is found


@guard
def complete_after_markers(unmarked: Collection[int]) -> bool:
    """KIP-98: a transaction is over when all partitions have its marker. Without it the next one begins before, and
    gets the marker of the last."""
    return not unmarked


@case
def clear_pending_on_failure(kept: bool) -> bool:
    """KAFKA-5351: a transition that could not be written is not pending any more, if it is not kept to be written
    again. Without it the id answers CONCURRENT_TRANSACTIONS for ever (row 86)."""
    return not kept


@case
def keep_pending_on_retry(pending: TransactionState) -> bool:
    """KAFKA-5416: a completion stays pending until it is written. Without it a completion whose append fails is pending
    no more, and the coordinator stays at the decision (row 87)."""
    return pending.completed


@case
def resume_on_load(state: TransactionState) -> bool:
    """KIP-98: a new coordinator tells the partitions what is decided. Without it a transaction that was decided before
    a fail-over is open for ever (row 81)."""
    return state.decided


@case
def persist_last_epoch(last_epoch: int) -> bool:
    """Kafka up to 4.4.0 lacks it (KAFKA-20357 is its repair): the log has the last producer epoch, too. By it a
    coordinator knows an InitProducerId that another one has answered. Without it, in TV1, a process that asks again
    behind a fail-over is told that it is replaced (CAND-13, row 137)."""
    return last_epoch != NO_PRODUCER_EPOCH


@guard
def act_on_committed(unreplicated: int) -> bool:
    """This project's repair; Kafka 4.x lacks it: a coordinator serves only when what it has loaded is committed.
    Without it it tells a partition an outcome that its successor does not know (CAND-2, row 94)."""
    return unreplicated == 0


@guard
def answer_of_elected(elected: bool) -> bool:
    """This project's; Kafka 4.x lacks it: what a coordinator answers without a record is the elected coordinator's
    answer. Without it one that was deposed answers from its memory, and ends a process that nobody has replaced; in TV1
    it tells a client that a transaction is committed that is aborted, or stays open (CAND-22, rows 155 and 156)."""
    return elected


@guard
def cancel_own_entry(entry_epoch: int, answered_epoch: int) -> bool:
    """KAFKA-16352: an answer to an older coordinator epoch removes what that epoch had to send, nothing newer. Without
    it the markers of the current epoch are never sent (row 83)."""
    return entry_epoch == answered_epoch


@case
def verify_transaction(ongoing: bool) -> bool:
    """KIP-890: before the first batch of a transaction a partition asks the coordinator whether it is open. Without it
    a batch that comes behind the marker stays open for ever (row 70)."""
    return not ongoing


@guard
def verification_guard(given: object, current: object) -> bool:
    """KAFKA-14884: a verification counts until a marker or a batch is written. Without it a verification from before
    the marker lets a batch in behind it (row 73)."""
    return given is current


@guard
def ongoing_of_its_epoch(epoch: int, known_epoch: int) -> bool:
    """KAFKA-18654 (reported as KAFKA-18575): a batch belongs to what is open only in the same epoch. Without it the
    first batch of the next transaction is taken for one of the last, of which the marker is still to come (row 75)."""
    return epoch == known_epoch


@guard
def epoch_not_older(epoch: int, known_epoch: int) -> bool:
    """KIP-98: a partition takes nothing of an older epoch. Without it a process that was replaced goes on writing."""
    return epoch >= known_epoch


@guard
def track_marker_time(idle_ms: int, expiration_ms: int) -> bool:
    """KAFKA-9144: a producer is forgotten producer.id.expiration.ms after its last batch or marker. These exceed the
    life of any request, and the time until a deposed coordinator has heard of it. Without it markers do not count: a
    producer is forgotten as soon as nothing is open, and the marker of an older coordinator is accepted (row 68)."""
    return idle_ms >= expiration_ms


@guard
def marker_of_its_transaction(epoch: int, known: KnownProducer) -> bool:
    """KAFKA-19446, KIP-1228: a marker is of a later epoch than the transaction that it ends. Without it a late one ends
    the next transaction (row 76)."""
    return epoch > known.epoch


@case
def accept_repeated_marker(is_open: bool) -> bool:
    """KAFKA-19999: a marker that comes again finds nothing open, and is fine. Without it the coordinator never hears
    that the transaction is ended there (row 77)."""
    return not is_open


@guard
def coordinator_not_older(coordinator_epoch: int, known_epoch: int) -> bool:
    """KIP-98: a partition takes no marker of an older coordinator. Without it the marker of one that was
    deposed is written behind its successor's (row 82)."""
    return coordinator_epoch >= known_epoch


@case
def await_marker(offset: int, high_watermark: int) -> bool:
    """KIP-98: a marker decides when it is replicated. Without it a reader gets what is decided by a marker that may be
    lost (row 98)."""
    return offset >= high_watermark


@case
def read_high_watermark_once(end: int, high_watermark: int) -> bool:
    """KAFKA-9807: a fetch that has seen nothing undecided below the high watermark ends where that was, also if it has
    gone on since. Without it a fetch reads to the new high watermark, past a transaction that was begun in between
    (row 95)."""
    return end < high_watermark


@case
def aborted_list_of_delayed_fetch(delayed: bool) -> bool:
    """KAFKA-5376: the response to a fetch that has waited lists the aborted transactions, too. Without it a consumer of
    committed records returns those of aborted transactions (row 97)."""
    return delayed


@dataclass(slots=True)
class Rules:
    """The rules in force, one callable each."""

    epoch_per_transaction: Callable[[int, int], bool] = epoch_per_transaction
    request_of_current_epoch: Callable[[int, int], bool] = request_of_current_epoch
    bump_after_doubt: Callable[[bool], bool] = bump_after_doubt
    fence_open_transaction: Callable[[TransactionState], bool] = fence_open_transaction
    fence_on_time_out: Callable[[EndTxnRequest | None], bool] = fence_on_time_out
    rotate_on_fence: Callable[[int, int], bool] = rotate_on_fence
    bump_once: Callable[[bool], bool] = bump_once
    tell_next_id: Callable[[int], bool] = tell_next_id
    await_next_id: Callable[[int, int], bool] = await_next_id
    await_completion: Callable[[int, int], bool] = await_completion
    abort_on_invalid_epoch: Callable[[Errors], bool] = abort_on_invalid_epoch
    fence_once: Callable[[bool], bool] = fence_once
    accept_earlier_time: Callable[[int, int], bool] = accept_earlier_time
    complete_once: Callable[[object, object], bool] = complete_once
    complete_after_markers: Callable[[Collection[int]], bool] = complete_after_markers
    clear_pending_on_failure: Callable[[bool], bool] = clear_pending_on_failure
    keep_pending_on_retry: Callable[[TransactionState], bool] = keep_pending_on_retry
    resume_on_load: Callable[[TransactionState], bool] = resume_on_load
    persist_last_epoch: Callable[[int], bool] = persist_last_epoch
    act_on_committed: Callable[[int], bool] = act_on_committed
    answer_of_elected: Callable[[bool], bool] = answer_of_elected
    cancel_own_entry: Callable[[int, int], bool] = cancel_own_entry
    verify_transaction: Callable[[bool], bool] = verify_transaction
    verification_guard: Callable[[object, object], bool] = verification_guard
    ongoing_of_its_epoch: Callable[[int, int], bool] = ongoing_of_its_epoch
    epoch_not_older: Callable[[int, int], bool] = epoch_not_older
    track_marker_time: Callable[[int, int], bool] = track_marker_time
    marker_of_its_transaction: Callable[[int, KnownProducer], bool] = marker_of_its_transaction
    accept_repeated_marker: Callable[[bool], bool] = accept_repeated_marker
    coordinator_not_older: Callable[[int, int], bool] = coordinator_not_older
    await_marker: Callable[[int, int], bool] = await_marker
    read_high_watermark_once: Callable[[int, int], bool] = read_high_watermark_once
    aborted_list_of_delayed_fetch: Callable[[bool], bool] = aborted_list_of_delayed_fetch


RULES = tuple(field.name for field in fields(Rules))
"""The rules' names, in the specification's order."""


def is_exhausted(producer_epoch: int, last_epoch: int) -> bool:
    """Whether a producer id has no epoch behind this one but `last_epoch`, which only its last markers use."""
    return producer_epoch >= last_epoch - 1
