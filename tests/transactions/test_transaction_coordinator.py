"""The coordinator of a transactional id: its immediate replies, the records that it writes first, and its requests to
partitions."""

from __future__ import annotations

import pytest
from tidemark.common.errors import BrokenInvariant, Errors
from tidemark.idempotence.producer_ids import ProducerIdManager
from tidemark.transactions.coordinator import InitVerdict, TransactionCoordinator
from tidemark.transactions.flaws import committed_record
from tidemark.transactions.messages import (
    NO_PRODUCER_EPOCH,
    AddPartitionsToTxnRequest,
    CoordinatorResponse,
    EndTxnRequest,
    InitProducerIdRequest,
    Reply,
    TransactionLogValue,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tidemark.transactions.protocol import PROTOCOL
from tidemark.transactions.rules import Rules
from tidemark.transactions.sim.state import transaction_version_of
from tidemark.transactions.states import TransactionState

LAST_EPOCH = 6
NEW_ID = 9
TV1 = PROTOCOL.rules_without({"EpochPerTransaction"})
BOTH = frozenset({0, 1})
NEW = InitProducerIdRequest()
NOT_COORDINATOR = CoordinatorResponse(Errors.NOT_COORDINATOR)
CONCURRENT = CoordinatorResponse(Errors.CONCURRENT_TRANSACTIONS)


def coordinator(
    state: TransactionState = TransactionState.EMPTY, epoch: int = 0, rules: Rules | None = None, **other: object
) -> TransactionCoordinator:
    """One that serves in coordinator epoch 3, and has loaded a record of producer 1."""
    rules = rules or Rules()
    one = TransactionCoordinator(rules, LAST_EPOCH, ProducerIdManager(NEW_ID - 1), transaction_version_of(rules))
    record = TransactionLogValue(state, producer_epoch=epoch)._replace(**other)
    assert one.load_transactions(3, record, 0)
    return one


def ongoing(epoch: int = 0, rules: Rules | None = None) -> TransactionCoordinator:
    return coordinator(TransactionState.ONGOING, epoch, rules, partitions=BOTH)


def answered(one: TransactionCoordinator, record: TransactionLogValue) -> CoordinatorResponse:
    """The reply to a request that waits for a record, when that has committed."""
    (reply,) = one.commit_record(record)
    assert reply.token == "token"
    return reply.response


def completed(one: TransactionCoordinator) -> TransactionLogValue:
    """The record with which a thread completes the transaction."""
    completion = one.completion()
    assert completion is not None
    record = one.complete_transaction(completion)
    assert record is not None
    return record


def end(one: TransactionCoordinator, epoch: int, committed: bool) -> TransactionLogValue:
    request = EndTxnRequest(1, epoch, committed)
    assert one.answer_rpc(request, True) is None
    return one.append_end_txn(request, "token")


@pytest.mark.parametrize(("rules", "loads"), [(Rules(), False), (PROTOCOL.rules_without({"ActOnCommitted"}), True)])
def test_a_log_that_is_not_replicated_is_loaded_without_the_rule_only(rules: Rules, loads: bool) -> None:
    one = TransactionCoordinator(rules, LAST_EPOCH, ProducerIdManager(1))
    record = TransactionLogValue(TransactionState.PREPARE_COMMIT, partitions=BOTH)
    assert one.load_transactions(3, record, 1) is loads
    assert (one.serving, one.send_marker(0) is not None) == (loads, loads)
    assert one.load_transactions(3, record, 0)


def test_who_does_not_serve_sends_everybody_away() -> None:
    one = TransactionCoordinator(Rules(), LAST_EPOCH, ProducerIdManager(1))
    for request in (NEW, AddPartitionsToTxnRequest(1, 0, 0), EndTxnRequest(1, 0, True)):
        assert one.answer_rpc(request, True) == NOT_COORDINATOR
    assert one.verify_partition(AddPartitionsToTxnRequest(1, 0, 0), True) is Errors.NOT_COORDINATOR
    assert one.abort_timed_out_transaction() is None
    assert one.send_marker(0) is None
    assert one.may_complete() is None


@pytest.mark.parametrize(("without", "answers"), [((), False), (("AnswerOfElected",), True)])
def test_a_deposed_one_answers_nothing_from_memory(without: tuple[str, ...], answers: bool) -> None:
    one = ongoing(2, PROTOCOL.rules_without(set(without)))
    fenced = CoordinatorResponse(Errors.PRODUCER_FENCED)
    assert one.answer_rpc(EndTxnRequest(1, 3, True), False) == (fenced if answers else NOT_COORDINATOR)
    known = AddPartitionsToTxnRequest(1, 2, 0)
    assert one.answer_rpc(known, False) == (CoordinatorResponse(Errors.NONE) if answers else NOT_COORDINATOR)
    assert one.verify_partition(known, False) is (Errors.NONE if answers else Errors.NOT_COORDINATOR)
    assert one.answer_rpc(EndTxnRequest(1, 2, True), False) is None, "a record that does not commit harms nobody"
    assert one.verify_partition(known._replace(partition=2), False) is None


class TestInitProducerId:
    def test_it_takes_the_next_epoch_and_is_told_when_that_is_committed(self) -> None:
        one = coordinator(epoch=2)
        record = one.append_init_producer_id(NEW, "token")
        assert one.value.producer_epoch == 2
        assert one.answer_rpc(NEW, True) == CONCURRENT
        assert answered(one, record) == CoordinatorResponse(Errors.NONE, 1, 3)
        assert one.value.producer_epoch == 3

    def test_an_open_transaction_is_aborted_first_in_the_next_epoch(self) -> None:
        one = ongoing(2)
        assert one.init_verdict(NEW) is InitVerdict.FENCE
        record = one.fence_producer("token")
        assert (record.state, record.producer_epoch) == (TransactionState.PREPARE_ABORT, 3)
        assert answered(one, record) == CONCURRENT
        assert one.answer_rpc(NEW, True) == CONCURRENT
        assert one.answer_rpc(EndTxnRequest(1, 1, True), True) == CoordinatorResponse(Errors.PRODUCER_FENCED)

    def test_who_did_not_hear_of_its_epoch_gets_it_again(self) -> None:
        asked = InitProducerIdRequest(1, 2)
        one = coordinator(epoch=2)
        answered(one, one.append_init_producer_id(asked, "token"))
        assert one.init_verdict(asked) is InitVerdict.SAME
        record = one.append_init_producer_id(asked, "token")
        assert answered(one, record) == CoordinatorResponse(Errors.NONE, 1, 3)
        assert one.init_verdict(InitProducerIdRequest(1, 1)) is Errors.PRODUCER_FENCED
        assert one.init_verdict(InitProducerIdRequest(2, 3)) is Errors.PRODUCER_FENCED

    def test_behind_the_last_epoch_another_producer_id_follows(self) -> None:
        one = coordinator(epoch=LAST_EPOCH - 1)
        assert one.init_verdict(NEW) is InitVerdict.ROTATE
        record = one.append_init_producer_id(NEW, "token")
        assert answered(one, record) == CoordinatorResponse(Errors.NONE, NEW_ID, 0)
        assert record.previous_producer_id == 1

    def test_only_who_has_the_last_epoch_follows_into_another_producer_id(self) -> None:
        one = coordinator(epoch=LAST_EPOCH - 1)
        assert one.init_verdict(InitProducerIdRequest(1, LAST_EPOCH - 2)) is Errors.PRODUCER_FENCED
        asked = InitProducerIdRequest(1, LAST_EPOCH - 1)
        assert one.init_verdict(asked) is InitVerdict.ROTATE
        answered(one, one.append_init_producer_id(asked, "token"))
        assert one.init_verdict(asked) is InitVerdict.SAME, "it has not heard of the new one"
        assert one.init_verdict(InitProducerIdRequest(1, 0)) is Errors.PRODUCER_FENCED, "an old epoch, and an old id"

    def test_what_is_refused_is_not_written_down(self) -> None:
        one = coordinator(TransactionState.PREPARE_COMMIT, 1, partitions=BOTH)
        with pytest.raises(BrokenInvariant, match="not written down"):
            one.append_init_producer_id(NEW, "token")

    @pytest.mark.parametrize(
        ("known", "told", "past"), [(3, 4, {}), (5, 0, {"producer_id": NEW_ID, "previous_producer_id": 1})]
    )
    def test_in_version_1_who_asks_again_behind_a_fail_over_is_no_stranger(
        self, known: int, told: int, past: dict[str, int]
    ) -> None:
        again, record = InitProducerIdRequest(1, known), {"last_producer_epoch": known, **past}
        assert coordinator(epoch=told, rules=TV1, **record).init_verdict(again) is InitVerdict.SAME
        flawed = PROTOCOL.rules_without({"EpochPerTransaction", "PersistLastEpoch"})
        assert coordinator(epoch=told, rules=flawed, **record).init_verdict(again) is Errors.PRODUCER_FENCED


class TestAddPartitions:
    def test_the_first_partition_begins_the_transaction(self) -> None:
        one = coordinator()
        request = AddPartitionsToTxnRequest(1, 0, 1)
        assert one.answer_rpc(request, True) is None
        record = one.append_add_partitions(request, "token")
        assert one.value.state is TransactionState.EMPTY
        assert answered(one, record) == CoordinatorResponse(Errors.NONE)
        assert (one.value.state, one.value.partitions) == (TransactionState.ONGOING, {1})
        assert one.answer_rpc(request, True) == CoordinatorResponse(Errors.NONE)

    def test_errors_come_in_kafkas_order(self) -> None:
        one = ongoing(2)
        assert one.add_partitions_error(AddPartitionsToTxnRequest(2, 1, 0)) is Errors.INVALID_PRODUCER_ID_MAPPING
        assert one.add_partitions_error(AddPartitionsToTxnRequest(1, 1, 0)) is Errors.PRODUCER_FENCED
        end(one, 2, True)
        assert one.add_partitions_error(AddPartitionsToTxnRequest(2, 1, 0)) is Errors.CONCURRENT_TRANSACTIONS

    def test_a_partition_is_verified_and_in_version_2_added(self) -> None:
        asked = AddPartitionsToTxnRequest(1, 0, 1)
        assert ongoing().verify_partition(asked, True) is Errors.NONE
        assert coordinator().verify_partition(asked, True) is None
        assert coordinator(rules=TV1).verify_partition(asked, True) is Errors.TRANSACTION_ABORTABLE
        assert ongoing(rules=TV1).verify_partition(asked, True) is Errors.NONE
        assert ongoing(1, TV1).verify_partition(asked, True) is Errors.PRODUCER_FENCED


class TestEndTxn:
    def test_the_outcome_is_told_when_it_is_committed_and_before_the_markers(self) -> None:
        one = ongoing(2)
        record = end(one, 2, True)
        assert one.send_marker(0) is None
        assert answered(one, record) == CoordinatorResponse(Errors.NONE, 1, 3)
        assert one.send_marker(0) == WriteTxnMarkersRequest(1, 3, True, 3)

    def test_version_1_keeps_the_epoch_and_tells_none(self) -> None:
        one = ongoing(2, TV1)
        record = end(one, 2, False)
        assert answered(one, record) == CoordinatorResponse(Errors.NONE)
        assert one.send_marker(1) == WriteTxnMarkersRequest(1, 2, False, 3)

    @pytest.mark.parametrize("rules", [Rules(), TV1], ids=["TV2", "TV1"])
    def test_a_repeated_one_is_answered_as_the_first(self, rules: Rules) -> None:
        one = ongoing(2, rules)
        sent = EndTxnRequest(1, 2, True)
        first = answered(one, end(one, 2, True))
        assert one.answer_rpc(sent, True) == CONCURRENT
        assert one.answer_rpc(sent._replace(committed=False), True) == CoordinatorResponse(Errors.INVALID_TXN_STATE)
        for partition in (0, 1):
            one.receive_marker_reply(partition, WriteTxnMarkersResponse(3, Errors.NONE))
        one.commit_record(completed(one))
        assert one.answer_rpc(sent, True) == first
        assert one.answer_rpc(sent._replace(committed=False), True) == CoordinatorResponse(Errors.INVALID_TXN_STATE)

    def test_a_late_one_ends_a_later_transaction_in_version_1_only(self) -> None:
        late = EndTxnRequest(1, 2, True)
        assert ongoing(2, TV1).answer_rpc(late, True) is None  # KAFKA-17754
        assert ongoing(3).answer_rpc(late, True) == CoordinatorResponse(Errors.PRODUCER_FENCED)

    @pytest.mark.parametrize(
        ("without", "error"),
        [((), Errors.CONCURRENT_TRANSACTIONS), (("AwaitCompletion",), Errors.PRODUCER_FENCED)],
    )
    def test_who_ends_the_next_one_waits_for_the_completion(self, without: tuple[str, ...], error: Errors) -> None:
        one = ongoing(2, PROTOCOL.rules_without(set(without)))
        answered(one, end(one, 2, True))
        assert one.answer_rpc(EndTxnRequest(1, 3, False), True) == CoordinatorResponse(error)
        assert one.answer_rpc(EndTxnRequest(1, 4, False), True) == CoordinatorResponse(Errors.PRODUCER_FENCED)
        assert one.answer_rpc(EndTxnRequest(1, 2, True), True) == CONCURRENT, "who repeats the first is told the same"

    def test_nothing_may_be_aborted_in_version_2(self) -> None:
        nothing = EndTxnRequest(1, 2, False)
        assert coordinator(epoch=2).answer_rpc(nothing, True) is None
        assert coordinator(TransactionState.COMPLETE_COMMIT, 2).answer_rpc(nothing, True) is None
        assert coordinator(epoch=2, rules=TV1).answer_rpc(nothing, True) == CoordinatorResponse(
            Errors.INVALID_TXN_STATE
        )
        assert coordinator(epoch=2).answer_rpc(nothing._replace(committed=True), True) == CoordinatorResponse(
            Errors.INVALID_TXN_STATE
        )

    def test_the_last_epoch_is_that_of_the_markers(self) -> None:
        one = ongoing(LAST_EPOCH - 1)
        assert answered(one, end(one, LAST_EPOCH - 1, True)) == CoordinatorResponse(Errors.NONE, NEW_ID, 0)
        assert one.send_marker(0) == WriteTxnMarkersRequest(1, LAST_EPOCH, True, 3)
        for partition in (0, 1):
            one.receive_marker_reply(partition, WriteTxnMarkersResponse(3, Errors.NONE))
        record = completed(one)
        assert (record.producer_id, record.producer_epoch, record.previous_producer_id) == (NEW_ID, 0, 1)
        assert record.last_producer_epoch == LAST_EPOCH - 1
        one.commit_record(record)
        repeated = one.answer_rpc(EndTxnRequest(1, LAST_EPOCH - 1, True), True)
        assert repeated == CoordinatorResponse(Errors.NONE, NEW_ID, 0)


class TestTimeOut:
    def test_the_producer_is_fenced(self) -> None:
        one = ongoing(2, TV1)
        record = one.abort_timed_out_transaction()
        assert record is not None
        assert one.commit_record(record) == ()
        assert one.answer_rpc(EndTxnRequest(1, 2, True), True) == CoordinatorResponse(Errors.PRODUCER_FENCED)

    @pytest.mark.parametrize(("fenced", "epochs"), [(True, (3, NO_PRODUCER_EPOCH)), (False, (2, 1))])
    def test_in_version_1_only_a_fence_takes_an_epoch(self, fenced: bool, epochs: tuple[int, int]) -> None:
        """A fence forgets the last epoch, too: the process that has it is replaced."""
        one = coordinator(TransactionState.ONGOING, 2, TV1, partitions=BOTH, last_producer_epoch=1)
        record = one.abort_timed_out_transaction() if fenced else end(one, 2, True)
        assert record is not None
        assert (record.producer_epoch, record.last_producer_epoch) == epochs

    def test_without_fence_on_time_out_it_is_not(self) -> None:
        one = ongoing(2, PROTOCOL.rules_without({"EpochPerTransaction", "FenceOnTimeOut"}))
        record = one.abort_timed_out_transaction()
        assert record is not None
        assert record.producer_epoch == 2

    def test_only_what_is_open_and_undecided_times_out(self) -> None:
        assert coordinator().abort_timed_out_transaction() is None
        one = ongoing()
        end(one, 0, True)
        assert one.abort_timed_out_transaction() is None


class TestMarkers:
    def test_the_transaction_is_over_when_all_partitions_have_theirs(self) -> None:
        one = coordinator(TransactionState.PREPARE_ABORT, 1, partitions=BOTH)
        assert one.may_complete() is False
        one.receive_marker_reply(0, WriteTxnMarkersResponse(3, Errors.NOT_LEADER_OR_FOLLOWER))
        assert one.send_marker(0) is not None
        one.receive_marker_reply(0, WriteTxnMarkersResponse(3, Errors.NONE))
        assert one.send_marker(0) is None
        one.receive_marker_reply(1, WriteTxnMarkersResponse(3, Errors.NONE))
        assert one.may_complete() is True
        record = completed(one)
        assert one.may_complete() is None
        assert record.state is TransactionState.COMPLETE_ABORT
        assert one.commit_record(record) == ()

    @pytest.mark.parametrize("without", [(), ("CompleteAfterMarkers",)])
    def test_who_asks_too_early_completes_nothing(self, without: tuple[str, ...]) -> None:
        one = coordinator(TransactionState.PREPARE_ABORT, 1, PROTOCOL.rules_without(without), partitions=BOTH)
        early = one.completion()
        assert early is not None
        assert (one.complete_transaction(early) is not None) is bool(without)

    def test_who_is_fenced_stops_sending(self) -> None:
        one = coordinator(TransactionState.PREPARE_ABORT, 1, partitions=BOTH)
        one.receive_marker_reply(0, WriteTxnMarkersResponse(3, Errors.TRANSACTION_COORDINATOR_FENCED))
        assert one.send_marker(1) is None

    @pytest.mark.parametrize(("without", "sends"), [((), True), (("CancelOwnEntry",), False)])
    def test_an_answer_to_an_older_epoch_stops_nothing_newer(self, without: tuple[str, ...], sends: bool) -> None:
        one = coordinator(TransactionState.PREPARE_ABORT, 1, PROTOCOL.rules_without(without), partitions=BOTH)
        one.receive_marker_reply(0, WriteTxnMarkersResponse(2, Errors.TRANSACTION_COORDINATOR_FENCED))
        assert (one.send_marker(1) is not None) is sends

    def test_a_new_coordinator_sends_what_is_decided(self) -> None:
        assert coordinator(TransactionState.PREPARE_COMMIT, 1, partitions=BOTH).send_marker(0) is not None
        flawed = coordinator(
            TransactionState.PREPARE_COMMIT, 1, PROTOCOL.rules_without({"ResumeOnLoad"}), partitions=BOTH
        )
        assert flawed.send_marker(0) is None


class TestFailures:
    def test_what_cannot_be_written_has_not_happened(self) -> None:
        one = ongoing()
        record = end(one, 0, True)
        assert one.fail_append(record) == (Reply("token", CoordinatorResponse(Errors.COORDINATOR_NOT_AVAILABLE)),)
        assert one.value.state is TransactionState.ONGOING
        assert one.answer_rpc(EndTxnRequest(1, 0, True), True) is None

    def test_what_completes_a_transaction_is_tried_again(self) -> None:
        one = coordinator(TransactionState.PREPARE_ABORT, 1, partitions=frozenset())
        record = completed(one)
        assert (one.completion(), one.may_complete()) == (None, None)
        assert one.fail_append(record) == ()
        assert one.pending is TransactionState.COMPLETE_ABORT
        assert one.may_complete() is True
        assert completed(one) == record
        assert (one.completion(), one.may_complete()) == (None, None)

    def test_what_completes_a_transaction_is_forgotten_without_the_rule(self) -> None:
        rules = PROTOCOL.rules_without({"KeepPendingOnRetry"})
        one = coordinator(TransactionState.PREPARE_ABORT, 1, rules, partitions=frozenset())
        one.fail_append(completed(one))
        assert (one.pending, one.completion(), one.may_complete()) == (None, None, None)

    def test_nothing_is_prepared_while_something_is_pending(self) -> None:
        one = ongoing()
        end(one, 0, True)
        with pytest.raises(BrokenInvariant, match="Ongoing is prepared while"):
            one.append_add_partitions(AddPartitionsToTxnRequest(1, 0, 0), "token")
        with pytest.raises(BrokenInvariant, match="CompleteCommit has committed"):
            one.commit_record(TransactionLogValue(TransactionState.COMPLETE_COMMIT))

    def test_who_waits_at_a_deposed_coordinator_is_sent_away(self) -> None:
        one = ongoing()
        end(one, 0, True)
        assert one.resign() == (Reply("token", NOT_COORDINATOR),)
        assert not one.serving
        assert one.value == TransactionLogValue()
        with pytest.raises(BrokenInvariant, match="no record waits"):
            one.fail_append(TransactionLogValue())

    @pytest.mark.parametrize(("without", "epoch"), [((), 1), (("FenceOnce",), 2)])
    def test_version_1_fences_with_the_epoch_that_it_could_not_write(
        self, without: tuple[str, ...], epoch: int
    ) -> None:
        one = ongoing(rules=PROTOCOL.rules_without({"EpochPerTransaction", *without}))
        record = one.abort_timed_out_transaction()
        assert record is not None
        assert one.fail_append(record) == ()
        assert (one.value.producer_epoch, one.has_failed_epoch_fence) == (1, True)
        again = one.abort_timed_out_transaction()
        assert again is not None
        assert again.producer_epoch == epoch
        one.commit_record(again)
        assert not one.has_failed_epoch_fence

    def test_version_2_keeps_nothing_of_a_fence_that_it_could_not_write(self) -> None:
        one = ongoing()
        record = one.abort_timed_out_transaction()
        assert record is not None
        one.fail_append(record)
        assert (one.value.producer_epoch, one.has_failed_epoch_fence) == (0, False)

    @pytest.mark.parametrize(("without", "pending"), [((), None), (("AcceptEarlierTime",), TransactionState.EMPTY)])
    def test_a_transition_of_an_earlier_time_counts(
        self, without: tuple[str, ...], pending: TransactionState | None
    ) -> None:
        rules = PROTOCOL.rules_without(without)
        one = coordinator(rules=rules)
        record = one.append_init_producer_id(NEW, "token")
        assert bool(committed_record(rules, one, record, -1)) is (pending is None)
        assert (one.pending, one.timestamp_ms) == (pending, 0 if without else -1)

    def test_a_transition_of_the_same_or_a_later_time_counts_always(self) -> None:
        rules = PROTOCOL.rules_without({"AcceptEarlierTime"})
        one = coordinator(rules=rules)
        for time in (0, 5, 5):
            assert committed_record(rules, one, one.append_init_producer_id(NEW, "token"), time)
        assert one.timestamp_ms == 5


class TestTwoThreads:
    @pytest.mark.parametrize("without", [(), ("CompleteOnce",)])
    def test_one_of_them_completes(self, without: tuple[str, ...]) -> None:
        one = coordinator(
            TransactionState.PREPARE_COMMIT, 1, PROTOCOL.rules_without(without), partitions=frozenset({0})
        )
        one.receive_marker_reply(0, WriteTxnMarkersResponse(3, Errors.NONE))
        first, second = one.completion(), one.completion()
        assert first is not None
        assert second is not None
        assert (first.coordinator_epoch, first.state) == (3, TransactionState.COMPLETE_COMMIT)
        record = one.complete_transaction(first)
        assert record is not None
        one.commit_record(record)
        one.commit_record(one.append_add_partitions(AddPartitionsToTxnRequest(1, 1, 0), "token"))
        again = one.complete_transaction(second)
        assert (again is not None) is bool(without)
        assert one.pending is (TransactionState.COMPLETE_COMMIT if without else None)

    @pytest.mark.parametrize("version_1", [False, True])
    @pytest.mark.parametrize(
        "without", [(), ("CompleteOnce",), ("CompleteAfterMarkers",), ("CompleteOnce", "CompleteAfterMarkers")]
    )
    def test_one_that_is_late_does_not_complete_the_next_transaction(
        self, without: tuple[str, ...], version_1: bool
    ) -> None:
        """The next one is decided in the same coordinator epoch; in version 1 its record is the same, too. One of the
        two rules is enough while a marker is missing."""
        rules = PROTOCOL.rules_without({*without, *(("EpochPerTransaction",) if version_1 else ())})
        one = coordinator(TransactionState.PREPARE_COMMIT, 1, rules)
        late = one.completion()
        assert late is not None
        one.commit_record(completed(one))
        one.commit_record(one.append_add_partitions(AddPartitionsToTxnRequest(1, 1, 0), "token"))
        one.commit_record(end(one, 1, True))
        assert (one.value.state, one.value.partitions) == (TransactionState.PREPARE_COMMIT, {0})
        completes = len(without) == 2
        assert (one.complete_transaction(late) is not None) is completes
        assert (one.send_marker(0) is None) is completes


class TestTheLastEpoch:
    """Of a producer id: behind 5 there is 6, which is for markers."""

    def test_an_id_is_taken_only_where_the_epochs_are_used_up(self) -> None:
        ids = ProducerIdManager(1)
        one = TransactionCoordinator(Rules(), LAST_EPOCH, ids)
        for epoch, issued in ((LAST_EPOCH - 2, 1), (LAST_EPOCH - 1, 2), (LAST_EPOCH - 1, 3)):
            one.load_transactions(3, TransactionLogValue(TransactionState.ONGOING, producer_epoch=epoch), 0)
            record = end(one, epoch, True)
            assert (ids.issued, record.next_producer_id) == (issued, issued if issued > 1 else 0)

    @pytest.mark.parametrize(("without", "next_id"), [((), NEW_ID), (("RotateOnFence",), 0)])
    def test_an_abort_that_nobody_asked_for_takes_the_next_id(self, without: tuple[str, ...], next_id: int) -> None:
        record = ongoing(5, PROTOCOL.rules_without(without)).abort_timed_out_transaction()
        assert record is not None
        assert (record.producer_epoch, record.next_producer_id) == (LAST_EPOCH, next_id)

    @pytest.mark.parametrize(
        ("without", "epoch"),
        [((), 3), (("BumpOnce",), 4), (("FenceOnTimeOut",), 3), (("FenceOnTimeOut", "BumpOnce"), 3)],
    )
    def test_a_fence_and_its_abort_take_one_epoch(self, without: tuple[str, ...], epoch: int) -> None:
        """Without `FenceOnTimeOut` there is no fence; the abort takes one, as every decision does."""
        one = ongoing(2, PROTOCOL.rules_without(without))
        record = one.abort_timed_out_transaction()
        assert record is not None
        assert (record.producer_epoch, record.last_producer_epoch) == (epoch, epoch - 1)
        one.commit_record(record)
        told = one.answer_rpc(EndTxnRequest(1, 2, False), True)
        assert told == CoordinatorResponse(Errors.PRODUCER_FENCED if epoch == 4 else Errors.CONCURRENT_TRANSACTIONS)

    @pytest.mark.parametrize(("without", "epoch"), [("RotateOnFence", LAST_EPOCH), ("BumpOnce", LAST_EPOCH - 1)])
    def test_without_a_rule_an_abort_is_behind_the_last_epoch(self, without: str, epoch: int) -> None:
        """The state is of no type then (TypeOK); Kafka throws, and the transaction stays open."""
        record = ongoing(epoch, PROTOCOL.rules_without({without})).abort_timed_out_transaction()
        assert record is not None
        assert record.producer_epoch == LAST_EPOCH + 1

    @pytest.mark.parametrize(("without", "epoch"), [((), LAST_EPOCH), (("FenceOnce",), LAST_EPOCH + 1)])
    def test_in_version_1_a_fence_behind_a_failed_one_takes_no_epoch(
        self, without: tuple[str, ...], epoch: int
    ) -> None:
        one = ongoing(LAST_EPOCH, PROTOCOL.rules_without({"EpochPerTransaction", *without}))
        one.has_failed_epoch_fence = True
        record = one.abort_timed_out_transaction()
        assert record is not None
        assert record.producer_epoch == epoch

    @pytest.mark.parametrize("fenced", [False, True])
    def test_in_version_1_no_decision_takes_an_id(self, fenced: bool) -> None:
        one = ongoing(LAST_EPOCH - 1, TV1)
        record = one.abort_timed_out_transaction() if fenced else end(one, LAST_EPOCH - 1, True)
        assert record is not None
        assert record.next_producer_id == 0
        one = coordinator(epoch=LAST_EPOCH - 1, rules=TV1)
        assert one.append_init_producer_id(NEW, "token").producer_id == NEW_ID

    def test_the_id_before_is_forgotten_with_the_abort_of_nothing(self) -> None:
        one = coordinator(TransactionState.COMPLETE_COMMIT, producer_id=NEW_ID, previous_producer_id=1)
        nothing = EndTxnRequest(NEW_ID, 0, False)
        assert one.answer_rpc(nothing, True) is None
        assert one.append_end_txn(nothing, "token").previous_producer_id == NEW_ID

    def test_the_id_before_is_forgotten_with_the_next_transaction(self) -> None:
        one = coordinator(TransactionState.COMPLETE_COMMIT, producer_id=NEW_ID, previous_producer_id=1)
        assert one.answer_rpc(EndTxnRequest(1, 5, True), True) == CoordinatorResponse(Errors.NONE, NEW_ID, 0)
        record = one.append_add_partitions(AddPartitionsToTxnRequest(NEW_ID, 0, 0), "token")
        assert record.previous_producer_id == NEW_ID
        one.commit_record(record)
        refused = one.answer_rpc(EndTxnRequest(1, 5, True), True)
        assert refused == CoordinatorResponse(Errors.INVALID_PRODUCER_ID_MAPPING)

    def test_in_version_1_who_comes_late_with_the_id_before_is_fenced(self) -> None:
        past = {"producer_id": NEW_ID, "previous_producer_id": 1, "last_producer_epoch": 5}
        one = coordinator(TransactionState.EMPTY, 0, TV1, **past)
        late = InitProducerIdRequest(1, 5)
        assert one.init_verdict(late) is InitVerdict.SAME
        answered(one, one.append_add_partitions(AddPartitionsToTxnRequest(NEW_ID, 0, 0), "token"))
        assert one.init_verdict(late) is Errors.PRODUCER_FENCED

    @pytest.mark.parametrize(("without", "told"), [((), (NEW_ID, 0)), (("TellNextId",), (1, LAST_EPOCH))])
    def test_who_ends_it_is_told_the_next_id(self, without: tuple[str, ...], told: tuple[int, int]) -> None:
        one = ongoing(5, PROTOCOL.rules_without(without))
        assert answered(one, end(one, 5, True)) == CoordinatorResponse(Errors.NONE, *told)

    @pytest.mark.parametrize(
        ("without", "error"),
        [((), Errors.CONCURRENT_TRANSACTIONS), (("AwaitNextId",), Errors.INVALID_PRODUCER_ID_MAPPING)],
    )
    def test_who_has_the_next_id_waits_for_the_completion(self, without: tuple[str, ...], error: Errors) -> None:
        one = ongoing(5, PROTOCOL.rules_without(without))
        answered(one, end(one, 5, True))
        assert one.verify_partition(AddPartitionsToTxnRequest(NEW_ID, 0, 0), True) is error
        assert one.answer_rpc(EndTxnRequest(NEW_ID, 0, False), True) == CoordinatorResponse(error)
