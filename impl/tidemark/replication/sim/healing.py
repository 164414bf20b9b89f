"""Healing: faults stop, everything that is down starts, and the cluster is run fairly until it has come to rest.

At rest means that every broker is up, active and in the ISR, knows the last metadata, and has the leader's log with
everything committed. Nothing waits, and consumers have read it all. A client produces on the way until it is
acknowledged, so that a healed run has acknowledged something. Perhaps a follower then fetches no more: the leader has
to find that out.
"""

from __future__ import annotations

from collections.abc import Callable

from tidemark.replication.broker import RUNNING, Broker
from tidemark.replication.messages import BrokerId
from tidemark.replication.sim.cluster import SESSION_TIMEOUT_MS, Cluster
from tidemark.replication.sim.network import ReadConnection

ROUNDS = 60
ATTEMPTS = 4
"""How often the client produces until it is acknowledged; then it gives up (the trace has no room for more records)."""


def heal(cluster: Cluster, produce: Callable[[BrokerId, str], bool], stalls: bool = False) -> bool:
    """Heal; returns whether the cluster came to rest. `produce(broker, acks)` sends one more attempt; `stalls`: the
    fetcher of a follower dies at the end."""
    stop_faults(cluster)
    rests = _until_acknowledged(cluster, produce)
    leader = cluster.control.partition.leader
    if not rests or not stalls or leader is None:
        return rests
    return _without_a_fetcher(cluster, leader, produce)


def _without_a_fetcher(cluster: Cluster, leader: BrokerId, produce: Callable[[BrokerId, str], bool]) -> bool:
    """A follower fetches no more, and a client produces: the leader looks for lagging followers once the others have
    caught up. Whether the cluster comes to rest."""
    stalled = (leader + 1) % cluster.count
    cluster.stall_fetcher(stalled)
    produce(leader, "all")
    for _ in range(ROUNDS):
        fair_round(cluster)
        if at_rest(cluster):
            return True
        if not any(_behind(cluster, follower) for follower in cluster.replicas if follower != stalled):
            cluster.shrink_isr(leader)
    return False


def _until_acknowledged(cluster: Cluster, produce: Callable[[BrokerId, str], bool]) -> bool:
    before, attempts = len(cluster.answers.acked), 0
    for _ in range(ROUNDS):
        fair_round(cluster)
        leader = cluster.control.partition.leader
        answered = len(cluster.answers.acked) > before or attempts == ATTEMPTS
        if answered and at_rest(cluster):
            return True
        if not answered and leader is not None and _all_in_sync(cluster) and not _waits(cluster, leader):
            attempts += 1
            produce(leader, "all")
    return False


def stop_faults(cluster: Cluster) -> None:
    """All ways are open, nobody is paused, disks and threads are fast and clocks right."""
    cluster.network.heal()
    for host in cluster.hosts:
        host.pause(False)
        host.slow_disk = host.crowded = False
        host.skew_ms = 0


def fair_round(cluster: Cluster) -> None:
    """Every process takes the steps that are due, once."""
    cluster.now += SESSION_TIMEOUT_MS // 2
    _administer(cluster)
    _replicate(cluster)
    leader = cluster.control.partition.leader
    if leader is not None:
        for consumer, connection in enumerate(cluster.network.reads):
            if connection.request is not None or not _has_read(cluster, connection):
                cluster.learn_leader(consumer, leader)
                cluster.send_read(consumer)
                cluster.receive_read(consumer, 3)
                cluster.take_read(consumer)


def beyond_repair(cluster: Cluster) -> bool:
    """Whether nobody may lead any more: ISR and ELR are empty. Kafka would elect the last known leader, or
    uncleanly."""
    partition = cluster.control.partition
    return partition.leader is None and not partition.isr and not partition.elr


def _administer(cluster: Cluster) -> None:
    """Sessions, registrations, metadata, AlterPartition, one round."""
    for broker_id in cluster.replicas:
        broker = cluster.hosts[broker_id].up
        if broker is not None and broker.state == RUNNING and cluster.control.registrations[broker_id].active:
            if broker.published_offset < cluster.metadata.end_offset:
                cluster.apply_metadata(broker_id)
            continue
        cluster.stop_broker(broker_id)
        cluster.expire_session(broker_id)
        cluster.start_broker(broker_id)
        cluster.apply_metadata(broker_id)
        cluster.heartbeat(broker_id)
        cluster.apply_metadata(broker_id)


