"""A recorder for any protocol: the state is a row of units, and every step says which of them it may have changed.

A protocol brings its `Unit`s (how the key of each is read off the implementation, and its cells), and for every step
the units to look at. Keys that were seen are shared by all recorders of a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from tidemark.cells import CapacityExceeded, Cells
from tidemark.sim.stream import (
    BLOCKED,
    NO_DIFFERENCE,
    STEP,
    STUTTER,
    VARINT,
    ZIGZAG,
    Edge,
    Node,
    difference,
    finished,
)

MOST_EDGES = 100_000
"""So many steps between keys are kept before they are forgotten."""

Key = Hashable
"""What a unit's cells depend on."""


class Unit(NamedTuple):
    """`first`: its first cell; `cells`: from its key to its cells. These raise CapacityExceeded."""

    first: int
    cells: Callable[[Any], Cells]


class UnitPlan:
    """What the recorders of a trace header share: `units` in the order of their cells.

    `nodes_of`: formal name of an action's first parameter -> the number of the node that each of its values is; other
    actions happen nowhere. Parameters are given as numbers: of a name its place in the sorted domain, of a set the mask
    over the sorted names, of a function the tuple of its values.
    """

    def __init__(
        self,
        header: Mapping[str, Any],
        units: Sequence[Unit],
        nodes_of: Mapping[str, Sequence[int]],
        nowhere: Callable[[str], bool],
    ) -> None:
        self.units = tuple(units)
        self.steps: dict[tuple[Any, ...], bytes] = {}
        self.refusals: dict[tuple[Any, ...], bytes] = {}
        self._actions = {action["name"]: (number, action["params"]) for number, action in enumerate(header["actions"])}
        self._domains: dict[tuple[str, str], dict[Any, int]] = {}
        self._nodes_of = nodes_of
        self._nowhere = nowhere
        self._nodes: list[dict[Key, Node]] = [{} for _ in units]
        self._edges = 0

    def step(self, what: tuple[Any, ...]) -> bytes:
        """The bytes of a step, without its delta. Raises CapacityExceeded for a parameter outside its domain, and
        ValueError for an action that the header has not."""
        found = self.steps[what] = self._encode(STEP, what)
        return found

    def refusal(self, what: tuple[Any, ...]) -> bytes:
        """The bytes of a blocked attempt, its empty delta included. Raises as `step` does."""
        found = self.refusals[what] = self._encode(BLOCKED, what) + b"\0"
        return found

    def _encode(self, kind: int, what: tuple[Any, ...]) -> bytes:
        name, *values = what
        number, params = self._actions.get(name, (0, None))
        if params is None or len(params) != len(values):
            raise ValueError(f"the header has no action {name} with {len(values)} parameters")
        first = next(iter(params), "")
        node = 0 if self._nowhere(name) or first not in self._nodes_of else self._nodes_of[first][values[0]] + 1
        out = bytearray(VARINT[kind + 4 * (number + 1)] + VARINT[node])
        for (formal, domain), value in zip(params.items(), values, strict=True):
            places = self._domains.get((name, formal))
            if places is None:
                places = self._domains[name, formal] = _places(domain)
            if value not in places:
                raise CapacityExceeded(f"parameter {formal} of {name}: {value}")
            out += VARINT[places[value]]
        return bytes(out)

    def node(self, unit: int, key: Key) -> Node:
        """The node of a key. Raises CapacityExceeded."""
        nodes = self._nodes[unit]
        found = nodes.get(key)
        if found is None:
            found = nodes[key] = Node(self.units[unit].cells(key))
        return found

    def edge(self, unit: int, node: Node, key: Any) -> Edge:
        """A new edge of a node. When there are too many they are forgotten, together with the nodes: runs that are
        under way keep theirs."""
        self._edges += 1
        if self._edges > MOST_EDGES:
            self._edges = 0
            for nodes in self._nodes:
                nodes.clear()
        other = self.node(unit, key)
        found = node.edges[key] = Edge(
            other, difference(node.cells, other.cells, self.units[unit].first), NO_DIFFERENCE
        )
        return found


class UnitRecorder:
    """Writes one trace. `keys`: per unit what reads its key. `records` counts what was written, the initial state
    included; `changing` the steps that changed something."""

    __slots__ = ("_kept", "_keys", "_nodes", "_out", "_plan", "changing", "records")

    def __init__(self, plan: UnitPlan, keys: Sequence[Callable[[], Any]]) -> None:
        self.records = 0
        self.changing = 0
        self._plan = plan
        self._keys = keys
        self._out = bytearray()
        self._kept: list[Any] = []
        self._nodes: list[Node] = []

    def begin(self) -> None:
        """The first record: the whole state as it is."""
        plan = self._plan
        self._kept = [key() for key in self._keys]
        self._nodes = [plan.node(number, key) for number, key in enumerate(self._kept)]
        delta = [
            (unit.first + index, cell)
            for unit, node in zip(plan.units, self._nodes, strict=True)
            for index, cell in enumerate(node.cells)
            if cell
        ]
        out = bytearray([STUTTER, 0]) + VARINT[len(delta)]
        behind = 0
        for index, cell in delta:
            out += VARINT[index - behind] + ZIGZAG[cell]
            behind = index + 1
        self._out = out
        self.records = 1

    def step(self, units: Sequence[int], *what: Any) -> None:
        """A handler has run: `what` is its action and the parameters' values, `units` what it may have changed, in
        ascending order. Raises CapacityExceeded, and then the trace must end as it was before."""
        out, kept, nodes, plan = self._out, self._kept, self._nodes, self._plan
        count = behind = 0
        delta = b""
        for number in units:
            key = self._keys[number]()
            if key == kept[number]:
                continue
            node = nodes[number]
            edge = node.edges.get(key) or plan.edge(number, node, key)
            kept[number] = key
            nodes[number] = edge.node
            changed, first, ending, end = edge.whole
            if changed:
                delta += VARINT[first - behind] + ending
                behind = end
                count += changed
        out += plan.steps.get(what) or plan.step(what)
        out += VARINT[count]
        out += delta
        self.records += 1
        if count:
            self.changing += 1

    def blocked(self, *what: Any) -> None:
        """A rule refused an action; nothing has changed yet."""
        self._out += self._plan.refusals.get(what) or self._plan.refusal(what)
        self.records += 1

    def end(self, quiescent: bool, capacity: bool) -> bytes:
        """The end record; returns the whole stream."""
        return finished(self._out, self.records, quiescent, capacity)

    def full_state(self) -> list[int]:
        """Every cell, computed afresh: what a test compares the written deltas with."""
        return [cell for unit, key in zip(self._plan.units, self._keys, strict=True) for cell in unit.cells(key())]


def _places(domain: Sequence[Any]) -> dict[Any, int]:
    """The number of each value of a sorted domain, by what `UnitPlan` says that values are given as."""
    first = domain[0]
    if isinstance(first, str):
        return {place: place for place in range(len(domain))}
    if isinstance(first, list):
        names = sorted({name for one in domain for name in one})
        return {sum(1 << names.index(name) for name in one): place for place, one in enumerate(domain)}
    if isinstance(first, dict):
        return {tuple(one[name] for name in sorted(one)): place for place, one in enumerate(domain)}
    return {one: place for place, one in enumerate(domain)}
