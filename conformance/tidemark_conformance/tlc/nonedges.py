"""Near misses: triples (state, action with parameters, next state) that TLC did not link, each close to one it did.

Random pairs are refused by almost any wrong predicate. These differ from a real step in one thing: the parameters, the
action, the successor, or one variable or cell of the successor. The variable is put back to its old value, or has one
from another state.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.values import Fn, Value, function
from tidemark_conformance.tlc.graph import Edge, Graph

State = Mapping[str, Value]
ATTEMPTS = 40
"""Draws per edge before it is passed over."""


@dataclass(frozen=True, slots=True)
class NonEdge:
    """A step that TLC does not take: index of the state, action, parameters, and a full next state.

    `kind`: the difference from a real step ("params", "action", "target", "variable", "cell"). The ghosts of
    `next` are those of the real step it was made from; an action's predicate does not read them.
    """

    source: int
    action: str
    params: tuple[Value, ...]
    next: State
    kind: str


class _Maker:
    def __init__(self, graph: Graph, ghosts: tuple[str, ...], seed: int) -> None:
        self.graph = graph
        self.draw = random.Random(seed)
        self.visible = tuple(name for name in graph.states[0] if name not in ghosts)
        self.instances = [(action, params) for action, domains in graph.domains.items() for params in _tuples(domains)]
        self.params = {
            action: [params for name, params in self.instances if name == action] for action in graph.domains
        }
        self.real: dict[tuple[int, str, tuple[Value, ...]], set[tuple[Value, ...]]] = {}
        self.leaving: dict[int, list[Edge]] = {}
        for edge in graph.edges:
            key = (edge.source, edge.action, edge.params)
            self.real.setdefault(key, set()).add(self.key(graph.states[edge.target]))
            self.leaving.setdefault(edge.source, []).append(edge)
        self.kinds: list[tuple[str, Callable[[Edge], NonEdge | None]]] = [
            ("params", self.other_params),
            ("action", self.other_action),
            ("target", self.other_target),
            ("variable", self.other_variable),
            ("cell", self.other_cell),
        ]

    def key(self, state: State) -> tuple[Value, ...]:
        """The variables of a state that a step's predicate sees."""
        return tuple(state[name] for name in self.visible)

    def is_step(self, source: int, action: str, params: tuple[Value, ...], state: State) -> bool:
        return self.key(state) in self.real.get((source, action, params), ())

    def other_params(self, edge: Edge) -> NonEdge | None:
        params = self.draw.choice(self.params[edge.action])
        return NonEdge(edge.source, edge.action, params, self.graph.states[edge.target], "params")

    def other_action(self, edge: Edge) -> NonEdge | None:
        action, params = self.draw.choice(self.instances)
        if action == edge.action:
            return None
        return NonEdge(edge.source, action, params, self.graph.states[edge.target], "action")

    def other_target(self, edge: Edge) -> NonEdge | None:
        target = self.draw.choice(self.leaving[edge.source]).target
        if self.draw.random() < 0.3:
            target = self.draw.randrange(len(self.graph.states))
        return NonEdge(edge.source, edge.action, edge.params, self.graph.states[target], "target")

    def other_variable(self, edge: Edge) -> NonEdge | None:
        source, target = self.graph.states[edge.source], self.graph.states[edge.target]
        name = self.draw.choice(self.visible)
        changed = [name for name in self.visible if source[name] != target[name]]
        if changed and self.draw.random() < 0.5:
            name = self.draw.choice(changed)
            value = source[name]
        else:
            value = self.draw.choice(self.graph.states)[name]
        return NonEdge(edge.source, edge.action, edge.params, {**target, name: value}, "variable")

    def other_cell(self, edge: Edge) -> NonEdge | None:
        target = self.graph.states[edge.target]
        name = self.draw.choice(self.visible)
        value = _with_cell(target[name], self.draw.choice(self.graph.states)[name], self.draw)
        if value is None:
            return None
        return NonEdge(edge.source, edge.action, edge.params, {**target, name: value}, "cell")

    def near(self, edge: Edge, at: int) -> NonEdge | None:
        """A non-edge near `edge`, the kinds in turn."""
        for attempt in range(ATTEMPTS):
            found = self.kinds[(at + attempt) % len(self.kinds)][1](edge)
            if found and not self.is_step(found.source, found.action, found.params, found.next):
                return found
        return None


def _tuples(domains: tuple[tuple[Value, ...], ...]) -> Iterator[tuple[Value, ...]]:
    if not domains:
        yield ()
        return
    for value in domains[0]:
        for rest in _tuples(domains[1:]):
            yield (value, *rest)


def _with_cell(value: Value, other: Value, draw: random.Random) -> Value | None:
    """`value` with one cell of `other`, if both are functions with the same domain (tagged records are left alone)."""
    if isinstance(value, tuple) and isinstance(other, tuple) and len(value) == len(other) and value:
        at = draw.randrange(len(value))
        return (*value[:at], other[at], *value[at + 1 :])
    if isinstance(value, Fn) and isinstance(other, Fn) and set(value) == set(other) and "type" not in value:
        key = draw.choice(sorted(value, key=repr))
        inner = _with_cell(value[key], other[key], draw) if draw.random() < 0.5 else None
        return function({**value, key: other[key] if inner is None else inner})
    return None


def near_misses(graph: Graph, ghosts: tuple[str, ...], seed: int = 1) -> list[NonEdge]:
    """As many distinct non-edges as edges, or more; Unusable if the model is too small to have them.

    Every source is a state that TLC expanded, so TLC did see all its successors.
    """
    maker = _Maker(graph, ghosts, seed)
    found: list[NonEdge] = []
    seen: set[tuple[int, str, tuple[Value, ...], tuple[Value, ...]]] = set()
    turns = 0
    while len(found) < len(graph.edges):
        before = len(found)
        for at, edge in enumerate(graph.edges):
            one = maker.near(edge, at + turns)
            if one is None:
                continue
            key = (one.source, one.action, one.params, maker.key(one.next))
            if key not in seen:
                seen.add(key)
                found.append(one)
        turns += 1
        if len(found) == before and turns > ATTEMPTS:
            raise Unusable(
                f"only {len(found)} near misses were found for {len(graph.edges)} steps: give agree a model with "
                "more actions or parameters"
            )
    return found
