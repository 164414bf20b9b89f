"""Transactions driven by a text (script.py): what makes each action happen, and what is seen of whom.

    begin coordinator=b1 offsets=p2     the first coordinator (b1), and which partition is of __consumer_offsets (none)

A batch is `T1/e0.2`: of transaction 1, sequence 2 in producer epoch 0; a marker is `COMMIT/e1@2`, in producer epoch 1,
of the coordinator in its epoch 2. Before an epoch stands a producer id other than 1: `2:e0`.

The transcript shows, of a process, its epoch, its transaction with the partitions that it has added or written to, its
state where that does not follow, errors that it is answered, and what it has given up that may still arrive; of a
broker, while it coordinates, its coordinator epoch (`@1`), what it takes the transaction for if that is not what has
committed, the state that is about to be (`->`; `clock back` where its time is before the last one's), whether it sends
markers, what a second thread is about to write (`twice`), and a copy of a marker that may still arrive;
the log of __transaction_state: who leads it in which epoch, the last committed record, behind the bar the leader's
others; of a partition, the log with a bar at the high watermark, the last stable offset, where a transaction is open,
the epoch of a verification that batches may rely on, and whose offsets count (`T1/e0`, without a sequence, are those of
a transaction); of a consumer of a partition, its fetch, its position, and the
batches that it has returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidemark.common.errors import Errors
from tidemark.idempotence.messages import NO_SEQUENCE, ProduceRequest
from tidemark.simulator.script import Cells, Performance, Stage
from tidemark.trace.recorder import Recorder
from tidemark.transactions.abstraction import Abstraction, Table
from tidemark.transactions.messages import (
    CoordinatorRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    LogEntry,
    TransactionLogValue,
    WriteTxnMarkersRequest,
)
from tidemark.transactions.partition import TransactionalPartition
from tidemark.transactions.partition_leader import ProduceStage
from tidemark.transactions.rules import Rules
from tidemark.transactions.sim.cluster import GROUP_ERRORS, TransactionCluster
from tidemark.transactions.sim.network import Broker, ProduceExchange, TransactionStateLog
from tidemark.transactions.sim.run import TransactionSimulator
from tidemark.transactions.transactional_producer import ProducerState, TransactionalProducer


def begin(header: Mapping[str, Any], rules: Rules | None, options: Mapping[str, str]) -> Performance:
    """Processes, brokers and partitions before their first event."""
    simulator = TransactionSimulator(header, rules=rules)
    table = simulator.table
    first = options.get("coordinator", table.brokers[0])
    offsets = options.get("offsets")
    if first not in table.brokers or options.keys() - {"coordinator", "offsets"}:
        raise KeyError(str(options))
    if offsets is not None and offsets not in table.partitions:
        raise KeyError(str(options))
    cluster = TransactionCluster(
        len(table.clients),
        len(table.brokers),
        len(table.partitions),
        table.brokers.index(first),
        table.max_epoch,
        simulator.rules,
        None if offsets is None else table.partitions.index(offsets),
    )
    recorder = Recorder(simulator.plan, Abstraction(table, cluster))

    def columns() -> Cells:
        return {
            **{name: _process(cluster, client, table) for client, name in enumerate(table.clients)},
            **{name: _broker(cluster, broker, table) for broker, name in enumerate(table.brokers)},
            "log": _log(cluster.log, table),
            **{name: _partition(one) for name, one in zip(table.partitions, cluster.partitions, strict=True)},
            **{
                f"{name} {level}": _consumer(cluster, number, partition)
                for number, level in enumerate(table.levels)
                for partition, name in enumerate(table.partitions)
            },
        }

    return Performance(cluster, recorder, columns)


def _rpc(t: TransactionCluster, b: Broker, c: int, late: bool) -> bool:
    exchange = (t.late_rpc if late else t.rpc)[c]
    return exchange is not None and exchange.broker == b and t.handle_rpc(c, late)


def _batch(t: TransactionCluster, c: int, p: int, late: bool) -> bool:
    return t.handle_produce(c, p, late)


def _verification(t: TransactionCluster, b: Broker, c: int, p: int, late: bool) -> bool:
    return t.verify_partition(b, c, p, late)


def _marker(t: TransactionCluster, b: Broker, p: int, late: bool) -> bool:
    return t.handle_marker(b, p, late)


def _fetch(t: TransactionCluster, r: int, p: int) -> bool:
    return t.handle_fetch(r, p) or t.complete_delayed_fetch(r, p, True)


EVENTS: dict[str, Callable[..., bool]] = {
    "SendInitProducerId": lambda t, c, b: t.send_init_producer_id(c, b),
    "BeginTransaction": lambda t, c: t.begin_transaction(c),
    "SendAddPartitions": lambda t, c, b, p: t.send_add_partitions(c, b, p),
    "SendAddOffsets": lambda t, c, b, p: t.partitions[p].is_offsets and t.send_add_offsets(c, b),
    "SendProduce": lambda t, c, p: t.send_produce(c, p),
    "SendTxnOffsetCommit": lambda t, c, p: t.partitions[p].is_offsets and t.send_txn_offset_commit(c),
    "SendEndTxn": lambda t, c, b, result: t.send_end_txn(c, b, bool(result)),
    "ReceiveInitProducerId": lambda t, c: t.receive_rpc(c),
    "ReceiveAddPartitions": lambda t, c: t.receive_rpc(c),
    "ReceiveEndTxn": lambda t, c: t.receive_rpc(c),
    "ReceiveProduce": lambda t, c, p: t.receive_produce(c, p),
    "ReceiveTxnOffsetCommit": lambda t, c, p: t.receive_produce(c, p),
    "DisconnectOffsets": lambda t, c, p, keep: t.disconnect_offsets(c, p, keep),
    "GiveUpProduce": lambda t, c, p, keep: t.give_up_produce(c, p, keep),
    "DisconnectRpc": lambda t, c, keep: t.disconnect_rpc(c, keep),
    "CrashClient": lambda t, c: t.crash_client(c),
    "AppendInitProducerId": _rpc,
    "FenceProducer": _rpc,
    "AppendAddPartitions": _rpc,
    "AppendEndTxn": _rpc,
    "AnswerRpc": _rpc,
    "VerifyPartition": _verification,
    "AppendVerified": _verification,
    "RefuseVerification": _verification,
    "AbortTimedOutTransaction": lambda t, b: t.abort_timed_out_transaction(b),
    "ClockGoesBack": lambda t, b: t.clock_goes_back(b),
    "CommitRecord": lambda t, b: t.log.leader == b and t.commit_record(),
    "FailAppend": lambda t, b: t.fail_append(b),
    "BecomeCoordinator": lambda t, b, keep: t.become_coordinator(b, keep),
    "LoadTransactions": lambda t, b: t.log.leader == b and t.load_transactions(),
    "Resign": lambda t, b: t.resign(b),
    "SendMarker": lambda t, b, p: t.send_marker(b, p),
    "ReceiveMarkerReply": lambda t, b, p: t.receive_marker_reply(b, p),
    "CompleteTransaction": lambda t, b: t.complete_transaction(b),
    "FindCompletion": lambda t, b: t.find_completion(b),
    "CompleteAgain": lambda t, b: t.complete_again(b),
    "ExpireProducer": lambda t, p, pid: t.expire_producer(p, pid),
    "StartVerification": _batch,
    "AppendBatch": _batch,
    "AnswerDuplicate": _batch,
    "RejectBatch": _batch,
    "RefuseOffsets": lambda t, c, p, late, error: t.refuse_offsets(c, p, late, GROUP_ERRORS[error]),
    "AppendMarker": _marker,
    "RejectMarker": _marker,
    "AdvanceHighWatermark": lambda t, p, offset: t.advance_high_watermark(p, offset),
    "ElectPartitionLeader": lambda t, p, keep: t.elect_partition_leader(p, keep),
    "LoseMarker": lambda t, b, p, keep: t.lose_marker(b, p, keep),
    "DropLateRpc": lambda t, c: t.drop_late_rpc(c),
    "DropLateProduce": lambda t, c, p: t.drop_late_produce(c, p),
    "DropLateMarker": lambda t, b, p: t.drop_late_marker(b, p),
    "RepeatMarker": lambda t, b, p: t.repeat_marker(b, p),
    "SendFetch": lambda t, r, p: t.send_fetch(r, p),
    "DelayFetch": _fetch,
    "StartRead": _fetch,
    "AnswerFetch": lambda t, r, p, end: t.answer_fetch(r, p, end - t.consumers[r][p].position),
    "ReceiveFetch": lambda t, r, p: t.receive_fetch(r, p),
    "LoseFetch": lambda t, r, p: t.lose_fetch(r, p),
}
"""For each action, the cluster's method that performs it."""

