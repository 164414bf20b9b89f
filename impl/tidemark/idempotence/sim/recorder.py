"""What a recorder of idempotent producers looks at: the units of its variables, and which each action may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidemark.idempotence.abstraction import Abstraction
from tidemark.idempotence.layout import Layout, Table
from tidemark.idempotence.sim.state import ProducerState
from tidemark.trace.units import Items, Kind, Leaf, Parts, UnitPlan, UnitRecorder, whole

TOUCHES = {
    "GetProducerId": "issued producer.c",
    "SendBatch": "sender.cp wire.cp",
    "ResendBatch": "sender.cp wire.cp",
    "ReceiveAck": "sender.cp wire.cp",
    "ReceiveError": "sender.cp wire.cp",
    "ExpireBatch": "sender.cp",
    "ResolveSequences": "sender.cp",
    "BumpEpoch": "producer.c sender.c*",
    "AppendBatch": "log.p entry.p wire.cp",
    "AnswerDuplicate": "wire.cp",
    "RejectBatch": "wire.cp",
    "FailAppend": "entry.p wire.cp",
    "AppendLate": "log.p entry.p late.cp",
    "DropLate": "late.cp",
    "CompleteProduce": "wire.cp",
    "AdvanceHighWatermark": "highWatermark.p",
    "ExpireProducer": "entry.p",
    "ElectLeader": "leader.p log.p entry.p wire.*p",
    "Disconnect": "sender.cp wire.cp late.cp",
    "CrashProducer": "producer.c sender.c* wire.c*",
}
"""What each action's handler may change: a variable, or its part of the producer `c`, the partition `p`, or both; `*`
is every one. A test compares with looking at everything."""

NETWORK = ("Disconnect", "DropLate")
"""These actions happen nowhere."""


def kinds(layout: Layout) -> dict[str, Kind]:
    """Of what kind the units of each variable are."""
    table = layout.table
    number = Leaf(lambda key: (key,))
    entry, width = Leaf(layout.entry), 2 + 2 * table.window
    batch, tail = Leaf(layout.sender_batch), 1 + layout.BATCH * table.max_in_flight
    batches = [(1 + layout.BATCH * place, batch) for place in range(table.max_in_flight)]
    return {
        "leader": number,
        "log": whole(Items(layout.RECORD, table.max_log, Leaf(layout.record))),
        "highWatermark": number,
        "entry": whole(Parts(width * table.max_pid, [(width * place, entry) for place in range(table.max_pid)])),
        "issued": Leaf(layout.issued),
        "producer": Leaf(layout.producer),
        "sender": whole(Parts(tail + 6, [(0, Leaf(layout.in_flight)), *batches, (tail, Leaf(layout.sender_tail))])),
        "wire": whole(Items(layout.ITEM, table.max_wire, Leaf(layout.wire_item))),
        "late": whole(Items(layout.REQUEST, table.max_late, Leaf(layout.late_request))),
    }


class ProducerPlan(UnitPlan):
    """What the recorders of a trace header share. Raises ValueError for a header that is not IdempotentProducer's."""

    def __init__(self, header: Mapping[str, Any], table: Table) -> None:
        parties = {"b": table.brokers, "c": table.producers, "p": table.partitions}
        of = kinds(Layout(table))
        super().__init__(header, "idempotent producers", of, TOUCHES, parties, "bc", lambda action: action in NETWORK)


class ProducerRecorder(UnitRecorder):
    """Writes one trace of producers and partitions."""

    __slots__ = ()

    def __init__(self, plan: ProducerPlan, cluster: ProducerState, see: Abstraction) -> None:
        partitions, connections = cluster.partitions, cluster.connections
        ps, cs = range(len(partitions)), range(len(cluster.producers))
        keys: dict[str, list[Callable[[], Any]]] = {
            "leader": [lambda p=p: partitions[p].leader for p in ps],  # type: ignore[misc]
            "log": [lambda p=p: see.log(partitions[p]) for p in ps],  # type: ignore[misc]
            "highWatermark": [lambda p=p: partitions[p].high_watermark for p in ps],  # type: ignore[misc]
            "entry": [lambda p=p: see.entry(partitions[p]) for p in ps],  # type: ignore[misc]
            "issued": [lambda: cluster.issued],
            "producer": [lambda c=c: see.producer(cluster.producers[c]) for c in cs],  # type: ignore[misc]
            "sender": [lambda c=c, p=p: see.sender(cluster.producers[c], p) for c in cs for p in ps],  # type: ignore[misc]
            "wire": [lambda c=c, p=p: see.wire(connections[c][p].wire) for c in cs for p in ps],  # type: ignore[misc]
            "late": [lambda c=c, p=p: see.late(connections[c][p].late) for c in cs for p in ps],  # type: ignore[misc]
        }
        super().__init__(plan, keys)
