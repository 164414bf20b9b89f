"""For the tests of the kernels: random values of a type, and what a replay must find, by the Python backend."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from tidemark_conformance.paths import spec_root
from tidemark_conformance.tla.ir import Const, Expr, Local, Op, Quant, Var
from tidemark_conformance.tla.kernels import compile_kernels
from tidemark_conformance.tla.kernels.kinds import Kinds
from tidemark_conformance.tla.kernels.program import Generator, Program
from tidemark_conformance.tla.kernels.runtime import Kernels, evaluator
from tidemark_conformance.tla.kernels.source import Source
from tidemark_conformance.tla.layout import action_parameters, layout_of
from tidemark_conformance.tla.python import EvaluationError, PythonChecks, compile_python, evaluate_constant
from tidemark_conformance.tla.samples import near, value_of
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.tla.typeok import conjuncts, strip
from tidemark_conformance.tla.values import Value, function, in_order
from tidemark_conformance.tla.walk import map_children

MODELS = Path(__file__).parent / "models"
State = dict[str, Value]


@dataclass(frozen=True)
class Subject:
    """A specification with both of its backends."""

    spec: Specification
    kernels: Kernels
    python: PythonChecks

    def random_states(self, count: int, seed: int) -> list[State]:
        draw = random.Random(seed)
        return [{v.name: value_of(v.type, draw) for v in self.kernels.layout.variables} for _ in range(count)]

    def initial(self) -> State:
        """A state of Init without ghosts, from its conjuncts `v = e` and `v \\in S` in their order; of `\\E x \\in S`
        the first x."""
        state: State = {}
        chosen: dict[int, Value] = {}
        waiting = [expr for expr, _ in conjuncts(self.spec.module.init)]
        while waiting:
            expr = waiting.pop(0)
            match strip(expr):
                case Quant("exists", (binder,), body):
                    chosen[binder.uid] = self._first(binder.domain, state, chosen)
                    waiting[:0] = [part for part, _ in conjuncts(body)]
                case Op("eq", (left, right)) if isinstance(variable := strip(left), Var):
                    state[variable.name] = self._value(right, state, chosen)
                case Op("in", (left, right)) if isinstance(variable := strip(left), Var):
                    state[variable.name] = self._first(right, state, chosen)
        return state

    def _first(self, members: Expr, state: State, chosen: Mapping[int, Value]) -> Value:
        """The first element of a set; a set of functions, of which there may be too many, is not built for it."""
        match strip(members):
            case Op("function_set", (source, target)):
                least = self._first(target, state, chosen)
                keys = self._value(source, state, chosen)
                assert isinstance(keys, frozenset)
                return function(dict.fromkeys(keys, least))
        found = self._value(members, state, chosen)
        assert isinstance(found, frozenset)
        return in_order(found)[0]

    def _value(self, expr: Expr, state: State, chosen: Mapping[int, Value]) -> Value:
        """The value of an expression over the variables set so far, and the bound identifiers that were chosen."""

        def put(node: Expr) -> Expr:
            if isinstance(node, Local) and node.uid in chosen:
                return Const(f"chosen_{node.uid}")
            return Const(f"now_{node.name}") if isinstance(node, Var) else map_children(node, put)

        given = {f"now_{name}": value for name, value in state.items()}
        given |= {f"chosen_{uid}": value for uid, value in chosen.items()}
        return evaluate_constant(put(expr), {**self.spec.constants, **given})

    def neighbour(self, state: State, draw: random.Random, ghosts: bool = True) -> State:
        """A state that differs a little, mostly in one variable."""
        changed = dict(state)
        variables = [v for v in self.kernels.layout.variables if ghosts or not v.ghost]
        for _ in range(draw.choice([0, 1, 1, 1, 1, 2, 3])):
            variable = draw.choice(variables)
            changed[variable.name] = near(variable.type, changed[variable.name], draw)
        return changed

    def kinds(self) -> Kinds:
        """The object that tells the types of expressions."""
        return Kinds(self.kernels.layout, evaluator(self.spec, self.python.constant))

    def rows(self, states: Sequence[State]) -> np.ndarray:
        return np.array([self.kernels.layout.encode(state) for state in states], np.int64)


@cache
def alphabet() -> Subject:
    """The model with one predicate per construct."""
    return subject(MODELS / "Alphabet.tla", MODELS / "Alphabet.cfg")


@cache
def bestiary() -> Subject:
    """The model with the rarer shapes."""
    return subject(MODELS / "Bestiary.tla", MODELS / "Bestiary.cfg")


@cache
def erring() -> Subject:
    """The model whose expressions have no value in some states."""
    return subject(MODELS / "Erring.tla", MODELS / "Erring.cfg")


@cache
def two_phase() -> Subject:
    """Two-phase commit."""
    return subject(spec_root() / "two_phase" / "TwoPhase.tla", spec_root() / "two_phase" / "TwoPhase.cfg")


def subject(module: Path, cfg: Path) -> Subject:
    spec = load(module, cfg)
    return Subject(spec, compile_kernels(spec), compile_python(spec, counting=True))


def generated(module: Path, cfg: Path) -> str:
    """The text of a specification's kernels, generated anew."""
    return program_of(module, cfg).source


