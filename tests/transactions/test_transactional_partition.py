"""A partition's leader: the begin and the end of a transaction, and the records that a reader gets."""

from __future__ import annotations

import pytest
from tidemark.common.errors import Errors
from tidemark.groups.offset_records import TxnOffsetCommitRequest
from tidemark.groups.partitions import TopicPartition
from tidemark.idempotence.messages import NO_SEQUENCE, ProduceRequest
from tidemark.idempotence.producer_state import PRODUCER_ID_EXPIRATION_MS
from tidemark.transactions.fetcher import Fetcher
from tidemark.transactions.flaws import answer_of, read_end_of
from tidemark.transactions.messages import (
    AbortedTransaction,
    FetchRequest,
    IsolationLevel,
    WriteTxnMarkersRequest,
)
from tidemark.transactions.ongoing_transactions import AbortedTxn
from tidemark.transactions.partition import TransactionalPartition, offsets_batch
from tidemark.transactions.protocol import PROTOCOL
from tidemark.transactions.rules import Rules
from tidemark.transactions.sim.reader import amiss
from tidemark.transactions.sim.state import Acknowledged, transaction_version_of

DAY = PRODUCER_ID_EXPIRATION_MS
TV1 = PROTOCOL.rules_without({"EpochPerTransaction"})


def batch(epoch: int, sequence: int = 0, transaction: int = 1, producer_id: int = 1) -> ProduceRequest:
    return ProduceRequest(producer_id, epoch, sequence, transaction)


def marker(epoch: int, committed: bool = True, coordinator_epoch: int = 1) -> WriteTxnMarkersRequest:
    return WriteTxnMarkersRequest(1, epoch, committed, coordinator_epoch)


def partition(*entries: ProduceRequest | WriteTxnMarkersRequest, rules: Rules | None = None) -> TransactionalPartition:
    """A leader that has written these, each verified, and all committed."""
    rules = rules or Rules()
    one = TransactionalPartition(rules, transaction_version=transaction_version_of(rules))
    for entry in entries:
        if isinstance(entry, ProduceRequest):
            guard = one.start_verification(entry) if one.must_verify(entry) else None
            assert one.append_error(entry, guard) is Errors.NONE
            one.append_batch(entry)
        else:
            assert one.marker_error(entry) is Errors.NONE
            one.append_marker(entry)
    one.advance_high_watermark(len(one.log))
    return one


def read_committed(
    one: TransactionalPartition, most: int = 100, delayed: bool = False, rules: Rules | None = None
) -> list[ProduceRequest]:
    """The records that a consumer of committed records returns. It starts at offset 0 and gets so many records at a
    time."""
    consumer = Fetcher(IsolationLevel.READ_COMMITTED)
    found: list[ProduceRequest] = []
    while consumer.position < one.last_readable(consumer.isolation_level):
        reading = one.start_read(consumer.send_fetch())
        response = one.read(reading, min(reading.end, consumer.position + most))
        response = answer_of(rules or Rules(), response, delayed)
        found += [batch for _, batch in consumer.receive_fetch(response)]
    return found


def lost(sides: list[TransactionalPartition], told: dict[int, bool], acked: list[Acknowledged]) -> int:
    """The simulator's complaints when its consumers have read everything."""
    return amiss([read_committed(one) for one in sides], [one.log for one in sides], told, acked)


def group_partition(rules: Rules | None = None) -> TransactionalPartition:
    """A partition of __consumer_offsets."""
    return TransactionalPartition(rules or Rules(), is_offsets=True)


def offsets(epoch: int, transaction: int) -> ProduceRequest:
    """The record that its leader writes of a TxnOffsetCommit."""
    return offsets_batch(TxnOffsetCommitRequest(1, epoch, 5, TopicPartition("input", 0), transaction))


