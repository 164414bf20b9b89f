"""A partition's leader: the followers that count while a proposal is undecided, and a fetch from beyond an epoch."""

from __future__ import annotations

import pytest
from tidemark.log.epoch_cache import EpochEndOffset
from tidemark.log.log import Log
from tidemark.log.storage import MemoryStorage
from tidemark.replication.messages import AlterPartitionRequest, BrokerId, FetchRequest, ProduceRequest
from tidemark.replication.partition import Partition, PartitionState, ReplicationConfig
from tidemark.replication.protocol import PROTOCOL
from tidemark.replication.rules import Rules

B1, B2, B3 = range(3)
ALL = frozenset({B1, B2, B3})


def leading(isr: frozenset[BrokerId], rules: Rules) -> Partition:
    """B1 leads epoch 0; both followers have fetched at offset 0."""
    leader = Partition(B1, (B1, B2, B3), Log(MemoryStorage()), ReplicationConfig(), rules)
    leader.apply_metadata(PartitionState(B1, 0, 1, isr), 0)
    for follower in (B2, B3):
        fetch(leader, follower, 0)
    return leader


def fetch(leader: Partition, follower: BrokerId, offset: int) -> None:
    leader.handle_fetch(FetchRequest(follower, 1, 0, offset, 0), 1, 0)


@pytest.mark.parametrize(("without", "high_watermark"), [((), 0), (("CountMembersBeingRemoved",), 1)])
def test_a_member_counts_until_it_is_removed(without: tuple[str, ...], high_watermark: int) -> None:
    leader = leading(ALL, PROTOCOL.rules_without(without))
    leader.append_record(ProduceRequest(1, "1"))
    assert leader.shrink_isr(B3, 1) is not None
    fetch(leader, B2, 1)
    assert leader.log.high_watermark == high_watermark


@pytest.mark.parametrize(("without", "high_watermark"), [((), 0), (("CountMembersBeingAdded",), 1)])
def test_a_member_counts_once_it_is_proposed(without: tuple[str, ...], high_watermark: int) -> None:
    leader = leading(frozenset({B1, B2}), PROTOCOL.rules_without(without))
    assert isinstance(leader.expand_isr(B3, 1), AlterPartitionRequest)
    leader.append_record(ProduceRequest(1, "1"))
    fetch(leader, B2, 1)
    assert leader.log.high_watermark == high_watermark


@pytest.mark.parametrize(("offset", "diverging"), [(1, None), (2, EpochEndOffset(0, 1))])
def test_a_follower_with_more_of_an_epoch_than_its_leader_has_diverges(
    offset: int, diverging: EpochEndOffset | None
) -> None:
    leader = leading(ALL, Rules())
    leader.append_record(ProduceRequest(1, "1"))
    leader.apply_metadata(PartitionState(B1, 1, 2, ALL), 0)
    answer = leader.receive_fetch(FetchRequest(B2, 1, 1, offset, 0), 0)
    assert (None if answer is None else answer.diverging) == diverging
