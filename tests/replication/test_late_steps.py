"""Kafka lets a lock go between two halves of a step: validate and count (CAND-15), check and truncate (CAND-14), append
and wait (CAND-17), see that it leads and look at the high watermark (CAND-18)."""

from __future__ import annotations

import dataclasses

import pytest
from simulated import SIMULATED
from tidemark.common.errors import NONE, NOT_LEADER_OR_FOLLOWER
from tidemark.log.epoch_cache import EpochEndOffset
from tidemark.log.log import Log
from tidemark.log.storage import MemoryStorage, RecordBatch
from tidemark.replication.fetcher import ReplicaFetcher
from tidemark.replication.messages import REFUSED, FetchRequest, FetchResponse, ProduceRequest, ProduceResponse
from tidemark.replication.partition import Partition, PartitionState, ReplicationConfig, UncountedFetch
from tidemark.replication.purgatory import ProducePurgatory
from tidemark.replication.rules import Rules
from tidemark.replication.sim.cluster import Cluster
from tidemark.replication.sim.network import FetchConnection
from tidemark.replication.sim.run import Run, Simulator

HEADER = next(one.header for one in SIMULATED if one.protocol == "replication")
B1, B2, B3 = range(3)
ALL = frozenset({B1, B2, B3})


def partition_of(broker: int, rules: Rules) -> Partition:
    return Partition(broker, (B1, B2, B3), Log(MemoryStorage()), ReplicationConfig(), rules)


def led(partition: Partition, leader: int, epoch: int) -> None:
    partition.apply_metadata(PartitionState(leader, epoch, epoch + 1, ALL), 0)


def fetched_late(rules: Rules) -> tuple[Partition, UncountedFetch]:
    """B1 leads epoch 0 with a record, and has read a fetch of B2 at offset 1 that it has not counted."""
    leader = partition_of(B1, rules)
    led(leader, B1, 0)
    leader.append_record(ProduceRequest(1, "1"))
    request = FetchRequest(B2, 1, 0, 1, 0)
    assert leader.receive_fetch(request, 0) is None
    uncounted = leader.fetch_records(request, 1)
    assert leader.remote[B2].log_end_offset == -1
    return leader, uncounted


def test_a_fetch_counts_later_in_its_epoch() -> None:
    leader, uncounted = fetched_late(Rules())
    assert leader.update_follower_fetch_state(uncounted, 0) is uncounted.response
    assert leader.remote[B2].log_end_offset == 1


@pytest.mark.parametrize(("rule", "counted"), [(True, -1), (False, 1)])
def test_a_leader_that_leads_again_counts_nothing_of_an_older_epoch(rule: bool, counted: int) -> None:
    rules = Rules() if rule else dataclasses.replace(Rules(), count_in_fetch_epoch=lambda *_: True)
    leader, uncounted = fetched_late(rules)
    led(leader, B1, 2)
    leader.update_follower_fetch_state(uncounted, 0)
    assert leader.remote[B2].log_end_offset == counted


def test_a_leader_that_was_deposed_counts_nothing_and_answers() -> None:
    """With the rule or without: there is no state of a follower any more."""
    leader, uncounted = fetched_late(dataclasses.replace(Rules(), count_in_fetch_epoch=lambda *_: True))
    led(leader, B3, 1)
    assert leader.update_follower_fetch_state(uncounted, 0).error is NONE
    assert leader.remote[B2].log_end_offset == -1


@pytest.mark.parametrize(
    ("leader", "epoch", "rule", "truncates"),
    [(B1, 0, True, True), (B3, 1, True, False), (B1, 2, True, False), (B1, 2, False, True)],
)
def test_an_answer_that_was_checked_truncates_in_its_epoch_alone(
    leader: int, epoch: int, rule: bool, truncates: bool
) -> None:
    rules = Rules() if rule else dataclasses.replace(Rules(), match_epoch_at_truncation=lambda *_: True)
    follower = partition_of(B2, rules)
    led(follower, B1, 0)
    fetcher = ReplicaFetcher(follower, 1, rules)
    request = fetcher.send_fetch()
    response = FetchResponse(NONE, 0, (), EpochEndOffset(0, 0))
    assert fetcher.check_diverging(B1, request, response)
    led(follower, leader, epoch)
    assert fetcher.still_truncates(B1, request) == truncates


def asked() -> tuple[Cluster, FetchConnection]:
    """A simulated follower has asked the leader, which has no record."""
    run = Run(Simulator(HEADER), 0)
    run.begin()
    cluster = run.cluster
    leader = next(host.id for host in cluster.hosts if host.up is not None and host.up.partition.is_leader)
    follower = next(host.id for host in cluster.hosts if host.id != leader)
    assert cluster.send_fetch(follower)
    return cluster, cluster.network.fetches[follower][leader]


def test_bytes_are_read_later_if_there_are_any() -> None:
    cluster, connection = asked()
    assert cluster.receive_fetch(connection, 1, lazily=True)
    assert connection.read is None
    assert cluster.receive_response(connection)
    assert cluster.append_record(connection.source, 1, "all")
    assert cluster.send_fetch(connection.follower)
    assert cluster.receive_fetch(connection, 1, lazily=True)
    assert connection.read is not None


