"""Healing of both: the partition's cluster first, then whoever leads it serves, then the group; while the group waits
for its records to commit, the partition is run fairly.
"""

from __future__ import annotations

from tidemark.sim.composed.cluster import ComposedCluster
from tidemark.sim.group.healing import heal as heal_group
from tidemark.sim.healing import at_rest, beyond_repair, fair_round, stop_faults

ROUNDS = 60


def heal(cluster: ComposedCluster, mode: int) -> tuple[bool, bool]:
    """Heal; whether faults have stopped for good (nobody may lead any more, else), and whether both came to rest. One
    consumer runs at least, with the assignors `mode`."""
    stop_faults(cluster.replicated)
    settle(cluster)
    if beyond_repair(cluster.replicated):
        return False, False
    if not _serves(cluster):
        return True, False
    cluster.heals = True
    converged = heal_group(cluster, mode)
    settle(cluster)
    return True, converged and at_rest(cluster.replicated)


def settle(cluster: ComposedCluster) -> None:
    """The partition comes to rest."""
    replicated = cluster.replicated
    for _ in range(ROUNDS):
        fair_round(replicated)
        cluster.observe()
        if at_rest(replicated) or beyond_repair(replicated):
            break


def _serves(cluster: ComposedCluster) -> bool:
    """Whoever leads becomes the coordinator; where it cannot (it was the coordinator itself, has forgotten, and nobody
    else has served since), an operator moves the leadership."""
    replicated = cluster.replicated
    for _ in range(2):
        leader = replicated.control.partition.leader
        if leader is None:
            return False
        for broker in replicated.replicas:
            cluster.resign(broker)
        if cluster.load(leader) or cluster.serves[leader] is not None:
            return True
        replicated.elect_leader((leader + 1) % replicated.count)
        settle(cluster)
    return False
