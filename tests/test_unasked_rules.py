"""Rules that no handler asks: production does as they say, and flaws.py has the function that does otherwise. Such a
rule says that its case arises exactly where the two have different outcomes.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from brokers import Brokers
from simulated import SIMULATED
from tidemark.classic_group.consumer import ConsumerConfig
from tidemark.classic_group.flaws import consumer_of
from tidemark.classic_group.rules import Rules as ClassicRules
from tidemark.classic_group.states import GroupState
from tidemark.common.errors import Errors
from tidemark.common.removal import rules_without
from tidemark.consumer_group.coordinator import ConsumerGroupConfig
from tidemark.consumer_group.flaws import coordinator_of
from tidemark.consumer_group.rules import Rules as GroupRules
from tidemark.groups.assignors import RANGE
from tidemark.groups.consumer_group_messages import (
    CurrentAssignment,
    CurrentMemberAssignmentRecord,
    Epochs,
    MemberState,
)
from tidemark.groups.messages import JoinGroupResponse
from tidemark.groups.offset_records import (
    LogRecord,
    OffsetCommitValue,
    TxnOffsetCommitRequest,
    WriteTxnMarkerRequest,
)
from tidemark.groups.partitions import TopicPartition
from tidemark.groups.purgatory import TimerKind
from tidemark.idempotence.flaws import partition_of, producer_of
from tidemark.idempotence.messages import ProduceRequest
from tidemark.idempotence.producer import ProducerConfig
from tidemark.idempotence.producer_ids import ProducerIdManager
from tidemark.idempotence.rules import Rules as IdempotenceRules
from tidemark.idempotence.sequences import PartitionSequences
from tidemark.idempotence.sim.disk import Disk
from tidemark.offsets.coordinator import OffsetCoordinator
from tidemark.offsets.flaws import handled_marker, records_that_load
from tidemark.offsets.group import LoggedGroup
from tidemark.offsets.rules import OffsetRules
from tidemark.transactions.coordinator import TransactionCoordinator
from tidemark.transactions.flaws import answer_of, committed_record, read_end_of
from tidemark.transactions.messages import (
    FetchRequest,
    InitProducerIdRequest,
    IsolationLevel,
    TransactionLogValue,
    WriteTxnMarkersRequest,
)
from tidemark.transactions.partition import TransactionalPartition
from tidemark.transactions.partition_leader import PartitionLeader
from tidemark.transactions.rules import Rules as TransactionRules
from tidemark.transactions.states import TransactionState
from tidemark_conformance.explain import asking

CONFIG = ProducerConfig()
P = TopicPartition("p", 0)
FETCH = FetchRequest(0, IsolationLevel.READ_COMMITTED)


class Situation(NamedTuple):
    """`asked`: a rule's arguments; `with_rule`, `without`: the outcome with the rule, and that of its flaw."""

    asked: tuple[Any, ...]
    with_rule: object
    without: object


def aborted(rules: TransactionRules) -> TransactionalPartition:
    """An aborted transaction: a batch and its marker."""
    made = TransactionalPartition(rules)
    made.append_batch(ProduceRequest(1, 0, 0, 10))
    made.append_marker(WriteTxnMarkersRequest(1, 1, False, 1))
    return made


def fetches_of_what_is_decided(right: TransactionRules, flawed: TransactionRules) -> Iterator[Situation]:
    """Before the log is read, so many records of the next transaction are replicated."""
    for more in range(3):
        one = aborted(right)
        one.advance_high_watermark(2)
        reading = one.start_read(FETCH)
        for sequence in range(more):
            one.append_batch(ProduceRequest(1, 1, sequence, 11))
        one.advance_high_watermark(2 + more)
        done = [one.read(reading, read_end_of(rules, one, reading, True)) for rules in (right, flawed)]
        yield Situation((reading.end, one.high_watermark), *done)


