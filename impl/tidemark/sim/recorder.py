"""The recorder: after each handler it looks at what changed, maps it to the specification's cells and writes the delta.

encoding.py says what it shares with other recorders of the same trace header, and how units of cells differ. A step
touches one broker at most, the one that its first parameter names; what it changed is written in the order of the
cells: the controller's part, that broker's, the exchanges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from tidemark.cells import CapacityExceeded, Cells
from tidemark.controller.replication_control import PARTITION, REGISTRATIONS, BrokerRegistration
from tidemark.log.storage import Payload, RecordBatch
from tidemark.replication.abstraction import Abstraction, Host
from tidemark.sim.cluster import Cluster
from tidemark.sim.encoding import (
    APPENDED,
    CELLS,
    ENTRIES,
    NUMBER,
    RECORDS,
    REMOVED,
    WAITING,
    Beginning,
    Plan,
    Written,
)
from tidemark.sim.stream import STUTTER, VARINT, ZIGZAG, Difference, Edge, Node, finished


class Recorder:
    """Writes one trace of a cluster. `records` counts what was written, the initial state included; `changing` the
    steps that changed something.

    `_kept`, `_metadata`, `_registered`, `_exchanges`, `_batches`: what was written last, per unit a number, a node, a
    list of elements or a map; `_count` and `_behind` are of the delta that is being written: the cells in it so far,
    and the cell behind the last of them.
    """

    __slots__ = (
        "_batches",
        "_behind",
        "_changes",
        "_connections",
        "_control",
        "_count",
        "_exchanges",
        "_fetches",
        "_hosts",
        "_kept",
        "_metadata",
        "_moved",
        "_out",
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
        self._count = 0
        self._behind = 0

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
        """The bytes of the initial state, and what is kept then: everything is compared with nothing."""
        plan = self._plan
        table = plan.table
        nothing: dict[int, Any] = {NUMBER: 0, RECORDS: [], ENTRIES: (), WAITING: {}}
        self._kept = [nothing.get(unit.written[2], (0,) * unit.cells) for unit in plan.units]
        self._registered = [(None, (0,) * table.registered_cells)] * table.count
        self._exchanges = [Node((0,) * table.fetch_cells) for _ in range(plan.fetches)]
        self._exchanges += [Node((0,) * table.alter_cells) for _ in range(table.count)]
        self._batches = [()] * len(self._connections)
        self._write_controller(PARTITION | REGISTRATIONS)
        for unit in plan.units:
            self._write_units((unit.written,), self._hosts[unit.broker])
        for number in range(len(self._connections)):
            self._write_exchange(number)
        record = bytes([STUTTER, 0]) + VARINT[self._count] + bytes(self._out)
        return record, (self._kept, self._registered, self._exchanges, self._batches), self._metadata

    def step(self, *what: Any) -> None:
        """A handler has run: `what` is the action that it is and its parameters' values, the broker first.

        Raises CapacityExceeded, and then the trace must end as it was before.
        """
        out, moved = self._out, self._moved
        start = len(out)
        out += self._steps.get(what) or self._plan.step(what)
        broker = what[1]
        changes = self._changes[broker]
        mask, changed = changes.mask, self._control.changed
        if not (mask or changed) and len(moved) == 1:
            number = moved[0]
            batches = self._batches[number]
            if number >= self._fetches or self.abstraction.fetched(self._connections[number]) is batches:
                moved.clear()
                out += self._move(number).alone
                self.records += 1
                self.changing += 1
                return
        size = len(out)
        out.append(0)
        self._count = self._behind = 0
        try:
            if changed:
                self._control.changed = 0
                self._write_controller(changed)
            if mask:
                changes.mask = 0
                units = self._plan.of_mark[broker].get(mask) or self._plan.units_of(broker, mask)
                self._write_units(units, self._hosts[broker])
            if moved:
                moved.sort()
                for number in moved:
                    self._write_exchange(number)
                moved.clear()
        except CapacityExceeded:
            del out[start:]
            raise
        self.records += 1
        count = self._count
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

    def _write_controller(self, changed: int) -> None:
        """The partition's changes, the registrations."""
        see = self.abstraction
        table = see.table
        if changed & PARTITION:
            changes = see.metadata()
            self._write_entries(table.offset("metadata"), self._metadata, changes, see.change_cells, 4)
            self._metadata = changes[:]
        if changed & REGISTRATIONS:
            first, width = table.offset("registered"), table.registered_cells
            for broker, registration in self._control.registrations.items():
                known, old = self._registered[broker]
                if registration is not known:
                    new = see.registered(self._hosts[broker])
                    self._registered[broker] = registration, new
                    self._write_cells(first + width * broker, old, new)

    def _write_units(self, units: tuple[Written, ...], host: Host) -> None:
        """Some units of one broker, in the order of their cells."""
        kept, see = self._kept, self.abstraction
        for number, first, kind, compute in units:
            new, old = compute(see, host), kept[number]
            if kind == NUMBER:
                if new != old:
                    kept[number] = new
                    out = self._out
                    out += VARINT[first - self._behind]
                    out += ZIGZAG[new]
                    self._behind = first + 1
                    self._count += 1
            elif kind == CELLS:
                if new != old:
                    kept[number] = new
                    self._write_cells(first, old, new)
            elif kind == RECORDS:
                kept[number] = new[:]
                self._write_log(first, old, new)
            elif kind == WAITING:
                kept[number] = new.copy()
                self._write_waiting(first, old, new)
            else:
                kept[number] = new[:]
                self._write_entries(first, old, new, see.epoch_entry_cells, 2)

    def _write_cells(self, first: int, old: Cells, new: Cells) -> None:
        """A few cells."""
        out = self._out
        for index, cell in enumerate(new):
            if cell != old[index]:
                index += first
                out += VARINT[index - self._behind]
                out += ZIGZAG[cell]
                self._behind = index + 1
                self._count += 1

    def _write(self, difference: Difference) -> None:
        """A difference that is known already."""
        count, first, ending, behind = difference
        if count:
            out = self._out
            out += VARINT[first - self._behind]
            out += ending
            self._behind = behind
            self._count += count

    def _write_log(self, first: int, old: list[RecordBatch], new: list[RecordBatch]) -> None:
        """A log: it grows or shrinks at its end. A batch that is the same object at the same place has the same ones
        before it."""
        before, now = len(old), len(new)
        if before < now and (before == 0 or new[before - 1] is old[before - 1]):
            self._write_records(first, new[before].base_offset, new[before:], True)
        elif before > now and (now == 0 or new[now - 1] is old[now - 1]):
            self._write_records(first, old[now].base_offset, old[now:], False)
        elif before != now or (now and new[now - 1] is not old[now - 1]):
            cells_of = self.abstraction.batch_cells
            self._write_flat(first, 0, flat(old, cells_of), flat(new, cells_of), 2)

    def _write_records(self, first: int, start: int, batches: Sequence[RecordBatch], came: bool) -> None:
        """A sequence of records whose length is cell `first`: batches came or went behind its first `start` records."""
        out, values, count, gap, last = self._out, self.abstraction.values, 1, 2 * start, batches[-1]
        end = start + last.base_offset + len(last.records) - batches[0].base_offset
        out += VARINT[first - self._behind]
        out += ZIGZAG[end if came else start]
        for batch in batches:
            epoch = batch.leader_epoch
            for payload in batch.records:
                if came:
                    out += APPENDED[gap, epoch, values.get(payload) or self.abstraction.value(payload)]
                else:
                    out += REMOVED[gap, epoch]
                count += 2 if epoch else 1
                gap = 0
        self._behind = first + 1 + 2 * end
        self._count += count

    def _write_entries(
        self, first: int, old: Sequence[Any], new: Sequence[Any], cells_of: Callable[[Any], Sequence[int]], width: int
    ) -> None:
        """A sequence of which every element is one item of `width` cells; it changes at its end, as a log does."""
        common = min(len(old), len(new))
        while common and old[common - 1] is not new[common - 1]:
            common -= 1
        if common == len(old) == len(new) - 1:
            self._write_flat(first, width * common, (), cells_of(new[-1]), width)
        elif common < len(old) or common < len(new):
            self._write_flat(first, width * common, flat(old[common:], cells_of), flat(new[common:], cells_of), width)

    def _write_flat(self, first: int, start: int, before: Sequence[int], after: Sequence[int], width: int) -> None:
        """A sequence's length, and its cells from the one numbered `start` on."""
        out, behind, count = self._out, self._behind, self._count
        if len(before) != len(after):
            out += VARINT[first - behind]
            out += ZIGZAG[(start + len(after)) // width]
            behind = first + 1
            count += 1
        for index, (a, b) in enumerate(zip_longest(before, after, fillvalue=0), first + 1 + start):
            if a != b:
                out += VARINT[index - behind]
                out += ZIGZAG[b]
                behind = index + 1
                count += 1
        self._behind, self._count = behind, count

    def _write_waiting(self, first: int, old: Mapping[Payload, Any], new: Mapping[Payload, Any]) -> None:
        """The required offset of every produce that began or ceased to wait."""
        values, out = self.abstraction.values, self._out
        differing = old.keys() ^ new.keys()
        cells = {values[payload]: payload for payload in differing}
        for value in sorted(cells) if len(cells) > 1 else cells:
            payload, index = cells[value], first + value - 1
            out += VARINT[index - self._behind]
            out += ZIGZAG[new[payload].required_offset if payload in new else 0]
            self._behind = index + 1
            self._count += 1

    def _move(self, number: int) -> Edge:
        """The edge along which an exchange has moved, without the records that may have come or gone."""
        see, node = self.abstraction, self._exchanges[number]
        if number < self._fetches:
            key = see.fetch(self._connections[number])
            edge = node.edges.get(key)
            if edge is None:
                edge = self._plan.edge(number, node, key, see.fetch_cells(key))
        else:
            key = see.alter(self._connections[number])
            edge = node.edges.get(key)
            if edge is None:
                edge = self._plan.edge(number, node, key, key)
        self._exchanges[number] = edge.node
        return edge

    def _write_exchange(self, number: int) -> None:
        """A connection that moved: `number` counts the fetch connections, then those to the controller."""
        edge, old = self._move(number), self._batches[number]
        new = () if number >= self._fetches else self.abstraction.fetched(self._connections[number])
        if new is old:
            self._write(edge.whole)
            return
        self._batches[number] = new
        first = self._plan.first_of_exchange[number]
        out = self._out
        out += VARINT[first - self._behind]
        out += ZIGZAG[edge.node.cells[0]]
        self._behind = first + 1
        self._count += 1
        if new and old:
            cells_of = self.abstraction.batch_cells
            self._write_flat(first + 1, 0, flat(old, cells_of), flat(new, cells_of), 2)
        else:
            self._write_records(first + 1, 0, new or old, bool(new))
        self._write(edge.rest)

    # --- all of it ------------------------------------------------------------------------------------------------

    def full_state(self) -> list[int]:
        """Every cell, computed afresh: what a test compares the written deltas with."""
        plan, see = self._plan, self.abstraction
        table = plan.table
        cells = [0] * table.cells

        def put(first: int, found: Sequence[int]) -> None:
            cells[first : first + len(found)] = found

        def sequence(found: Sequence[Any], cells_of: Callable[[Any], Sequence[int]], width: int) -> list[int]:
            items = flat(found, cells_of)
            return [len(items) // width, *items]

        put(table.offset("metadata"), sequence(see.metadata(), see.change_cells, 4))
        for broker, host in enumerate(self._hosts):
            put(table.offset("registered") + table.registered_cells * broker, see.registered(host))
        for unit in plan.units:
            _, first, kind, compute = unit.written
            found = compute(see, self._hosts[unit.broker])
            if kind == WAITING:
                for payload, delayed in found.items():
                    cells[first + see.values[payload] - 1] = delayed.required_offset
            elif kind in (RECORDS, ENTRIES):
                put(first, sequence(found, see.batch_cells if kind == RECORDS else see.epoch_entry_cells, 2))
            else:
                put(first, (found,) if kind == NUMBER else found)
        for number, connection in enumerate(self._connections):
            first = plan.first_of_exchange[number]
            if number >= self._fetches:
                put(first, see.alter(connection))
            else:
                put(first, see.fetch_cells(see.fetch(connection)))
                put(first + table.at_batch, sequence(see.fetched(connection), see.batch_cells, 2))
        return cells


def flat(elements: Sequence[Any], cells_of: Callable[[Any], Sequence[int]]) -> list[int]:
    """The cells of some elements, one after another."""
    return [cell for element in elements for cell in cells_of(element)]
