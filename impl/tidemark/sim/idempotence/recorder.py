"""What a recorder of idempotent producers looks at: the units of its variables, and which each action may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidemark.cells import Cells
from tidemark.idempotence.abstraction import Abstraction
from tidemark.idempotence.layout import Layout, Table
from tidemark.sim.idempotence.state import ProducerState
from tidemark.sim.units import Kind, Leaf, Parts, Unit, UnitPlan, UnitRecorder

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


def _sequence(each: int, capacity: int, cells: Callable[[Any], Cells]) -> Parts:
    """A bounded sequence: its length, then its elements one by one."""
    leaf = Leaf(cells)
    elements = Parts(each * capacity, [(each * place, leaf) for place in range(capacity)])
    return Parts(1 + each * capacity, [(0, Leaf(lambda key: (key,))), (1, elements)])


def kinds(layout: Layout) -> dict[str, Kind]:
    """Of what kind the units of each variable are."""
    table = layout.table
    flight = layout.BATCH * table.max_in_flight
    batch, number = Leaf(layout.sender_batch), Leaf(lambda key: (key,))
    entry, width = Leaf(layout.entry), 2 + 2 * table.window
    return {
        "leader": number,
        "log": _sequence(layout.RECORD, table.max_log, layout.record),
        "highWatermark": number,
        "entry": Parts(width * table.max_pid, [(width * place, entry) for place in range(table.max_pid)]),
        "issued": Leaf(layout.issued),
        "producer": Leaf(layout.producer),
        "sender": Parts(
            1 + flight + 6,
            [
                (0, number),
                (1, Parts(flight, [(layout.BATCH * place, batch) for place in range(table.max_in_flight)])),
                (1 + flight, Leaf(layout.sender_tail)),
            ],
        ),
        "wire": _sequence(layout.ITEM, table.max_wire, layout.wire_item),
        "late": _sequence(layout.REQUEST, table.max_late, layout.late_request),
    }


SHARES = {"issued": "", "producer": "c", "sender": "cp", "wire": "cp", "late": "cp"}
"""What a variable has a unit for; not named here: each partition."""


class ProducerPlan(UnitPlan):
    """What the recorders of a trace header share. Raises ValueError for a header that is not IdempotentProducer's."""

    def __init__(self, header: Mapping[str, Any], table: Table) -> None:
        counts = {"c": len(table.producers), "p": len(table.partitions)}
        self.numbers: dict[str, dict[tuple[int, ...], int]] = {}
        units: list[Unit] = []
        of = kinds(Layout(table))
        for variable in sorted(of, key=table.offset):
            places: list[tuple[int, ...]] = [()]
            for share in SHARES.get(variable, "p"):
                places = [(*one, number) for one in places for number in range(counts[share])]
            width = table.cells(variable) // len(places)
            self.numbers[variable] = {one: len(units) + number for number, one in enumerate(places)}
            units += [Unit(table.offset(variable) + width * number, of[variable]) for number in range(len(places))]
        brokers = len(table.brokers)
        nodes = {"b": range(brokers), "c": range(brokers, brokers + counts["c"])}
        super().__init__(header, units, nodes, lambda action: action in NETWORK)
        self.touched: dict[tuple[Any, ...], tuple[int, ...]] = {}
        self._formals = {action["name"]: tuple(action["params"]) for action in header["actions"]}

    def touches(self, what: tuple[Any, ...]) -> tuple[int, ...]:
        """The units that an action with these parameters may change. Raises ValueError for an unknown action."""
        name, *values = what
        if name not in TOUCHES or name not in self._formals:
            raise ValueError(f"idempotent producers have no action {name}")
        given = dict(zip(self._formals[name], values, strict=False))
        found: set[int] = set()
        for variable, _, which in (one.partition(".") for one in TOUCHES[name].split()):
            wanted = [None if one == "*" else given[one] for one in which]
            found |= {
                number
                for place, number in self.numbers[variable].items()
                if all(one is None or one == here for one, here in zip(wanted, place, strict=True))
            }
        touched = self.touched[what] = tuple(sorted(found))
        return touched


class ProducerRecorder(UnitRecorder):
    """Writes one trace of producers and partitions."""

    __slots__ = ("_producer_plan",)

    def __init__(self, plan: ProducerPlan, cluster: ProducerState, see: Abstraction) -> None:
        self._producer_plan = plan
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
        super().__init__(plan, [key for variable in sorted(keys, key=see.table.offset) for key in keys[variable]])

    def did(self, *what: Any) -> None:
        """A handler has run: `what` is its action and the parameters' values. Raises CapacityExceeded."""
        plan = self._producer_plan
        self.step(plan.touched.get(what) or plan.touches(what), what)
