"""The recorder: after each handler it looks at what changed, maps it to the specification's cells and writes the delta.

It writes the delta stream of docs/trace-format.md directly. What is written is what really differs from what was
written
last, unit by unit; marks in the implementation only say which units to look at (a test compares with looking at all).

Three kinds of units, by how they are compared: a number; a tuple of cells, whose differences repeat a lot and are kept
as bytes; a sequence, of which only what follows the common part is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import crc32c

from tidemark import changes as marks
from tidemark.controller.replication_control import PARTITION, REGISTRATIONS
from tidemark.replication.abstraction import Abstraction, CapacityExceeded, Table
from tidemark.sim.cluster import Cluster

STEP, BLOCKED, STUTTER, END = range(4)
QUIESCENT, CAPACITY = 1, 2
NUMBER, TUPLE, SEQUENCE = range(3)

BROKER_UNITS: dict[int, tuple[str, ...]] = {
    marks.LOG: ("log", "produced"),
    marks.FLUSHED: ("flushed",),
    marks.EPOCHS: ("epochCache",),
    marks.HIGH_WATERMARK: ("highWatermark",),
    marks.CHECKPOINT: ("checkpoint",),
    marks.ROLE: ("view",),
    marks.EPOCH_START: ("epochStart",),
    marks.REMOTE: ("remoteLeo", "remoteEpoch"),
    marks.PENDING: ("pendingIsr",),
    marks.PURGATORY: ("waiting",),
    marks.FETCH_STATE: ("lastFetchedEpoch",),
    marks.PROCESS: ("status", "brokerEpoch"),
}
"""Which variables a mark concerns, for the broker that carries it."""

OF_BROKERS: dict[str, tuple[Any, ...]] = {
    "registered": (TUPLE, Abstraction.registered),
    "status": (NUMBER, Abstraction.status),
    "brokerEpoch": (NUMBER, Abstraction.broker_epoch),
    "view": (TUPLE, Abstraction.view),
    "log": (SEQUENCE, Abstraction.log, Abstraction.batch_cells, 2),
    "flushed": (NUMBER, Abstraction.flushed),
    "epochCache": (SEQUENCE, Abstraction.epoch_cache, Abstraction.epoch_entry_cells, 2),
    "highWatermark": (NUMBER, Abstraction.high_watermark),
    "checkpoint": (NUMBER, Abstraction.checkpoint),
    "epochStart": (NUMBER, Abstraction.epoch_start),
    "remoteLeo": (TUPLE, Abstraction.remote_leo),
    "remoteEpoch": (TUPLE, Abstraction.remote_epoch),
    "pendingIsr": (TUPLE, Abstraction.pending_isr),
    "waiting": (TUPLE, Abstraction.waiting),
    "lastFetchedEpoch": (NUMBER, Abstraction.last_fetched_epoch),
}
"""Variables with one unit per broker: the unit's kind, its cells (or elements), of a sequence an element's cells and
how
many cells an item has."""

Kept = tuple[list[Any], list[int], list[int]]
"""A sequence as it was written last: its elements, all their cells, and per element the index behind its cells."""

MOST_DIFFERENCES = 200_000
"""So many differences of tuples are kept as bytes before they are forgotten."""


def varint(out: bytearray, number: int) -> None:
    """Append an unsigned number in LEB128."""
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)


class Unit(NamedTuple):
    """A unit: its first cell, how it is compared, what computes it, and the index of what it is computed from in
    `Recorder._parts`; what it is of ((variable, broker) or ("fetch", follower, source)); of a sequence, what gives an
    element's cells, and how many cells an item has."""

    first: int
    kind: int
    compute: Callable[..., Any]
    part: int
    of: tuple[Any, ...]
    element: Callable[..., Any] | None = None
    width: int = 0


