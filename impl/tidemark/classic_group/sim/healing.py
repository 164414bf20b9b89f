"""Healing: faults stop, and the group is run fairly until it has come to rest.

At rest means that the elected coordinator has a stable group of exactly the consumers that run, or an empty one. All
appended records have committed, every consumer has its assignment, nobody wants to join again, and nothing is on its
way.
"""

from __future__ import annotations

from tidemark.classic_group.membership import MemberState
from tidemark.classic_group.sim.cluster import GroupCluster
from tidemark.classic_group.states import GroupState
from tidemark.common.errors import Errors
from tidemark.groups.messages import JoinGroupResponse
from tidemark.groups.partitions import UNKNOWN_MEMBER_ID, MemberId
from tidemark.groups.purgatory import JOIN_TIMER, SYNC_TIMER, TimerKind
from tidemark.groups.sim.calming import move_offsets, resign_all, run_fairly


def heal(cluster: GroupCluster, mode: int) -> bool:
    """Heal; returns whether the group came to rest. One consumer runs at least, with the assignors `mode`."""
    resign_all(cluster)
    return run_fairly(cluster, lambda: cluster.start_consumer(0, mode), _drive, _expire, at_rest)


def _drive(cluster: GroupCluster, client: int, commits: bool) -> None:
    """One consumer takes every step that it can; it reads and commits if `commits`."""
    leader, network = cluster.log.leader, cluster.network
    cluster.deliver_stray(client)
    consumer = cluster.consumers[client]
    if consumer is None:
        return
    consumer.coordinator = leader
    cluster.receive_member(client)
    cluster.finish_revocation(client)
    cluster.notice_partitions(client)
    exchange = network.member[client]
    if exchange is None:
        cluster.send_join(client, leader)
    elif exchange.arrived and exchange.response is None and _forgotten(cluster, client):
        cluster.lose_member_rpc(client)
    cluster.deliver_member(client)
    cluster.receive_member(client)
    cluster.deliver_heartbeat(client)
    cluster.receive_heartbeat(client)
    if _would_hear_news(cluster, client) and cluster.send_heartbeat(client, leader):
        cluster.deliver_heartbeat(client)
        cluster.receive_heartbeat(client)
    move_offsets(cluster, client, lambda: commits and consumer.membership.state is MemberState.STABLE)


def _would_hear_news(cluster: GroupCluster, client: int) -> bool:
    """Whether a heartbeat of a stable consumer would be told something."""
    consumer = cluster.consumers[client]
    request = None if consumer is None else consumer.send_heartbeat()
    error = Errors.NONE if request is None else cluster.coordinators[cluster.log.leader].heartbeat_error(request)
    return error is not Errors.NONE


def _forgotten(cluster: GroupCluster, client: int) -> bool:
    """Whether nobody will answer the request: it is parked for a member that is no more."""
    exchange = cluster.network.member[client]
    if exchange is None:
        return False
    coordinator = cluster.coordinators[exchange.broker]
    parked = coordinator.parked_joins.get(exchange.token) or coordinator.parked_syncs.get(exchange.token)
    return parked is None or parked not in coordinator.group.members


def _expire(cluster: GroupCluster) -> None:
    """Timers of members that are gone run out; so do those of the join phase."""
    broker = cluster.log.leader
    coordinator = cluster.coordinators[broker]
    alive = {consumer.membership.generation.member_id for consumer in cluster.consumers if consumer is not None}
    alive |= {_told(cluster, client) for client in range(len(cluster.consumers))}
    for timer in sorted(coordinator.timers, key=lambda one: (one.kind.value, one.member_id)):
        personal = timer.kind in (TimerKind.SESSION, TimerKind.PENDING_MEMBER)
        if personal and timer.member_id not in alive and timer in coordinator.timers:
            cluster.expire(broker, timer)
    for timer in (JOIN_TIMER, SYNC_TIMER):
        nobody_syncs = timer is SYNC_TIMER and not alive & coordinator.group.pending_sync
        if timer in coordinator.timers and (nobody_syncs or _overdue(cluster)):
            cluster.expire(broker, timer)


def _told(cluster: GroupCluster, client: int) -> MemberId:
    """The member id that a consumer's JoinGroup has got, or will get."""
    exchange = cluster.network.member[client]
    if exchange is None:
        return UNKNOWN_MEMBER_ID
    if isinstance(exchange.response, JoinGroupResponse):
        return exchange.response.member_id
    return cluster.coordinators[exchange.broker].parked_joins.get(exchange.token, UNKNOWN_MEMBER_ID)


def _overdue(cluster: GroupCluster) -> bool:
    """Whether all running consumers wait for the coordinator already."""
    return all(
        consumer is None or (exchange is not None and exchange.arrived and exchange.response is None)
        for consumer, exchange in zip(cluster.consumers, cluster.network.member, strict=True)
    )


def at_rest(cluster: GroupCluster) -> bool:
    """Whether nothing is left to do."""
    group, network = cluster.coordinators[cluster.log.leader].group, cluster.network
    running = [consumer for consumer in cluster.consumers if consumer is not None]
    if any((*network.member, *network.heartbeat, *network.offset, *network.stray)):
        return False
    if group.state not in (GroupState.STABLE, GroupState.EMPTY) or group.pending or group.pending_sync:
        return False
    if cluster.log.appended[cluster.log.leader]:
        return False
    if set(group.members) != {consumer.membership.generation.member_id for consumer in running}:
        return False
    return all(
        consumer.membership.state is MemberState.STABLE
        and not consumer.membership.join_needed()
        and not consumer.membership.sees_change(cluster.counts)
        and consumer.membership.revoking is None
        and consumer.membership.generation.generation_id == group.generation
        and consumer.subscriptions.owned
        == tuple(sorted(group.members[consumer.membership.generation.member_id].assignment))
        for consumer in running
    )
