"""The leader's side: duplicates, gaps, epochs, snapshots; and when a duplicate is answered."""

from __future__ import annotations

import pytest
from tidemark.common.errors import Errors
from tidemark.idempotence.flaws import partition_of
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse
from tidemark.idempotence.partition import MIN_IN_SYNC_REPLICAS, Parked, Partition
from tidemark.idempotence.producer import ProducerConfig
from tidemark.idempotence.producer_state import PRODUCER_ID_EXPIRATION_MS, BatchMetadata
from tidemark.idempotence.protocol import PROTOCOL
from tidemark.idempotence.rules import Rules
from tidemark.idempotence.sim.disk import Disk

WINDOW, LAST = 5, 9
REFUSED = ProduceResponse(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER)


def batch(sequence: int, epoch: int = 0, number: int | None = None, producer_id: int = 1) -> ProduceRequest:
    return ProduceRequest(producer_id, epoch, sequence, sequence + 1 if number is None else number)


def append(one: Partition, request: ProduceRequest) -> Parked | ProduceResponse:
    return one.append_batch(request, now=0)


def partition(*sequences: int, rules: Rules | None = None, disk: Disk | None = None) -> Partition:
    """A leader that has appended batches of producer 1."""
    one = partition_of(
        rules or Rules(), ProducerConfig(WINDOW, WINDOW, LAST), 0, disk or Disk(), PRODUCER_ID_EXPIRATION_MS
    )
    for offset, sequence in enumerate(sequences):
        assert append(one, batch(sequence)) == Parked(offset, False)
    return one


def test_the_first_sequence_is_zero() -> None:
    assert append(partition(), batch(1)) == REFUSED
    assert append(partition(), batch(0)) == Parked(0, False)


def test_a_gap_is_refused_and_leaves_no_trace() -> None:
    one = partition(0)
    before = dict(one.producers.entries)
    assert append(one, batch(2)) == REFUSED
    assert one.producers.entries == before
    assert len(one.log) == 1


def test_a_duplicate_waits_for_its_commit_and_keeps_its_offset() -> None:
    one = partition(0, 1)
    assert append(one, batch(0)) == Parked(0, True)
    assert one.advance_high_watermark(1)
    assert append(one, batch(0)) == ProduceResponse(Errors.NONE, 0)
    assert append(one, batch(1)) == Parked(1, True)
    assert len(one.log) == 2


def test_five_batches_are_remembered() -> None:
    one = partition(*range(6))
    assert [known.sequence for known in one.producers.entries[1].batches] == [1, 2, 3, 4, 5]
    assert append(one, batch(1)) == Parked(1, True)
    assert append(one, batch(0)) == REFUSED


def test_sequences_wrap_around() -> None:
    one = partition(*range(LAST + 1))
    assert append(one, batch(0, number=11)) == Parked(10, False)
    assert append(one, batch(1, number=12)) == Parked(11, False)


def test_a_new_epoch_starts_at_zero_and_fences_the_old_one() -> None:
    one = partition(0, 1)
    assert append(one, batch(2, epoch=1)) == REFUSED
    assert append(one, batch(0, epoch=1)) == Parked(2, False)
    assert append(one, batch(2)) == ProduceResponse(Errors.INVALID_PRODUCER_EPOCH)
    assert append(one, batch(1)) == ProduceResponse(Errors.INVALID_PRODUCER_EPOCH)


def test_producers_do_not_know_of_each_other() -> None:
    one = partition(0, 1)
    assert append(one, batch(0, producer_id=2)) == Parked(2, False)
    assert append(one, batch(2)) == Parked(3, False)


@pytest.mark.parametrize("sequence", [0, 1, 3], ids=["a duplicate", "the next", "a gap"])
def test_under_min_isr_every_batch_gets_the_same_error(sequence: int) -> None:
    one = partition(0)
    one.update_isr(MIN_IN_SYNC_REPLICAS - 1)
    assert append(one, batch(sequence)) == ProduceResponse(Errors.NOT_ENOUGH_REPLICAS)
    assert len(one.log) == 1
    one.update_isr(MIN_IN_SYNC_REPLICAS)
    assert append(one, batch(1)) == Parked(1, False)


def test_what_the_disk_does_not_take_is_not_remembered() -> None:
    disk = Disk()
    one = partition(0, disk=disk)
    disk.fails = True
    assert append(one, batch(1)) == ProduceResponse(Errors.KAFKA_STORAGE_ERROR)
    assert append(one, batch(0)) == Parked(0, True)
    assert append(one, batch(3)) == REFUSED
    disk.fails = False
    assert append(one, batch(1)) == Parked(1, False)