class TestOffsets:
    def test_a_groups_coordinator_writes_without_a_sequence(self) -> None:
        assert offsets(0, 7) == ProduceRequest(1, 0, NO_SEQUENCE, 7)
        one = group_partition()
        for _ in range(2):  # the second is none that is recognised, nor one that is missing a sequence
            assert one.duplicate_of(offsets(0, 7)) is None
            assert one.append_error(offsets(0, 7), one.start_verification(offsets(0, 7))) is Errors.NONE
            one.append_batch(offsets(0, 7))
        assert len(one.log) == 2

    def test_the_epoch_and_the_verification_are_asked_for_all_the_same(self) -> None:
        one = group_partition()
        one.append_batch(offsets(1, 7))
        assert one.append_error(offsets(0, 6), None) is Errors.INVALID_PRODUCER_EPOCH
        one.append_marker(marker(2))
        assert one.must_verify(offsets(2, 8))

    def test_offsets_count_when_their_marker_says_so(self) -> None:
        one = group_partition()
        one.append_batch(offsets(0, 7))
        one.append_batch(offsets(0, 8))
        assert (one.offsets, one.staged) == (0, {1: 8})
        one.append_marker(marker(1))
        assert (one.offsets, one.staged) == (8, {})
        one.append_batch(offsets(1, 9))
        one.append_marker(marker(2, committed=False))
        assert (one.offsets, one.staged) == (8, {})
        one.append_marker(marker(2))  # it comes again, and there is nothing to count
        assert one.offsets == 8

    def test_a_new_leader_learns_of_them_from_the_log(self) -> None:
        one = group_partition()
        one.append_batch(offsets(0, 7))
        one.append_marker(marker(1))
        one.append_batch(offsets(1, 8))
        one.append_marker(marker(2))
        for keep, known in ((4, (8, {})), (3, (7, {1: 8})), (1, (0, {1: 7}))):
            other = group_partition()
            other.append_as_follower(one.log, one.timestamps)
            other.truncate_to(keep)
            assert (other.offsets, other.staged) == known


class TestVerification:
    def test_the_first_batch_of_a_transaction_is_verified_and_no_other(self) -> None:
        one = partition()
        assert one.must_verify(batch(0))
        assert not partition(batch(0)).must_verify(batch(0, 1))
        assert partition(batch(0), marker(1)).must_verify(batch(1))
        assert not partition(rules=PROTOCOL.rules_without({"VerifyTransaction"})).must_verify(batch(0))

    def test_what_was_verified_before_a_marker_counts_no_more(self) -> None:
        for without, error in ((set(), Errors.INVALID_TXN_STATE), ({"VerificationGuard"}, Errors.NONE)):
            one = partition(batch(0), rules=PROTOCOL.rules_without({"EpochPerTransaction", *without}))
            one.append_marker(marker(0))
            guard = one.start_verification(batch(0, 1))
            one.append_marker(marker(0))
            assert one.append_error(batch(0, 1), guard) is error  # KAFKA-14884

    def test_a_guard_of_the_markers_own_epoch_is_the_next_transactions(self) -> None:
        one = partition(batch(0))
        guard = one.start_verification(batch(1))
        one.append_marker(marker(1))
        assert one.append_error(batch(1), guard) is Errors.NONE

    def test_two_batches_share_a_guard_and_one_uses_it_up(self) -> None:
        one = partition()
        guard = one.start_verification(batch(0))
        assert one.start_verification(batch(1)) is guard
        assert one.transactions.guards[1].epoch == 1
        one.append_batch(batch(0))
        assert one.start_verification(batch(1)) is not guard

    def test_a_batch_of_the_next_transaction_is_verified_while_the_last_one_is_open(self) -> None:
        assert partition(batch(0)).must_verify(batch(1))  # KAFKA-18575
        assert not partition(batch(0), rules=PROTOCOL.rules_without({"OngoingOfItsEpoch"})).must_verify(batch(1))


class TestBatches:
    def test_a_stale_epoch_is_refused_without_a_question(self) -> None:
        one = partition(batch(1))
        assert one.is_stale(batch(0))
        assert not one.must_verify(batch(0))
        assert one.append_error(batch(0), None) is Errors.INVALID_PRODUCER_EPOCH

    def test_a_duplicate_has_its_old_offset(self) -> None:
        one = partition(batch(0), batch(0, 1))
        assert one.duplicate_of(batch(0, 1)) == 1
        assert one.duplicate_of(batch(0)) is None
        assert one.append_error(batch(0), None) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER

    def test_an_epoch_begins_with_sequence_0_and_in_version_1_whoever_is_unknown_with_any(self) -> None:
        assert partition(batch(0), marker(1)).append_error(batch(1, 1), None) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert partition().append_error(batch(0, 3), None) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert partition(rules=TV1).append_error(batch(0, 3), None) is Errors.NONE
        assert partition(batch(0), marker(0), rules=TV1).append_error(batch(0, 1), None) is Errors.NONE


