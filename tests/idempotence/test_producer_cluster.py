"""The simulated leaders by hand: a fault is of one request, and of the disk of the broker that leads."""

from __future__ import annotations

import pytest
from simulated import SIMULATED
from tidemark.common.errors import Errors
from tidemark.idempotence.sim.cluster import ProducerCluster
from tidemark.idempotence.sim.run import ProducerRun, ProducerSimulator

HEADER = next(one.header for one in SIMULATED if one.protocol == "idempotence")
A, TOPIC = 0, 0


def sent() -> ProducerCluster:
    """A producer has sent its first batch to the leader."""
    run = ProducerRun(ProducerSimulator(HEADER), 0)
    run.begin()
    cluster = run.cluster
    assert cluster.get_producer_id(A)
    assert cluster.send_batch(A, TOPIC, cluster.partitions[TOPIC].leader)
    return cluster


def answered(cluster: ProducerCluster) -> Errors:
    """The error of the answer that the producer receives next."""
    response = cluster.connections[A][TOPIC].wire[0].response
    assert response is not None
    return response.error


@pytest.mark.parametrize(
    ("too_few_in_sync", "error"), [(True, Errors.NOT_ENOUGH_REPLICAS), (False, Errors.KAFKA_STORAGE_ERROR)]
)
def test_a_fault_meets_one_request(too_few_in_sync: bool, error: Errors) -> None:
    cluster = sent()
    leader = cluster.partitions[TOPIC].leader
    assert cluster.handle(leader, A, TOPIC, too_few_in_sync=too_few_in_sync, disk_fails=not too_few_in_sync)
    assert answered(cluster) is error
    assert cluster.receive(leader, A, TOPIC)
    assert cluster.resend_batch(A, TOPIC, leader)
    assert not cluster.disks[TOPIC].fails
    assert cluster.handle(leader, A, TOPIC)
    assert len(cluster.partitions[TOPIC].log) == 1


def test_a_new_leaders_disk_fails_and_not_the_old_ones() -> None:
    cluster = sent()
    leader = cluster.partitions[TOPIC].leader
    assert cluster.elect_leader(TOPIC, leader, 0, 0)
    assert cluster.handle(leader, A, TOPIC, disk_fails=True)
    assert answered(cluster) is Errors.KAFKA_STORAGE_ERROR
    assert cluster.partitions[TOPIC].log == []