def fetches_of_what_is_aborted(right: TransactionRules, flawed: TransactionRules) -> Iterator[Situation]:
    """A fetch finds the records, or waits for them."""
    for early in (False, True):
        leader = PartitionLeader(0, aborted(right))
        waited = early and leader.receive_fetch(FETCH) is None
        leader.advance_high_watermark(2)
        reading = leader.complete_fetch(FETCH, False)
        assert reading is not None
        response = leader.partition.read(reading, reading.end)
        yield Situation((waited,), *(answer_of(rules, response, waited) for rules in (right, flawed)))


def markers(right: OffsetRules, flawed: OffsetRules) -> Iterator[Situation]:
    """Of a transaction that has staged nothing, or an offset that is committed, or one that is not."""
    marker, staged = WriteTxnMarkerRequest(1, 1, True), TxnOffsetCommitRequest(1, 0, -1, P, 5)
    for stages, commits in ((False, False), (True, True), (True, False)):
        done = []
        for rules in (right, flawed):
            coordinator = OffsetCoordinator(rules, 1_000, LoggedGroup(rules))
            coordinator.become_coordinator(1, 0, (), {})
            if stages:
                coordinator.handle_txn_offset_commit(staged, "producer", 0)
            if commits:
                coordinator.commit_entry()
            done.append(handled_marker(rules, coordinator, marker, "marker"))
        yield Situation((stages,), *done)


def expiries(right: IdempotenceRules, flawed: IdempotenceRules) -> Iterator[Situation]:
    """Of the oldest of one, two or three batches in flight."""
    for count in (1, 2, 3):
        left = []
        for rules in (right, flawed):
            producer = producer_of(1, rules, CONFIG)
            producer.get_producer_id(1)
            for _ in range(count):
                producer.send_batch(0)
            before = PartitionSequences()
            before.in_flight = list(producer.partitions[0].in_flight)
            assert producer.expire_batch(0)
            left.append((producer.partitions[0].unresolved, producer.partitions[0].next_sequence))
        yield Situation((before, before.in_flight[0]), *left)


def snapshots(right: IdempotenceRules, flawed: IdempotenceRules) -> Iterator[Situation]:
    """A broker starts that has one, two or three batches of a producer."""
    for count in (1, 2, 3):
        left = []
        for rules in (right, flawed):
            partition = partition_of(rules, CONFIG, 1, Disk(), 1_000)
            for sequence in range(count):
                partition.append_batch(ProduceRequest(1, 0, sequence, sequence + 1), 0)
            partition.take_snapshot()
            partition.restart()
            left.append(partition.producers.entries[1].batches)
        yield Situation((count,), *left)


def syncs_of_a_leader(right: ClassicRules, flawed: ClassicRules) -> Iterator[Situation]:
    """A group's only member assigns, and then sends the same SyncGroup once more."""
    all_brokers = [Brokers(rules) for rules in (right, flawed)]
    for again in (False, True):
        asked, done = set(), []
        for brokers in all_brokers:
            member = next(iter(brokers.group.members), "") if again else brokers.member("join")
            while brokers.group.state is GroupState.PREPARING_REBALANCE:
                brokers.expire(TimerKind.JOIN)
            asked.add(brokers.group.state)
            brokers.sync("sync", member, 1, {member: (P,)})
            done.append(brokers.replies.pop("sync", None))
            brokers.commit()
            brokers.replies.clear()
        (state,) = asked
        yield Situation((state,), *done)


def joins_of_a_leader(right: ClassicRules, flawed: ClassicRules) -> Iterator[Situation]:
    """A leader is told all members' subscriptions, or that it need not assign."""
    for skips in (False, True):
        response = JoinGroupResponse(Errors.NONE, "m", 1, RANGE, "m", skip_assignment=skips)
        done = []
        for rules in (right, flawed):
            consumer = consumer_of(ConsumerConfig((RANGE,)), ["p"], rules)
            consumer.send_join(0)
            consumer.receive_join(response, {"p": 1})
            done.append(consumer.membership.watched)
        yield Situation((skips,), *done)


