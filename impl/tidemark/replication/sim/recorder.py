"""The recorder: after each handler it looks at what changed, maps it to the specification's cells and writes the delta.

A handler changes one broker at most, the one that its action's first parameter names; what changed is written in the
order of the cells: the controller's part, that broker's, the exchanges. Brokers and the controller mark what they
change; of the exchanges each kind of step knows which have moved. encoding.py says what recorders of the same trace
header share, and how units of cells differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidemark.replication.abstraction import Abstraction, Host
from tidemark.replication.controller.replication_control import PARTITION, REGISTRATIONS, BrokerRegistration
from tidemark.replication.sim.cluster import Cluster
from tidemark.replication.sim.encoding import OF_CHANGES, Beginning, LogAt, MapAt, Plan, cells_of_map
from tidemark.replication.sim.network import AlterConnection, FetchConnection, ReadConnection
from tidemark.trace.cells import Cells
from tidemark.trace.recording import undeclared
from tidemark.trace.stream import STUTTER, VARINT, difference, finished
from tidemark.trace.units import At

Delta = tuple[bytes, int, int]
"""A delta as far as it is written: its bytes, how many cells, and the cell behind the last of them."""
NOTHING: Delta = (b"", 0, 0)


class Recorder:
    """Writes one trace of a cluster. `records` counts what was written, the initial state included; `changing` the
    steps that changed something.

    What was written last: `_at` and `_exchanges`, how units and exchanges stand; `_metadata`, the number of the
    partition's changes; `_registered`. Of exchanges `_keys` reads the keys, `_places` are the first cells; `_idle`
    counts records that change nothing.
    """

    __slots__ = (
        "_at",
        "_at_metadata",
        "_at_registered",
        "_changes",
        "_connections",
        "_control",
        "_exchanges",
        "_hosts",
        "_idle",
        "_keys",
        "_metadata",
        "_of_mark",
        "_out",
        "_places",
        "_plan",
        "_refusals",
        "_registered",
        "_steps",
        "_watched",
        "abstraction",
        "records",
    )

    def __init__(self, plan: Plan, cluster: Cluster) -> None:
        self.abstraction = Abstraction(plan.table, cluster.control, cluster.metadata)
        self.records = 0
        self._idle = 0
        self._watched = -1
        self._plan = plan
        self._steps = plan.steps
        self._of_mark = plan.of_mark
        self._places = plan.exchanges
        self._refusals = plan.refusals
        self._at_metadata = plan.table.offset("metadata")
        self._at_registered = plan.table.offset("registered")
        self._control = cluster.control
        self._hosts: Sequence[Host] = cluster.hosts
        self._changes = [host.changes for host in cluster.hosts]
        self._connections = cluster.network.connections
        see, count = self.abstraction, plan.table.count
        self._keys: list[Callable[[Any], Any]] = [see.fetch] * count**2 + [see.alter] * count
        self._keys += [see.consumer] * (len(self._connections) - len(self._keys))
        self._out = bytearray()
        self._at: list[At] = []
        self._exchanges: list[At] = []
        self._metadata = 0
        self._registered: list[tuple[BrokerRegistration, At]] = []

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
        first, at, exchanges, registered, self._metadata = plan.beginnings[key]
        self._out = bytearray(first)
        self._at = at[:]
        cells_of = self.abstraction.batch_cells
        for number, is_log in plan.own:
            self._at[number] = LogAt(at[number], cells_of) if is_log else MapAt(at[number])
        self._exchanges = exchanges[:]
        self._registered = registered[:]
        for changes in self._changes:
            changes.mask = 0
        self._control.changed = 0
        self.records = 1

    def _first_record(self) -> Beginning:
        """The bytes of the initial state, and what is kept then."""
        plan, see, hosts = self._plan, self.abstraction, self._hosts
        state = tuple(self.full_state())
        count, first, ending, _ = difference((0,) * len(state), state, 0)
        at: list[Any] = [unit.compute(see, hosts[unit.broker]) for unit in plan.units]
        for number, unit in enumerate(plan.units):
            at[number] = at[number][:] if unit.leaf is None else unit.leaf.at(at[number])
        keys = [key_of(connection) for key_of, connection in zip(self._keys, self._connections, strict=True)]
        exchanges: list[At] = [leaf.at(key) for leaf, key in zip(plan.of_exchanges, keys, strict=True)]
        registered: list[tuple[BrokerRegistration, At]] = [
            (self._control.registrations[host.id], plan.of_registrations.at(see.registered(host))) for host in hosts
        ]
        record = bytes([STUTTER, 0]) + VARINT[count] + VARINT[first] + ending
        return record, at, exchanges, registered, len(see.metadata())

    def step(self, what: tuple[Any, ...]) -> None:
        """A handler has run: `what` is the action that it is and its parameters' values, the broker first. No exchange
        has moved.

        Raises CapacityExceeded, and then the trace must end as it was before; so do the other kinds of step.
        """
        delta, count, _ = self._marked(what[1])
        self._out += self._steps[what] + VARINT[count] + delta
        self.records += 1
        if not count:
            self._idle += 1
        if self._watched >= 0:
            self._look_at_all(what)

    def moved(self, connection: FetchConnection | AlterConnection, what: tuple[Any, ...]) -> None:
        """A step with which an exchange has moved on."""
        number, exchanges = connection.number, self._exchanges
        if self._changes[what[1]].mask or self._control.changed:
            delta, count, behind = self._marked(what[1])
        else:
            delta, count, behind = NOTHING
        move = exchanges[number][self._keys[number](connection)]
        if move is not None:
            changed, first, ending, _, exchanges[number] = move
            ending = VARINT[self._places[number] + first - behind] + ending
            self._out += self._steps[what] + VARINT[count + changed] + delta + ending
        else:
            self._out += self._steps[what] + VARINT[count] + delta
            self._idle += not count
        self.records += 1
        if self._watched >= 0:
            self._look_at_all(what)

    def read(self, connection: ReadConnection, what: tuple[Any, ...]) -> None:
        """A step of a consumer's exchange, which changes nothing else."""
        number, exchanges = connection.number, self._exchanges
        move = exchanges[number][self._keys[number](connection)]
        if move is not None:
            changed, first, ending, _, exchanges[number] = move
            self._out += self._steps[what] + VARINT[changed] + VARINT[self._places[number] + first] + ending
        else:
            self._out += self._steps[what] + VARINT[0]
            self._idle += 1
        self.records += 1
        if self._watched >= 0:
            self._look_at_all(what)

    def ends(self, what: tuple[Any, ...]) -> None:
        """A step with which a broker's process has ended: some of its connections are gone."""
        delta, count, behind = self._marked(what[1])
        exchanges = self._exchanges
        for number, connection in enumerate(self._connections):
            if connection.request is None:
                move = exchanges[number][self._keys[number](connection)]
                if move is not None:
                    changed, first, ending, end, exchanges[number] = move
                    delta += VARINT[self._places[number] + first - behind] + ending
                    behind = self._places[number] + end
                    count += changed
        self._out += self._steps[what] + VARINT[count] + delta
        self.records += 1
        if self._watched >= 0:
            self._look_at_all(what)

    def blocked(self, what: tuple[Any, ...]) -> None:
        """A rule refused an action."""
        self._out += self._refusals[what]
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
        see, at, host = self.abstraction, self._at, self._hosts[broker]
        for number, place, compute in self._of_mark[broker][mask]:
            move = at[number][compute(see, host)]
            if move is not None:
                changed, first, ending, end, at[number] = move
                delta += VARINT[place + first - behind] + ending
                behind = place + end
                count += changed
        return delta, count, behind

    def _controller(self) -> Delta:
        """The partition's changes, the registrations."""
        see, control = self.abstraction, self._control
        marked = control.changed
        control.changed = 0
        delta, count, behind = NOTHING
        if marked & PARTITION:
            changes, known = see.metadata(), self._metadata
            self._metadata = len(changes)
            count, first, delta, end = OF_CHANGES[known, (), see.change_cells(changes[known:])]
            if count:
                delta = VARINT[self._at_metadata + first] + delta
                behind = self._at_metadata + end
        if marked & REGISTRATIONS:
            for broker, registration in control.registrations.items():
                seen, at = self._registered[broker]
                if registration is not seen:
                    move = at[see.registered(self._hosts[broker])]
                    if move is not None:
                        changed, first, ending, end, at = move
                        place = self._at_registered + see.table.registered_cells * broker
                        delta += VARINT[place + first - behind] + ending
                        behind = place + end
                        count += changed
                    self._registered[broker] = registration, at
        return delta, count, behind

    # --- all of it ------------------------------------------------------------------------------------------------

    def watch(self, seed: int) -> None:
        """From now on every step looks at the whole state, and raises UndeclaredChange for what stands otherwise than
        it is written: nobody has marked it."""
        self._watched = seed

    def _look_at_all(self, what: tuple[Any, ...]) -> None:
        unit = self._changed()
        if unit:
            raise undeclared(self._watched, self.records - 1, what, unit)

    def _changed(self) -> str:
        """What stands otherwise than it is written; "": nothing."""
        see, at, hosts, names = self.abstraction, self._at, self._hosts, self._plan.table.brokers
        if len(see.metadata()) != self._metadata:
            return "metadata"
        for host in hosts:
            if self._registered[host.id][1][see.registered(host)] is not None:
                return f"registered[{names[host.id]}]"
        for number, unit in enumerate(self._plan.units):
            if at[number][unit.compute(see, hosts[unit.broker])] is not None:
                return unit.variable if unit.broker < 0 else f"{unit.variable}[{names[unit.broker]}]"
        for number, connection in enumerate(self._connections):
            if self._exchanges[number][self._keys[number](connection)] is not None:
                row, source = divmod(number, len(hosts))  # alters stand behind all fetches, consumers behind these
                if row < len(hosts):
                    return f"fetch[{names[row]}][{names[source]}]"
                return f"alter[{names[source]}]" if row == len(hosts) else "consumer"
        return ""

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
            key = unit.compute(see, self._hosts[unit.broker])
            if unit.leaf is not None:
                put(unit.place, unit.leaf.all_cells(key))
            else:
                put(
                    unit.place,
                    sequence(see.batch_cells(key))
                    if unit.variable == "log"
                    else cells_of_map(key, max(key[::2], default=0)),
                )
        for number, connection in enumerate(self._connections):
            put(plan.exchanges[number], plan.of_exchanges[number].all_cells(self._keys[number](connection)))
        return cells
