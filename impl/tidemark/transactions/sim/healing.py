"""Healing: faults stop; requests under way arrive, open transactions end, and one process commits another.
Perhaps it then begins another one and is never heard of again, so that nothing but the time-out ends that. Then the
consumers of committed records read on as far as they may.

At rest means: nobody waits, nothing is open or undecided, all that was written is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from tidemark.transactions.messages import IsolationLevel
from tidemark.transactions.sim.cluster import TransactionCluster
from tidemark.transactions.states import TransactionState
from tidemark.transactions.transactional_producer import ProducerState

ROUNDS = 60
COMMITTED = sorted(IsolationLevel).index(IsolationLevel.READ_COMMITTED)
"""The number of that isolation level."""

_OPEN = (
    ProducerState.IN_TRANSACTION,
    ProducerState.ABORTABLE_ERROR,
    ProducerState.COMMITTING_TRANSACTION,
    ProducerState.ABORTING_TRANSACTION,
)
_BUSY = (*_OPEN, ProducerState.INITIALIZING)


def heal(cluster: TransactionCluster, abandons: bool = False) -> bool:
    """Heal; returns whether everything came to rest. `abandons`: the last transaction is left to its time-out."""
    rests = _settle(cluster)
    if rests and abandons:
        rests = _abandon(cluster)
    for partition in range(len(cluster.partitions)):
        _read_on(cluster, partition)
    return rests


def _read_on(cluster: TransactionCluster, partition: int) -> None:
    """A consumer of committed records gets all that it may; a later fetch waits."""
    log, consumer = cluster.partitions[partition], cluster.consumers[COMMITTED][partition]
    cluster.receive_fetch(COMMITTED, partition)
    for _ in range(ROUNDS):
        fetch = cluster.fetch[COMMITTED][partition]
        rests = fetch is None or fetch.waits
        if rests and consumer.position >= log.last_readable(consumer.isolation_level):
            break
        cluster.send_fetch(COMMITTED, partition)
        cluster.handle_fetch(COMMITTED, partition)
        cluster.complete_delayed_fetch(COMMITTED, partition, False)
        cluster.answer_fetch(COMMITTED, partition, len(log.log))
        cluster.receive_fetch(COMMITTED, partition)


def _settle(cluster: TransactionCluster) -> bool:
    """Until all is at rest; whether it is."""
    before = len(cluster.told)

    def told() -> bool:
        return any(list(cluster.told.values())[before:])

    for _ in range(ROUNDS):
        _serve(cluster)
        for client in range(len(cluster.clients)):
            _drive(cluster, client, told)
            _serve(cluster)
        if told() and at_rest(cluster):
            return True
    return False


def _abandon(cluster: TransactionCluster) -> bool:
    """The process that has committed last begins a transaction and dies with it open; whether all comes to rest."""
    client, leader = 0, cluster.log.leader
    producer = cluster.clients[client]
    if not cluster.begin_transaction(client):
        return True
    while producer.state is ProducerState.IN_TRANSACTION and not producer.partitions:
        if not _sends(cluster, client, 0, leader):
            break
        _serve(cluster)
        cluster.receive_rpc(client)
        cluster.receive_produce(client, 0)
    cluster.crash_client(client)
    for _ in range(ROUNDS):
        _serve(cluster)
        if at_rest(cluster):
            return True
    return False


def _serve(cluster: TransactionCluster) -> None:
    """Brokers do all that they can: the log commits, late requests arrive, markers are written."""
    brokers, partitions = range(len(cluster.coordinators)), range(len(cluster.partitions))
    for broker in brokers:
        cluster.resign(broker)
    while cluster.commit_record():
        pass
    cluster.load_transactions()
    for client in range(len(cluster.clients)):
        cluster.handle_rpc(client, True)
        late, batches = cluster.late_produce[client], cluster.produce[client]
        for partition in partitions:
            if late[partition] is not None:
                _step(cluster, client, partition, True)
            if batches[partition] is not None:
                _step(cluster, client, partition, False)
    while cluster.commit_record():
        pass
    for broker in brokers:
        late_markers, markers = cluster.late_marker[broker], cluster.marker[broker]
        for partition in partitions:
            if late_markers[partition] is not None:
                cluster.handle_marker(broker, partition, True)
            if markers[partition] is not None or cluster.send_marker(broker, partition):
                cluster.handle_marker(broker, partition, False)
            cluster.advance_high_watermark(partition, len(cluster.partitions[partition].log))
            if markers[partition] is not None:
                cluster.receive_marker_reply(broker, partition)
    leader = cluster.coordinators[cluster.log.leader]
    if not leader.value.partitions or not leader.value.state.decided:
        cluster.complete_transaction(cluster.log.leader)
    if leader.value.state is TransactionState.ONGOING and not any(one.state in _OPEN for one in cluster.clients):
        cluster.abort_timed_out_transaction(cluster.log.leader)
    while cluster.commit_record():
        pass


def _step(cluster: TransactionCluster, client: int, partition: int, late: bool) -> None:
    """A batch goes on as far as it can."""
    while cluster.handle_produce(client, partition, late) or cluster.verify_partition(
        cluster.log.leader, client, partition, late
    ):
        while cluster.commit_record():
            pass


def _sends(cluster: TransactionCluster, client: int, partition: int, leader: int) -> bool:
    """A process takes the next step towards a partition, if it may."""
    return (
        cluster.send_add_partitions(client, leader, partition)
        or cluster.send_produce(client, partition)
        or cluster.send_add_offsets(client, leader)
        or cluster.send_txn_offset_commit(client)
    )


def _drive(cluster: TransactionCluster, client: int, told: Callable[[], bool]) -> None:
    """A process goes on: it ends what it has open. Until somebody is `told`, the first begins and commits a new one."""
    partitions, leader = range(len(cluster.partitions)), cluster.log.leader
    cluster.handle_rpc(client, False)
    while cluster.commit_record():
        pass
    cluster.receive_rpc(client)
    for partition in partitions:
        cluster.receive_produce(client, partition)
    producer = cluster.clients[client]
    state, commits = producer.state, client == 0 and not told()
    if state is ProducerState.FATAL_ERROR:
        cluster.crash_client(client)
    elif state is ProducerState.INITIALIZING or (commits and state is ProducerState.UNINITIALIZED):
        cluster.send_init_producer_id(client, leader)
    elif state is ProducerState.READY:
        if commits:
            cluster.begin_transaction(client)
    elif state is ProducerState.IN_TRANSACTION:
        if len(producer.partitions) == len(partitions) or not all(
            _sends(cluster, client, partition, leader)
            for partition in partitions
            if partition not in producer.partitions
        ):
            cluster.send_end_txn(client, leader, True)
    elif state in (ProducerState.COMMITTING_TRANSACTION, ProducerState.ABORTING_TRANSACTION):
        cluster.send_end_txn(client, leader, state is ProducerState.COMMITTING_TRANSACTION)
    elif state is ProducerState.ABORTABLE_ERROR:
        cluster.send_end_txn(client, leader, False)


def at_rest(cluster: TransactionCluster) -> bool:
    """Whether nothing is left to do."""
    leader = cluster.coordinators[cluster.log.leader]
    return (
        not any(cluster.log.unreplicated)
        and all(one.pending is None and one.pending_markers is None for one in cluster.coordinators)
        and leader.serving
        and leader.value.state is not TransactionState.ONGOING
        and not leader.value.state.decided
        and not any(one.state in _BUSY for one in cluster.clients)
        and not any(cluster.rpc)
        and not any(cluster.late_rpc)
        and not any(map(any, chain(cluster.produce, cluster.late_produce)))
        and not any(map(any, chain(cluster.marker, cluster.late_marker)))
        and all(one.high_watermark == len(one.log) and not one.transactions.first_offsets for one in cluster.partitions)
    )
