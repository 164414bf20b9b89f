"""How traces of one header are written: what their recorders share, made once.

The delta stream of docs/trace-format.md is written directly. What is written is what really differs from what was
written last, unit by unit; marks in the implementation only say which units to look at (a test compares with looking at
all). Units differ in how they are compared:

    NUMBER     one cell
    CELLS      a few cells, compared one by one
    RECORDS    batches that come and go at the end: only what follows the common part is looked at
    ENTRIES    the same of a sequence that changes seldom
    WAITING    the delayed produces of a broker: a map, of which one entry comes or goes

The exchanges have many cells and repeat a lot: how one stands is kept as a `Standing`, with the bytes of every `Move`
that was seen to lead on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tidemark import changes as marks
from tidemark.cells import CapacityExceeded, Cells
from tidemark.errors import BrokenInvariant
from tidemark.replication.abstraction import Abstraction, Table
from tidemark.sim.stream import (
    BLOCKED,
    STEP,
    VARINT,
    ZIGZAG,
    CellDifferences,
    SequenceDifferences,
    difference,
)

NUMBER, CELLS, RECORDS, ENTRIES, WAITING = range(5)

OF_MARK: dict[int, tuple[str, ...]] = {
    marks.LOG: ("log",),
    marks.PRODUCED: ("produced",),
    marks.FLUSHED: ("flushed",),
    marks.EPOCHS: ("epochCache",),
    marks.HIGH_WATERMARK: ("highWatermark",),
    marks.CHECKPOINT: ("checkpoint",),
    marks.ROLE: ("view",),
    marks.EPOCH_START: ("epochStart",),
    marks.REMOTE: ("remoteLeo",),
    marks.REMOTE_EPOCH: ("remoteEpoch",),
    marks.PENDING: ("pendingIsr",),
    marks.PURGATORY: ("waiting",),
    marks.FETCH_STATE: ("lastFetchedEpoch",),
    marks.PROCESS: ("status", "brokerEpoch"),
}
"""Which variables a mark concerns, for the broker that carries it."""

OF_BROKERS: dict[str, tuple[int, Callable[..., Any]]] = {
    "status": (NUMBER, Abstraction.status),
    "brokerEpoch": (NUMBER, Abstraction.broker_epoch),
    "view": (CELLS, Abstraction.view),
    "log": (RECORDS, Abstraction.log),
    "flushed": (NUMBER, Abstraction.flushed),
    "epochCache": (ENTRIES, Abstraction.epoch_cache),
    "highWatermark": (NUMBER, Abstraction.high_watermark),
    "checkpoint": (NUMBER, Abstraction.checkpoint),
    "epochStart": (NUMBER, Abstraction.epoch_start),
    "remoteLeo": (CELLS, Abstraction.remote_leo),
    "remoteEpoch": (CELLS, Abstraction.remote_epoch),
    "pendingIsr": (CELLS, Abstraction.pending_isr),
    "waiting": (WAITING, Abstraction.waiting),
    "lastFetchedEpoch": (NUMBER, Abstraction.last_fetched_epoch),
}
"""Variables with one unit per broker that are read off its host: the kind; the number, the key, the elements or the
map."""

CONTROLLER = {"ElectLeader", "FenceBroker", "UnfenceBroker", "ControlledShutdown", "HandleAlterPartition"}
"""Actions that happen at the controller."""
NETWORK = {"LoseFetch", "LoseAlterPartition"}
"""Actions that happen nowhere; all others happen at the broker that is their first parameter."""

OF_CELLS = CellDifferences()
OF_PAIRS = SequenceDifferences(2)
"""Of records and of entries of the leader-epoch cache."""
OF_CHANGES = SequenceDifferences(4)
"""Of the partition's changes."""

MOST_MOVES = 100_000
"""So many moves of exchanges are kept before they are forgotten."""


class Standing:
    """How an exchange stands, without the records on their way: its cells, and how it has moved on from there, by what
    tells one move from another."""

    __slots__ = ("cells", "moves")

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.moves: dict[Any, Move] = {}


class Move:
    """What an exchange's moving on leads `to`. What is written when no records come or go: `size`, how many cells, as a
    number and as bytes; `ending`, the bytes behind the place of the tag, which changes with every move; `behind`, the
    cell behind the last. Else the `tag` alone, the records, and the `rest`. Places count from the tag."""

    __slots__ = ("behind", "count", "ending", "rest", "size", "tag", "to")

    def __init__(self, old: Cells, to: Standing) -> None:
        self.to = to
        self.count, first, self.ending, self.behind = difference(old, to.cells, 0)
        if first or not self.count:
            raise BrokenInvariant("an exchange moved to where it was")
        self.size = VARINT[self.count]
        self.tag = ZIGZAG[to.cells[0]]
        self.rest = difference(old[1:], to.cells[1:], 1)


Written = tuple[int, int, int, Callable[..., Any]]
"""What writing a unit takes: where it is kept, its first cell, how it is compared, what computes it."""


class Unit(NamedTuple):
    """One broker's part of a variable: how it is written, how many cells it has; the variable and the broker."""

    written: Written
    cells: int
    variable: str
    broker: int


Beginning = tuple[bytes, tuple[list[Any], ...], Sequence[Any]]
"""The record of an initial state, and what recorders keep of it: their lists, the metadata."""


