"""A group's offsets driven by a text (script.py): each action's command, and each node's transcript.

    begin coordinator=b1        the first coordinator (b1)

The transcript shows of a producer its transaction. Of a broker that coordinates it shows the group as far as it has
committed, the offsets that it serves, and the offsets that transactions have staged. Each offset has the position of
its record (`p1=5#3`). The number of uncommitted records follows. Then come the log's records by position, with its
leader; the answer to the last OffsetFetch; and the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidemark.common.errors import Errors
from tidemark.groups.offset_records import (
    NO_PRODUCER_ID,
    EndTransactionMarker,
    LogRecord,
    OffsetCommitValue,
    OffsetsGroup,
    OffsetTombstone,
)
from tidemark.groups.partitions import TopicPartition
from tidemark.offsets.abstraction import TICK_MS, OffsetsAbstraction
from tidemark.offsets.coordinator import OffsetCoordinator
from tidemark.offsets.metadata import OffsetAndMetadata
from tidemark.offsets.rules import OffsetRules
from tidemark.offsets.sim.cluster import OffsetsCluster
from tidemark.offsets.sim.network import CompactedLog
from tidemark.offsets.sim.run import OffsetsSimulator
from tidemark.simulator.script import Cells, Performance, Stage
from tidemark.trace.recorder import Recorder


def begin(header: Mapping[str, Any], rules: OffsetRules | None, options: Mapping[str, str]) -> Performance:
    """Brokers and producers before their first event."""
    simulator = OffsetsSimulator(header, rules=rules)
    table = simulator.table
    first = options.get("coordinator", table.brokers[0])
    if first not in table.brokers or options.keys() - {"coordinator"}:
        raise KeyError(str(options))
    cluster = OffsetsCluster(table, table.brokers.index(first), simulator.rules)
    recorder = Recorder(simulator.plan, OffsetsAbstraction(table, cluster))

    def columns() -> Cells:
        return {
            **{
                name: f"{one.phase} e{one.epoch}"
                for name, one in zip(table.producers, cluster.transactions, strict=True)
            },
            **{
                name: _coordinator(one, table.producers)
                for name, one in zip(table.brokers, cluster.coordinators, strict=True)
            },
            "log": _log(cluster.log, table.brokers, table.producers),
            "fetched": _fetched(cluster),
            "now": str(cluster.now // TICK_MS),
        }

    return Performance(cluster, recorder, columns)


def _rebalance(offsets: OffsetsCluster, b: int, subscription: frozenset[str]) -> bool:
    named = [(place, one) for place, one in enumerate(offsets.partitions) if one.topic in subscription]
    return offsets.rebalance(b, tuple([one for _, one in named]), sum(1 << place for place, _ in named))


def _commit(offsets: OffsetsCluster, b: int, t: int, isLate: bool) -> bool:
    exchange = (offsets.late if isLate else offsets.commits)[t]
    return exchange is not None and exchange.broker == b and offsets.deliver_txn_offset_commit(t, isLate)


def _marker(offsets: OffsetsCluster, b: int, t: int, isLate: bool) -> bool:
    exchange = (offsets.late_markers if isLate else offsets.markers)[t]
    return exchange is not None and exchange.broker == b and offsets.deliver_marker(t, isLate)


EVENTS: dict[str, Callable[..., bool]] = {
    "Tick": lambda o: o.tick(),
    "Rebalance": _rebalance,
    "CommitOffset": lambda o, b, p, offset: o.commit_offset(b, p, offset),
    "ExpireOffsets": lambda o, b: o.expire_offsets(b),
    "DeleteOffset": lambda o, b, p: o.delete_offset(b, p),
    "DeleteGroup": lambda o, b: o.delete_group(b),
    "DropTopic": lambda o, b, p: o.drop_topic(b, p),
    "BeginTransaction": lambda o, t: o.begin_transaction(t),
    "SendTxnOffsetCommit": lambda o, t, b, generation, p, offset: o.send_txn_offset_commit(t, b, generation, p, offset),
    "VerifyTxnOffsetCommit": _commit,
    "HandleTxnOffsetCommit": _commit,
    "RejectTxnOffsetCommit": _commit,
    "ReceiveTxnReply": lambda o, t: o.receive_txn_reply(t),
    "GiveUpTxnOffsetCommit": lambda o, t: o.give_up_txn_offset_commit(t),
    "EndTransaction": lambda o, t, result: o.end_transaction(t, bool(result)),
    "SendMarker": lambda o, t, b: o.send_marker(t, b),
    "HandleMarker": _marker,
    "RejectMarker": _marker,
    "ReceiveMarkerReply": lambda o, t: o.receive_marker_reply(t),
    "FetchOffsets": lambda o, b, stable: o.fetch_offsets(b, stable),
    "CommitEntry": lambda o, b: o.log.leader == b and o.commit_entry(),
    "Compact": lambda o, n, horizon: o.compact(n, horizon),
    "BecomeCoordinator": lambda o, b, keep: o.become_coordinator(b, keep),
    "Resign": lambda o, b: o.resign(b),
    "RepeatMarker": lambda o, t: o.repeat_marker(t),
    "LoseMarker": lambda o, t: o.lose_marker(t),
    "LoseLate": lambda o, t: o.lose_late(t),
    "LoseLateMarker": lambda o, t: o.lose_late_marker(t),
}
"""For each action, the cluster's method that performs it."""

