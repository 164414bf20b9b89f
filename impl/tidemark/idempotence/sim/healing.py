"""Healing: faults stop, and producers and leaders run fairly until nothing is in flight.

A batch that holds a bump back because it is in doubt is given up when nothing else moves: its delivery time-out. At
rest means: every batch is settled, all that was written is committed, and somebody has been acknowledged since.
"""

from __future__ import annotations

from tidemark.idempotence.sim.cluster import ProducerCluster

ROUNDS = 60


def heal(cluster: ProducerCluster) -> bool:
    """Heal; returns whether everything came to rest."""
    before = len(cluster.acked)
    clients, topics = range(len(cluster.producers)), range(len(cluster.partitions))
    for _ in range(ROUNDS):
        for client in clients:
            cluster.get_producer_id(client)
            for topic in topics:
                _drive(cluster, client, topic, len(cluster.acked) == before)
            cluster.bump_epoch(client)
        if at_rest(cluster) and len(cluster.acked) > before:
            return True
    return False


def _drive(cluster: ProducerCluster, client: int, topic: int, sends: bool) -> None:
    """Every message between a producer and a partition moves once; the producer sends a new batch if `sends`."""
    producer, partition = cluster.producers[client], cluster.partitions[topic]
    connection = cluster.connections[client][topic]
    while cluster.handle_late(client, topic, read=True):
        pass
    for broker in sorted({exchange.broker for exchange in connection.wire}):
        while cluster.handle(broker, client, topic) or cluster.receive(broker, client, topic):
            cluster.advance_high_watermark(topic, len(partition.log))
    cluster.advance_high_watermark(topic, len(partition.log))
    cluster.resolve_sequences(client, topic)
    if producer.must_bump() and not producer.may_bump() and producer.partitions[topic].rewrite:
        cluster.expire_batch(client, topic)
    if not cluster.resend_batch(client, topic, partition.leader) and sends and not connection.wire:
        cluster.send_batch(client, topic, partition.leader)


def at_rest(cluster: ProducerCluster) -> bool:
    """Whether nothing is left to do."""
    return (
        all(
            not one.in_flight and not one.rewrite and one.unresolved < 0
            for producer in cluster.producers
            for one in producer.partitions
        )
        and all(
            not connection.wire and not connection.late
            for connections in cluster.connections
            for connection in connections
        )
        and all(partition.high_watermark == len(partition.log) for partition in cluster.partitions)
    )
