"""A partition of __consumer_offsets in a transaction: the request that adds it, and the replies of the group's
coordinator."""

from __future__ import annotations

from typing import Any

import pytest
from tidemark.common.errors import Errors
from tidemark.idempotence.messages import ProduceResponse
from tidemark.transactions.protocol import PROTOCOL
from tidemark.transactions.rules import Rules
from tidemark.transactions.sim.cluster import GROUP_ERRORS, TransactionCluster
from tidemark.transactions.transactional_producer import ProducerState

OFFSETS, DATA = 0, 1


class Actions(list[tuple[Any, ...]]):
    """A recorder that remembers the actions."""

    def did(self, *what: Any) -> None:
        self.append(what)

    def blocked(self, *what: Any) -> None:
        raise AssertionError(what)


def in_transaction(rules: Rules | None = None) -> TransactionCluster:
    """One process and one coordinator; the first transaction has begun."""
    cluster = TransactionCluster(1, 1, 2, 0, 6, rules or Rules(), OFFSETS)
    cluster.recorder = Actions()
    assert cluster.send_init_producer_id(0, 0)
    assert cluster.handle_rpc(0, False)
    assert cluster.commit_record()
    assert cluster.receive_rpc(0)
    assert cluster.begin_transaction(0)
    return cluster


def verified() -> TransactionCluster:
    """Its TxnOffsetCommit has taken the partition into it (version 2)."""
    cluster = in_transaction()
    assert cluster.send_txn_offset_commit(0)
    assert cluster.handle_produce(0, OFFSETS, False)
    assert cluster.verify_partition(0, 0, OFFSETS, False)
    assert cluster.commit_record()
    return cluster


def is_on_its_way(cluster: TransactionCluster) -> bool:
    """Whether the TxnOffsetCommit has not arrived."""
    exchange = cluster.produce[0][OFFSETS]
    return exchange is not None and exchange.pending is None and exchange.response is None


def test_batches_and_offsets_have_partitions_of_their_own() -> None:
    cluster = in_transaction()
    assert not cluster.send_produce(0, OFFSETS)
    assert cluster.send_produce(0, DATA)
    assert not cluster.disconnect_offsets(0, DATA, False)
    assert not cluster.refuse_offsets(0, DATA, False, Errors.ILLEGAL_GENERATION)
    assert cluster.send_txn_offset_commit(0)
    assert not cluster.give_up_produce(0, OFFSETS, False)


def test_a_cluster_without_such_a_partition_sends_no_offsets() -> None:
    for rules in (Rules(), PROTOCOL.rules_without({"EpochPerTransaction"})):
        cluster = in_transaction(rules)
        cluster.offsets = None
        assert not cluster.send_add_offsets(0, 0)
        assert not cluster.send_txn_offset_commit(0)


def test_in_version_1_the_coordinator_adds_it_as_any_partition() -> None:
    """AddOffsetsToTxn: the record, and CONCURRENT_TRANSACTIONS while that is pending."""
    cluster = in_transaction(PROTOCOL.rules_without({"EpochPerTransaction"}))
    assert not cluster.send_add_partitions(0, 0, OFFSETS)
    assert not cluster.send_txn_offset_commit(0)
    assert cluster.send_add_offsets(0, 0)
    assert cluster.disconnect_rpc(0, True)
    assert cluster.send_add_offsets(0, 0)
    assert cluster.handle_rpc(0, False)
    assert cluster.handle_rpc(0, True)  # the late one finds the transition pending
    assert cluster.recorder[-2:] == [("AppendAddPartitions", 0, 0, False), ("AnswerRpc", 0, 0, True)]
    assert cluster.commit_record()
    assert cluster.receive_rpc(0)
    assert cluster.coordinators[0].value.partitions == {OFFSETS}
    assert cluster.send_txn_offset_commit(0)


@pytest.mark.parametrize("error", GROUP_ERRORS)
def test_who_the_group_refuses_can_only_abort_and_has_the_partition_all_the_same(error: Errors) -> None:
    cluster = verified()
    assert cluster.refuse_offsets(0, OFFSETS, False, error)
    assert cluster.receive_produce(0, OFFSETS)
    assert cluster.clients[0].state is ProducerState.ABORTABLE_ERROR
    assert cluster.coordinators[0].value.partitions == {OFFSETS}
    assert cluster.partitions[OFFSETS].log == []


def test_the_group_is_asked_behind_the_transaction_coordinator() -> None:
    cluster = in_transaction()
    assert cluster.send_txn_offset_commit(0)
    assert not cluster.refuse_offsets(0, OFFSETS, False, Errors.ILLEGAL_GENERATION)
    assert cluster.handle_produce(0, OFFSETS, False)
    assert not cluster.refuse_offsets(0, OFFSETS, False, Errors.ILLEGAL_GENERATION)


def test_a_lost_connection_is_no_reason_to_abort() -> None:
    """The request is sent again; the one under way may still be written, and then is there twice."""
    cluster = verified()
    assert cluster.disconnect_offsets(0, OFFSETS, True)
    assert (is_on_its_way(cluster), cluster.clients[0].bump) == (True, False)
    assert cluster.handle_produce(0, OFFSETS, True)
    assert cluster.handle_produce(0, OFFSETS, False)
    assert len(cluster.partitions[OFFSETS].log) == 2
    cluster.clients[0].require_abort()
    assert cluster.disconnect_offsets(0, OFFSETS, True)
    assert cluster.produce[0][OFFSETS] is None


def test_another_coordinator_of_the_group_is_asked_again() -> None:
    cluster = verified()
    assert cluster.handle_produce(0, OFFSETS, False)
    assert cluster.elect_partition_leader(OFFSETS, 0)
    exchange = cluster.produce[0][OFFSETS]
    assert exchange is not None
    assert exchange.response == ProduceResponse(Errors.NOT_COORDINATOR, 0)
    assert cluster.receive_produce(0, OFFSETS)
    assert is_on_its_way(cluster)
