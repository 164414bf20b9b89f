"""Walks through a state graph: whole traces whose every verdict TLC has given already.

Other tests ask backends about single states and steps; a walk goes the way of an audit. A backend then computes ghosts
from the first record on, evaluates only changed parts again, and reports each check's first failing record.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidemark_conformance.tla.ir import NOT_A_STEP
from tidemark_conformance.tla.values import Value
from tidemark_conformance.tlc.graph import Edge, Graph
from tidemark_conformance.tlc.nonedges import NonEdge

RECORDS_PER_EDGE = 4
"""Walks stop at this many records per edge of the graph, whether or not every edge was walked."""


@dataclass(frozen=True, slots=True)
class Record:
    """One step of a walk: action, parameters, the full next state (ghosts included, but not to be believed)."""

    action: str
    params: tuple[Value, ...]
    next: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Walk:
    """An initial state, records from it, and TLC's verdict: check -> first failing record (0: the initial state).

    `quiescent`: the trace declares its faults stopped, so quiescence predicates hold at its end or fail. `known`: the
    records up to which `first` is TLC's word (all but a last one that is no step).
    """

    initial: Mapping[str, Value]
    records: tuple[Record, ...]
    quiescent: bool
    known: int
    first: dict[str, int]


def walks(graph: Graph, misses: Sequence[NonEdge], seed: int = 1) -> list[Walk]:
    """Walks from initial states over every edge that the budget allows, ended by a near miss where there is one."""
    draw = random.Random(seed)
    leaving: dict[int, list[Edge]] = {}
    for edge in graph.edges:
        leaving.setdefault(edge.source, []).append(edge)
    near: dict[int, list[NonEdge]] = {}
    for miss in misses:
        near.setdefault(miss.source, []).append(miss)
    paths = _shortest(graph, leaving)
    fresh = {id(edge) for edge in graph.edges}
    budget = RECORDS_PER_EDGE * len(graph.edges) + 1000
    made: list[Walk] = []
    for edge in draw.sample(graph.edges, len(graph.edges)):
        if budget <= 0:
            break
        if id(edge) not in fresh:
            continue
        taken = [*_path(paths, edge.source), edge]
        fresh.difference_update(map(id, taken))
        while following := [one for one in leaving.get(taken[-1].target, ()) if id(one) in fresh]:
            taken.append(draw.choice(following))
            fresh.discard(id(taken[-1]))
        budget -= len(taken) + 1
        ends = near.get(taken[-1].target)
        made.append(_walk(graph, taken, draw.choice(ends) if ends else None, quiescent=draw.random() < 0.5))
    return made


def _shortest(graph: Graph, leaving: Mapping[int, list[Edge]]) -> dict[int, Edge | None]:
    """State -> the last edge of a shortest path to it (None: initial)."""
    found: dict[int, Edge | None] = dict.fromkeys(graph.initial)
    waiting = deque(graph.initial)
    while waiting:
        for edge in leaving.get(waiting.popleft(), ()):
            if edge.target not in found:
                found[edge.target] = edge
                waiting.append(edge.target)
    return found


def _path(paths: Mapping[int, Edge | None], state: int) -> list[Edge]:
    path: list[Edge] = []
    while (edge := paths[state]) is not None:
        path.append(edge)
        state = edge.source
    return path[::-1]


def _walk(graph: Graph, taken: Sequence[Edge], miss: NonEdge | None, quiescent: bool) -> Walk:
    """The walk over the edges, then the near miss; with TLC's verdicts on its states and steps."""
    states = [taken[0].source, *(edge.target for edge in taken)]
    first: dict[str, int] = {}
    for at, state in enumerate(states):
        for name in graph.invariants:
            if not graph.predicates[name][state]:
                first.setdefault(name, at)
    for at, edge in enumerate(taken, 1):
        for name, broken in graph.broken.items():
            if (edge.source, edge.target) in broken:
                first.setdefault(name, at)
    records = [Record(edge.action, edge.params, graph.states[edge.target]) for edge in taken]
    if miss is not None:
        records.append(Record(miss.action, miss.params, miss.next))
        first[NOT_A_STEP] = len(records)
    elif quiescent:
        for name in graph.quiescence:
            if not graph.predicates[name][states[-1]]:
                first[name] = len(records)
    return Walk(graph.states[states[0]], tuple(records), quiescent, len(taken), first)
