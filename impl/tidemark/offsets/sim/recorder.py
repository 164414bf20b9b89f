"""What the recorder of offsets looks at: the units of its variables, and which of them each action may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tidemark.groups.offset_records import StableOffsetFetchResponse
from tidemark.offsets.abstraction import TICK_MS, OffsetsAbstraction, OffsetsLayout, OffsetsTable
from tidemark.offsets.sim.cluster import Commit, Marker, OffsetsCluster
from tidemark.trace.units import Items, Kind, Leaf, Parts, UnitPlan, UnitRecorder

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
        record, offsets = Leaf(layout.record), Leaf(layout.offsets)
        widths = {"log": (table.width("log") - 1) // table.most["Log"], "offsets": table.width("offsets")}
        of: dict[str, Kind] = {
            "now": Leaf(layout.now),
            "office": Leaf(layout.office),
            "log": Items(widths["log"], table.most["Log"], record),
            "appended": Items(widths["log"], table.most["Appended"], record),
            "end": Leaf(layout.end),
            "producers": Leaf(layout.producers),
            "epoch": Leaf(layout.epoch),
            "group": Leaf(layout.group),
            "offsets": offsets,
            "staged": Parts(
                table.width("staged"),
                [(widths["offsets"] * producer, offsets) for producer in range(len(table.producers))],
            ),
            "transaction": Leaf(layout.transaction),
            **{name: Leaf(partial(layout.slot, name)) for name in table.slots},
            "fetch": Leaf(layout.fetch),
        }
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
            "group": lambda b: coordinators[b].committed.group,
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
            "log": [lambda: tuple(log.records)],
            "fetch": [slots.fetch],
            **{name: [partial(key, b) for b in range(len(table.brokers))] for name, key in of_brokers.items()},
            **{name: [partial(key, t) for t in range(len(table.producers))] for name, key in of_producers.items()},
        }
        super().__init__(plan, keys)


class _Slots:
    """The keys of transactions and exchanges."""

    __slots__ = ("_cluster", "_see", "_told", "_told_key")

    def __init__(self, cluster: OffsetsCluster, see: OffsetsAbstraction) -> None:
        self._cluster = cluster
        self._see = see
        self._told: object = None
        self._told_key: Any = None

    def transaction(self, producer: int) -> Any:
        """A transaction."""
        one = self._cluster.transactions[producer]
        return one.added, one.epoch, one.failed, one.phase, one.commit

    def commit(self, exchange: Commit | None) -> Any:
        """A TxnOffsetCommit."""
        if exchange is None:
            return None
        if exchange.response is not None:
            return "answered", exchange.response.error
        if exchange.arrived:
            return "committing", exchange.broker, self._place(exchange)
        if exchange.valid is None:
            return "request", exchange.broker, exchange.request
        return "verified", exchange.broker, exchange.request, exchange.valid

    def marker(self, exchange: Marker | None) -> Any:
        """A marker."""
        if exchange is None:
            return None
        if exchange.response is not None:
            return "written", exchange.response.error
        if exchange.arrived:
            return "writing", exchange.broker, self._place(exchange)
        return "marker", exchange.broker, exchange.request

    def _place(self, exchange: Commit | Marker) -> int:
        """For how many records an exchange waits."""
        waiting = self._cluster.coordinators[exchange.broker].waiting
        return next(place for place, one in enumerate(waiting, 1) if one.token == exchange.token)

    def fetch(self) -> Any:
        """The OffsetFetch. The last answer stands for long: its key is made once."""
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
        fetched = cluster.fetched
        if fetched is not self._told:
            self._told = fetched
            self._told_key = None if fetched is None else self._fetched(*fetched)
        return self._told_key

    def _fetched(self, broker: int, stable: bool, response: StableOffsetFetchResponse) -> Any:
        return (
            "fetched",
            ("broker", broker),
            ("error", response.error),
            ("stable", int(stable)),
            ("offsets", self._see.found(response.offsets)),
            ("unstable", self._see.table.mask(response.unstable)),
        )
