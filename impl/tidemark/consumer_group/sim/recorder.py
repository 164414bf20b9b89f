"""What the recorder of a KIP-848 group looks at: the units of its variables, and which of them each action may
change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tidemark.consumer_group.abstraction import Abstraction
from tidemark.consumer_group.layout import ModernTable
from tidemark.consumer_group.sim.cluster import ModernCluster
from tidemark.groups.sim.plan import NodePlan
from tidemark.trace.shapes import kind_of
from tidemark.trace.units import UnitRecorder

_PROCESS = "consumer.c position.c heartbeatRpc.c offsetRpc.c"
_GROUP = "appended.b group.b partitionEpoch.b timers.b"
_REPLY = "!late:heartbeatRpc.c late:stray.c"

TOUCHES = {
    "StartConsumer": "issued consumer.c",
    "CrashConsumer": _PROCESS,
    "LeaveGroup": f"{_PROCESS} stray.c",
    "ChangeSubscription": "consumer.c",
    "AddPartition": "partitions",
    "SendHeartbeat": "consumer.c heartbeatRpc.c",
    "ReceiveHeartbeat": _PROCESS,
    "Reconcile": "consumer.c",
    "FinishReconciliation": "consumer.c position.c offsetRpc.c",
    "Poll": "position.c",
    "SendCommit": "offsetRpc.c",
    "ReceiveCommit": "offsetRpc.c",
    "SendOffsetFetch": "offsetRpc.c",
    "ReceiveOffsets": "position.c offsetRpc.c",
    "RejectHeartbeat": _REPLY,
    "HandleHeartbeat": f"{_GROUP} {_REPLY}",
    "AssignOnHeartbeat": f"{_GROUP} {_REPLY}",
    "HandleLeave": f"{_GROUP} stray.c",
    "ExpireSession": _GROUP,
    "ExpireRevocation": _GROUP,
    "HandleCommit": "appended.b !late:offsetRpc.c late:stray.c",
    "RejectCommit": "!late:offsetRpc.c late:stray.c",
    "HandleOffsetFetch": "offsetRpc.c",
    "CommitEntry": "storedGroup storedOffsets appended.b offsets.b heartbeatRpc.* offsetRpc.*",
    "BecomeCoordinator": "office storedGroup storedOffsets epoch.b group.b partitionEpoch.b timers.b offsets.b",
    "Resign": f"epoch.b {_GROUP} offsets.b heartbeatRpc.* offsetRpc.*",
    "RepeatHeartbeat": "stray.c",
    "RepeatCommitRequest": "stray.c",
    "LoseHeartbeat": "consumer.c heartbeatRpc.c",
    "LoseOffsetRpc": "offsetRpc.c",
    "LoseStray": "stray.c",
}
"""What each action's handler may change: a variable, or its part of the broker `b`, the consumer `c`, everybody. A test
compares with looking at everything."""


class ModernPlan(NodePlan):
    """What the recorders of a trace header share. Raises ValueError for a header that is not ConsumerGroup848's."""

    def __init__(self, header: Mapping[str, Any], table: ModernTable) -> None:
        nodes = (table.brokers, table.clients)
        of = {}
        for variable, entry in table.variables.items():
            what = entry["type"]
            split = "function" in what and tuple(what["domain"]) in nodes
            of[variable] = kind_of(what["function"] if split else what)
        super().__init__(header, table, of, TOUCHES)


class ModernRecorder(UnitRecorder):
    """Writes one trace of a group's cluster."""

    __slots__ = ("_see",)

    def __init__(self, plan: ModernPlan, cluster: ModernCluster, see: Abstraction) -> None:
        self._see = see
        network, log, coordinators = cluster.network, cluster.log, cluster.coordinators
        table = see.table
        brokers, clients = range(len(table.brokers)), range(len(table.clients))
        keys: dict[str, list[Callable[[], Any]]] = {
            "office": [lambda: (log.leader, log.epoch)],
            "storedGroup": [lambda: see.stored(log.records.values())],
            "storedOffsets": [lambda: table.offsets(log.offsets)],
            "appended": [partial(see.appended, coordinators[b]) for b in brokers],
            "epoch": [lambda b=b: see.epoch(coordinators[b], log.records.values()) for b in brokers],  # type: ignore[misc]
            "group": [lambda b=b: see.group(coordinators[b].group) for b in brokers],  # type: ignore[misc]
            "partitionEpoch": [lambda b=b: see.partition_epochs(coordinators[b].group) for b in brokers],  # type: ignore[misc]
            "timers": [lambda b=b: see.timers(coordinators[b].delays) for b in brokers],  # type: ignore[misc]
            "offsets": [lambda b=b: table.offsets(coordinators[b].offsets) for b in brokers],  # type: ignore[misc]
            "issued": [lambda: len(cluster.numbers)],
            "consumer": [lambda c=c: see.consumer(cluster.consumers[c]) for c in clients],  # type: ignore[misc]
            "position": [lambda c=c: see.position(cluster.consumers[c]) for c in clients],  # type: ignore[misc]
            "partitions": [lambda: see.partitions(cluster.counts)],
            "heartbeatRpc": [lambda c=c: see.heartbeat_rpc(network.heartbeat[c], coordinators) for c in clients],  # type: ignore[misc]
            "offsetRpc": [
                lambda c=c: see.offset_rpc(network.offset[c], coordinators, cluster.consumers[c])  # type: ignore[misc]
                for c in clients
            ],
            "stray": [lambda c=c: see.request(network.stray[c]) for c in clients],  # type: ignore[misc]
        }
        super().__init__(plan, keys)

    def _forget(self) -> None:
        self._see.forget()
