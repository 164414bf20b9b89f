"""Healing of a group of either kind: rounds until it is at rest, a reader, offsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tidemark.groups.partitions import TopicPartition
from tidemark.groups.sim.events import GroupEvents

ROUNDS = 60

Cluster = TypeVar("Cluster", bound=GroupEvents[Any, Any, Any])


def run_fairly(
    cluster: Cluster,
    start: Callable[[], object],
    drive: Callable[[Cluster, int, bool], None],
    expire: Callable[[Cluster], None],
    at_rest: Callable[[Cluster], bool],
) -> bool:
    """Everybody does what there is to do, and timers run out, until the group is `at_rest` and a commit was
    acknowledged since. Returns whether it came to that.

    `start`: some consumer starts. `drive`: one consumer takes every step that it can, and commits if told to.
    """
    before = cluster.commits.acked
    for _ in range(ROUNDS):
        cluster.now += 1_000
        let_somebody_read(cluster, start)
        for client in range(len(cluster.consumers)):
            drive(cluster, client, cluster.commits.acked == before)
        while cluster.commit_entry():
            pass
        expire(cluster)
        if at_rest(cluster) and cluster.commits.acked > before:
            return True
    return False


def resign_all(cluster: GroupEvents[Any, Any, Any]) -> None:
    """Every deposed coordinator hears of it."""
    for broker in range(len(cluster.coordinators)):
        cluster.resign(broker)


def let_somebody_read(cluster: GroupEvents[Any, Any, Any], start: Callable[[], object]) -> None:
    """Somebody runs and subscribes to a topic that exists, so that something can be committed."""
    if all(consumer is None for consumer in cluster.consumers):
        start()
    there = {topic for topic, count in cluster.counts.items() if count}
    running = [client for client, consumer in enumerate(cluster.consumers) if consumer is not None]
    if not any(there & cluster.consumer(client).subscriptions.topics for client in running):
        cluster.change_subscription(running[0], frozenset(cluster.counts), (1 << len(cluster.counts)) - 1)


def move_offsets(cluster: GroupEvents[Any, Any, Any], client: int, commits: Callable[[], bool]) -> None:
    """One consumer's OffsetCommit or OffsetFetch moves on; if it then `commits`, it reads one record before."""
    leader, consumer = cluster.log.leader, cluster.consumers[client]
    cluster.deliver_offset(client)
    cluster.receive_offset(client)
    if consumer is None or cluster.network.offset[client] is not None:
        return
    if cluster.send_offset_fetch(client, leader):
        cluster.deliver_offset(client)
        cluster.receive_offset(client)
    if commits():
        for number, topic in enumerate(cluster.counts):
            partition = TopicPartition(topic, 0)
            if partition in consumer.subscriptions.owned and cluster.poll(client, number, partition):
                break
        if cluster.send_commit(client, leader):
            cluster.deliver_offset(client)