STAGE = Stage(begin, EVENTS, clock=True)


def _result(committed: bool) -> str:
    return "COMMIT" if committed else "ABORT"


def _of(producer_id: int) -> str:
    """The prefix of a value that belongs to a producer id other than the first."""
    return "" if producer_id == 1 else f"{producer_id}:"


def _named(request: ProduceRequest) -> str:
    sequence = "" if request.sequence == NO_SEQUENCE else f".{request.sequence}"
    return f"T{request.payload}/{_of(request.producer_id)}e{request.producer_epoch}{sequence}"


def _topics(partitions: Sequence[str], places: Mapping[int, Any] | set[int] | frozenset[int]) -> str:
    return "{" + " ".join(partitions[one] for one in sorted(places)) + "}"


# --- processes ------------------------------------------------------------------------------------------------------


def _process(cluster: TransactionCluster, client: int, table: Table) -> str:
    rpc = cluster.rpc[client]
    said = [_producer(cluster.clients[client], table)]
    if rpc is not None and rpc.response is not None and rpc.response.error is not Errors.NONE:
        said.append(rpc.response.error.name)
    for partition, batch in zip(table.partitions, cluster.produce[client], strict=True):
        if batch is not None and batch.response is not None and batch.response.error is not Errors.NONE:
            said.append(f"{partition} {batch.response.error.name}")
    late = cluster.late_rpc[client]
    said += [] if late is None else [f"late {_request(late.request)}"]
    for partition, batch in zip(table.partitions, cluster.late_produce[client], strict=True):
        said += [] if batch is None else [f"late {partition} {_named(batch.request)} {_progress(batch)}"]
    return " ".join(said)


