"""The safety rules of consume-transform-produce, one small pure function each, under the specification's names.

A guard answers "may this go ahead", a case "does this case arise". Those that transactions, idempotence or a group
have too are the same rules: `Rules` gives each part of the implementation its own set (`for_transactions`, ...). The
results' leader asks its rules in results_partition.py, the group's coordinator in group.py, an application and its
producer in message_processor.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields

from tidemark.classic_group.rules import commit_of_member, member_of_instance
from tidemark.common.rule_kinds import case, guard
from tidemark.groups.offset_records import ConsumerGroupMetadata
from tidemark.groups.partitions import UNKNOWN_MEMBER_ID, MemberId
from tidemark.idempotence.rules import Rules as SequenceRules
from tidemark.idempotence.rules import recognize_duplicate
from tidemark.offsets.rules import (
    OffsetRules,
    fetch_only_stable,
    marker_ends_older_epoch,
    txn_commit_of_current_generation,
)
from tidemark.transactions.rules import Rules as TransactionRules
from tidemark.transactions.rules import (
    epoch_not_older,
    fence_open_transaction,
    request_of_current_epoch,
    verify_transaction,
)
from tidemark.transactions.states import TransactionState
from tidemark.transactions.transactional_producer import ProducerState


@guard
def sequence_is_next(sequence: int, expected: int) -> bool:
    """KIP-98: a batch follows the last one of its epoch, and the first has sequence 0. Without it (and
    RecognizeDuplicate) a result that is sent again is there twice."""
    return sequence == expected


@guard
def send_group_metadata(group: ConsumerGroupMetadata) -> bool:
    """KIP-447: a producer says for which member of which generation it commits offsets. Without it the group cannot
    tell, and takes them, as those of clients before KIP-447."""
    return group.member_id != UNKNOWN_MEMBER_ID


@guard
def revoke_outside_transaction(state: ProducerState) -> bool:
    """The application's part of KIP-447: an instance gives its partitions up when its transaction has ended. Without it
    it rejoins with its transaction open, and commits as a member of a generation in which others own what it has read
    (row 122)."""
    return state in (
        ProducerState.READY,
        ProducerState.UNINITIALIZED,
        ProducerState.INITIALIZING,
        ProducerState.FATAL_ERROR,
    )


@guard
def commit_outside_transaction(state: ProducerState) -> bool:
    """KIP-98: the offsets of the records that a transaction has processed are committed in it. Without it they count
    although the transaction is aborted, and its results are lost."""
    return state is ProducerState.READY


@case
def rewind_after_abort(processed: bool) -> bool:
    """An instance whose transaction is aborted goes back to where the group stands. Without it what it had processed is
    never processed again, and its results are lost."""
    return processed


@guard
def commit_without_error(state: ProducerState) -> bool:
    """KIP-98: a transaction of which a request failed can only be aborted. Without it it is committed although its
    offsets were refused (row 125)."""
    return state is not ProducerState.ABORTABLE_ERROR


@guard
def resent_offsets_are_last(resent: bool) -> bool:
    """This project's; Kafka 4.x lacks it: a producer that has sent offsets again (a lost connection, KIP-98's
    TxnOffsetCommit) sends no others in that transaction. Without it a copy of the older offsets may come last, and the
    group goes back to them (row 153)."""
    return not resent


@guard
def read_committed(position: int, last_stable_offset: int) -> bool:
    """KIP-98 (isolation.level): a consumer of the results reads up to the last stable offset, and leaves out what is
    aborted. Without it a reader gets records of open and of aborted transactions."""
    return position < last_stable_offset


@dataclass(slots=True)
class Rules:
    """The rules in force, one callable each."""

    request_of_current_epoch: Callable[[int, int], bool] = request_of_current_epoch
    fence_open_transaction: Callable[[TransactionState], bool] = fence_open_transaction
    epoch_not_older: Callable[[int, int], bool] = epoch_not_older
    verify_transaction: Callable[[bool], bool] = verify_transaction
    marker_ends_older_epoch: Callable[[int, int, bool], bool] = marker_ends_older_epoch
    recognize_duplicate: Callable[[int, Collection[int]], bool] = recognize_duplicate
    sequence_is_next: Callable[[int, int], bool] = sequence_is_next
    txn_commit_of_current_generation: Callable[[int, int], bool] = txn_commit_of_current_generation
    commit_of_member: Callable[[MemberId, Collection[MemberId]], bool] = commit_of_member
    member_of_instance: Callable[[MemberId, MemberId], bool] = member_of_instance
    fetch_only_stable: Callable[[bool], bool] = fetch_only_stable
    send_group_metadata: Callable[[ConsumerGroupMetadata], bool] = send_group_metadata
    revoke_outside_transaction: Callable[[ProducerState], bool] = revoke_outside_transaction
    commit_outside_transaction: Callable[[ProducerState], bool] = commit_outside_transaction
    rewind_after_abort: Callable[[bool], bool] = rewind_after_abort
    commit_without_error: Callable[[ProducerState], bool] = commit_without_error
    resent_offsets_are_last: Callable[[bool], bool] = resent_offsets_are_last
    read_committed: Callable[[int, int], bool] = read_committed

    def for_transactions(self) -> TransactionRules:
        """The rules of the transaction coordinator and of the partition with the results."""
        return TransactionRules(
            request_of_current_epoch=self.request_of_current_epoch,
            fence_open_transaction=self.fence_open_transaction,
            epoch_not_older=self.epoch_not_older,
            marker_of_its_transaction=lambda epoch, known: self.marker_ends_older_epoch(
                epoch, known.epoch, known.is_open
            ),
        )

    def for_sequences(self) -> SequenceRules:
        """The rules of the producer state of that partition."""
        rules = self.for_transactions()
        return SequenceRules(
            recognize_duplicate=self.recognize_duplicate,
            in_sequence=lambda sequence, expected: self.sequence_is_next(sequence, expected or 0),
            first_sequence_is_zero=lambda sequence: self.sequence_is_next(sequence, 0),
            new_epoch_starts_at_zero=lambda sequence: self.sequence_is_next(sequence, 0),
            epoch_not_older=rules.epoch_not_older,
        )

    def for_offsets(self) -> OffsetRules:
        """The rules of the group's committed offsets. Of two offsets the one whose marker comes later counts: which was
        written later is Offsets' affair (KAFKA-5247)."""
        return OffsetRules(
            keep_later_record=lambda existing, new: False,
            producer_epoch_not_older=self.epoch_not_older,
            marker_ends_older_epoch=self.marker_ends_older_epoch,
            fetch_only_stable=self.fetch_only_stable,
        )


RULES = tuple(field.name for field in fields(Rules))
"""The rules' names, in the specification's order."""
