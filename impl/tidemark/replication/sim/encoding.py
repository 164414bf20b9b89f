"""How traces of one header are written: what their recorders share, made once.

The delta stream of docs/trace-format.md is written directly. What is written is what really differs from what was
written last, unit by unit; marks in the implementation only say which units to look at (a test compares with looking
at all). How a unit stands, with every move that has led on from there, is kept as units.py has it for any protocol;
logs, and what waits, take too many values for that, and are compared with what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from tidemark.common import changes as marks
from tidemark.log.storage import RecordBatch
from tidemark.replication.abstraction import Abstraction, Table
from tidemark.replication.controller.replication_control import BrokerRegistration
from tidemark.replication.sim.network import CONSUMERS
from tidemark.trace.cells import Cells
from tidemark.trace.shapes import encoder
from tidemark.trace.stream import BLOCKED, STEP, VARINT, Difference, SequenceDifferences, difference, outside
from tidemark.trace.units import MOST_KNOWN, At, Leaf, Move

K = TypeVar("K")
V = TypeVar("V")

OF_RECORDS = SequenceDifferences(2)
OF_CHANGES = SequenceDifferences(4)
"""Differences of records in sequence, and of the partition's changes."""


class MapDifferences(dict[tuple[Cells, Cells], Difference]):
    """What leads from one map to another, each made once. A map is from 1, 2, ... to numbers that are not 0, given pair
    by pair."""

    def __missing__(self, maps: tuple[Cells, Cells]) -> Difference:
        if len(self) >= MOST_KNOWN:
            self.clear()
        old, new = maps
        width = max([*old[::2], *new[::2]], default=0)
        found = self[maps] = difference(cells_of_map(old, width), cells_of_map(new, width), 0)
        return found


def cells_of_map(pairs: Cells, width: int) -> Cells:
    """The cells of a map, at least up to the last of its pairs."""
    cells = [0] * width
    for key, number in zip(pairs[::2], pairs[1::2], strict=True):
        cells[key - 1] = number
    return tuple(cells)


OF_MAPS = MapDifferences()


class LogAt:
    """How a log stands, for one recorder: the batches that it wrote last. A log grows or shrinks at its end; a batch
    that is the same object at the same place has the same ones before it."""

    __slots__ = ("_batches", "_cells_of")

    def __init__(self, batches: Sequence[RecordBatch], cells_of: Callable[[Sequence[RecordBatch]], Cells]) -> None:
        self._batches = batches[:]
        self._cells_of = cells_of

    def __getitem__(self, new: Sequence[RecordBatch]) -> Move | None:
        old = self._batches
        self._batches = new[:]
        size = len(old)
        before: Cells = ()
        if len(new) == size + 1 and (not size or new[size - 1] is old[-1]):  # mostly one batch more
            stay, after = new[size].base_offset, self._cells_of(new[size:])
        else:
            common = min(size, len(new))
            while common and old[common - 1] is not new[common - 1]:
                common -= 1
            stay = new[common - 1].next_offset if common else 0
            before, after = self._cells_of(old[common:]), self._cells_of(new[common:])
        count, first, ending, end = OF_RECORDS[stay, before, after]
        return (count, first, ending, end, self) if count else None