def _progress(batch: ProduceExchange) -> str:
    """How far a batch is that nobody waits for."""
    if batch.pending is None:
        return "request"
    adds = batch.broker is not None and batch.is_at(ProduceStage.VERIFYING)
    return "adding" if adds else batch.pending.stage.value


def _request(request: CoordinatorRequest) -> str:
    if isinstance(request, EndTxnRequest):
        return f"EndTxn {_result(request.committed)}/{_of(request.producer_id)}e{request.producer_epoch}"
    return "InitProducerId" if isinstance(request, InitProducerIdRequest) else "AddPartitions"


_PLAIN = (ProducerState.READY, ProducerState.IN_TRANSACTION)


def _producer(producer: TransactionalProducer, table: Table) -> str:
    if producer.state is ProducerState.UNINITIALIZED:
        return "-"
    said = [f"{_of(producer.producer_id)}e{producer.epoch}"] if producer.producer_id else []
    said += [f"T{producer.transaction}{_topics(table.partitions, producer.partitions)}"] if producer.transaction else []
    state = producer.state.value.lower().removesuffix("_transaction").replace("_", " ")
    return " ".join([*said, *([] if producer.state in _PLAIN else [state])])


# --- coordinators ---------------------------------------------------------------------------------------------------


def _broker(cluster: TransactionCluster, broker: Broker, table: Table) -> str:
    coordinator, own = cluster.coordinators[broker], len(cluster.log.unreplicated[broker])
    said = _coordinator(cluster, broker, table) if coordinator.serving else ["-"]
    said += [f"({own} uncommitted)"] if own and broker != cluster.log.leader else []
    for partition, marker in zip(table.partitions, cluster.late_marker[broker], strict=True):
        said += [] if marker is None else [f"late {partition} {_written(marker.request)}"]
    return " ".join(said)


def _coordinator(cluster: TransactionCluster, broker: Broker, table: Table) -> list[str]:
    coordinator, second = cluster.coordinators[broker], cluster.pending_complete_txn[broker]
    pending = coordinator.pending
    return [
        f"@{coordinator.epoch}",
        *([] if coordinator.value == cluster.log.stored else [_value(coordinator.value, table)]),
        *([] if pending is None else [f"-> {pending.value}"]),
        *(["clock back"] if cluster.earlier_timestamp[broker] else []),
        *(["sends"] if coordinator.pending_markers else []),
        *([] if second is None else [f"twice {second.state.value}"]),
    ]


def _value(value: TransactionLogValue, table: Table) -> str:
    epoch = "" if value.producer_epoch < 0 else f" {_of(value.producer_id)}e{value.producer_epoch}"
    return f"{value.state.value}{epoch}{_topics(table.partitions, value.partitions) if value.partitions else ''}"


def _log(log: TransactionStateLog, table: Table) -> str:
    said = [f"{table.brokers[log.leader]}@{log.epoch}", _value(log.stored, table), "|"]
    return " ".join([*said, *(_value(one, table) for one in log.unreplicated[log.leader])])


# --- partitions -----------------------------------------------------------------------------------------------------


def _written(one: LogEntry | WriteTxnMarkersRequest) -> str:
    if isinstance(one, ProduceRequest):
        return _named(one)
    return f"{_result(one.committed)}/{_of(one.producer_id)}e{one.producer_epoch}@{one.coordinator_epoch}"


def _partition(partition: TransactionalPartition) -> str:
    records, mark = [_written(one) for one in partition.log], partition.high_watermark
    said = [*records[:mark], "|", *records[mark:], f"stable {partition.last_stable_offset()}"]
    transactions = partition.transactions
    said += [f"{_of(one)}open {first}" for one, first in sorted(transactions.first_offsets.items())]
    said += [f"{_of(one)}guard e{entry.epoch}" for one, entry in sorted(transactions.guards.items())]
    said += [f"counts T{partition.offsets}"] if partition.offsets else []
    return " ".join(said)


# --- consumers ------------------------------------------------------------------------------------------------------


def _consumer(cluster: TransactionCluster, level: int, partition: int) -> str:
    fetch, returned = cluster.fetch[level][partition], cluster.returned[level][partition]
    said = [f"at {cluster.consumers[level][partition].position}", *(_named(one) for _, one in returned)]
    if fetch is None:
        return " ".join(said)
    if fetch.response is not None:
        aborted = "".join(f" aborted {one.first_offset}" for one in fetch.response.aborted_transactions)
        return " ".join([*said, f"gets {len(fetch.response.records)}{aborted}"])
    if fetch.reading is not None:
        return " ".join([*said, f"is read to {fetch.reading.end}"])
    return " ".join([*said, "waits" if fetch.delayed else "asks"])