STAGE = Stage(begin, EVENTS)


def _coordinator(coordinator: OffsetCoordinator, producers: Sequence[str]) -> str:
    if not coordinator.serving:
        return "-"
    metadata = coordinator.committed
    said = [_group(metadata.group), *_offsets(metadata.offsets)]
    for producer, staged in sorted(metadata.pending.items()):
        said += [f"{producers[producer]} stages {' '.join(_offsets(staged))}"] if staged else []
    said += [f"({len(coordinator.waiting)} uncommitted)"] if coordinator.waiting else []
    return " ".join(said)


def _group(group: OffsetsGroup) -> str:
    subscribed = "{" + " ".join(one.topic for one in group.subscribed) + "}" if group.subscribed else ""
    return f"{group.state.value} g{group.generation}{subscribed}"


def _offsets(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> list[str]:
    return [f"{one.topic}={known.offset}#{known.record_offset}" for one, known in sorted(offsets.items())]


def _log(log: CompactedLog, brokers: Sequence[str], producers: Sequence[str]) -> str:
    return " ".join([f"{brokers[log.leader]}:", *(_record(one, producers) for one in log.records)])


def _record(one: LogRecord, producers: Sequence[str]) -> str:
    record = one.record
    if isinstance(record, OffsetCommitValue):
        said = f"{record.partition.topic}={record.offset}"
        said += "" if record.producer_id == NO_PRODUCER_ID else f" by {producers[record.producer_id]}"
    elif isinstance(record, OffsetTombstone):
        gone = [*(partition.topic for partition in record.partitions), *(["group"] if record.group else [])]
        said = f"no {' '.join(gone)}"
    elif isinstance(record, EndTransactionMarker):
        said = f"{'COMMIT' if record.commit else 'ABORT'} {producers[record.producer_id]}"
    else:
        said = _group(record)
    return f"[{one.position} {said}]"


def _fetched(cluster: OffsetsCluster) -> str:
    if cluster.fetching is not None:
        return "waits"
    if cluster.fetched is None:
        return ""
    _, _, response = cluster.fetched
    if response.error is not Errors.NONE:
        return response.error.name
    found = [
        f"{one.topic}={offset}" for one, offset in sorted(response.offsets.items()) if one not in response.unstable
    ]
    return " ".join([*found, *(f"{one.topic} unstable" for one in sorted(response.unstable))])