class TestMarkers:
    def test_a_late_one_does_not_end_the_next_transaction(self) -> None:
        one = partition(batch(0), marker(1), batch(1))
        assert one.marker_error(marker(1)) is Errors.INVALID_PRODUCER_EPOCH  # KAFKA-19446
        flawed = partition(batch(0), marker(1), batch(1), rules=PROTOCOL.rules_without({"MarkerOfItsTransaction"}))
        assert flawed.marker_error(marker(1)) is Errors.NONE

    def test_a_repeated_one_is_fine_while_nothing_is_open(self) -> None:
        assert partition(batch(0), marker(1)).marker_error(marker(1)) is Errors.NONE  # KAFKA-19999
        flawed = partition(batch(0), marker(1), rules=PROTOCOL.rules_without({"AcceptRepeatedMarker"}))
        assert flawed.marker_error(marker(1)) is Errors.INVALID_PRODUCER_EPOCH

    def test_an_older_coordinator_is_fenced(self) -> None:
        one = partition(batch(0), marker(1, coordinator_epoch=2))
        assert one.marker_error(marker(1, coordinator_epoch=1)) is Errors.TRANSACTION_COORDINATOR_FENCED
        assert one.marker_error(marker(0)) is Errors.INVALID_PRODUCER_EPOCH


class TestReading:
    def test_nothing_above_an_open_transaction_is_stable(self) -> None:
        one = partition(batch(0, transaction=1), marker(1), batch(1, transaction=2))
        assert one.last_stable_offset() == 2
        assert [found.payload for found in read_committed(one)] == [1]
        reading = one.start_read(FetchRequest(0, IsolationLevel.READ_UNCOMMITTED))
        response = one.read(reading, reading.end)
        assert (len(response.records), response.aborted_transactions) == (3, ())

    def test_a_marker_decides_when_it_is_replicated(self) -> None:
        one = partition(batch(0))
        one.append_marker(marker(1))
        assert one.last_stable_offset() == 0
        one.advance_high_watermark(2)
        assert one.last_stable_offset() == 2
        flawed = partition(batch(0), batch(0, 1), rules=PROTOCOL.rules_without({"AwaitMarker"}))
        flawed.append_marker(marker(1))
        assert flawed.last_stable_offset() == 2  # and the marker may be lost with its leader

    def test_what_was_aborted_is_left_out_and_what_follows_is_not(self) -> None:
        other = batch(0, transaction=7, producer_id=2)
        one = partition(
            batch(0, transaction=1),
            other,
            marker(1, committed=False),
            WriteTxnMarkersRequest(2, 1, True, 1),
            batch(1, transaction=2),
            marker(2),
        )
        assert one.transactions.aborted == [AbortedTxn(1, 0, 2)]
        for most in (1, 2, 100):  # a response may begin and end in the middle of an aborted transaction
            assert [found.payload for found in read_committed(one, most)] == [7, 2]

    def test_a_fetch_ends_where_the_high_watermark_was(self) -> None:
        """KAFKA-9807: a transaction is begun between the decision how far to read, and the reading."""
        for without, end in ((set(), 2), ({"ReadHighWatermarkOnce"}, 3)):
            one, rules = partition(batch(0), marker(1)), PROTOCOL.rules_without(without)
            reading = one.start_read(FetchRequest(0, IsolationLevel.READ_COMMITTED))
            one.append_batch(batch(1))
            one.advance_high_watermark(3)
            assert (one.last_stable_offset(), read_end_of(rules, one, reading, True)) == (2, end)
            assert read_end_of(rules, one, reading, False) == 2

    def test_a_fetch_that_has_waited_lists_aborted_transactions_too(self) -> None:
        """KAFKA-5376."""
        for without, returned in ((set(), []), ({"AbortedListOfDelayedFetch"}, [1])):
            one, rules = partition(batch(0), marker(1, committed=False)), PROTOCOL.rules_without(without)
            assert [found.payload for found in read_committed(one, delayed=True, rules=rules)] == returned
            assert read_committed(one, rules=rules) == []

    def test_an_aborted_transaction_is_listed_if_a_record_or_its_marker_is_read(self) -> None:
        one = partition(batch(0), marker(1, committed=False), batch(1), marker(2, committed=False), batch(2))
        for first, end, listed in ((0, 2, [0]), (1, 2, [0]), (1, 3, [0, 2]), (2, 3, [2]), (0, 1, [0])):
            response = one.read(one.start_read(FetchRequest(first, IsolationLevel.READ_COMMITTED)), end)
            assert response.aborted_transactions == tuple(AbortedTransaction(1, offset) for offset in listed)

    @pytest.mark.parametrize("keep", [2, 3, 4])
    def test_a_new_leader_learns_it_all_from_its_log(self, keep: int) -> None:
        entries = (batch(0), marker(1, committed=False), batch(1), marker(2))
        one = TransactionalPartition(Rules())
        one.append_as_follower(partition(*entries).log, range(4))
        one.start_verification(batch(2))
        one.truncate_to(keep)
        one.advance_high_watermark(2)
        again = partition(*entries[:keep])
        assert one.log == again.log
        assert [entry._replace(last_timestamp=-1) for entry in one.producers.entries.values()] == [
            *again.producers.entries.values()
        ]
        assert one.transactions.first_offsets == again.transactions.first_offsets
        assert one.transactions.aborted == again.transactions.aborted
        assert one.transactions.coordinator_epochs == again.transactions.coordinator_epochs
        assert one.transactions.guards.keys() == ({1} if keep == 4 else set())
        assert one.last_stable_offset() == 2


