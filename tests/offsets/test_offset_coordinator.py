"""The offsets' coordinator and the cleaner by hand: a transaction's commits, expiry, and the replies to fetches."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from simulated import SIMULATED
from tidemark.common.errors import Errors
from tidemark.common.removal import rules_without
from tidemark.groups.offset_records import (
    NO_PRODUCER_ID,
    Cause,
    EndTransactionMarker,
    LogRecord,
    OffsetCommitValue,
    OffsetOutcome,
    OffsetRecord,
    OffsetTombstone,
    StableOffsetFetchResponse,
    TxnOffsetCommitRequest,
    WriteTxnMarkerRequest,
)
from tidemark.groups.partitions import TopicPartition
from tidemark.offsets.compaction import compact
from tidemark.offsets.coordinator import OffsetCoordinator
from tidemark.offsets.flaws import added_partition, handled_marker, verified_on_arrival
from tidemark.offsets.group import LoggedGroup
from tidemark.offsets.metadata import OffsetMetadata, ProducerState
from tidemark.offsets.rules import OffsetRules
from tidemark.offsets.sim.run import OffsetsRun, OffsetsSimulator
from tidemark.offsets.transaction import Transaction

HEADER = next(one.header for one in SIMULATED if one.protocol == "offsets")
P, Q = TopicPartition("p", 0), TopicPartition("q", 0)
RETENTION_MS = 1_000


def serving(rules: OffsetRules | None = None) -> OffsetCoordinator:
    coordinator = elsewhere(rules or OffsetRules())
    coordinator.become_coordinator(1, 0, (), {})
    return coordinator


def elsewhere(rules: OffsetRules) -> OffsetCoordinator:
    """Of a broker that is not the coordinator."""
    return OffsetCoordinator(rules, RETENTION_MS, LoggedGroup(rules))


def commit_all(coordinator: OffsetCoordinator) -> list[Errors]:
    """Every written record commits. Returns the answers."""
    replies = []
    while coordinator.waiting:
        replies += coordinator.commit_entry().replies
    return [reply.response.error for reply in replies]


def stage(coordinator: OffsetCoordinator, partition: TopicPartition, offset: int, epoch: int = 0) -> None:
    request = TxnOffsetCommitRequest(0, epoch, -1, partition, offset)
    assert coordinator.verify_txn_offset_commit(request) is Errors.NONE
    assert handled(coordinator, request) is Errors.NONE


def handled(coordinator: OffsetCoordinator, request: TxnOffsetCommitRequest) -> Errors:
    """The error that a verified TxnOffsetCommit is answered with; NONE where its record waits."""
    outcome = coordinator.handle_txn_offset_commit(request, "producer", 0)
    assert (outcome.record is None) is bool(outcome.replies)
    return outcome.replies[0].response.error if outcome.replies else Errors.NONE


def fetched(coordinator: OffsetCoordinator, stable: bool = True) -> StableOffsetFetchResponse:
    (reply,) = coordinator.fetch_offsets((P, Q), stable, "client").replies
    assert isinstance(reply.response, StableOffsetFetchResponse)
    return reply.response


class TestTransactions:
    def test_what_is_staged_counts_with_its_marker(self) -> None:
        coordinator = serving()
        stage(coordinator, P, 5)
        assert commit_all(coordinator) == [Errors.NONE]
        assert fetched(coordinator).unstable == (P,)
        assert fetched(coordinator, stable=False).offsets == {P: -1, Q: -1}
        coordinator.handle_marker(WriteTxnMarkerRequest(0, 1, True), "marker")
        assert commit_all(coordinator) == [Errors.NONE]
        assert fetched(coordinator) == StableOffsetFetchResponse(Errors.NONE, {P: 5, Q: -1})

    def test_a_later_plain_commit_wins(self) -> None:
        coordinator = serving()
        stage(coordinator, P, 5)
        coordinator.commit_offset(P, 7, 0)
        coordinator.handle_marker(WriteTxnMarkerRequest(0, 1, True), "marker")
        commit_all(coordinator)
        assert fetched(coordinator).offsets[P] == 7

    def test_an_older_epoch_is_fenced_and_a_marker_may_be_repeated(self) -> None:
        coordinator = serving()
        stage(coordinator, P, 5)
        marker = WriteTxnMarkerRequest(0, 1, False)
        coordinator.handle_marker(marker, "marker")
        late = TxnOffsetCommitRequest(0, 0, -1, P, 6)
        assert handled(coordinator, late) is Errors.INVALID_PRODUCER_EPOCH
        assert coordinator.handle_marker(marker, "marker").record is not None
        stage(coordinator, P, 6, epoch=1)
        (reply,) = coordinator.handle_marker(marker, "marker").replies
        assert reply.response.error is Errors.INVALID_PRODUCER_EPOCH

    def test_a_new_coordinator_refuses_an_older_epoch(self) -> None:
        coordinator = elsewhere(OffsetRules())
        coordinator.become_coordinator(2, 1, (), {0: ProducerState(1)})
        late = TxnOffsetCommitRequest(0, 0, -1, P, 5)
        assert handled(coordinator, late) is Errors.INVALID_PRODUCER_EPOCH
        (reply,) = coordinator.handle_marker(WriteTxnMarkerRequest(0, 0, True), "marker").replies
        assert reply.response.error is Errors.INVALID_PRODUCER_EPOCH
        assert not coordinator.waiting

    def test_a_transaction_is_open_in_its_epoch_and_until_its_marker(self) -> None:
        coordinator = serving()
        request = TxnOffsetCommitRequest(0, 0, -1, P, 5)
        assert not coordinator.open_here(request)
        stage(coordinator, P, 5)
        assert coordinator.open_here(request)
        following = request._replace(producer_epoch=1)
        assert not coordinator.open_here(following)
        coordinator.handle_marker(WriteTxnMarkerRequest(0, 1, True), "marker")
        assert not coordinator.open_here(following)

    def test_the_group_validates_after_verification(self) -> None:
        for without, on_arrival, afterwards in (
            ((), (Errors.NONE, Errors.NONE), (Errors.ILLEGAL_GENERATION, Errors.NONE)),
            (("ValidateAfterVerification",), (Errors.NONE, Errors.ILLEGAL_GENERATION), (Errors.NONE, Errors.NONE)),
        ):
            rules = rules_without(OffsetRules, without)
            coordinator = serving(rules)
            coordinator.rebalance((P,), 0)
            requests = [TxnOffsetCommitRequest(producer, 0, producer, P, 5) for producer in (1, 2)]
            assert tuple(verified_on_arrival(rules, coordinator, request) for request in requests) == on_arrival
            coordinator.rebalance((P, Q), 0)
            assert tuple(handled(coordinator, request) for request in requests) == afterwards

    def test_a_marker_is_answered_when_it_has_committed(self) -> None:
        """Where offsets are at stake, an older coordinator answers it at once."""
        marker, early = WriteTxnMarkerRequest(0, 1, True), (Errors.NONE,)
        for without, answer in (((), ()), (("MaterialiseFirst",), early)):
            rules = rules_without(OffsetRules, without)
            coordinator = serving(rules)
            for at_stake in (True, False):
                if at_stake:
                    stage(coordinator, P, 5)
                    commit_all(coordinator)
                outcome = handled_marker(rules, coordinator, marker, "marker")
                expected = answer if at_stake else ()
                assert tuple(reply.response.error for reply in outcome.replies) == expected, without
                assert commit_all(coordinator) == ([] if expected else [Errors.NONE]), without
            assert fetched(coordinator).offsets[P] == 5
            stage(coordinator, P, 6, epoch=1)
            (reply,) = handled_marker(rules, coordinator, marker, "marker").replies
            assert reply.response.error is Errors.INVALID_PRODUCER_EPOCH

    def test_other_producers_offsets_are_not_at_stake(self) -> None:
        """Without the rule, too, the marker of a producer that has staged nothing waits."""
        rules = rules_without(OffsetRules, {"MaterialiseFirst"})
        coordinator = serving(rules)
        coordinator.commit_offset(Q, 3, 0)
        stage(coordinator, P, 5)
        assert handled_marker(rules, coordinator, WriteTxnMarkerRequest(1, 1, True), "marker").replies == ()

    def test_a_commit_is_refused_by_who_is_no_coordinator(self) -> None:
        coordinator = serving()
        request = TxnOffsetCommitRequest(0, 0, -1, P, 5)
        coordinator.resign()
        assert coordinator.verify_txn_offset_commit(request) is Errors.NOT_COORDINATOR
        assert handled(coordinator, request) is Errors.NOT_COORDINATOR


class TestDeletion:
    def test_members_keep_the_offsets_that_they_read_and_their_group(self) -> None:
        coordinator = serving()
        coordinator.commit_offset(P, 3, 0)
        coordinator.rebalance((P,), 0)
        assert coordinator.delete_offset(P) == OffsetOutcome(error=Errors.GROUP_SUBSCRIBED_TO_TOPIC)
        coordinator.rebalance((P, Q), 0)
        assert coordinator.delete_offset(Q) == OffsetOutcome(error=Errors.GROUP_SUBSCRIBED_TO_TOPIC), "it has no offset"
        assert coordinator.delete_group() == OffsetOutcome(error=Errors.NON_EMPTY_GROUP)
        coordinator.rebalance((), 0)
        assert coordinator.delete_offset(P).record == LogRecord(4, OffsetTombstone(Cause.DELETE, (P,)))
        assert coordinator.delete_group().record == LogRecord(5, OffsetTombstone(Cause.DELETE, (), True))

    def test_where_nothing_is_nothing_is_deleted(self) -> None:
        coordinator = serving()
        assert coordinator.delete_group() == OffsetOutcome(error=Errors.GROUP_ID_NOT_FOUND)
        assert coordinator.delete_offset(P) == OffsetOutcome(error=Errors.GROUP_ID_NOT_FOUND)
        assert coordinator.drop_topic(P) is None
        stage(coordinator, P, 5)
        assert coordinator.delete_offset(Q) == OffsetOutcome()
        outcome = coordinator.drop_topic(P)
        assert outcome is not None
        assert outcome.record == LogRecord(1, OffsetTombstone(Cause.TOPIC, (P,)))


def test_a_broker_that_is_not_the_coordinator_writes_nothing() -> None:
    """Requests are refused; sweeps, and commits of the log, change nothing."""
    coordinator = elsewhere(OffsetRules())
    for refused in (
        coordinator.rebalance((P,), 0),
        coordinator.commit_offset(P, 3, 0),
        coordinator.delete_offset(P),
        coordinator.delete_group(),
    ):
        assert refused == OffsetOutcome(error=Errors.NOT_COORDINATOR)
    marked = coordinator.handle_marker(WriteTxnMarkerRequest(0, 1, True), "marker")
    assert marked.record is None
    assert [reply.response.error for reply in marked.replies] == [Errors.NOT_COORDINATOR]
    for stable in (False, True):
        assert fetched(coordinator, stable) == StableOffsetFetchResponse(Errors.NOT_COORDINATOR, {})
    assert coordinator.expire_offsets(9_000) is None
    assert coordinator.drop_topic(P) is None
    assert coordinator.commit_entry() == OffsetOutcome()
    assert not coordinator.waiting


def test_a_broker_that_resigns_forgets_its_records_that_did_not_commit() -> None:
    run = OffsetsRun(OffsetsSimulator(HEADER), 0)
    run.begin()
    cluster, old = run.cluster, run.cluster.log.leader
    assert cluster.commit_offset(old, 0, 1)
    assert cluster.become_coordinator((old + 1) % len(cluster.coordinators), 0)
    assert len(cluster.log.appended[old]) == 1
    assert cluster.resign(old)
    assert not cluster.log.appended[old]


class TestTransaction:
    def test_a_commit_is_of_the_ongoing_transaction(self) -> None:
        transaction = Transaction(OffsetRules(), 0)
        request = TxnOffsetCommitRequest(0, 0, -1, P, 5)
        assert transaction.add_partition(request) is Errors.INVALID_PRODUCER_EPOCH
        assert transaction.begin()
        assert not transaction.begin()
        assert transaction.add_partition(request) is Errors.NONE
        assert transaction.end(True)
        assert transaction.add_partition(request) is Errors.INVALID_PRODUCER_EPOCH
        assert transaction.send_marker() == WriteTxnMarkerRequest(0, 1, True)
        transaction.receive_marker_reply(Errors.NOT_COORDINATOR)
        assert not transaction.begin()
        transaction.receive_marker_reply(Errors.NONE)
        assert transaction.send_marker() is None
        assert transaction.begin()

    def test_without_a_rule_a_late_commit_is_accepted_and_adds_nothing(self) -> None:
        transaction = Transaction(rules_without(OffsetRules, {"CommitOfOngoingTransaction"}), 0)
        late = TxnOffsetCommitRequest(0, 0, -1, P, 5)
        assert transaction.begin()
        assert transaction.end(False)
        for phase in ("idle", "ongoing"):
            assert (transaction.phase, transaction.epoch) == (phase, 1)
            assert added_partition(transaction, late) is Errors.NONE
            assert not transaction.added
            transaction.begin()
        assert added_partition(transaction, late._replace(producer_epoch=1)) is Errors.NONE
        assert transaction.added

    def test_after_a_failed_commit_it_can_only_be_aborted(self) -> None:
        transaction = Transaction(OffsetRules(), 0)
        assert transaction.begin()
        transaction.receive_txn_offset_commit(Errors.ILLEGAL_GENERATION)
        transaction.receive_txn_offset_commit(Errors.NONE)
        assert not transaction.end(True)
        assert transaction.end(False)
        assert (transaction.phase, transaction.send_marker()) == ("idle", None)


class TestExpiry:
    def test_a_member_keeps_its_offset_and_an_empty_group_for_a_while(self) -> None:
        coordinator = serving()
        coordinator.rebalance((P,), 0)
        coordinator.commit_offset(P, 3, 0)
        assert coordinator.expire_offsets(5_000) is None
        coordinator.rebalance((), 5_000)
        assert coordinator.expire_offsets(5_999) is None
        outcome = coordinator.expire_offsets(6_000)
        assert outcome is not None
        assert outcome.record == LogRecord(3, OffsetTombstone(Cause.EXPIRY, (P,), True))

    def test_what_is_committed_into_an_old_empty_group_stays_as_kafka_s_does_not(self) -> None:
        for rules, stays in ((OffsetRules(), True), (rules_without(OffsetRules, {"CountFromCommit"}), False)):
            coordinator = serving(rules)
            coordinator.rebalance((P,), 0)
            coordinator.rebalance((), 0)
            coordinator.commit_offset(P, 3, 5_000)
            assert (coordinator.expire_offsets(5_000) is None) == stays

    def test_staged_offsets_keep_the_group(self) -> None:
        coordinator = serving()
        stage(coordinator, P, 5)
        assert coordinator.expire_offsets(9_000) is None

    def test_a_group_whose_staged_offsets_were_deleted_goes_while_their_transaction_is_open(self) -> None:
        coordinator = serving()
        stage(coordinator, P, 5)
        coordinator.delete_offset(P)
        outcome = coordinator.expire_offsets(9_000)
        assert outcome is not None
        assert outcome.record == LogRecord(2, OffsetTombstone(Cause.EXPIRY, (), True))


class TestFetch:
    def test_a_stable_fetch_waits_for_what_it_has_read(self) -> None:
        coordinator = serving()
        coordinator.commit_offset(P, 3, 0)
        assert coordinator.fetch_offsets((P, Q), True, "client").replies == ()
        assert fetched(coordinator, stable=False).offsets[P] == -1
        assert commit_all(coordinator) == [Errors.NONE]

    def test_every_stable_fetch_that_waits_is_answered(self) -> None:
        coordinator = serving()
        coordinator.commit_offset(P, 3, 0)
        for token in ("A", "B"):
            assert coordinator.fetch_offsets((P, Q), True, token).replies == ()
        coordinator.commit_offset(Q, 4, 0)
        assert coordinator.fetch_offsets((P, Q), True, "C").replies == ()
        told = [
            [(reply.token, reply.response) for reply in coordinator.commit_entry().replies]
            for _ in range(len(coordinator.waiting))
        ]
        first = StableOffsetFetchResponse(Errors.NONE, {P: 3, Q: -1})
        second = StableOffsetFetchResponse(Errors.NONE, {P: 3, Q: 4})
        assert told == [[("A", first), ("B", first)], [("C", second)]]

    def test_who_waits_is_sent_away_with_the_coordinator(self) -> None:
        coordinator = serving()
        stage(coordinator, P, 3)
        for token in ("A", "B"):
            coordinator.fetch_offsets((P, Q), True, token)
        replies = coordinator.resign().replies
        assert [reply.token for reply in replies] == ["producer", "A", "B"]
        assert [reply.response.error for reply in replies] == [Errors.NOT_COORDINATOR] * 3


partitions = st.sampled_from([P, Q])
records: st.SearchStrategy[OffsetRecord] = st.one_of(
    st.builds(OffsetCommitValue, partitions, st.integers(0, 9), st.just(0), st.just(NO_PRODUCER_ID), st.just(-1)),
    st.builds(OffsetCommitValue, partitions, st.integers(0, 9), st.just(0), st.integers(0, 1), st.just(0)),
    st.builds(OffsetTombstone, st.just(Cause.DELETE), st.sampled_from([(P,), (Q,), (P, Q)]), st.just(False)),
    st.builds(EndTransactionMarker, st.integers(0, 1), st.just(1), st.booleans()),
)


def replayed(log: Iterable[LogRecord]) -> tuple[object, object]:
    memory = OffsetMetadata(OffsetRules())
    for one in log:
        memory.replay(one)
    return memory.offsets, {producer: staged for producer, staged in memory.pending.items() if staged}


@given(st.lists(records, max_size=14), st.integers(0, 14), st.booleans())
def test_a_replay_of_the_compacted_log_gives_the_same(written: list[OffsetRecord], most: int, horizon: bool) -> None:
    log = [LogRecord(position, record) for position, record in enumerate(written)]
    still_open: dict[int, int] = {}
    for one in log:
        if isinstance(one.record, OffsetCommitValue) and one.record.producer_id >= 0:
            still_open.setdefault(one.record.producer_id, one.position)
        elif isinstance(one.record, EndTransactionMarker):
            still_open.pop(one.record.producer_id, None)
    count = min([most, len(log), *still_open.values()])
    cleaned = compact(log, count, horizon, OffsetRules())
    assert replayed(cleaned) == replayed(log)
    assert len(cleaned) <= len(log)