def test_without_the_rule_what_cannot_be_appended_is_a_duplicate_afterwards() -> None:
    disk = Disk()
    one = partition(0, rules=PROTOCOL.rules_without({"StateFollowsAppend"}), disk=disk)
    disk.fails = True
    assert append(one, batch(1)) == ProduceResponse(Errors.KAFKA_STORAGE_ERROR)
    assert append(one, batch(1)) == Parked(1, True)
    assert len(one.log) == 1


def test_a_follower_whose_disk_fails_remembers_nothing_of_the_batch() -> None:
    disk = Disk()
    follower = partition(0, disk=disk)
    disk.fails = True
    with pytest.raises(OSError, match="the disk fails"):
        follower.append_as_follower(partition(0, 1).log[1:])
    assert [known.sequence for known in follower.producers.entries[1].batches] == [0]


def test_who_truncates_forgets_what_it_truncated() -> None:
    one = partition(0, 1, 2)
    one.truncate_to(2)
    assert append(one, batch(2)) == Parked(2, False)
    flawed = partition(0, 1, 2, rules=PROTOCOL.rules_without({"StateFollowsTruncation"}))
    flawed.truncate_to(2)
    assert append(flawed, batch(2)) == Parked(2, True)


def test_a_follower_knows_producers_as_its_leader_does() -> None:
    leader, follower = partition(0, 1, 2), partition()
    follower.append_as_follower(leader.log)
    assert follower.producers.entries == leader.producers.entries
    assert append(follower, batch(1)) == Parked(1, True)


def test_a_snapshot_of_what_was_truncated_is_gone() -> None:
    one = partition(0, 1)
    one.take_snapshot()
    assert append(one, batch(2)) == Parked(2, False)
    one.take_snapshot()
    one.truncate_to(2)
    assert [file.offset for file in one.snapshots] == [2]
    assert append(one, batch(2)) == Parked(2, False)


def restarted(rules: Rules, snapshot_offset: int) -> tuple[BatchMetadata, ...]:
    """The memory of a broker that has written a snapshot at an offset, and has stopped and started since."""
    one, log = partition(rules=rules), partition(0, 1, 2, 3).log
    one.append_as_follower(log[:snapshot_offset])
    one.take_snapshot()
    one.append_as_follower(log[snapshot_offset:])
    one.restart()
    return one.producers.entries[1].batches


def test_a_snapshot_keeps_all_that_is_remembered() -> None:
    whole = (BatchMetadata(0, 0), BatchMetadata(1, 1), BatchMetadata(2, 2), BatchMetadata(3, 3))
    assert [restarted(Rules(), offset) for offset in (4, 2, 0)] == [whole, whole, whole]
    assert restarted(PROTOCOL.rules_without({"SnapshotOfSeveralBatches"}), 4) == whole[3:]
    assert restarted(PROTOCOL.rules_without({"SnapshotOfSeveralBatches"}), 2) == whole[1:]
    assert restarted(PROTOCOL.rules_without({"SnapshotOfSeveralBatches"}), 0) == whole


def test_the_latest_snapshot_is_loaded() -> None:
    one = partition(0, 1, rules=PROTOCOL.rules_without({"SnapshotOfSeveralBatches"}))
    for sequence in (2, 3):
        one.take_snapshot()
        assert append(one, batch(sequence)) == Parked(sequence, False)
    one.restart()
    assert [known.sequence for known in one.producers.entries[1].batches] == [2, 3]


def test_a_producer_is_forgotten_when_its_time_is_over() -> None:
    one = Partition(Rules(), WINDOW, LAST, 0, Disk(), expiration_ms=1_000)
    assert one.append_batch(batch(0), now=500) == Parked(0, False)
    assert one.append_batch(batch(1), now=700) == Parked(1, False)
    assert one.append_batch(batch(0), now=1_600) == Parked(0, True)  # a duplicate is no new batch
    assert not one.expire_producer(2, now=9_000)
    assert not one.expire_producer(1, now=1_699)
    assert one.producers.expires_at(1) == 1_700
    assert one.expire_producer(1, now=1_700)
    assert one.producers.expires_at(1) is None
    assert one.append_batch(batch(2), now=1_701) == REFUSED


def test_a_follower_counts_from_when_the_leader_appended() -> None:
    leader, follower = [Partition(Rules(), WINDOW, LAST, leader, Disk(), expiration_ms=1_000) for leader in (0, 1)]
    assert leader.append_batch(batch(0), now=500) == Parked(0, False)
    follower.append_as_follower(leader.log)
    follower.take_snapshot()
    follower.restart()
    assert follower.producers.expires_at(1) == 1_500


def test_the_high_watermark_goes_up_only_and_never_past_the_log() -> None:
    one = partition(0, 1)
    assert [one.advance_high_watermark(offset) for offset in (3, 1, 1, 0, 2)] == [False, True, False, False, True]
    assert one.high_watermark == 2