class MapAt:
    """How a map stands, for one recorder: the pairs that it wrote last. Mostly some are added at the end."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Cells) -> None:
        self._pairs = pairs

    def __getitem__(self, new: Cells) -> Move | None:
        old = self._pairs
        self._pairs = new
        size = len(old)
        came = new[size:]
        count, first, ending, end = OF_MAPS[(), came] if new[:size] == old else OF_MAPS[old, new]
        return (count, first, ending, end, self) if count else None


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
    marks.PROCESS: ("status", "brokerEpoch", "asked", "stalled"),
}
"""Which variables a mark concerns, for the broker that carries it."""

OF_BROKERS: dict[str, Callable[..., Any]] = {
    "status": Abstraction.status,
    "brokerEpoch": Abstraction.broker_epoch,
    "view": Abstraction.view,
    "asked": Abstraction.asked,
    "stalled": Abstraction.stalled,
    "log": Abstraction.log,
    "flushed": Abstraction.flushed,
    "epochCache": Abstraction.epoch_cache,
    "highWatermark": Abstraction.high_watermark,
    "checkpoint": Abstraction.checkpoint,
    "epochStart": Abstraction.epoch_start,
    "remoteLeo": Abstraction.remote_leo,
    "remoteEpoch": Abstraction.remote_epoch,
    "pendingIsr": Abstraction.pending_isr,
    "waiting": Abstraction.waiting,
    "lastFetchedEpoch": Abstraction.last_fetched_epoch,
}
"""Variables with one unit per broker that are read off its host, and what computes the key of one."""

CONTROLLER = {"ElectLeader", "FenceBroker", "UnfenceBroker", "ControlledShutdown", "HandleAlterPartition"}
"""Actions that happen at the controller."""
NETWORK = {"LoseFetch", "LoseAlterPartition", "SendRead", "TakeRead", "LoseRead"}
"""Actions that happen at no broker; all others happen at the broker that is their first parameter."""


class Unit(NamedTuple):
    """One broker's part of a variable (broker -1: all of it): its first cell, what computes its key, and what leads
    from one key to another. `leaf` None: a log, or what waits."""

    place: int
    variable: str
    broker: int
    compute: Callable[..., Any]
    leaf: Leaf | None


Written = tuple[int, int, Callable[..., Any]]
"""What writing a unit takes: its number, its first cell, what computes its key."""

Beginning = tuple[bytes, list[Any], list[At], list[tuple[BrokerRegistration, At]], int]
"""The record of an initial state, and what recorders keep of it: how units and exchanges stand (of the units of which
each recorder has its own: their keys), the registrations, the number of metadata changes."""


class Made(dict[K, V]):
    """What `make` makes of keys, each once."""

    def __init__(self, make: Callable[[K], V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: K) -> V:
        found = self[key] = self._make(key)
        return found


class Plan:
    """What all recorders of a trace header share. Broker ids stand for names, None for no leader.

    `steps`, `refusals`: the bytes of `(action name, parameters...)` for a step, and for a blocked attempt, its empty
    delta included; `units`: those that are read off hosts, `own` the numbers of those of them of which each
    recorder has its own, and whether it is a log;
    `of_mark`: per broker and sum of marks the units that these concern, in the order of their cells; `exchanges`,
    `of_exchanges`: the first cell of every connection, and what leads it from one key to another; `of_registrations`:
    the same for registrations; `beginnings`: the initial state with each first leader.
    Raises ValueError for a header that has other variables, or lays them out in another order than recorders write;
    `steps` and `refusals` raise it for an action that the header has not.
    """

    def __init__(self, header: dict[str, Any], table: Table) -> None:
        if set(table.variables) != {"metadata", "registered", "produced", *OF_BROKERS, "fetch", "alter", "consumer"}:
            raise ValueError("the header has other variables than the replication specification")
        if len(header["constants"]["Consumers"]) != CONSUMERS:
            raise ValueError(f"the header has {len(header['constants']['Consumers'])} consumers, not {CONSUMERS}")
        self.table = table
        count = table.count
        self.steps = Made[tuple[Any, ...], bytes](lambda what: self._encode(STEP, *what))
        self.refusals = Made[tuple[Any, ...], bytes](lambda what: self._encode(BLOCKED, *what) + b"\0")
        self.units = _units(table)
        self.own = [(n, unit.variable == "log") for n, unit in enumerate(self.units) if unit.leaf is None]
        self.of_mark = [Made[int, tuple[Written, ...]](partial(self._units_of, broker)) for broker in range(count)]
        self.beginnings: dict[int, Beginning] = {}
        fetches = [table.offset("fetch") + table.fetch_cells * number for number in range(count**2)]
        alters = [table.offset("alter") + table.alter_cells * number for number in range(count)]
        reads = [table.offset("consumer") + table.consumer_cells * number for number in range(CONSUMERS)]
        self.exchanges = [*fetches, *alters, *reads]
        self.of_exchanges = [Leaf(table.cells_of_fetch)] * len(fetches) + [Leaf(tuple)] * len(alters)
        self.of_exchanges += [Leaf(encoder(table.variables["consumer"]["type"]["function"]))] * len(reads)
        self.of_registrations = Leaf(tuple)
        self._actions = _actions(header, table)
        places = {name: int(entry["offset"]) for name, entry in table.variables.items()}
        ordered = ["metadata", "registered", *sorted(OF_BROKERS, key=places.__getitem__), "fetch", "alter", "consumer"]
        if sorted(ordered, key=places.__getitem__) != ordered:
            raise ValueError("the header lays the variables out in another order than the replication specification")

    def _encode(self, kind: int, action: str, *params: Any) -> bytes:
        if action not in self._actions or len(self._actions[action][1]) != len(params):
            raise ValueError(f"the header has no action {action} with {len(params)} parameters")
        number, domains = self._actions[action]
        node = 0 if action in NETWORK else self.table.count + 1 if action in CONTROLLER else params[0] + 1
        out = bytearray(VARINT[kind + 4 * (number + 1)] + VARINT[node])
        for domain, param in zip(domains, params, strict=True):
            out += VARINT[domain[param] if param in domain else outside([*domain], param)]
        return bytes(out)

    def _units_of(self, broker: int, mask: int) -> tuple[Written, ...]:
        names = {name for mark, concerned in OF_MARK.items() if mask & mark for name in concerned}
        return tuple(
            [
                (number, unit.place, unit.compute)
                for number, unit in enumerate(self.units)
                if unit.variable in names and unit.broker in (broker, -1)
            ]
        )


def _actions(header: dict[str, Any], table: Table) -> dict[str, tuple[int, list[dict[Any, int]]]]:
    """Per action its number, and per parameter the number of each value."""
    names: dict[Any, int | None] = {name: index for index, name in enumerate(table.brokers)}
    names |= {name: index for index, name in enumerate(sorted(header["constants"]["Consumers"]))}
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
    numbers, cells = Leaf(lambda number: (number,)), Leaf(tuple)
    epochs = int(table.variables["epochCache"]["cells"]) // table.count

    def entries(pairs: Cells) -> Cells:
        return (len(pairs) // 2, *pairs, *(0,) * (epochs - 1 - len(pairs)))

    leaves = dict.fromkeys(("view", "remoteLeo", "remoteEpoch", "pendingIsr"), cells) | {"epochCache": Leaf(entries)}
    places = [(table.offset("produced"), "produced", -1)]
    for variable in OF_BROKERS:
        width = int(table.variables[variable]["cells"]) // table.count
        places += [(table.offset(variable) + width * broker, variable, broker) for broker in range(table.count)]
    units = []
    for place, variable, broker in sorted(places):
        compute = OF_BROKERS.get(variable, Abstraction.produced)
        leaf = None if variable in ("log", "waiting") else leaves.get(variable, numbers)
        units.append(Unit(place, variable, broker, compute, leaf))
    return tuple(units)
