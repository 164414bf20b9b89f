"""How a property can be made false by hand: the table's form, for any protocol (`test_properties_can_fall.py`).

A good state is the last one of a run with all rules in force: a scenario's text, or none of it (Init). An edit names
one place of a state and the TLA+ text of its new value: `{"log[b2][1].epoch": "3"}`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from kernel_reference import Subject
from tidemark_conformance.paths import spec_root
from tidemark_conformance.registry.protocols import Protocol, protocols
from tidemark_conformance.simulate import simulators
from tidemark_conformance.tla.kernels import compile_kernels
from tidemark_conformance.tla.kernels.runtime import Kernels
from tidemark_conformance.tla.python import EvaluationError, PythonChecks, compile_python
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.tla.values import Fn, Value, function
from tidemark_conformance.tlc.values import parse_value
from tidemark_conformance.trace.replay import events
from tidemark_conformance.trace.schema import Schema, schema_of

State = dict[str, Value]
Edits = Mapping[str, str]

_STEP = re.compile(r"\[([^\]]+)\]|\.(\w+)")


@dataclass(frozen=True)
class Fall:
    """One way in which exactly one property is false.

    `why`: the fault, in words. Of a state: `run`, then `good` edits, is a state where everything holds, and `wrong`
    edits of that make the property false. Of a step: the good step is the run's last one (with `step` edits: from the
    good state to the edited one). In the wrong one `wrong` edits its next state, `before` its first.
    """

    name: str
    why: str
    wrong: Edits = field(default_factory=dict)
    run: str = ""
    good: Edits = field(default_factory=dict)
    step: Edits = field(default_factory=dict)
    before: Edits = field(default_factory=dict)


def record(fields: Mapping[str, str] = MappingProxyType({}), **more: str) -> str:
    """A record's TLA+ text, from those of its fields."""
    return "[" + ", ".join(f"{name} |-> {value}" for name, value in {**fields, **more}.items()) + "]"


def sequence(*elements: str) -> str:
    """A sequence's TLA+ text."""
    return "<<" + ", ".join(elements) + ">>"


def first_of(count: int, rest: str, *first: str) -> str:
    """The text of a function from 1..count: the first values, and `rest` for all others."""
    return sequence(*first, *[rest] * (count - len(first)))


def edited(state: State, edits: Edits) -> State:
    """The state with other values in these places; KeyError for a place that is not there."""
    changed = dict(state)
    for place, text in edits.items():
        name = re.split(r"[\[.]", place)[0]
        path = [parse_value(key) if key else part for key, part in _STEP.findall(place[len(name) :])]
        changed[name] = _put(changed[name], path, parse_value(text))
    return changed


def _put(value: Value, path: Sequence[Value], new: Value) -> Value:
    if not path:
        return new
    key, *rest = path
    mapping = dict(value) if isinstance(value, Fn) else dict(enumerate(value, 1))
    mapping[key] = _put(mapping[key], rest, new)
    return function(mapping)


@dataclass(frozen=True, eq=False)
class Table:
    """A protocol's properties, each with at least one way to fall; `protocol` "" for one without a simulator."""

    protocol: str
    spec: Path
    config: Path
    falls: Sequence[Fall]

    @cached_property
    def judges(self) -> Judges:
        return Judges(load(spec_root() / self.spec, spec_root() / self.config), protocols().get(self.protocol))

    def kind(self, fall: Fall) -> str:
        """ "invariant", "property" or "quiescence"."""
        return next(kind for kind, names in self.judges.families.items() if fall.name in names)


@cache
def tables() -> list[Table]:
    """The tables of all protocols (`<protocol>/falls_*.py`)."""
    return [importlib.import_module(file.stem).TABLE for file in sorted(Path(__file__).parent.glob("*/falls_*.py"))]


