"""The leader's side: duplicates, gaps, epochs, snapshots; and when a duplicate is answered."""

from __future__ import annotations

from tidemark.common.errors import Errors
from tidemark.common.removal import rules_without
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse
from tidemark.idempotence.partition import Parked, Partition
from tidemark.idempotence.producer_state import BatchMetadata, ProducerStateManager
from tidemark.idempotence.rules import Rules

WINDOW, LAST = 5, 9
REFUSED = ProduceResponse(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER)


def batch(sequence: int, epoch: int = 0, number: int | None = None, producer_id: int = 1) -> ProduceRequest:
    return ProduceRequest(producer_id, epoch, sequence, sequence + 1 if number is None else number)


def partition(*sequences: int, rules: Rules | None = None) -> Partition:
    """A leader that has appended batches of producer 1."""
    one = Partition(rules or Rules(), WINDOW, LAST, leader=0)
    for offset, sequence in enumerate(sequences):
        assert one.append_batch(batch(sequence)) == Parked(offset, False)
    return one


def test_the_first_sequence_is_zero() -> None:
    assert partition().append_batch(batch(1)) == REFUSED
    assert partition().append_batch(batch(0)) == Parked(0, False)


def test_a_gap_is_refused_and_leaves_no_trace() -> None:
    one = partition(0)
    before = dict(one.producers.entries)
    assert one.append_batch(batch(2)) == REFUSED
    assert one.producers.entries == before
    assert len(one.log) == 1


def test_a_duplicate_waits_for_its_commit_and_keeps_its_offset() -> None:
    one = partition(0, 1)
    assert one.append_batch(batch(0)) == Parked(0, True)
    assert one.advance_high_watermark(1)
    assert one.append_batch(batch(0)) == ProduceResponse(Errors.NONE, 0)
    assert one.append_batch(batch(1)) == Parked(1, True)
    assert len(one.log) == 2


def test_five_batches_are_remembered() -> None:
    one = partition(*range(6))
    assert [known.sequence for known in one.producers.entries[1].batches] == [1, 2, 3, 4, 5]
    assert one.append_batch(batch(1)) == Parked(1, True)
    assert one.append_batch(batch(0)) == REFUSED


def test_sequences_wrap_around() -> None:
    one = partition(*range(LAST + 1))
    assert one.append_batch(batch(0, number=11)) == Parked(10, False)
    assert one.append_batch(batch(1, number=12)) == Parked(11, False)


def test_a_new_epoch_starts_at_zero_and_fences_the_old_one() -> None:
    one = partition(0, 1)
    assert one.append_batch(batch(2, epoch=1)) == REFUSED
    assert one.append_batch(batch(0, epoch=1)) == Parked(2, False)
    assert one.append_batch(batch(2)) == ProduceResponse(Errors.INVALID_PRODUCER_EPOCH)
    assert one.append_batch(batch(1)) == ProduceResponse(Errors.INVALID_PRODUCER_EPOCH)


def test_producers_do_not_know_of_each_other() -> None:
    one = partition(0, 1)
    assert one.append_batch(batch(0, producer_id=2)) == Parked(2, False)
    assert one.append_batch(batch(2)) == Parked(3, False)


def test_what_cannot_be_appended_is_not_remembered() -> None:
    one = partition(0)
    assert one.fail_append(batch(1)) == ProduceResponse(Errors.NOT_ENOUGH_REPLICAS)
    assert one.append_batch(batch(1)) == Parked(1, False)
    assert one.fail_append(batch(1)) is None
    assert one.fail_append(batch(3)) is None


def test_a_new_leader_forgets_what_it_truncated() -> None:
    one = partition(0, 1, 2)
    one.elect_leader(1, keep=2, snapshot_offset=0)
    assert one.leader == 1
    assert one.append_batch(batch(2)) == Parked(2, False)
    flawed = partition(0, 1, 2, rules=rules_without(Rules, {"StateFollowsTruncation"}))
    flawed.elect_leader(1, keep=2, snapshot_offset=0)
    assert flawed.append_batch(batch(2)) == Parked(2, True)


def test_a_snapshot_keeps_all_that_is_remembered() -> None:
    log = [batch(sequence) for sequence in range(4)]
    whole, last = (BatchMetadata(0, 0), BatchMetadata(1, 1), BatchMetadata(2, 2), BatchMetadata(3, 3)), 4
    for rules, snapshot, kept in (
        (Rules(), last, whole),
        (rules_without(Rules, {"SnapshotKeepsWindow"}), last, whole[3:]),
        (rules_without(Rules, {"SnapshotKeepsWindow"}), 2, whole[1:]),
        (rules_without(Rules, {"SnapshotKeepsWindow"}), 0, whole),
    ):
        manager = ProducerStateManager(rules, WINDOW, LAST)
        manager.load(log, snapshot)
        assert manager.entries[1].batches == kept


def test_a_producer_is_forgotten_only_when_nothing_of_it_is_under_way() -> None:
    one = partition(0)
    assert one.expire_producer(2, under_way=False) is None
    assert one.expire_producer(1, under_way=True) is False
    assert one.expire_producer(1, under_way=False) is True
    assert one.append_batch(batch(1)) == REFUSED


def test_the_high_watermark_goes_up_only_and_never_past_the_log() -> None:
    one = partition(0, 1)
    assert [one.advance_high_watermark(offset) for offset in (3, 1, 1, 0, 2)] == [False, True, False, False, True]
    assert one.high_watermark == 2