def partitions_of_a_member(right: GroupRules, flawed: GroupRules) -> Iterator[Situation]:
    """A member is assigned a partition that it was giving up, or that it was not."""
    given: Epochs = {P: 2}
    revoking: Epochs
    for revoking in ({}, {P: 1}):
        before = CurrentAssignment(1, 0, MemberState.UNREVOKED_PARTITIONS, {}, revoking)
        after = CurrentAssignment(2, 1, MemberState.STABLE, given, {})
        done = []
        for rules in (right, flawed):
            group = coordinator_of(rules, ConsumerGroupConfig(), {}).group
            for current in (before, after):
                group.replay(CurrentMemberAssignmentRecord("member", current))
            done.append(group.partition_epochs)
        yield Situation((P, revoking), *done)


def logs_of_a_partition(right: OffsetRules, flawed: OffsetRules) -> Iterator[Situation]:
    """A coordinator loads a log whose last record commits an offset: the partition's first, or another one."""
    for before in ((), (5,)):
        log = [LogRecord(at, OffsetCommitValue(P, offset, 0)) for at, offset in enumerate((*before, 3))]
        done = []
        for rules in (right, flawed):
            coordinator = OffsetCoordinator(rules, 1_000, LoggedGroup(rules))
            coordinator.become_coordinator(1, len(log), records_that_load(rules, log), {})
            done.append(coordinator.committed.offsets)
        yield Situation((max(before, default=-1),), *done)


def transitions(right: TransactionRules, flawed: TransactionRules) -> Iterator[Situation]:
    """One at time 2 is replicated before one of an earlier time, of the same, or of a later one."""
    for time in range(1, 4):
        done = []
        for rules in (right, flawed):
            coordinator = TransactionCoordinator(rules, 10, ProducerIdManager(1))
            coordinator.load_transactions(1, TransactionLogValue(TransactionState.EMPTY), 0)
            for each in (2, time):
                record = coordinator.append_init_producer_id(InitProducerIdRequest(), "producer")
                committed_record(rules, coordinator, record, each)
            done.append(coordinator.pending)
        yield Situation((time, 2), *done)


UNASKED: dict[tuple[str, str], tuple[Callable[[], Any], Callable[..., Iterator[Situation]]]] = {
    ("classic-group", "persist_assignment_first"): (ClassicRules, syncs_of_a_leader),
    ("classic-group", "notice_what_was_missed"): (ClassicRules, joins_of_a_leader),
    ("consumer-group", "remove_epochs_first"): (GroupRules, partitions_of_a_member),
    ("offsets", "load_replaces"): (OffsetRules, logs_of_a_partition),
    ("transactions", "accept_earlier_time"): (TransactionRules, transitions),
    ("transactions", "read_high_watermark_once"): (TransactionRules, fetches_of_what_is_decided),
    ("transactions", "aborted_list_of_delayed_fetch"): (TransactionRules, fetches_of_what_is_aborted),
    ("offsets", "materialise_first"): (OffsetRules, markers),
    ("idempotence", "only_batch_expired"): (IdempotenceRules, expiries),
    ("idempotence", "snapshot_of_several_batches"): (IdempotenceRules, snapshots),
}
"""(protocol, rule) -> the protocol's rules, and situations in some of which its case arises."""


@pytest.mark.parametrize(("rule", "kind", "situations"), [(rule, *both) for (_, rule), both in UNASKED.items()])
def test_its_case_arises_where_the_flaw_does_otherwise(
    rule: str, kind: Callable[[], Any], situations: Callable[..., Iterator[Situation]]
) -> None:
    right = kind()
    arises = []
    for one in situations(right, rules_without(kind, {rule})):
        arises.append(one.with_rule != one.without)
        assert getattr(right, rule)(*one.asked) is arises[-1], one
    assert set(arises) == {False, True}


def test_these_are_all_and_the_rules_docstring_says_so() -> None:
    found = set()
    for one in SIMULATED:
        home = importlib.import_module(type(one.descriptor.rules_without(())).__module__)
        package = home.__name__.rpartition(".")[0]
        unasked = {rule for rule in home.RULES if not asking.asks(package, home.__name__, rule)}
        found |= {(one.protocol, rule) for rule in unasked}
        said = re.findall(r"Nobody\s+asks\s([^:]*):", home.__doc__ or "")
        assert set(re.findall("`([a-z_]+)`", "".join(said))) == unasked, home.__name__
    assert found == UNASKED.keys()
