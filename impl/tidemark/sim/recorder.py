"""The recorder: after each handler it looks at what changed, maps it to the specification's cells and writes the delta.

A handler changes one broker at most, the one that its action's first parameter names; what changed is written in the
order of the cells: the controller's part, that broker's, the exchanges. Brokers and the controller mark what they
change; of the exchanges each kind of step knows which have moved. encoding.py says what recorders of the same trace
header share, and how units of cells differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidemark.cells import CapacityExceeded, Cells
from tidemark.changes import LOG, PRODUCED, PURGATORY
from tidemark.controller.replication_control import PARTITION, REGISTRATIONS, BrokerRegistration
from tidemark.errors import NONE
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
    Move,
    Plan,
    Standing,
)
from tidemark.sim.network import AlterConnection, FetchConnection
from tidemark.sim.stream import NO_DIFFERENCE, STUTTER, VARINT, ZIGZAG, Difference, difference, finished


class Recorder:
    """Writes one trace of a cluster. `records` counts what was written, the initial state included; `changing` the
    steps that changed something.

    What was written last: `_kept`, per unit a number, a few cells, a list of elements or a map; `_metadata`,
    `_registered`; `_exchanges`, how the exchanges stand, and `_carried`, the cells of the records on their way.
    `_places` are the exchanges' first cells.
    """

    __slots__ = (
        "_carried",
        "_changes",
        "_control",
        "_exchanges",
        "_hosts",
        "_idle",
        "_kept",
        "_metadata",
        "_network",
        "_of_mark",
        "_of_produces",
        "_out",
        "_places",
        "_plan",
        "_registered",
        "_steps",
        "abstraction",
        "records",
    )

    def __init__(self, plan: Plan, cluster: Cluster) -> None:
        self.abstraction = Abstraction(plan.table, cluster.control, cluster.metadata)
        self.records = 0
        self._idle = 0
        self._plan = plan
        self._steps = plan.steps
        self._of_mark = plan.of_mark
        self._of_produces = plan.of_produces
        self._places = plan.first_of_exchange
        self._control = cluster.control
        self._hosts: Sequence[Host] = cluster.hosts
        self._changes = [host.changes for host in cluster.hosts]
        self._network = cluster.network
        self._out = bytearray()
        self._kept: list[Any] = []
        self._metadata: Sequence[Any] = ()
        self._registered: list[tuple[BrokerRegistration, Cells]] = []
        self._exchanges: list[Standing] = []
        self._carried: list[Cells] = []

    @property
    def changing(self) -> int:
        """How many steps changed something."""
        return self.records - 1 - self._idle

    # --- records --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The first record: the whole state as it is. All clusters that begin with the same leader begin alike."""
        plan, leader = self._plan, self._control.partition.leader
        key = -1 if leader is None else leader
        if key not in plan.beginnings:
            plan.beginnings[key] = self._first_record()
        first, kept, self._metadata = plan.beginnings[key]
        self._out = bytearray(first)
        self._kept, self._registered, self._exchanges, self._carried = [part[:] for part in kept]
        for changes in self._changes:
            changes.mask = 0
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
            [plan.idle(number < plan.fetches) for number in range(len(self._places))],
            [()] * plan.fetches,
        )
        return bytes([STUTTER, 0]) + VARINT[count] + VARINT[first] + ending, kept, see.metadata()[:]

    def step(self, *what: Any) -> None:
        """A handler has run: `what` is the action that it is and its parameters' values, the broker first. No exchange
        has moved.

        Raises CapacityExceeded, and then the trace must end as it was before; so do the other kinds of step.
        """
        out = self._out
        start = len(out)
        out += self._steps.get(what) or self._plan.step(what)
        self._finish(start, what[1])

    def fetch(self, connection: FetchConnection, *what: Any) -> None:
        """A step with which a fetch exchange has moved on. The controller has no part in it."""
        out, number, response, see = self._out, connection.number, connection.response, self.abstraction
        key: Any  # what tells this move from others
        batches: Sequence[Any] = ()
        if response is None:
            key = None if connection.request is None else see.fetch(connection)
        elif response.error is NONE and response.diverging is None:
            key, batches = response.high_watermark, response.records
        else:
            key = see.fetch(connection)
        standing = self._exchanges[number]
        move = standing.moves.get(key)
        if move is None:
            move = self._plan.move(True, standing, key, see.table.cells_of_fetch(see.fetch(connection)))
        self._exchanges[number] = move.to
        old = self._carried[number]
        if not (batches or old or self._changes[what[1]].mask):
            out += self._steps.get(what) or self._plan.step(what)
            out += move.size
            out += VARINT[self._places[number]]
            out += move.ending
            self.records += 1
            return
        start = len(out)
        out += self._steps.get(what) or self._plan.step(what)
        records = NO_DIFFERENCE
        if batches or old:
            new = self._carried[number] = see.batch_cells(batches)
            records = OF_PAIRS[0, old, new]
        self._finish(start, what[1], ((number, move, records),))

    def alter(self, connection: AlterConnection, *what: Any) -> None:
        """A step with which an exchange with the controller has moved on."""
        out = self._out
        start = len(out)
        out += self._steps.get(what) or self._plan.step(what)
        self._finish(start, what[1], (self._alter_move(connection),))

    def produce(self, *what: Any) -> None:
        """A step in the life of a produce attempt: it was appended, or answered. Where nothing else has changed, little
        decides what is written, and it is made once."""
        broker, see, kept = what[1], self.abstraction, self._kept
        host, changes = self._hosts[broker], self._changes[broker]
        log, produced, waiting = self._of_produces[broker]
        mask, batches, waits = changes.mask, host.storage.batches, see.waiting(host)
        known: tuple[Any, ...] = ()
        if mask == PURGATORY and len(waits) == len(kept[waiting]) - 1:
            (answered,) = kept[waiting].keys() - waits.keys()
            known = what, see.values[answered]
        elif mask & ~PURGATORY == LOG | PRODUCED and len(batches) == len(kept[log]) + 1:
            batch = batches[-1]
            payload = batch.records[-1]
            required = waits[payload].required_offset if payload in waits else None
            known = what, mask, required, batch.base_offset, batch.leader_epoch, len(batch.records)
        record = self._plan.produces.get(known)
        if record is None:
            start = len(self._out)
            self.step(*what)
            if known:
                self._plan.produces[known] = bytes(self._out[start:])
        else:
            self._out += record
            self.records += 1
            changes.mask = 0
            if mask & PURGATORY:
                kept[waiting] = waits.copy()
            if mask & LOG:
                kept[log] = batches[:]
                kept[produced] = see.value(payload)

    def ends(self, *what: Any) -> None:
        """A step with which a broker's process has ended: some of its connections are gone."""
        out, network, table = self._out, self._network, self._plan.table
        start = len(out)
        out += self._steps.get(what) or self._plan.step(what)
        moves = []
        for row in network.fetches:
            for connection in row:
                number = connection.number
                standing, old = self._exchanges[number], self._carried[number]
                if connection.request is None and standing.cells[0] != table.idle[0]:
                    move = standing.moves.get(None) or self._plan.move(
                        True, standing, None, table.cells_of_fetch(table.idle)
                    )
                    self._exchanges[number] = move.to
                    self._carried[number] = ()
                    moves.append((number, move, OF_PAIRS[0, old, ()] if old else NO_DIFFERENCE))
        for alter in network.alters:
            if alter.idle and self._exchanges[alter.number].cells[0] != table.alter_idle[0]:
                moves.append(self._alter_move(alter))
        self._finish(start, what[1], moves)

    def blocked(self, *what: Any) -> None:
        """A rule refused an action."""
        self._out += self._plan.refusals.get(what) or self._plan.refusal(what)
        self.records += 1
        self._idle += 1

    def end(self, quiescent: bool, capacity: bool) -> bytes:
        """The end record; returns the whole stream."""
        return finished(self._out, self.records, quiescent, capacity)

    # --- what changed ---------------------------------------------------------------------------------------------

    def _finish(self, start: int, broker: int, moves: Sequence[tuple[int, Move, Difference]] = ()) -> None:
        """The delta of the record that begins at byte `start`. `moves`: per exchange that moved its number, the move,
        and the difference of the records on their way."""
        out, count, behind = self._out, 0, 0
        size = len(out)
        out.append(0)
        try:
            if self._control.changed:
                count, behind = self._write_controller()
            if self._changes[broker].mask:
                count, behind = self._write_host(broker, count, behind)
        except CapacityExceeded:
            del out[start:]
            raise
        for number, move, (cells, first, ending, end) in moves:
            place = self._places[number]
            out += VARINT[place - behind]
            if cells:
                out += move.tag
                out += VARINT[first]
                out += ending
                count += 1 + cells
                behind = place + 1 + end
                cells, first, ending, end = move.rest
                if cells:
                    out += VARINT[place + first - behind]
                    out += ending
                    count += cells
                    behind = place + end
            else:
                out += move.ending
                count += move.count
                behind = place + move.behind
        self.records += 1
        if count < 128:
            out[size] = count
            if not count:
                self._idle += 1
        else:
            out[size : size + 1] = VARINT[count]

    def _write_host(self, broker: int, count: int, behind: int) -> tuple[int, int]:
        """What a broker has marked, behind `count` cells of which the last is the one before `behind`. The new count,
        and the cell behind the last."""
        out, see, kept, host, changes = (
            self._out,
            self.abstraction,
            self._kept,
            self._hosts[broker],
            self._changes[broker],
        )
        mask, changes.mask = changes.mask, 0
        for number, place, kind, compute in self._of_mark[broker].get(mask) or self._plan.units_of(broker, mask):
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
        return count, behind

    def _alter_move(self, connection: AlterConnection) -> tuple[int, Move, Difference]:
        """How an exchange with the controller has moved."""
        number, key = connection.number, self.abstraction.alter(connection)
        standing = self._exchanges[number]
        move = standing.moves.get(key) or self._plan.move(False, standing, key, key)
        self._exchanges[number] = move.to
        return number, move, NO_DIFFERENCE

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
        for row in self._network.fetches:
            for connection in row:
                first = plan.first_of_exchange[connection.number]
                put(first, table.cells_of_fetch(see.fetch(connection)))
                put(first + table.at_batch, sequence(see.batch_cells(see.fetched(connection))))
        for alter in self._network.alters:
            put(plan.first_of_exchange[alter.number], see.alter(alter))
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