def _replicate(cluster: Cluster) -> None:
    """Every follower fetches once, every leader sees to its ISR and its purgatory."""
    for follower in cluster.replicas:
        for connection in cluster.network.fetches[follower]:
            if connection.request is None:
                continue
            if connection.uncounted is not None:
                cluster.count_fetch(connection)
            elif connection.read is not None:
                cluster.read_fetch(connection)
            elif connection.response is None:
                cluster.receive_fetch(connection, 3)
            if connection.response is not None:
                cluster.receive_response(connection)
        if _behind(cluster, follower) and cluster.send_fetch(follower):
            leader = cluster.hosts[follower].broker
            source = None if leader is None else leader.partition.leader_id
            if source is not None and cluster.receive_fetch(cluster.network.fetches[follower][source], 3):
                cluster.receive_response(cluster.network.fetches[follower][source])
    for broker_id in cluster.replicas:
        if not cluster.network.alters[broker_id].idle:
            cluster.receive_alter_reply(broker_id)
            cluster.receive_alter_partition(broker_id)
            cluster.receive_alter_reply(broker_id)
        broker = cluster.hosts[broker_id].up
        if broker is not None:
            if broker.partition.pending is not None:
                cluster.resend_alter_partition(broker_id)
            _lead(cluster, broker)


def _has_read(cluster: Cluster, connection: ReadConnection) -> bool:
    """Whether a consumer has got all that the leader knows to be committed."""
    leader = cluster.control.partition.leader
    broker = None if leader is None else cluster.up(leader)
    return broker is None or connection.position == broker.log.high_watermark


def _lead(cluster: Cluster, broker: Broker) -> None:
    partition = broker.partition
    if partition.is_leader and len(partition.isr) < cluster.count:
        for follower in cluster.replicas:
            if follower not in partition.isr and cluster.control.registrations[follower].active:
                cluster.expand_isr(broker.id, follower)
    for payload in list(broker.purgatory.created):
        cluster.add_delayed_produce(broker.id, payload)
    if broker.purgatory.waiting:
        for payload in list(broker.purgatory.waiting):
            if not cluster.fail_produce(broker.id, payload):
                cluster.complete_produce(broker.id, payload)


def _waits(cluster: Cluster, broker_id: BrokerId) -> bool:
    """Whether a produce waits at a broker for its high watermark."""
    broker = cluster.up(broker_id)
    return broker is not None and bool(broker.purgatory.waiting or broker.purgatory.created)


def _behind(cluster: Cluster, follower: BrokerId) -> bool:
    """Whether a fetch would tell follower or leader something new."""
    broker, leader_id = cluster.hosts[follower].up, cluster.control.partition.leader
    if broker is None or leader_id is None or follower == leader_id:
        return False
    leader = cluster.hosts[leader_id].up
    if leader is None or not leader.partition.is_leader:
        return False
    known = leader.partition.remote[follower]
    return (
        broker.log.end_offset != leader.log.end_offset
        or known.log_end_offset != broker.log.end_offset
        or known.broker_epoch != broker.epoch
        or broker.log.high_watermark != leader.log.high_watermark
        or broker.partition.last_fetched_epoch != leader.log.tail_epoch()
    )


def _all_in_sync(cluster: Cluster) -> bool:
    """Whether all that fetch are in the ISR."""
    isr = cluster.control.partition.isr
    return all(host.stalled or host.id in isr for host in cluster.hosts)


def at_rest(cluster: Cluster) -> bool:
    """Whether nothing is left to do."""
    partition = cluster.control.partition
    if partition.leader is None or not _all_in_sync(cluster):
        return False
    leader = cluster.up(partition.leader)
    if leader is None or leader.log.high_watermark != leader.log.end_offset or leader.partition.pending is not None:
        return False
    if not all(one.request is None and _has_read(cluster, one) for one in cluster.network.reads):
        return False
    for broker_id, host in enumerate(cluster.hosts):
        broker = host.up
        if (
            broker is None
            or broker.state != RUNNING
            or broker.partition.partition_epoch != partition.partition_epoch
            or broker.purgatory.waiting
            or broker.purgatory.created
            or not cluster.control.registrations[broker_id].active
        ):
            return False
        if broker_id in partition.isr and broker.log.storage.batches != leader.log.storage.batches:
            return False
        if not host.stalled and broker.log.high_watermark != leader.log.high_watermark:
            return False
    return True