class Plan:
    """What all traces of a trace header share: actions, units, which units a mark concerns, the bytes of what repeats.

    Broker ids stand for names, None for no leader.
    """

    def __init__(self, header: dict[str, Any], table: Table) -> None:
        self.table = table
        self._nodes = len(header["nodes"])
        self._actions = _actions(header, table)
        self.prefixes: dict[tuple[Any, ...], bytes] = {}
        self.units = _units(table)
        self.number_of = {unit.of: number for number, unit in enumerate(self.units)}
        self.of_connection = [
            self.number_of["fetch", follower, source]
            for follower in range(table.count)
            for source in range(table.count)
        ] + [self.number_of["alter", broker] for broker in range(table.count)]
        self.of_mark: list[dict[int, tuple[int, ...]]] = [{} for _ in range(table.count)]
        self.registrations = [self.number_of["registered", broker] for broker in range(table.count)]
        self.sequences = [number for number, unit in enumerate(self.units) if unit.kind == SEQUENCE]
        self.beginnings: dict[int, tuple[bytes, list[Any]]] = {}
        self.differences: dict[tuple[Any, ...], tuple[int, int, bytes, int]] = {}

    def prefix(self, key: tuple[Any, ...]) -> bytes:
        """The bytes of `(kind, action name, node, parameters...)`; `node` is a broker's id, their number for the
        controller, or -1 for nowhere.

        Raises CapacityExceeded for a parameter outside its domain, ValueError for an action that the header has not.
        """
        found = self.prefixes.get(key)
        if found is None:
            found = self.prefixes[key] = self._encode(*key)
        return found

    def _encode(self, kind: int, action: str, node: int, *params: Any) -> bytes:
        if action not in self._actions or len(self._actions[action][1]) != len(params):
            raise ValueError(f"the header has no action {action} with {len(params)} parameters")
        number, domains = self._actions[action]
        out = bytearray()
        varint(out, kind + 4 * (number + 1))
        varint(out, node + 1 if node < self._nodes else 0)
        for domain, param in zip(domains, params, strict=True):
            if param not in domain:
                raise CapacityExceeded(f"parameter {param} of {action}")
            varint(out, domain[param])
        return bytes(out)

    def units_of(self, broker: int, mask: int) -> tuple[int, ...]:
        """The units that a broker's marks concern, in the order of their cells."""
        names = {name for mark, concerned in BROKER_UNITS.items() if mask & mark for name in concerned}
        keys = [("produced",) if name == "produced" else (name, broker) for name in names]
        found = self.of_mark[broker][mask] = tuple(sorted(self.number_of[key] for key in keys))
        return found

    def difference(self, old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, int, bytes, int]:
        """From one tuple of cells to another: how many differ, the first that does, the bytes from its value on, and
        the
        index behind the last one."""
        count, first, behind = 0, 0, 0
        out = bytearray()
        for index, (a, b) in enumerate(zip(old, new, strict=True)):
            if a != b:
                if count:
                    varint(out, index - behind)
                else:
                    first = index
                varint(out, b + b if b >= 0 else -b - b - 1)
                count += 1
                behind = index + 1
        if len(self.differences) >= MOST_DIFFERENCES:
            self.differences.clear()
        found = self.differences[old, new] = (count, first, bytes(out), behind)
        return found


def _actions(header: dict[str, Any], table: Table) -> dict[str, tuple[int, list[dict[Any, int]]]]:
    """Per action its number, and per parameter the number of each value."""
    names: dict[Any, int | None] = {name: index for index, name in enumerate(table.brokers)}
    names[header["constants"]["None"]] = None
    return {
        action["name"]: (
            number,
            [
                {names.get(value, value) if isinstance(value, str) else value: i for i, value in enumerate(domain)}
                for domain in action["params"].values()
            ],
        )
        for number, action in enumerate(header["actions"])
    }


