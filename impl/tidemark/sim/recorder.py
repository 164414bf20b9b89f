"""The recorder: after each handler it looks at what changed, maps it to the specification's cells and writes the delta.

A handler changes one broker at most, the one that its action's first parameter names; what changed is written in the
order of the cells: the controller's part, that broker's, the exchanges. Brokers and the controller mark what they
change; of the exchanges each kind of step knows which have moved. encoding.py says what recorders of the same trace
header share, and how units of cells differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidemark.cells import Cells
from tidemark.changes import LOG, PRODUCED, PURGATORY
from tidemark.controller.replication_control import PARTITION, REGISTRATIONS, BrokerRegistration
from tidemark.errors import NONE
from tidemark.log.storage import RecordBatch
from tidemark.replication.abstraction import Abstraction, Host
from tidemark.sim.cluster import Cluster
from tidemark.sim.encoding import (
    OF_CELLS,
    OF_CHANGES,
    OF_RECORDS,
    Beginning,
    Move,
    Plan,
    Standing,
)
from tidemark.sim.network import AlterConnection, FetchConnection
from tidemark.sim.stream import STUTTER, VARINT, Difference, difference, finished

Part = tuple[int, Difference]
"""A part of a delta: the place that its difference counts from."""
Delta = tuple[bytes, int, int]
"""A delta as far as it is written: its bytes, how many cells, and the cell behind the last of them."""
NOTHING: Delta = (b"", 0, 0)


class Recorder:
    """Writes one trace of a cluster. `records` counts what was written, the initial state included; `changing` the
    steps that changed something.

    What was written last: `_kept`, per unit its key, or a log's batches; `_metadata`, the number of the partition's
    changes; `_registered`; `_exchanges`, how the exchanges stand, and `_carried`, the cells of the records on their
    way. `_places` are the exchanges' first cells; `_idle` counts records that change nothing.
    """

    __slots__ = (
        "_appends",
        "_at_metadata",
        "_at_registered",
        "_carried",
        "_changes",
        "_control",
        "_exchanges",
        "_hosts",
        "_idle",
        "_kept",
        "_metadata",
        "_network",
        "_of_appends",
        "_of_mark",
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
        self._of_appends = plan.of_appends
        self._appends = plan.appends
        self._places = plan.first_of_exchange
        self._at_metadata = plan.table.offset("metadata")
        self._at_registered = plan.table.offset("registered")
        self._control = cluster.control
        self._hosts: Sequence[Host] = cluster.hosts
        self._changes = [host.changes for host in cluster.hosts]
        self._network = cluster.network
        self._out = bytearray()
        self._kept: list[Any] = []
        self._metadata = 0
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
        units = [unit.compute(see, hosts[unit.broker]) for unit in plan.units]
        kept = (
            [unit[:] if isinstance(unit, list) else unit for unit in units],
            [(self._control.registrations[host.id], see.registered(host)) for host in hosts],
            [plan.idle(number < plan.fetches) for number in range(len(self._places))],
            [()] * plan.fetches,
        )
        return bytes([STUTTER, 0]) + VARINT[count] + VARINT[first] + ending, kept, len(see.metadata())

    def step(self, *what: Any) -> None:
        """A handler has run: `what` is the action that it is and its parameters' values, the broker first. No exchange
        has moved.

        Raises CapacityExceeded, and then the trace must end as it was before; so do the other kinds of step.
        """
        delta, count, _ = self._marked(what[1])
        self._write(what, delta, count)

    def fetch(self, connection: FetchConnection, *what: Any) -> None:
        """A step with which a fetch exchange has moved on. Most are nothing but that."""
        number, response, see = connection.number, connection.response, self.abstraction
        key: Any  # what tells this move from others
        batches: Sequence[RecordBatch] = ()
        if response is None:
            request = connection.request
            if request is None:
                key = None
            elif connection.read is None:
                key = (
                    request.current_leader_epoch,
                    request.fetch_offset,
                    request.last_fetched_epoch,
                    request.broker_epoch,
                )
            else:
                key = see.fetch(connection)
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
            self._out += move.records.get(what) or self._alone(what, number, move)
            self.records += 1
            return
        delta, count, behind = self._marked(what[1])
        place = self._places[number]
        if batches or old:
            new = self._carried[number] = see.batch_cells(batches) if batches else ()
            delta, count, _ = joined(with_records(place, move, old, new), (delta, count, behind))
        else:
            cells, first, ending, _ = move.whole
            delta += VARINT[place + first - behind] + ending
            count += cells
        self._write(what, delta, count)

    def alter(self, connection: AlterConnection, *what: Any) -> None:
        """A step with which an exchange with the controller has moved on."""
        delta, count, _ = joined([self._altered(connection)], self._marked(what[1]))
        self._write(what, delta, count)

    def append(self, *what: Any) -> None:
        """A step with which a leader has appended what a client sent. Mostly there is one record more, which may wait,
        and nothing else: then little decides what is written, and it is made once."""
        broker, see, kept = what[1], self.abstraction, self._kept
        host, changes = self._hosts[broker], self._changes[broker]
        log, produced, waiting = self._of_appends[broker]
        mask, batches, old, waited = changes.mask, host.storage.batches, kept[log], kept[waiting]
        size = len(old)
        grown = len(batches) == size + 1 and (not size or batches[size - 1] is old[-1])
        key: tuple[Any, ...] = ()
        if grown and mask & ~PURGATORY == LOG | PRODUCED:
            batch = batches[size]
            value = see.value(batch.records[-1])
            waits = see.waiting(host) if mask & PURGATORY else waited
            came = waits[len(waited) :]
            if waits == waited + came:
                key = what, came, batch.base_offset, batch.leader_epoch, len(batch.records)
        record = self._appends.get(key)
        if record is not None:
            changes.mask = 0
            kept[log], kept[produced], kept[waiting] = batches[:], value, waits
            self._out += record
            self.records += 1
            return
        start = len(self._out)
        self.step(*what)
        if key:
            self._appends[key] = bytes(self._out[start:])

    def ends(self, *what: Any) -> None:
        """A step with which a broker's process has ended: some of its connections are gone."""
        network, table = self._network, self._plan.table
        parts: list[Part] = []
        for row in network.fetches:
            for connection in row:
                number = connection.number
                standing = self._exchanges[number]
                if connection.request is None and standing.cells[0] != table.idle[0]:
                    move = standing.moves.get(None)
                    if move is None:
                        move = self._plan.move(True, standing, None, table.cells_of_fetch(table.idle))
                    self._exchanges[number] = move.to
                    parts += with_records(self._places[number], move, self._carried[number], ())
                    self._carried[number] = ()
        for alter in network.alters:
            if alter.idle and self._exchanges[alter.number].cells[0] != table.alter_idle[0]:
                parts.append(self._altered(alter))
        delta, count, _ = joined(parts, self._marked(what[1]))
        self._write(what, delta, count)

    def blocked(self, *what: Any) -> None:
        """A rule refused an action."""
        self._out += self._plan.refusals.get(what) or self._plan.refusal(what)
        self.records += 1
        self._idle += 1

    def end(self, quiescent: bool, capacity: bool) -> bytes:
        """The end record; returns the whole stream."""
        return finished(self._out, self.records, quiescent, capacity)

    # --- what changed ---------------------------------------------------------------------------------------------

    def _marked(self, broker: int) -> Delta:
        """What the controller and a broker have marked."""
        delta, count, behind = self._controller() if self._control.changed else NOTHING
        changes = self._changes[broker]
        mask = changes.mask
        if not mask:
            return delta, count, behind
        changes.mask = 0
        see, kept, host = self.abstraction, self._kept, self._hosts[broker]
        for number, place, compute, differences in self._of_mark[broker].get(mask) or self._plan.units_of(broker, mask):
            new = compute(see, host)
            old = kept[number]
            if differences is None:
                size = len(old)
                if len(new) == size + 1 and (not size or new[size - 1] is old[-1]):  # mostly one batch more
                    batch = new[size]
                    cells, first, ending, end = OF_RECORDS[batch.base_offset, (), see.batch_cells((batch,))]
                else:
                    cells, first, ending, end = self._log(old, new)
                kept[number] = new[:]
            else:
                cells, first, ending, end = differences[old, new]
                kept[number] = new
            if cells:
                delta += VARINT[place + first - behind] + ending
                behind = place + end
                count += cells
        return delta, count, behind

    def _log(self, old: Sequence[RecordBatch], new: Sequence[RecordBatch]) -> Difference:
        """How a log has changed: it grows or shrinks at its end. A batch that is the same object at the same place has
        the same ones before it."""
        cells_of, common = self.abstraction.batch_cells, min(len(old), len(new))
        while common and old[common - 1] is not new[common - 1]:
            common -= 1
        stay = new[common - 1].next_offset if common else 0
        before = cells_of(old[common:]) if common < len(old) else ()
        return OF_RECORDS[stay, before, cells_of(new[common:])]

    def _alone(self, what: tuple[Any, ...], number: int, move: Move) -> bytes:
        """The record of a step that is nothing but a move of an exchange, kept with the move."""
        count, first, ending, _ = move.whole
        head = self._steps.get(what) or self._plan.step(what)
        record = move.records[what] = head + VARINT[count] + VARINT[self._places[number] + first] + ending
        return record

    def _altered(self, connection: AlterConnection) -> Part:
        """How an exchange with the controller has moved."""
        number, key = connection.number, self.abstraction.alter(connection)
        standing = self._exchanges[number]
        move = standing.moves.get(key) or self._plan.move(False, standing, key, key)
        self._exchanges[number] = move.to
        return self._places[number], move.whole

    def _controller(self) -> Delta:
        """The partition's changes, the registrations."""
        see, control = self.abstraction, self._control
        table, changed = see.table, control.changed
        control.changed = 0
        parts: list[Part] = []
        if changed & PARTITION:
            changes, known = see.metadata(), self._metadata
            self._metadata = len(changes)
            parts.append((self._at_metadata, OF_CHANGES[known, (), see.change_cells(changes[known:])]))
        if changed & REGISTRATIONS:
            place = self._at_registered
            for broker, registration in control.registrations.items():
                seen, old = self._registered[broker]
                if registration is not seen:
                    new = see.registered(self._hosts[broker])
                    self._registered[broker] = registration, new
                    parts.append((place + table.registered_cells * broker, OF_CELLS[old, new]))
        return joined(parts, NOTHING)

    def _write(self, what: tuple[Any, ...], delta: bytes, count: int) -> None:
        """Write a record with a delta of so many cells."""
        self._out += (self._steps.get(what) or self._plan.step(what)) + VARINT[count] + delta
        self.records += 1
        if not count:
            self._idle += 1

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
            found = unit.compute(see, self._hosts[unit.broker])
            leaf = unit.differences
            put(unit.place, sequence(see.batch_cells(found)) if leaf is None else leaf.cells(found))
        for row in self._network.fetches:
            for connection in row:
                first = plan.first_of_exchange[connection.number]
                put(first, table.cells_of_fetch(see.fetch(connection)))
                put(first + table.at_batch, sequence(see.batch_cells(see.fetched(connection))))
        for alter in self._network.alters:
            put(plan.first_of_exchange[alter.number], see.alter(alter))
        return cells


def joined(parts: Sequence[Part], behind_it: Delta) -> Delta:
    """A delta with some parts more."""
    delta, count, behind = behind_it
    for place, (cells, first, ending, end) in parts:
        if cells:
            delta += VARINT[place + first - behind] + ending
            behind = place + end
            count += cells
    return delta, count, behind


def with_records(place: int, move: Move, old: Cells, new: Cells) -> list[Part]:
    """The move of an exchange that begins at cell `place`; `old` and `new` are the cells of the records in it."""
    if old == new:
        return [(place, move.whole)]
    return [(place, move.tag), (place + 1, OF_RECORDS[0, old, new]), (place, move.rest)]
