"""Healing: faults stop; requests under way arrive, transactions end, the group settles, and every record is processed.

At rest means: the reader has got everything, nothing is open or undecided, nobody waits.
"""

from __future__ import annotations

from tidemark.exactly_once.message_processor import OUTPUT
from tidemark.exactly_once.sim.cluster import ExactlyOnceCluster
from tidemark.transactions.states import TransactionState
from tidemark.transactions.transactional_producer import ProducerState

ROUNDS = 200


def heal(cluster: ExactlyOnceCluster) -> bool:
    """Heal; returns whether everything came to rest."""
    instances = range(len(cluster.instances))
    for _ in range(ROUNDS):
        for i in instances:
            cluster.handle_late_marker(i)
            cluster.handle(i, True)
            settle(cluster, i)
        expire_dead(cluster)
        waiting = [_regroup(cluster, i) for i in instances]
        if all(waiting):
            cluster.complete_join()
        for i in instances:
            advance(cluster, i, 2)
            settle(cluster, i)
        for number, reader in enumerate(cluster.readers):
            while not reader.waits:
                cluster.read_output(number)
        if at_rest(cluster):
            return True
    return False


def settle(cluster: ExactlyOnceCluster, i: int) -> None:
    """Aborts an instance's ongoing transaction if no process will end it, then writes markers and completes it."""
    process, coordinator = cluster.instances[i], cluster.coordinators[i]
    if coordinator.value.state is TransactionState.ONGOING and process.producer.state is ProducerState.READY:
        cluster.abort_timed_out_transaction(i)
    for target in range(cluster.offsets + 1):
        cluster.write_marker(i, target, False)
    cluster.complete_transaction(i)


def expire_dead(cluster: ExactlyOnceCluster) -> bool:
    """The sessions of members that are nobody any more are over; whether there were any."""
    alive = {process.member_id for process in cluster.instances}
    dead = [one for one in cluster.group.members if one not in alive]
    for member_id in dead:
        cluster.remove_member(member_id)
    return bool(dead)


def _regroup(cluster: ExactlyOnceCluster, i: int) -> bool:
    """An instance that the group does not know, or not in its generation, joins; whether it waits for nothing."""
    group, process = cluster.group, cluster.instances[i]
    if not cluster.must_rejoin(i):
        return False
    if process.owned and process.producer.state is ProducerState.READY:
        cluster.revoke_partitions(i)
    cluster.sync_group(i)
    if not process.owned and cluster.must_rejoin(i):
        cluster.join_group(i)
    return process.member_id in group.joined


def advance(cluster: ExactlyOnceCluster, i: int, most: int) -> None:
    """An instance goes on as far as it can without others, with `most` records at a time."""
    process = cluster.instances[i]
    cluster.handle(i, False)
    cluster.receive_reply(i)
    state = process.producer.state
    if state is ProducerState.FATAL_ERROR:
        cluster.crash(i)
    elif state in (ProducerState.UNINITIALIZED, ProducerState.INITIALIZING):
        cluster.init_producer_id(i)
    elif state is ProducerState.ABORTABLE_ERROR:
        cluster.send_end_txn(i, False)
    elif state is ProducerState.IN_TRANSACTION and process.sent:
        cluster.send_end_txn(i, True)
    elif state in (ProducerState.READY, ProducerState.IN_TRANSACTION):
        _process(cluster, i, most)


def _process(cluster: ExactlyOnceCluster, i: int, most: int) -> None:
    process = cluster.instances[i]
    if process.producer.state is ProducerState.READY and cluster.must_rejoin(i):
        return
    for p in sorted(process.owned):
        cluster.fetch_offset(i, p)
    if process.producer.sequences[OUTPUT] < most and any(cluster.send_result(i, p) for p in sorted(process.owned)):
        return
    cluster.send_offsets(i)


def at_rest(cluster: ExactlyOnceCluster) -> bool:
    """Whether nothing is left to do."""
    offsets = cluster.group.offsets.committed.offsets
    done = [offsets[one].offset if one in offsets else 0 for one in cluster.topics]
    return (
        tuple(done) == cluster.inputs
        and not cluster.under_way()
        and all(reader.at_end for reader in cluster.readers)
        and not any(
            one.value.state is TransactionState.ONGOING or one.value.state.decided for one in cluster.coordinators
        )
    )