def _units(table: Table) -> list[Unit]:
    """All units, in the order of their cells. Parts: hosts, then fetch connections, then alter connections, then
    None."""
    count = table.count
    nothing = count + count * count + count
    units = [
        Unit(
            table.offset("metadata"),
            SEQUENCE,
            Abstraction.metadata,
            nothing,
            ("metadata",),
            Abstraction.change_cells,
            4,
        ),
        Unit(table.offset("produced"), NUMBER, Abstraction.produced, nothing, ("produced",)),
    ]
    for broker in range(count):
        for variable, (kind, compute, *sequence) in OF_BROKERS.items():
            first = table.offset(variable) + broker * (table.variables[variable]["cells"] // count)
            units.append(Unit(first, kind, compute, broker, (variable, broker), *sequence))
        for source in range(count):
            number = broker * count + source
            first = table.offset("fetch") + table.fetch_cells * number
            units.append(Unit(first, TUPLE, Abstraction.fetch, count + number, ("fetch", broker, source)))
        first = table.offset("alter") + table.alter_cells * broker
        units.append(Unit(first, TUPLE, Abstraction.alter, count + count * count + broker, ("alter", broker)))
    return sorted(units, key=lambda unit: unit.first)


class Recorder:
    """Writes one trace of a cluster. `records` counts what was written, the initial state included; `changing` the
    steps
    that changed something."""

    __slots__ = ("_cluster", "_last", "_out", "_parts", "_plan", "_seen", "abstraction", "changing", "records")

    def __init__(self, plan: Plan, cluster: Cluster) -> None:
        self.abstraction = Abstraction(plan.table, cluster.control, cluster.metadata)
        self.records = 0
        self.changing = 0
        self._plan = plan
        self._cluster = cluster
        network = cluster.network
        self._parts: list[Any] = [
            *cluster.hosts,
            *[connection for row in network.fetches for connection in row],
            *network.alters,
            None,
        ]
        self._last: list[Any] = []
        self._out = bytearray()

    # --- records --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The first record: the whole state as it is. All clusters that begin with the same leader begin alike."""
        self._dirty()
        leader = self._cluster.control.partition.leader
        known = self._plan.beginnings.get(-1 if leader is None else leader)
        if known is None:
            self._last = [self._zero(unit) for unit in self._plan.units]
            self._out += b"\x02\x00"
            self._write(range(len(self._plan.units)))
            known = bytes(self._out), self._last
            self._plan.beginnings[-1 if leader is None else leader] = known
        self._out = bytearray(known[0])
        self._last = list(known[1])
        for number in self._plan.sequences:
            elements, cells, ends = self._last[number]
            self._last[number] = (list(elements), list(cells), list(ends))
        self.records = 1

    def _zero(self, unit: Unit) -> Any:
        """A unit of zeros, as it is kept."""
        if unit.kind == TUPLE:
            return (0,) * len(unit.compute(self.abstraction, self._parts[unit.part]))
        return 0 if unit.kind == NUMBER else ([], [], [])

    def step(self, action: str, node: int, *params: Any) -> None:
        """A handler has run: the action that it is, where, and its parameters' values. Raises CapacityExceeded, and
        then
        the trace must end as it was before."""
        out, plan = self._out, self._plan
        mark = len(out)
        key = (STEP, action, node, *params)
        out += plan.prefixes.get(key) or plan.prefix(key)
        try:
            changing = self._write(self._dirty())
        except CapacityExceeded:
            del out[mark:]
            raise
        self.changing += changing
        self.records += 1

    def blocked(self, action: str, node: int, *params: Any) -> None:
        """A rule refused an action."""
        self._out += self._plan.prefix((BLOCKED, action, node, *params))
        self._out.append(0)
        self.records += 1

    def end(self, quiescent: bool, capacity: bool) -> bytes:
        """The end record; returns the whole stream."""
        out = self._out
        out.append(END)
        out.append(QUIESCENT * quiescent + CAPACITY * capacity)
        varint(out, self.records)
        out += crc32c.crc32c(bytes(out)).to_bytes(4, "little")
        return bytes(out)

    # --- what changed ---------------------------------------------------------------------------------------------

    def _dirty(self) -> list[int]:
        """The units to look at, in the order of their cells; all marks are taken back."""
        cluster, plan = self._cluster, self._plan
        units: list[int] = []
        for host in cluster.hosts:
            mask = host.changes.mask
            if mask:
                host.changes.mask = 0
                units += plan.of_mark[host.id].get(mask) or plan.units_of(host.id, mask)
        moved = cluster.network.moved
        if moved:
            for number in moved:
                units.append(plan.of_connection[number])
            moved.clear()
        changed = cluster.control.changed
        if changed:
            cluster.control.changed = 0
            if changed & PARTITION:
                units.append(plan.number_of["metadata",])
            if changed & REGISTRATIONS:
                units += plan.registrations
        if len(units) > 1:
            units.sort()
        return units

    def _write(self, units: Iterable[int]) -> bool:
        """Append the delta of these units; whether there is one."""
        body = bytearray()
        count = 0
        behind = 0  # the cell after the last one written
        plan, last, parts, see = self._plan, self._last, self._parts, self.abstraction
        table, differences = plan.units, plan.differences
        previous = -1
        for number in units:
            if number == previous:
                continue
            previous = number
            unit = table[number]
            first, kind, compute, part = unit[:4]
            new, old = compute(see, parts[part]), last[number]
            if kind == SEQUENCE:
                changed, behind = self._sequence(body, behind, unit, old, new)
                count += changed
                continue
            if new == old:
                continue
            last[number] = new
            if kind == NUMBER:
                gap = first - behind
                behind = first + 1
                count += 1
                if gap > 127:
                    body.append(gap & 127 | 128)
                    gap >>= 7
                body.append(gap)
                body.append(new + new if new >= 0 else -new - new - 1)
                continue
            found = differences.get((old, new)) or plan.difference(old, new)
            changed, start, ending, end = found
            gap = first + start - behind
            behind = first + end
            count += changed
            if gap > 127:
                body.append(gap & 127 | 128)
                gap >>= 7
            body.append(gap)
            body += ending
        out = self._out
        if count > 127:
            varint(out, count)
        else:
            out.append(count)
        out += body
        return count > 0

    def _sequence(self, body: bytearray, behind: int, unit: Unit, kept: Kept, new: Sequence[Any]) -> tuple[int, int]:
        """Append what follows the common part of two sequences, and keep the new one: how many cells changed, and the
        cell
        behind the last of them.

        Sequences change at their end: an element that is the same object at the same place has the same ones before it.
        """
        elements, cells, ends = kept
        common = min(len(elements), len(new))
        while common and elements[common - 1] is not new[common - 1]:
            common -= 1
        if common == len(elements) == len(new):
            return 0, behind
        start = ends[common - 1] if common else 0
        before = cells[start:]
        if before:
            del elements[common:], cells[start:], ends[common:]
        cells_of = unit.element
        if cells_of is not None:
            for element in new[common:]:
                elements.append(element)
                cells += cells_of(self.abstraction, element)
                ends.append(len(cells))
        after = cells[start:]
        count = 0
        if len(before) != len(after):
            count = 1
            varint(body, unit.first - behind)
            body.append(2 * (len(cells) // unit.width))
            behind = unit.first + 1
        for index, (a, b) in enumerate(zip_longest(before, after, fillvalue=0), unit.first + 1 + start):
            if a != b:
                count += 1
                gap = index - behind
                if gap > 127:
                    varint(body, gap)
                else:
                    body.append(gap)
                body.append(b + b)
                behind = index + 1
        return count, behind

    def full_state(self) -> list[int]:
        """Every cell, computed afresh: what a test compares the written deltas with."""
        cells: list[int] = []
        for unit in self._plan.units:
            cells += [0] * (unit.first - len(cells))
            found = unit.compute(self.abstraction, self._parts[unit.part])
            if unit.kind == NUMBER:
                cells.append(found)
            elif unit.kind == TUPLE:
                cells += found
            elif unit.element is not None:
                flat = [cell for element in found for cell in unit.element(self.abstraction, element)]
                cells += [len(flat) // unit.width, *flat]
        return cells + [0] * (self._plan.table.cells - len(cells))