@pytest.mark.parametrize("crowded", [False, True])
def test_at_a_crowded_leader_a_fetch_counts_later(crowded: bool) -> None:
    cluster, connection = asked()
    cluster.hosts[connection.source].crowded = crowded
    assert cluster.receive_fetch(connection, 1)
    assert (connection.uncounted is not None) is crowded


@pytest.mark.parametrize("crowded", [False, True])
def test_a_crowded_follower_checks_and_truncates_later(crowded: bool) -> None:
    cluster, connection = asked()
    connection.response = FetchResponse(NONE, 0, (), EpochEndOffset(0, 0))
    cluster.hosts[connection.follower].crowded = crowded
    assert cluster.receive_response(connection)
    assert connection.checked is crowded


def appended_late(rules: Rules) -> tuple[Partition, ProducePurgatory]:
    """B1 leads epoch 0, has appended a record, and has not added its produce to the purgatory."""
    leader = partition_of(B1, rules)
    led(leader, B1, 0)
    purgatory = ProducePurgatory(leader, rules)
    response = leader.append_record(ProduceRequest(1, "all"))
    assert isinstance(response, ProduceResponse)
    purgatory.park(1, response.base_offset, 100, True)
    assert purgatory.complete_produce(1) is None
    return leader, purgatory


def test_a_produce_waits_later_in_its_epoch_or_in_another_with_its_record() -> None:
    for epoch in (0, 2):
        leader, purgatory = appended_late(Rules())
        led(leader, B1, epoch)
        assert purgatory.add_delayed_produce(1)
        assert purgatory.complete_produce(1) is REFUSED  # nobody else has the record
        assert purgatory.created == {}


def unlawful(rule: bool) -> Rules:
    return Rules() if rule else dataclasses.replace(Rules(), complete_own_record=lambda *_: True)


def copied(follower: Partition, epoch: int) -> None:
    """A follower has truncated all, and has copied a committed record of this epoch."""
    follower.log.truncate_to(0)
    follower.log.append_as_follower((RecordBatch(0, epoch, (2,)),))
    follower.log.set_high_watermark(1)


@pytest.mark.parametrize("rule", [True, False])
@pytest.mark.parametrize("leads_again", [True, False])
def test_a_produce_whose_record_was_replaced_is_failed_by_the_rule(rule: bool, leads_again: bool) -> None:
    """CAND-17, where the broker leads again; CAND-18, where a thread has seen that it led."""
    leader, purgatory = appended_late(unlawful(rule))
    if not leads_again:
        assert purgatory.add_delayed_produce(1)
    led(leader, B2, 1)
    copied(leader, 1)
    if leads_again:
        assert not purgatory.add_delayed_produce(1)
        led(leader, B1, 2)
        assert purgatory.add_delayed_produce(1)
    assert purgatory.complete_produce(1) == (REFUSED if rule else ProduceResponse(1, NONE, 0))
    failed = purgatory.fail_produce(1, 0)
    assert failed == (ProduceResponse(1, NOT_LEADER_OR_FOLLOWER) if rule else None)
    assert purgatory.waiting == {}


def test_a_leader_that_was_deposed_fails_a_produce_that_was_to_wait() -> None:
    leader, purgatory = appended_late(Rules())
    assert purgatory.fail_produce(1, 0) is None
    led(leader, B2, 1)
    assert purgatory.fail_produce(1, 0) == ProduceResponse(1, NOT_LEADER_OR_FOLLOWER)


@pytest.mark.parametrize(
    ("epochs", "rule", "accepted"),
    [
        ((1, 2), None, 2),
        ((1, 3), None, 1),
        ((1, 3), "no_batch_above_fetch_epoch", 2),
        ((0, 2), None, 0),
        ((0, 2), "tail_epoch_monotone", 2),
        ((2, 1), None, 1),
        ((2, 1), "no_batch_above_fetch_epoch", 1),
        ((2, 1), "tail_epoch_monotone", 2),
    ],
)
def test_a_follower_takes_batches_up_to_the_first_that_a_rule_refuses(
    epochs: tuple[int, int], rule: str | None, accepted: int
) -> None:
    """Bytes that were read late, where SliceNotTruncated is not in force: KAFKA-18723 (row 12) and rows 104, 139."""
    rules = Rules() if rule is None else dataclasses.replace(Rules(), **{rule: lambda *_: True})
    follower = partition_of(B2, rules)
    led(follower, B1, 2)
    follower.log.append_as_follower((RecordBatch(0, 1, (1,)),))
    request = FetchRequest(B2, 1, 2, 1, 1)
    batches = tuple(RecordBatch(1 + at, epoch, (2 + at,)) for at, epoch in enumerate(epochs))
    ReplicaFetcher(follower, 1, rules).follower_append(request, FetchResponse(NONE, 0, batches))
    assert follower.log.end_offset == 1 + accepted
