"""Healing: faults stop, and the group is run fairly until it has come to rest. One thing is helped: `_is_misheard`.

At rest means that the elected coordinator has a group of exactly the consumers that run, assigned and stable. All
appended records have committed, every consumer owns its assignment, and nothing is on its way.
"""

from __future__ import annotations

from tidemark.consumer_group.consumer import AsyncConsumer
from tidemark.consumer_group.heartbeat import subscribed
from tidemark.consumer_group.membership import MemberState as ConsumerState
from tidemark.consumer_group.sim.cluster import ConsumerGroupCluster
from tidemark.groups.consumer_group_messages import MemberState
from tidemark.groups.purgatory import TimerKind
from tidemark.groups.sim.calming import move_offsets, resign_all, run_fairly


def heal(cluster: ConsumerGroupCluster) -> bool:
    """Heal; returns whether the group came to rest. One consumer runs at least."""
    resign_all(cluster)
    return run_fairly(cluster, lambda: cluster.start_consumer(0), _drive, _expire, at_rest)


def _drive(cluster: ConsumerGroupCluster, client: int, commits: bool) -> None:
    """One consumer takes every step that it can; it reads and commits if `commits`."""
    leader = cluster.log.leader
    while cluster.commit_entry():
        pass
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
    if _is_misheard(cluster, client) and cluster.send_heartbeat(client, leader):
        cluster.lose_heartbeat(client)
    if _has_news(cluster, client) and cluster.send_heartbeat(client, leader):
        cluster.deliver_heartbeat(client)
        cluster.receive_heartbeat(client)
    move_offsets(cluster, client, lambda: commits and consumer.membership.state is ConsumerState.STABLE)


def _is_misheard(cluster: ConsumerGroupCluster, client: int) -> bool:
    """Whether a late heartbeat has taken back what the consumer has said since that it subscribes to. It does not hear
    of that (its page in docs), and is helped: it connects anew, and says all."""
    consumer = cluster.consumers[client]
    if consumer is None:
        return False
    member = cluster.coordinators[cluster.log.leader].group.members.get(consumer.membership.member_id)
    topics = consumer.subscriptions.topics
    return (
        not consumer.say_all
        and consumer.told_topics == topics
        and member is not None
        and member.metadata.topics != topics
    )


def _has_news(cluster: ConsumerGroupCluster, client: int) -> bool:
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
        or set(membership.target) != set(member.current.assigned)
        or not membership.member_epoch == member.member_epoch == group.group_epoch == group.assignment_epoch
        or subscribed(group.members, cluster.counts) != group.metadata
    )


def _expire(cluster: ConsumerGroupCluster) -> None:
    """The interval between target assignments passes. Sessions of members that are gone run out. So does the time to
    give something up for a member that knows nothing of it. There a late heartbeat was given a partition, another was
    told to give it up, and the consumer has heard of neither."""
    cluster.now += cluster.interval_ms
    broker = cluster.log.leader
    alive = {consumer.membership.member_id: consumer for consumer in cluster.consumers if consumer is not None}
    for timer in sorted(cluster.coordinators[broker].timers):
        consumer = alive.get(timer.member_id)
        if timer.kind is TimerKind.SESSION:
            ends = consumer is None
        else:
            ends = consumer is not None and _is_content(cluster, consumer)
        if ends:
            cluster.expire(broker, timer)


def _is_content(cluster: ConsumerGroupCluster, consumer: AsyncConsumer) -> bool:
    """Whether a consumer has its assignment, and has reported it."""
    membership = consumer.membership
    member = cluster.coordinators[cluster.log.leader].group.members.get(membership.member_id)
    return (
        membership.state is ConsumerState.STABLE
        and not (consumer.say_all or membership.unreported or membership.reconciling)
        and member is not None
        and set(membership.target) == set(member.current.assigned)
    )


def at_rest(cluster: ConsumerGroupCluster) -> bool:
    """Whether nothing is left to do."""
    coordinator = cluster.coordinators[cluster.log.leader]
    group = coordinator.group
    running = {
        consumer.membership.member_id: client
        for client, consumer in enumerate(cluster.consumers)
        if consumer is not None
    }
    network = cluster.network
    if cluster.log.appended[cluster.log.leader] or set(group.members) != set(running):
        return False
    if any((*network.heartbeat, *network.offset, *network.stray)):
        return False
    if any(_has_news(cluster, client) for client in running.values()):
        return False
    return all(
        not cluster.consumer(client).membership.reconciling
        and set(cluster.consumer(client).subscriptions.owned) == set(group.members[member_id].current.assigned)
        for member_id, client in running.items()
    )