class Judges:
    """All judges of a state or a step: the Python backend, the kernels one by one, and whole traces."""

    def __init__(self, spec: Specification, protocol: Protocol | None) -> None:
        self.spec, self.protocol = spec, protocol
        self.python: PythonChecks = compile_python(spec)
        self.kernels: Kernels = compile_kernels(spec)
        self.schema: Schema = schema_of(spec)
        self.families = {
            "invariant": [one.name for one in spec.invariants],
            "property": [one.name for one in spec.properties],
            "quiescence": [one.name for one in spec.quiescence],
        }
        self._runs: dict[str, list[State]] = {}

    def states(self, run: str) -> list[State]:
        """The states of a run with all rules in force, with their ghosts; no line of it may be refused."""
        if run not in self._runs:
            self._runs[run] = self._simulated(run) if run else [self._initial()]
        return self._runs[run]

    def _initial(self) -> State:
        first = Subject(self.spec, self.kernels, self.python).initial()
        return {**first, **self.python.initial_ghosts(first)}

    def _simulated(self, run: str) -> list[State]:
        assert self.protocol is not None
        header = self.schema.with_nodes(self.protocol.nodes())
        stream, transcript = simulators.transcript(self.protocol, header, run, frozenset())
        assert "not possible" not in transcript, transcript
        assert "a rule says no" not in transcript, transcript
        first, *rest = events(stream, self.schema)
        state = {**first.state, **self.python.initial_ghosts(first.state)}
        found = [state]
        for event in rest:
            assert event.action is not None
            assert self.python.action(event.action, event.params, state, event.state)
            state = {**event.state, **self.python.ghosts(event.action, event.params, state, event.state)}
            found.append(state)
        return found

    def good(self, fall: Fall, kind: str) -> tuple[State, State]:
        """The good step, or the good state twice."""
        states = self.states(fall.run)
        last = edited(states[-1], fall.good)
        if kind != "property":
            return last, last
        return (last, edited(last, fall.step)) if fall.step else (states[-2], last)

    def wrong(self, fall: Fall, kind: str) -> tuple[State, State]:
        """The wrong step, or the wrong state twice."""
        before, after = self.good(fall, kind)
        after = edited(after, fall.wrong)
        return (edited(before, fall.before), after) if kind == "property" else (after, after)

    def python_falls(self, kind: str, before: State, after: State) -> set[str]:
        """The checks of a kind that are false by the Python backend."""
        return {name for name in self.families[kind] if not self._holds(kind, name, before, after)}

    def _holds(self, kind: str, name: str, before: State, after: State) -> bool:
        try:
            if kind == "property":
                return self.python.property(name, before, after)
            return (self.python.invariant if kind == "invariant" else self.python.quiescent)(name, after)
        except EvaluationError:
            return False

    def kernels_fall(self, kind: str, before: State, after: State) -> set[str]:
        """The same by the kernels, asked about explicit states."""
        kernels = self.kernels
        rows = [np.array([kernels.layout.encode(state)], np.int64) for state in (before, after)]
        ask: dict[str, Any] = {
            "invariant": lambda name: kernels.invariants_batch(name, rows[1]),
            "property": lambda name: kernels.properties_batch(name, *rows),
            "quiescence": lambda name: kernels.quiescence_batch(name, rows[1]),
        }
        return {name for name in self.families[kind] if not ask[kind](name)[0]}

    def kernels_fall_after(self, before: State, after: State) -> set[str]:
        """The invariants that a step from `before`, where all of them hold, makes false, by its changes."""
        rows = [np.array([self.kernels.layout.encode(state)], np.int64) for state in (before, after)]
        return {name for name in self.families["invariant"] if not self.kernels.invariants_after_batch(name, *rows)[0]}

    def traces_fall(self, kind: str, before: State, after: State) -> set[str]:
        """The same by an audit's replay of a trace that starts there; checks that read history do not run in it."""
        kernels, base = self.kernels, self.kernels.layout.base_cells
        writer = kernels.writer()
        writer.initial(kernels.layout.encode(before)[:base])
        if kind == "property":
            params = [0] * len(kernels.parameters[kernels.actions[0]].names)
            writer.step(0, params, 0, kernels.layout.encode(after)[:base])
        stream = writer.end(quiescent=kind == "quiescence")
        found = kernels.check(np.frombuffer(stream, np.uint8), np.array([0, len(stream)]), snapshot=True)
        assert found.verdict[0] != 2
        first = dict(zip(kernels.checks, found.first[0].tolist(), strict=True))
        return {name for name in self.families[kind] if first[name] >= 0}