def program_of(module: Path, cfg: Path) -> Program:
    """A specification's generated module."""
    spec = load(module, cfg)
    constant = evaluator(spec, compile_python(spec).constant)
    fixed = {name: value for name, value in spec.constants.items() if name != "Without"}
    layout, parameters = layout_of(spec.module, constant), action_parameters(spec.module, constant)
    checks = (spec.invariants, spec.properties, spec.quiescence)
    return Generator(Source(spec.module, fixed, constant, layout, parameters, *checks)).program()


def holds(check: Callable[..., bool], *arguments: Value) -> bool:
    """A check's verdict; an evaluation error is no."""
    try:
        return bool(check(*arguments))
    except EvaluationError:
        return False


@dataclass
class Attempt:
    """A record to write: kind 0 step, 1 blocked attempt, 2 stutter; the next state without ghosts."""

    kind: int
    action: str
    params: tuple[int, ...]
    next: State


def stream(subject: Subject, initial: State, attempts: Sequence[Attempt], quiescent: bool) -> bytes:
    """The delta stream of a trace."""
    kernels = subject.kernels
    writer = kernels.writer()
    writer.initial(kernels.layout.encode(initial, ghosts=False))
    for attempt in attempts:
        if attempt.kind == 2:
            writer.stutter()
        elif attempt.kind == 1:
            writer.blocked(kernels.actions.index(attempt.action), attempt.params, 0)
        else:
            cells = kernels.layout.encode(attempt.next, ghosts=False)
            writer.step(kernels.actions.index(attempt.action), attempt.params, 0, cells)
    return writer.end(quiescent=quiescent)


def replayed(
    subject: Subject, initial: State, attempts: Sequence[Attempt], quiescent: bool
) -> tuple[str, dict[str, int]]:
    """The reason why a trace is undecided ("" if none), and the first failing record of each failing check."""
    python, kernels = subject.python, subject.kernels
    first: dict[str, int] = {}

    def fail(check: str, record: int) -> None:
        first.setdefault(check, record)

    def invariants(record: int) -> None:
        for name in kernels.invariants:
            if not holds(python.invariant, name, state):
                fail(name, record)

    state = {**initial, **python.initial_ghosts(initial)}
    if not python.init(state):
        return "not from Init", {}
    invariants(0)
    for record, attempt in enumerate(attempts, 1):
        if attempt.kind == 2:
            continue
        values = tuple(d[i] for d, i in zip(kernels.parameters[attempt.action].domains, attempt.params, strict=True))
        if attempt.kind == 1:
            if holds(python.enabling, attempt.action, values, state):
                fail("not a step", record)
            continue
        following = {**state, **attempt.next}
        if not holds(python.action, attempt.action, values, state, following):
            fail("not a step", record)
        following.update(python.ghosts(attempt.action, values, state, following))
        if not kernels.layout.fits(following):
            return "capacity exceeded", first
        for name in kernels.properties:
            if not holds(python.property, name, state, following):
                fail(name, record)
        state = following
        invariants(record)
    if quiescent:
        for name in kernels.quiescence:
            if not holds(python.quiescent, name, state):
                fail(name, len(attempts))
    return "", first
