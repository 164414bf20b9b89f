"""How traces of one header are written: what their recorders share, made once.

The delta stream of docs/trace-format.md is written directly. What is written is what really differs from what was
written last, unit by unit; marks in the implementation only say which units to look at (a test compares with looking
at all). Simulated clusters do the same small things over and over, so what leads from one value of a unit to another is
made once (units.py has the same for any protocol).

The exchanges have many cells: how one stands is kept as a `Standing`, with every `Move` that was seen to lead on from
there, and the records of steps that are nothing but such a move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tidemark import changes as marks
from tidemark.cells import CapacityExceeded, Cells
from tidemark.replication.abstraction import Abstraction, Table
from tidemark.sim.stream import (
    BLOCKED,
    STEP,
    VARINT,
    ZIGZAG,
    Difference,
    SequenceDifferences,
    difference,
)
from tidemark.sim.units import MOST_KNOWN


class Pairs(dict[tuple[Any, Any], Difference]):
    """What leads from one key to another, each made once. `cells`: from a key to its cells, more or fewer: what one
    key lacks is 0."""

    def __init__(self, cells: Callable[[Any], Cells]) -> None:
        super().__init__()
        self.cells = cells

    def __missing__(self, keys: tuple[Any, Any]) -> Difference:
        if len(self) >= MOST_KNOWN:
            self.clear()
        old, new = map(self.cells, keys)
        more, fewer = (0,) * (len(old) - len(new)), (0,) * (len(new) - len(old))
        found = self[keys] = difference((*old, *fewer), (*new, *more), 0)
        return found


def _cells_of_entries(entries: Cells) -> Cells:
    """The cells of a sequence of pairs."""
    return (len(entries) // 2, *entries)


def _cells_of_map(pairs: Cells) -> Cells:
    """The cells of a map from 1, 2, ... to numbers that are not 0, given pair by pair."""
    cells = [0] * max(pairs[::2], default=0)
    for key, number in zip(pairs[::2], pairs[1::2], strict=True):
        cells[key - 1] = number
    return tuple(cells)


OF_NUMBERS = Pairs(lambda number: (number,))
OF_CELLS = Pairs(tuple)
OF_ENTRIES = Pairs(_cells_of_entries)
OF_MAPS = Pairs(_cells_of_map)
OF_RECORDS = SequenceDifferences(2)
OF_CHANGES = SequenceDifferences(4)
"""Differences of units with one cell, with a few cells, of leader-epoch caches, of the offsets that delayed produces
wait for; of records in sequence, and of the partition's changes."""

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

OF_BROKERS: dict[str, tuple[Pairs | None, Callable[..., Any]]] = {
    "status": (OF_NUMBERS, Abstraction.status),
    "brokerEpoch": (OF_NUMBERS, Abstraction.broker_epoch),
    "view": (OF_CELLS, Abstraction.view),
    "log": (None, Abstraction.log),
    "flushed": (OF_NUMBERS, Abstraction.flushed),
    "epochCache": (OF_ENTRIES, Abstraction.epoch_cache),
    "highWatermark": (OF_NUMBERS, Abstraction.high_watermark),
    "checkpoint": (OF_NUMBERS, Abstraction.checkpoint),
    "epochStart": (OF_NUMBERS, Abstraction.epoch_start),
    "remoteLeo": (OF_CELLS, Abstraction.remote_leo),
    "remoteEpoch": (OF_CELLS, Abstraction.remote_epoch),
    "pendingIsr": (OF_CELLS, Abstraction.pending_isr),
    "waiting": (OF_MAPS, Abstraction.waiting),
    "lastFetchedEpoch": (OF_NUMBERS, Abstraction.last_fetched_epoch),
}
"""Variables with one unit per broker that are read off its host: what leads from one value to another; the value."""

CONTROLLER = {"ElectLeader", "FenceBroker", "UnfenceBroker", "ControlledShutdown", "HandleAlterPartition"}
"""Actions that happen at the controller."""
NETWORK = {"LoseFetch", "LoseAlterPartition"}
"""Actions that happen nowhere; all others happen at the broker that is their first parameter."""

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
    """An exchange's moving on `to` another standing. What is written when no records come or go: `whole`; else the
    `tag`, which changes with every move, the records, and the `rest`. `records`: what is written by steps that are
    nothing but this move. Places count from the tag."""

    __slots__ = ("records", "rest", "tag", "to", "whole")

    def __init__(self, cells: Cells, to: Standing) -> None:
        self.to = to
        self.whole = difference(cells, to.cells, 0)
        self.tag: Difference = (1, 0, ZIGZAG[to.cells[0]], 1)
        self.rest = difference(cells[1:], to.cells[1:], 1)
        self.records: dict[tuple[Any, ...], bytes] = {}


class Unit(NamedTuple):
    """One broker's part of a variable (broker -1: all of it): its first cell, how values differ, what computes one."""

    place: int
    variable: str
    broker: int
    differences: Pairs | None
    compute: Callable[..., Any]


Written = tuple[int, int, Callable[..., Any], Pairs | None]
"""What writing a unit takes: where it is kept, its first cell, what computes it, how it differs (None: a log)."""


Beginning = tuple[bytes, tuple[list[Any], ...], int]
"""The record of an initial state, and what recorders keep of it: their lists, the number of metadata changes."""


class Plan:
    """What all recorders of a trace header share. Broker ids stand for names, None for no leader.

    `steps`, `refusals`: the bytes of `(action name, parameters...)` for a step, for a blocked attempt; `of_mark`: per
    broker and sum of marks the units that these concern; `beginnings`: the initial state with each first leader;
    `appends`: records of appends, by what decides them; `of_appends`: per broker the numbers of the units that these
    change; `first_of_exchange`: the first cell of every connection, `fetches` of them for fetches.
    Raises ValueError for a header that has other variables, or lays them out in another order than recorders write.
    """

    def __init__(self, header: dict[str, Any], table: Table) -> None:
        if set(table.variables) != {"metadata", "registered", "produced", *OF_BROKERS, "fetch", "alter"}:
            raise ValueError("the header has other variables than the replication specification")
        self.table = table
        self.steps: dict[tuple[Any, ...], bytes] = {}
        self.refusals: dict[tuple[Any, ...], bytes] = {}
        self.units = _units(table)
        self.of_mark: list[dict[int, tuple[Written, ...]]] = [{} for _ in range(table.count)]
        self.beginnings: dict[int, Beginning] = {}
        self.appends: dict[tuple[Any, ...], bytes] = {}
        numbers = {(unit.variable, unit.broker): number for number, unit in enumerate(self.units)}
        self.of_appends = [
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
            [
                (number, unit.place, unit.compute, unit.differences)
                for number, unit in enumerate(self.units)
                if unit.variable in names and unit.broker in (broker, -1)
            ]
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
    for place, variable, broker in sorted(places):
        differences, compute = OF_BROKERS.get(variable, (OF_NUMBERS, Abstraction.produced))
        units.append(Unit(place, variable, broker, differences, compute))
    return tuple(units)