class TestExpiry:
    """A day after its last batch or marker, and not while its transaction is open."""

    def test_a_producer_that_has_nothing_open_is_forgotten_with_its_coordinator(self) -> None:
        one = partition(batch(0))
        assert one.expires_at(1) is None
        assert not one.expire_producer(1, now=10 * DAY)
        one.append_marker(marker(1), now=50)
        assert one.expires_at(1) == 50 + DAY
        assert not one.expire_producer(1, now=49 + DAY)
        assert one.expire_producer(1, now=50 + DAY)
        assert not one.expire_producer(1, now=51 + DAY)
        assert (one.expires_at(1), one.epoch_of(1), one.transactions.coordinator_epoch(1)) == (None, -1, -1)

    def test_without_the_rule_the_marker_does_not_count(self) -> None:
        one = partition(batch(0), rules=PROTOCOL.rules_without({"TrackMarkerTime"}))
        assert not one.expire_producer(1, now=0)
        one.append_marker(marker(1), now=50)
        assert one.expire_producer(1, now=50)

    def test_times_are_in_the_log_and_come_back_with_it(self) -> None:
        one = partition(batch(0))
        one.append_marker(marker(1), now=50)
        one.append_batch(batch(1), now=60)
        one.append_marker(marker(2), now=70)
        for keep, expires_at in ((4, 70 + DAY), (2, 50 + DAY)):
            other = TransactionalPartition(Rules())
            other.append_as_follower(one.log, one.timestamps)
            other.truncate_to(keep)
            assert other.expires_at(1) == expires_at
            assert len(other.timestamps) == keep


class TestLost:
    """The complaints of the simulator's reader: one case for each of the four ways, which no other way sees."""

    def test_what_is_told_and_read_alike_is_not_lost(self) -> None:
        """A transaction that committed, one that was aborted, and one that is open, of which nobody was told."""
        entries = (batch(0), marker(1), batch(1, transaction=2), marker(2, committed=False), batch(2, transaction=3))
        sides = [partition(*entries), partition(*entries)]
        acked = [Acknowledged(side, one) for side in (0, 1) for one in entries if isinstance(one, ProduceRequest)]
        assert lost(sides, {1: True, 2: False}, acked) == 0

    def test_what_was_acknowledged_and_committed_is_missing(self) -> None:
        sides = [partition(batch(0), marker(1)), partition()]
        assert lost(sides, {1: True}, [Acknowledged(0, batch(0)), Acknowledged(1, batch(0))]) == 1

    def test_a_batch_is_read_twice(self) -> None:
        one = partition(batch(0))
        one.append_batch(batch(0))
        one.append_marker(marker(1))
        one.advance_high_watermark(3)
        assert lost([one], {1: True}, [Acknowledged(0, batch(0))]) == 1

    def test_what_was_told_to_be_aborted_is_read(self) -> None:
        one = partition(batch(0), batch(0, 1), marker(1))
        assert lost([one], {1: False}, [Acknowledged(0, batch(0)), Acknowledged(0, batch(0, 1))]) == 1

    def test_a_transaction_is_read_in_one_partition_and_aborted_in_the_other(self) -> None:
        """Its process died before it was told anything."""
        sides = [partition(batch(0), marker(1)), partition(batch(0), marker(1, committed=False))]
        assert lost(sides, {}, [Acknowledged(0, batch(0)), Acknowledged(1, batch(0))]) == 1
