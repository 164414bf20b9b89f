"""Healing: faults stop, every consumer connects anew, and the group is run fairly until it has come to rest.

Connecting anew is a help: a consumer whose news went to a late request of its own, for whose reply nobody waited, does
not hear of it by itself (DIVERGENCES.md).

At rest means: the coordinator in office has a group of exactly the consumers that run, assigned and stable; all that
was appended has committed, and every consumer owns what it was assigned.
"""

from __future__ import annotations

from tidemark.client.modern_membership import MemberState as ConsumerState
from tidemark.group.modern.heartbeat import subscribed
from tidemark.group.modern.states import MemberState
from tidemark.group.partitions import TopicPartition
from tidemark.group.purgatory import TimerKind
from tidemark.sim.modern.cluster import ModernCluster

ROUNDS = 60


def heal(cluster: ModernCluster) -> bool:
    """Heal; returns whether the group came to rest. One consumer runs at least."""
    for broker in range(len(cluster.coordinators)):
        cluster.resign(broker)
    _connect_anew(cluster)
    before = cluster.commits.acked
    for _ in range(ROUNDS):
        cluster.now += 1_000
        _let_somebody_read(cluster)
        for client in range(len(cluster.consumers)):
            _drive(cluster, client, cluster.commits.acked == before)
        while cluster.commit_entry():
            pass
        _expire(cluster)
        if at_rest(cluster) and cluster.commits.acked > before:
            return True
    return False


def _connect_anew(cluster: ModernCluster) -> None:
    """What is late arrives; after that every consumer gives up the heartbeat that is under way, and so says all."""
    for client in range(len(cluster.consumers)):
        cluster.deliver_stray(client)
        while cluster.commit_entry():
            pass
    for client in range(len(cluster.consumers)):
        cluster.send_heartbeat(client, cluster.log.leader)
        cluster.lose_heartbeat(client)


def _let_somebody_read(cluster: ModernCluster) -> None:
    """Somebody runs and subscribes to a topic that exists, so that something can be committed."""
    if all(consumer is None for consumer in cluster.consumers):
        cluster.start_consumer(0)
    there = {topic for topic, count in cluster.counts.items() if count}
    running = [client for client, consumer in enumerate(cluster.consumers) if consumer is not None]
    if not any(there & cluster.consumer(client).subscriptions.topics for client in running):
        cluster.change_subscription(running[0], frozenset(cluster.counts), (1 << len(cluster.counts)) - 1)


def _drive(cluster: ModernCluster, client: int, commits: bool) -> None:
    """One consumer does what it can; it reads and commits if `commits`."""
    leader = cluster.log.leader
    cluster.deliver_stray(client)
    consumer = cluster.consumers[client]
    if consumer is None:
        return
    consumer.coordinator = leader
    cluster.deliver_heartbeat(client)
    cluster.receive_heartbeat(client)
    cluster.finish_reconciliation(client)
    if cluster.reconcile(client):
        cluster.finish_reconciliation(client)
    if _has_news(cluster, client) and cluster.send_heartbeat(client, leader):
        cluster.deliver_heartbeat(client)
        cluster.receive_heartbeat(client)
    _offsets(cluster, client, commits)


def _has_news(cluster: ModernCluster, client: int) -> bool:
    """Whether a heartbeat would tell or be told something."""
    consumer, coordinator = cluster.consumers[client], cluster.coordinators[cluster.log.leader]
    if consumer is None:
        return False
    membership, group = consumer.membership, coordinator.group
    member = group.members.get(membership.member_id)
    return (
        consumer.say_all
        or membership.unreported
        or membership.state is not ConsumerState.STABLE
        or consumer.told_topics != consumer.subscriptions.topics
        or member is None
        or member.current.state is not MemberState.STABLE
        or not membership.member_epoch == member.member_epoch == group.group_epoch == group.assignment_epoch
        or subscribed(group.members, cluster.counts) != group.metadata
    )


def _offsets(cluster: ModernCluster, client: int, commits: bool) -> None:
    """One consumer's OffsetCommit or OffsetFetch moves on; in between it reads one record."""
    leader, consumer = cluster.log.leader, cluster.consumers[client]
    cluster.deliver_offset(client)
    cluster.receive_offset(client)
    if consumer is None or cluster.network.offset[client] is not None:
        return
    if cluster.send_offset_fetch(client, leader):
        cluster.deliver_offset(client)
        cluster.receive_offset(client)
    if commits and consumer.membership.state is ConsumerState.STABLE:
        for number, topic in enumerate(cluster.counts):
            if cluster.poll(client, number, TopicPartition(topic, 0)):
                break
        if cluster.send_commit(client, leader):
            cluster.deliver_offset(client)


def _expire(cluster: ModernCluster) -> None:
    """Sessions of whoever is gone run out."""
    broker = cluster.log.leader
    alive = {consumer.membership.member_id for consumer in cluster.consumers if consumer is not None}
    for timer in sorted(cluster.coordinators[broker].timers):
        if timer.kind is TimerKind.SESSION and timer.member_id not in alive:
            cluster.expire(broker, timer)


def at_rest(cluster: ModernCluster) -> bool:
    """Whether nothing is left to do."""
    coordinator = cluster.coordinators[cluster.log.leader]
    group = coordinator.group
    running = {
        consumer.membership.member_id: client
        for client, consumer in enumerate(cluster.consumers)
        if consumer is not None
    }
    if cluster.log.appended[cluster.log.leader] or set(group.members) != set(running):
        return False
    if any(_has_news(cluster, client) or cluster.network.heartbeat[client] is not None for client in running.values()):
        return False
    return all(
        not cluster.consumer(client).membership.reconciling
        and set(cluster.consumer(client).subscriptions.owned) == set(group.members[member_id].current.assigned)
        for member_id, client in running.items()
    )
