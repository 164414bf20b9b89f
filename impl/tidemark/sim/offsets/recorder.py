"""What the recorder of offsets looks at: the units of its variables, and which of them each action may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tidemark.group.offset_abstraction import TICK_MS, OffsetsAbstraction, OffsetsLayout, OffsetsTable
from tidemark.sim.offsets.cluster import Commit, Marker, OffsetsCluster
from tidemark.sim.units import Leaf, UnitPlan, UnitRecorder

_MEMORY = "end.b producers.b group.b offsets.b staged.b"

TOUCHES = {
    "Tick": "now",
    "Rebalance": "appended.b",
    "CommitOffset": "appended.b",
    "ExpireOffsets": "appended.b",
    "DeleteOffset": "appended.b",
    "DeleteGroup": "appended.b",
    "DropTopic": "appended.b",
    "BeginTransaction": "transaction.t",
    "SendTxnOffsetCommit": "txnRpc.t",
    "VerifyTxnOffsetCommit": "transaction.t txnRpc.t late.t",
    "HandleTxnOffsetCommit": "appended.b txnRpc.t late.t",
    "RejectTxnOffsetCommit": "txnRpc.t late.t",
    "ReceiveTxnReply": "transaction.t txnRpc.t",
    "GiveUpTxnOffsetCommit": "transaction.t txnRpc.t late.t",
    "EndTransaction": "transaction.t",
    "SendMarker": "marker.t",
    "HandleMarker": "appended.b marker.t lateMarker.t",
    "RejectMarker": "marker.t lateMarker.t",
    "ReceiveMarkerReply": "transaction.t marker.t",
    "FetchOffsets": "fetch",
    "CommitEntry": f"log appended.b {_MEMORY} txnRpc.* marker.* fetch",
    "Compact": "log",
    "BecomeCoordinator": f"office log epoch.b {_MEMORY}",
    "Resign": f"appended.b epoch.b {_MEMORY} txnRpc.* marker.* fetch",
    "RepeatMarker": "lateMarker.t",
    "LoseMarker": "marker.t",
    "LoseLate": "late.t",
    "LoseLateMarker": "lateMarker.t",
}
"""What each action's handler may change: a variable, or its part of the broker `b`, the producer `t`, everybody. A test
compares with looking at everything."""

NOWHERE = ("Tick", "Compact", "RepeatMarker", "LoseMarker", "LoseLate", "LoseLateMarker")
"""Actions of the clock, the cleaner and the network."""


class OffsetsPlan(UnitPlan):
    """What the recorders of a trace header share. Raises ValueError for a header that is not that of Offsets."""

    def __init__(self, header: Mapping[str, Any], table: OffsetsTable) -> None:
        layout = OffsetsLayout(table)
        cells: dict[str, Callable[[Any], Any]] = {
            "now": layout.now,
            "office": layout.office,
            "log": layout.log,
            "appended": layout.appended,
            "end": layout.end,
            "producers": layout.nested,
            "epoch": layout.epoch,
            "group": layout.group,
            "offsets": layout.nested,
            "staged": layout.staged,
            "transaction": layout.transaction,
            **{name: partial(layout.slot, name) for name in table.slots},
        }
        of = {variable: Leaf(cells[variable]) for variable in cells}
        parties = {"b": table.brokers, "t": table.producers}
        super().__init__(header, "the offsets", of, TOUCHES, parties, "bt", lambda action: action in NOWHERE)


class OffsetsRecorder(UnitRecorder):
    """Writes one trace of a group's offsets."""

    __slots__ = ()

    def __init__(self, plan: OffsetsPlan, cluster: OffsetsCluster, see: OffsetsAbstraction) -> None:
        table, log, coordinators = see.table, cluster.log, cluster.coordinators
        slots = _Slots(cluster, see)
        of_brokers: dict[str, Callable[[int], Any]] = {
            "appended": lambda b: see.appended(coordinators[b]),
            "end": lambda b: coordinators[b].end,
            "producers": lambda b: see.producers(coordinators[b].producers),
            "epoch": lambda b: coordinators[b].epoch,
            "group": lambda b: see.group(coordinators[b].committed.group),
            "offsets": lambda b: see.offsets(coordinators[b].committed.offsets),
            "staged": lambda b: see.staged(coordinators[b].committed.pending),
        }
        of_producers: dict[str, Callable[[int], Any]] = {
            "transaction": slots.transaction,
            "txnRpc": lambda t: slots.commit(cluster.commits[t]),
            "late": lambda t: slots.commit(cluster.late[t]),
            "marker": lambda t: slots.marker(cluster.markers[t]),
            "lateMarker": lambda t: slots.marker(cluster.late_markers[t]),
        }
        keys: dict[str, list[Callable[[], Any]]] = {
            "now": [lambda: cluster.now // TICK_MS],
            "office": [lambda: (log.leader, log.epoch)],
            "log": [lambda: see.entries(log.records)],
            "fetch": [slots.fetch],
            **{name: [partial(key, b) for b in range(len(table.brokers))] for name, key in of_brokers.items()},
            **{name: [partial(key, t) for t in range(len(table.producers))] for name, key in of_producers.items()},
        }
        super().__init__(plan, keys)


class _Slots:
    """The keys of transactions and exchanges: a tag and fields by name."""

    def __init__(self, cluster: OffsetsCluster, see: OffsetsAbstraction) -> None:
        self._cluster = cluster
        self._see = see

    def transaction(self, producer: int) -> Any:
        """A transaction."""
        one = self._cluster.transactions[producer]
        return one.added, one.epoch, one.failed, one.phase, one.commit

    def commit(self, exchange: Commit | None) -> Any:
        """A TxnOffsetCommit."""
        if exchange is None:
            return None
        if exchange.response is not None:
            return "answered", ("error", exchange.response.error)
        if exchange.arrived:
            return self._pending("committing", exchange)
        request = exchange.request
        fields = (
            ("broker", exchange.broker),
            ("epoch", request.producer_epoch),
            ("generation", request.generation_id),
            ("partition", self._see.table.partitions.index(request.partition)),
            ("offset", request.offset),
        )
        return ("request", *fields) if exchange.valid is None else ("verified", *fields, ("valid", int(exchange.valid)))

    def marker(self, exchange: Marker | None) -> Any:
        """A marker."""
        if exchange is None:
            return None
        if exchange.response is not None:
            return "written", ("error", exchange.response.error)
        if exchange.arrived:
            return self._pending("writing", exchange)
        request = exchange.request
        return (
            "marker",
            ("broker", exchange.broker),
            ("epoch", request.producer_epoch),
            ("result", request.commit),
        )

    def _pending(self, tag: str, exchange: Commit | Marker) -> Any:
        waiting = self._cluster.coordinators[exchange.broker].waiting
        place = next(place for place, one in enumerate(waiting, 1) if one.token == exchange.token)
        return tag, ("broker", exchange.broker), ("remaining", place)

    def fetch(self) -> Any:
        """The OffsetFetch."""
        cluster, see = self._cluster, self._see
        if cluster.fetching is not None:
            coordinator = cluster.coordinators[cluster.fetching]
            if coordinator.fetch is not None:
                position, _, response = coordinator.fetch
                return (
                    "waiting",
                    ("broker", cluster.fetching),
                    ("remaining", position - coordinator.end + 1),
                    ("offsets", see.found(response.offsets)),
                    ("unstable", see.table.mask(response.unstable)),
                )
        if cluster.fetched is None:
            return None
        broker, stable, response = cluster.fetched
        return (
            "fetched",
            ("broker", broker),
            ("error", response.error),
            ("stable", int(stable)),
            ("offsets", see.found(response.offsets)),
            ("unstable", see.table.mask(response.unstable)),
        )
