"""The recorder: after each handler it looks at what changed, maps it to the specification's cells and writes the delta.

encoding.py says what it shares with other recorders of the same trace header, and how units of cells differ. A step
touches one broker at most, the one that its first parameter names; what it changed is written in the order of the
cells: the controller's part, that broker's, the exchanges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidemark.cells import CapacityExceeded, Cells
from tidemark.controller.replication_control import PARTITION, REGISTRATIONS, BrokerRegistration
from tidemark.log.storage import Payload
from tidemark.replication.abstraction import Abstraction, Host
from tidemark.sim.cluster import Cluster
from tidemark.sim.encoding import (
    CELLS,
    ENTRIES,
    NUMBER,
    OF_CELLS,
    OF_CHANGES,
    OF_PAIRS,
    RECORDS,
    WAITING,
    Beginning,
    Plan,
)
from tidemark.sim.stream import STUTTER, VARINT, ZIGZAG, Difference, Node, difference, finished


class Recorder:
    """Writes one trace of a cluster. `records` counts what was written, the initial state included; `changing` the
    steps that changed something.

    `_kept`, `_metadata`, `_registered`, `_exchanges`, `_batches`: what was written last, per unit a number, a node, a
    list of elements or a map; `_places` are the exchanges' first cells.
    """

    __slots__ = (
        "_batches",
        "_changes",
        "_connections",
        "_control",
        "_exchanges",
        "_fetches",
        "_hosts",
        "_kept",
        "_metadata",
        "_moved",
        "_of_mark",
        "_out",
        "_places",
        "_plan",
        "_registered",
        "_steps",
        "abstraction",
        "changing",
        "records",
    )

    def __init__(self, plan: Plan, cluster: Cluster) -> None:
        self.abstraction = Abstraction(plan.table, cluster.control, cluster.metadata)
        self.records = 0
        self.changing = 0
        self._plan = plan
        self._steps = plan.steps
        self._of_mark = plan.of_mark
        self._places = plan.first_of_exchange
        self._fetches = plan.fetches
        self._control = cluster.control
        self._hosts: Sequence[Host] = cluster.hosts
        self._changes = [host.changes for host in cluster.hosts]
        self._connections: Sequence[Any] = cluster.network.connections
        self._moved = cluster.network.moved
        self._out = bytearray()
        self._kept: list[Any] = []
        self._metadata: Sequence[Any] = ()
        self._registered: list[tuple[BrokerRegistration | None, Cells]] = []
        self._exchanges: list[Node] = []
        self._batches: list[Sequence[Any]] = []

    # --- records --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The first record: the whole state as it is. All clusters that begin with the same leader begin alike."""
        plan, leader = self._plan, self._control.partition.leader
        key = -1 if leader is None else leader
        if key not in plan.beginnings:
            plan.beginnings[key] = self._first_record()
        first, kept, self._metadata = plan.beginnings[key]
        self._out = bytearray(first)
        self._kept, self._registered, self._exchanges, self._batches = [part[:] for part in kept]
        for changes in self._changes:
            changes.mask = 0
        self._moved.clear()
        self._control.changed = 0
        self.records = 1

    def _first_record(self) -> Beginning:
        """The bytes of the initial state, and what is kept then."""
        plan, see, hosts = self._plan, self.abstraction, self._hosts
        state = tuple(self.full_state())
        count, first, ending, _ = difference((0,) * len(state), state, 0)
        units = [unit.written[3](see, hosts[unit.broker]) for unit in plan.units]
        kept = (
            [copied(unit) for unit in units],
            [(self._control.registrations[host.id], see.registered(host)) for host in hosts],
            [plan.node(number, self._key(number)) for number in range(len(self._connections))],
            [()] * len(self._connections),
        )
        return bytes([STUTTER, 0]) + VARINT[count] + VARINT[first] + ending, kept, see.metadata()[:]

    def step(self, *what: Any) -> None:
        """A handler has run: `what` is the action that it is and its parameters' values, the broker first.

        Raises CapacityExceeded, and then the trace must end as it was before.
        """
        out, moved, see, broker = self._out, self._moved, self.abstraction, what[1]
        start = len(out)
        out += self._steps.get(what) or self._plan.step(what)
        size = len(out)
        out.append(0)
        count = behind = 0
        try:
            if self._control.changed:
                count, behind = self._write_controller()
            changes = self._changes[broker]
            mask = changes.mask
            if mask:
                changes.mask = 0
                host, kept = self._hosts[broker], self._kept
                for number, place, kind, compute in self._of_mark[broker].get(mask) or self._plan.units_of(
                    broker, mask
                ):
                    new, old = compute(see, host), kept[number]
                    if kind == NUMBER:
                        if new != old:
                            kept[number] = new
                            out += VARINT[place - behind]
                            out += ZIGZAG[new]
                            behind = place + 1
                            count += 1
                        continue
                    if kind == CELLS:
                        if new == old:
                            continue
                        kept[number] = new
                        cells, first, ending, end = OF_CELLS[old, new]
                    else:
                        cells, first, ending, end = self._changed(kind, number, old, new)
                    if cells:
                        out += VARINT[place + first - behind]
                        out += ending
                        behind = place + end
                        count += cells
            if moved:
                if len(moved) > 1:
                    moved.sort()
                for number in moved:
                    connection, node, place = self._connections[number], self._exchanges[number], self._places[number]
                    if number < self._fetches:
                        key = see.fetch(connection)
                        response = connection.response
                        batches = () if response is None else response.records
                    else:
                        key, batches = see.alter(connection), ()
                    edge = node.edges.get(key) or self._plan.edge(number, node, key)
                    self._exchanges[number] = edge.node
                    cells, first, ending, end = edge.whole
                    if batches is not self._batches[number]:
                        old, self._batches[number] = self._batches[number], batches
                        out += VARINT[place - behind]
                        out += ZIGZAG[key[0]]
                        count += 1
                        behind = place + 1
                        cells, first, ending, end = OF_PAIRS[0, see.batch_cells(old), see.batch_cells(batches)]
                        if cells:
                            out += VARINT[first]
                            out += ending
                            count += cells
                            behind += end
                        cells, first, ending, end = edge.rest
                    if cells:
                        out += VARINT[place + first - behind]
                        out += ending
                        behind = place + end
                        count += cells
                moved.clear()
        except CapacityExceeded:
            del out[start:]
            raise
        self.records += 1
        if count:
            self.changing += 1
            if count < 128:
                out[size] = count
            else:
                out[size : size + 1] = VARINT[count]

    def blocked(self, *what: Any) -> None:
        """A rule refused an action."""
        self._out += self._plan.refusals.get(what) or self._plan.refusal(what)
        self.records += 1

    def end(self, quiescent: bool, capacity: bool) -> bytes:
        """The end record; returns the whole stream."""
        return finished(self._out, self.records, quiescent, capacity)

    # --- what changed ---------------------------------------------------------------------------------------------

    def _write_controller(self) -> tuple[int, int]:
        """The partition's changes, the registrations: the first cells of a delta. How many they are, and the cell
        behind them."""
        out, see, control = self._out, self.abstraction, self._control
        table, changed = see.table, control.changed
        control.changed = 0
        found = []
        if changed & PARTITION:
            changes, known = see.metadata(), self._metadata
            self._metadata = changes[:]
            common = common_items(known, changes)
            before, after = see.change_cells(known[common:]), see.change_cells(changes[common:])
            found.append((table.offset("metadata"), OF_CHANGES[common, before, after]))
        if changed & REGISTRATIONS:
            place = table.offset("registered")
            for broker, registration in control.registrations.items():
                seen, old = self._registered[broker]
                if registration is not seen:
                    new = see.registered(self._hosts[broker])
                    self._registered[broker] = registration, new
                    found.append((place + table.registered_cells * broker, OF_CELLS[old, new]))
        count = behind = 0
        for place, (cells, first, ending, end) in found:
            if cells:
                out += VARINT[place + first - behind]
                out += ending
                behind = place + end
                count += cells
        return count, behind

    def _changed(self, kind: int, number: int, old: Any, new: Any) -> Difference:
        """What differs in a unit that is a sequence or a map; a copy of it is kept."""
        see = self.abstraction
        if kind == WAITING:
            self._kept[number] = new.copy()
            return self._waiting(old, new)
        self._kept[number] = new[:]
        common = common_items(old, new)
        if kind == RECORDS:
            stay = new[common - 1].next_offset if common else 0
            return OF_PAIRS[stay, see.batch_cells(old[common:]), see.batch_cells(new[common:])]
        return OF_PAIRS[common, see.entry_cells(old[common:]), see.entry_cells(new[common:])]

    def _waiting(self, old: Mapping[Payload, Any], new: Mapping[Payload, Any]) -> Difference:
        """The required offset of every produce that began or ceased to wait."""
        values, most = self.abstraction.values, self._plan.table.max_value
        differing = old.keys() ^ new.keys()
        if len(differing) == 1:
            (payload,) = differing
            place = values[payload] - 1
            return 1, place, ZIGZAG[new[payload].required_offset if payload in new else 0], place + 1
        before, after = [0] * most, [0] * most
        for payload in differing:
            if payload in new:
                after[values[payload] - 1] = new[payload].required_offset
            else:
                before[values[payload] - 1] = old[payload].required_offset
        return difference(tuple(before), tuple(after), 0)

    def _key(self, number: int) -> Cells:
        """The key of an exchange."""
        see, connection = self.abstraction, self._connections[number]
        return see.fetch(connection) if number < self._fetches else see.alter(connection)

    # --- all of it ------------------------------------------------------------------------------------------------

    def full_state(self) -> list[int]:
        """Every cell, computed afresh: what a test compares the written deltas with."""
        plan, see = self._plan, self.abstraction
        table = plan.table
        cells = [0] * table.cells

        def put(first: int, found: Sequence[int]) -> None:
            cells[first : first + len(found)] = found

        def sequence(items: Cells, width: int = 2) -> Cells:
            return (len(items) // width, *items)

        put(table.offset("metadata"), sequence(see.change_cells(see.metadata()), 4))
        for broker, host in enumerate(self._hosts):
            put(table.offset("registered") + table.registered_cells * broker, see.registered(host))
        for unit in plan.units:
            _, first, kind, compute = unit.written
            found = compute(see, self._hosts[unit.broker])
            if kind == WAITING:
                for payload, delayed in found.items():
                    cells[first + see.values[payload] - 1] = delayed.required_offset
            elif kind in (RECORDS, ENTRIES):
                put(first, sequence(see.batch_cells(found) if kind == RECORDS else see.entry_cells(found)))
            else:
                put(first, (found,) if kind == NUMBER else found)
        for number, connection in enumerate(self._connections):
            first, key = plan.first_of_exchange[number], self._key(number)
            if number >= self._fetches:
                put(first, key)
            else:
                put(first, table.cells_of_fetch(key))
                put(first + table.at_batch, sequence(see.batch_cells(see.fetched(connection))))
        return cells


def common_items(old: Sequence[object], new: Sequence[object]) -> int:
    """How many items two sequences begin with in common, where the same object at the same place has the same ones
    before it."""
    common = min(len(old), len(new))
    while common and old[common - 1] is not new[common - 1]:
        common -= 1
    return common


def copied(unit: Any) -> Any:
    """A unit as it is now."""
    return list(unit) if isinstance(unit, list) else dict(unit) if isinstance(unit, dict) else unit
