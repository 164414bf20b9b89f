"""The recorder: after each handler it looks at what changed, maps it to the specification's cells and writes the delta.

It writes the delta stream of docs/trace-format.md directly. What is written is what really differs from the last cells,
unit by unit; marks in the implementation only say which units to look at (a test compares with looking at all).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import crc32c

from tidemark import changes as marks
from tidemark.controller.records import MetadataLog
from tidemark.controller.replication_control import PARTITION, REGISTRATIONS, ReplicationControl
from tidemark.replication.abstraction import Abstraction, CapacityExceeded, Cells, Host, Table
from tidemark.sim.network import FetchConnection, Network

STEP, BLOCKED, STUTTER, END = range(4)
QUIESCENT, CAPACITY = 1, 2

BROKER_UNITS: dict[int, tuple[str, ...]] = {
    marks.LOG: ("log", "flushed", "produced"),
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


def varint(out: bytearray, number: int) -> None:
    """Append an unsigned number in LEB128."""
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)


class Actions:
    """The actions of a trace header: the first bytes of a record, by kind, action, node and parameters' values.

    Broker ids stand for names, None for no leader. Filled as it is asked; shared by all traces of a table.
    """

    def __init__(self, header: dict[str, Any], table: Table) -> None:
        names: dict[Any, int | None] = {name: index for index, name in enumerate(table.brokers)}
        names[header["constants"]["None"]] = None
        self._nodes = len(header["nodes"])
        self.numbers: dict[str, int] = {}
        self._domains: list[list[dict[Any, int]]] = []
        for number, action in enumerate(header["actions"]):
            self.numbers[action["name"]] = number
            self._domains.append(
                [
                    {names.get(value, value) if isinstance(value, str) else value: i for i, value in enumerate(domain)}
                    for domain in action["params"].values()
                ]
            )
        self._known: dict[tuple[Any, ...], bytes] = {}

    def prefix(self, key: tuple[Any, ...]) -> bytes:
        """The bytes of `(kind, action name, node, parameters...)`; `node` is a broker's id, their number for the
        controller, or -1 for nowhere.

        Raises CapacityExceeded for a parameter outside its domain, ValueError for an action that the header has not.
        """
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._encode(*key)
        return found

    def _encode(self, kind: int, action: str, node: int, *params: Any) -> bytes:
        number = self.numbers.get(action)
        if number is None or len(self._domains[number]) != len(params):
            raise ValueError(f"the header has no action {action} with {len(params)} parameters")
        out = bytearray()
        varint(out, kind + 4 * (number + 1))
        varint(out, node + 1 if node < self._nodes else 0)
        for domain, param in zip(self._domains[number], params, strict=True):
            if param not in domain:
                raise CapacityExceeded(f"parameter {param} of {action}")
            varint(out, domain[param])
        return bytes(out)


class Recorder:
    """Writes one trace of a cluster. `records` counts what was written, the initial state included; `changing` the steps
    that changed something."""

    def __init__(
        self,
        table: Table,
        actions: Actions,
        hosts: list[Any],
        control: ReplicationControl,
        metadata: MetadataLog,
        network: Network,
    ) -> None:
        self.abstraction = Abstraction(table)
        self.records = 0
        self.changing = 0
        self._prefix = actions.prefix
        self._hosts = hosts
        self._control = control
        self._network = network
        self._compute: list[Callable[[], Cells]] = []
        self._first: list[int] = []
        self._unit_of: dict[Any, int] = {}
        self._units(table, metadata)
        self._last: list[Cells] = [()] * len(self._compute)
        self._plans: list[dict[int, tuple[int, ...]]] = [{} for _ in hosts]
        self._out = bytearray()

    # --- units ----------------------------------------------------------------------------------------------------

    def _units(self, table: Table, metadata: MetadataLog) -> None:
        """Number the units in the order of their cells."""
        see, control, network = self.abstraction, self._control, self._network
        found: list[tuple[int, Any, Callable[[], Cells]]] = [
            (table.offset("metadata"), "metadata", lambda: see.metadata(metadata)),
            (table.offset("produced"), "produced", see.produced),
        ]
        for index, host in enumerate(self._hosts):
            for variable, compute in self._broker_units(host, index, metadata).items():
                size = table.variables[variable]["cells"] // table.count
                found.append((table.offset(variable) + index * size, (index, variable), compute))
            for connection in network.fetches[index]:
                at = table.offset("fetch") + table.fetch_cells * (index * table.count + connection.source)
                found.append((at, connection, lambda c=connection: see.fetch(c)))
            alter = network.alters[index]
            at = table.offset("alter") + table.alter_cells * index
            found.append((at, alter, lambda a=alter: see.alter(a)))
        for at, key, compute in sorted(found, key=lambda unit: unit[0]):
            self._unit_of[key] = len(self._first)
            self._first.append(at)
            self._compute.append(compute)
        del control

    def _broker_units(self, host: Host, index: int, metadata: MetadataLog) -> dict[str, Callable[[], Cells]]:
        see, control = self.abstraction, self._control
        return {
            "registered": lambda: see.registered(control, metadata, index),
            "status": lambda: see.status(host),
            "brokerEpoch": lambda: see.broker_epoch(host, control, index),
            "view": lambda: see.view(host.broker),
            "log": lambda: see.log(host.storage),
            "flushed": lambda: see.flushed(host.storage),
            "epochCache": lambda: see.epoch_cache(host.storage, host.broker),
            "highWatermark": lambda: see.high_watermark(host.storage, host.broker),
            "checkpoint": lambda: see.checkpoint(host.storage),
            "epochStart": lambda: see.epoch_start(host.broker),
            "remoteLeo": lambda: see.remote_leo(host.broker),
            "remoteEpoch": lambda: see.remote_epoch(host.broker),
            "pendingIsr": lambda: see.pending_isr(host.broker),
            "waiting": lambda: see.waiting(host.broker),
            "lastFetchedEpoch": lambda: see.last_fetched_epoch(host.broker),
        }

    def _plan(self, broker: int, mask: int) -> tuple[int, ...]:
        """The units that a broker's marks concern."""
        variables = {name for mark, names in BROKER_UNITS.items() if mask & mark for name in names}
        plan = tuple(self._unit_of["produced" if name == "produced" else (broker, name)] for name in sorted(variables))
        self._plans[broker][mask] = plan
        return plan

    def _dirty(self) -> list[int]:
        """The units to look at, in the order of their cells; all marks are taken back."""
        units: list[int] = []
        for index, host in enumerate(self._hosts):
            mask = host.changes.mask
            if mask:
                host.changes.mask = 0
                plan = self._plans[index].get(mask)
                units += self._plan(index, mask) if plan is None else plan
        moved = self._network.moved
        if moved:
            for connection in moved:
                units.append(self._unit_of[connection])
            moved.clear()
        changed = self._control.changed
        if changed:
            self._control.changed = 0
            if changed & PARTITION:
                units.append(self._unit_of["metadata"])
            if changed & REGISTRATIONS:
                units += [self._unit_of[index, "registered"] for index in range(len(self._hosts))]
        units.sort()
        return units

    # --- records --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The first record: the whole state as it is."""
        self._dirty()
        self._out += b"\x02\x00"
        self._write(range(len(self._compute)))
        self.records = 1

    def step(self, action: str, node: int, *params: Any) -> None:
        """A handler has run: the action that it is, where, and its parameters' values. Raises CapacityExceeded, and then
        the trace must end as it was before."""
        prefix = self._prefix((STEP, action, node, *params))
        mark = len(self._out)
        self._out += prefix
        try:
            changing = self._write(self._dirty())
        except CapacityExceeded:
            del self._out[mark:]
            raise
        self.changing += changing
        self.records += 1

    def blocked(self, action: str, node: int, *params: Any) -> None:
        """A rule refused an action."""
        self._out += self._prefix((BLOCKED, action, node, *params))
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

    def _write(self, units: Any) -> bool:
        """Append the delta of these units; whether there is one."""
        body = bytearray()
        count = 0
        behind = 0  # the cell after the last one written
        last, compute, first = self._last, self._compute, self._first
        previous = -1
        for unit in units:
            if unit == previous:
                continue
            previous = unit
            new = compute[unit]()
            old = last[unit]
            if new == old:
                continue
            last[unit] = new
            cell = first[unit]
            for a, b in zip_longest(old, new, fillvalue=0):
                if a != b:
                    count += 1
                    gap = cell - behind
                    behind = cell + 1
                    if gap > 127:
                        body.append(gap & 127 | 128)
                        gap >>= 7
                    body.append(gap)
                    body.append(b + b if b >= 0 else -b - b - 1)
                cell += 1
        varint(self._out, count)
        self._out += body
        return count > 0

    def full_state(self) -> list[int]:
        """Every cell, computed afresh: what a test compares the written deltas with."""
        cells: list[int] = []
        for at, compute in zip(self._first, self._compute, strict=True):
            cells += [0] * (at - len(cells))
            cells += compute()
        return cells
