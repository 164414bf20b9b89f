"""Healing: faults stop, every transaction ends, everything commits, and a consumer commits once more."""

from __future__ import annotations

from tidemark.groups.offset_records import OffsetsGroupState
from tidemark.offsets.sim.cluster import OffsetsCluster

ROUNDS = 20


def heal(cluster: OffsetsCluster) -> bool:
    """Heal; returns whether nothing is left to do."""
    for broker in range(len(cluster.coordinators)):
        cluster.resign(broker)
    producers = range(len(cluster.transactions))
    for producer in producers:
        cluster.lose_late(producer)
        cluster.lose_late_marker(producer)
        if cluster.transactions[producer].phase == "ongoing":
            cluster.give_up_txn_offset_commit(producer)
            cluster.lose_late(producer)
            cluster.end_transaction(producer, commit=not cluster.transactions[producer].failed)
    for _ in range(ROUNDS):
        while cluster.commit_entry():
            pass
        make_room(cluster)
        for producer in producers:
            cluster.receive_marker_reply(producer)
            cluster.send_marker(producer, cluster.log.leader)
            cluster.deliver_marker(producer, is_late=False)
        if at_rest(cluster):
            return _swept(cluster) and _commit_once_more(cluster)
    return False


def _swept(cluster: OffsetsCluster) -> bool:
    """The sweep comes a last time; whether what it removes is committed, and nothing waits."""
    cluster.expire_offsets(cluster.log.leader)
    while cluster.commit_entry():
        pass
    return at_rest(cluster)


def make_room(cluster: OffsetsCluster) -> bool:
    """The log is cleaned as far as it may be; whether that was done."""
    log = cluster.log
    count = len(log.records)
    while count and not log.may_compact(count, cluster.rules):
        count -= 1
    return cluster.compact(count, horizon=True)


def _commit_once_more(cluster: OffsetsCluster) -> bool:
    """A last commit shows that the group still takes one. A group that stands without offsets and members, which the
    sweep removes, is left as it is."""
    written = cluster.coordinators[cluster.log.leader].written
    if not written.offsets and written.group.state in (OffsetsGroupState.SIMPLE, OffsetsGroupState.EMPTY):
        return True
    cluster.commit_offset(cluster.log.leader, 0, 1)
    return cluster.commit_entry()


def at_rest(cluster: OffsetsCluster) -> bool:
    """Whether nothing waits, and every transaction is complete."""
    return not cluster.log.appended[cluster.log.leader] and all(
        transaction.phase == "idle" for transaction in cluster.transactions
    )