class Plan:
    """What all recorders of a trace header share. Broker ids stand for names, None for no leader.

    `steps`, `refusals`: the bytes of `(action name, parameters...)` for a step, for a blocked attempt; `of_mark`: per
    broker and sum of marks the units that these concern, in the order of their cells; `beginnings`: the initial state
    with each first leader; `produces`: whole records of the steps of produces; `of_produces`: per broker the numbers of
    the units that these change; `first_of_exchange`: the first cell of every connection, `fetches` of them for fetches.
    Raises ValueError for a header that lays the variables out in another order than recorders write them.
    """

    def __init__(self, header: dict[str, Any], table: Table) -> None:
        self.table = table
        self.steps: dict[tuple[Any, ...], bytes] = {}
        self.refusals: dict[tuple[Any, ...], bytes] = {}
        self.units = _units(table)
        self.of_mark: list[dict[int, tuple[Written, ...]]] = [{} for _ in range(table.count)]
        self.beginnings: dict[int, Beginning] = {}
        self.produces: dict[tuple[Any, ...], bytes] = {}
        numbers = {(unit.variable, unit.broker): unit.written[0] for unit in self.units}
        self.of_produces = [
            (numbers["log", broker], numbers["produced", -1], numbers["waiting", broker])
            for broker in range(table.count)
        ]
        self.fetches = table.count**2
        self.first_of_exchange = [
            *[table.offset("fetch") + table.fetch_cells * number for number in range(table.count**2)],
            *[table.offset("alter") + table.alter_cells * number for number in range(table.count)],
        ]
        self._standings: tuple[dict[Cells, Standing], dict[Cells, Standing]] = {}, {}
        self._moves = 0
        self._actions = _actions(header, table)
        places = {name: int(entry["offset"]) for name, entry in table.variables.items()}
        ordered = ["metadata", "registered", *sorted(OF_BROKERS, key=places.__getitem__), "fetch", "alter"]
        if sorted(ordered, key=places.__getitem__) != ordered or table.at_batch != 1:
            raise ValueError("the header lays the variables out in another order than the replication specification")

    def step(self, what: tuple[Any, ...]) -> bytes:
        """The bytes of a step. Raises CapacityExceeded for a parameter outside its domain, ValueError for an action
        that the header has not."""
        found = self.steps[what] = self._encode(STEP, *what)
        return found

    def refusal(self, what: tuple[Any, ...]) -> bytes:
        """The bytes of a blocked attempt, its empty delta included. Raises as `step` does."""
        found = self.refusals[what] = self._encode(BLOCKED, *what) + b"\0"
        return found

    def _encode(self, kind: int, action: str, *params: Any) -> bytes:
        if action not in self._actions or len(self._actions[action][1]) != len(params):
            raise ValueError(f"the header has no action {action} with {len(params)} parameters")
        number, domains = self._actions[action]
        node = 0 if action in NETWORK else self.table.count + 1 if action in CONTROLLER else params[0] + 1
        out = bytearray(VARINT[kind + 4 * (number + 1)] + VARINT[node])
        for domain, param in zip(domains, params, strict=True):
            if param not in domain:
                raise CapacityExceeded(f"parameter {param} of {action}")
            out += VARINT[domain[param]]
        return bytes(out)

    def units_of(self, broker: int, mask: int) -> tuple[Written, ...]:
        """The units that a broker's marks concern, in the order of their cells."""
        names = {name for mark, concerned in OF_MARK.items() if mask & mark for name in concerned}
        found = self.of_mark[broker][mask] = tuple(
            [unit.written for unit in self.units if unit.variable in names and unit.broker in (broker, -1)]
        )
        return found

    def idle(self, fetch: bool) -> Standing:
        """An exchange in which nothing is outstanding."""
        return self._standing(fetch, self.table.cells_of_fetch(self.table.idle) if fetch else self.table.alter_idle)

    def move(self, fetch: bool, standing: Standing, what: Any, cells: Cells) -> Move:
        """A new move of an exchange, to these cells; `what` tells it from others. When there are too many they are
        forgotten: the next trace begins anew."""
        self._moves += 1
        if self._moves > MOST_MOVES:
            self._moves = 0
            self._standings = {}, {}
            self.beginnings.clear()
        found = standing.moves[what] = Move(standing.cells, self._standing(fetch, cells))
        return found

    def _standing(self, fetch: bool, cells: Cells) -> Standing:
        standings = self._standings[fetch]
        found = standings.get(cells)
        if found is None:
            found = standings[cells] = Standing(cells)
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


def _units(table: Table) -> tuple[Unit, ...]:
    """The units that are read off hosts, in the order of their cells."""
    places = [(table.offset("produced"), "produced", -1)]
    for variable in OF_BROKERS:
        width = int(table.variables[variable]["cells"]) // table.count
        places += [(table.offset(variable) + width * broker, variable, broker) for broker in range(table.count)]
    units = []
    for number, (first, variable, broker) in enumerate(sorted(places)):
        kind, compute = OF_BROKERS.get(variable, (NUMBER, Abstraction.produced))
        cells = int(table.variables[variable]["cells"]) // (1 if broker < 0 else table.count)
        units.append(Unit((number, first, kind, compute), cells, variable, broker))
    return tuple(units)
