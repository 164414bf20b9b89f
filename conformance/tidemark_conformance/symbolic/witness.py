"""A run that the solver has found: its states as values, judged by the reference evaluator, and written as a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import z3

from tidemark_conformance.explain.run import BLOCKED, INITIAL, STUTTER, Run
from tidemark_conformance.prove.checks import only_value, satisfiable
from tidemark_conformance.prove.proving import ERRORLESS
from tidemark_conformance.prove.sorts import Codes
from tidemark_conformance.prove.terms import NOTHING, Arr, Atom, Coded, Filtered, Fun, Listed, Range, Rec, Symbolic
from tidemark_conformance.prove.universe import Step
from tidemark_conformance.prove.unrolling import Unrolling
from tidemark_conformance.tla.kernels.stream import StreamWriter
from tidemark_conformance.tla.python import EvaluationError, PythonChecks
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.types import Misfit, encode
from tidemark_conformance.tla.values import Fn, Value, function
from tidemark_conformance.trace.codec import WrongKind, reader
from tidemark_conformance.trace.files import open_writer
from tidemark_conformance.trace.header import constant_json
from tidemark_conformance.trace.schema import Schema

State = dict[str, Value]


@dataclass(frozen=True)
class Taken:
    """A step of a run: the action, its parameters, and the state after it."""

    action: str
    params: tuple[Value, ...]
    state: State


@dataclass(frozen=True)
class Witness:
    """A run from `first` on by `steps`, at whose end `fallen` properties fall.

    `erring`: the action that TLC evaluates with an error in the last state. Its state is as far as it gets.
    """

    first: State
    steps: tuple[Taken, ...]
    fallen: tuple[str, ...]
    erring: Taken | None = None

    @property
    def states(self) -> list[State]:
        """The states, the first one included."""
        return [self.first, *(step.state for step in self.steps)]


def read(
    unrolling: Unrolling, model: Any, depth: int, fallen: Sequence[str], start: Mapping[str, Value] | None
) -> Witness:
    """The run of a model, which has so many steps."""
    codes = unrolling.universe.codes

    def values(forms: Mapping[str, Symbolic], step: int) -> State:
        settle = _settle(unrolling, model, step)
        return {name: value_of(forms[name], codes, settle) for name in unrolling.universe.sorts}

    first = dict(start) if start is not None else values(unrolling.initial.next, 0)

    def taken(step: Step, at: int) -> Taken:
        params = tuple(value_of(one, codes, _settle(unrolling, model, at)) for one in step.params.values())
        return Taken(step.action, params, values(step.next, at))

    picked = [_settle(unrolling, model, at)(unrolling.picked) for at in range(depth)]
    steps = tuple(taken(unrolling.instances[number].step, at) for at, number in enumerate(picked))
    erring = None
    if ERRORLESS in fallen:
        settle = _settle(unrolling, model, depth)
        erring = taken(next(one.step for one in unrolling.instances if settle(unrolling.fails(one))), depth)
    return Witness(first, steps, tuple(fallen), erring)


def _settle(unrolling: Unrolling, model: Any, step: int) -> Callable[[Any], Any]:
    def settle(term: Any) -> Any:
        return term if isinstance(term, bool | int) else settled(model, unrolling.at(term, step))

    return settle


def settled(model: Any, term: Any) -> Any:
    """The Python value of a term in a model. Raises EvaluationError where the solver cannot tell."""
    found = model.eval(term, model_completion=True)
    if z3.is_int_value(found):
        return found.as_long()
    if z3.is_true(found) or z3.is_false(found):
        return z3.is_true(found)
    if not z3.is_bool(found):
        return only_value(found, [])
    verdict = satisfiable(found, [])
    if verdict == z3.unknown:
        raise EvaluationError("the solver does not decide a term of its model")
    return verdict == z3.sat


def value_of(form: Symbolic, codes: Codes, settle: Callable[[Any], Any]) -> Value:
    """The TLA+ value of a symbolic one, also where it is beyond its variable's type."""

    def inner(part: Symbolic) -> Value:
        return value_of(part, codes, settle)

    match form:
        case Atom(value, _):
            return value
        case Coded(term):
            return codes.value(settle(term))
        case Rec(fields):
            return Fn({name: inner(value) for name, (value, has) in fields.items() if settle(has)})
        case Fun(keys, _, images):
            return function({key: inner(image) for key, image in zip(keys, images, strict=True)})
        case Arr():
            return function({at: inner(form.get(at)) for at in range(settle(form.low), settle(form.last) + 1)})
        case Listed(items):
            return frozenset(inner(item) for true, item in items if settle(true))
        case Range():
            return frozenset(range(settle(form.low), settle(form.high) + 1))
        case Filtered(base, holds):
            return frozenset(at for at in inner(base) if settle(holds(at)[0]))
    return settle(form) if form is not NOTHING else None


def confirmed(found: Witness, spec: Specification, checks: PythonChecks, from_init: bool) -> str:
    """Why a run is none, by the reference evaluator; empty where it is one and its properties fall at its end only."""
    states = found.states
    if from_init and not _holds(lambda: checks.init(found.first)):
        return "its first state does not satisfy Init"
    for before, step in zip(states, found.steps, strict=False):
        if not _holds(lambda before=before, step=step: checks.action(step.action, step.params, before, step.state)):  # type: ignore[misc]
            return f"{step.action} is no step there"
    if found.erring is not None and not _errs(found.erring, states[-1], checks):
        return f"the terms have no value for {found.erring.action} in its last state"
    invariants = {one.name for one in spec.invariants}
    for name in found.fallen:
        if name in invariants and _holds(lambda name=name: checks.invariant(name, states[-1])):  # type: ignore[misc]
            return f"{name} holds in its last state"
        if (
            name not in invariants
            and name != ERRORLESS
            and _holds(
                lambda name=name: checks.property(name, states[-2], states[-1])  # type: ignore[misc]
            )
        ):
            return f"{name} holds of its last step"
    return ""


def _errs(tried: Taken, state: State, checks: PythonChecks) -> bool:
    """Whether the reference evaluator reports an error where an action is tried in a state."""
    try:
        checks.action(tried.action, tried.params, state, tried.state)
    except EvaluationError:
        return True
    return False


def _holds(ask: Callable[[], bool]) -> bool:
    try:
        return bool(ask())
    except EvaluationError:
        return False


def stream(schema: Schema, found: Witness, before: Run | None) -> bytes | None:
    """The run as a trace's delta stream, behind the records before its first state. None for a value of another kind
    than its type's, which no trace can hold."""
    writer = schema.writer()
    try:
        if before is None:
            writer.initial(_cells(schema, found.first))
        else:
            _records(writer, schema, before)
        for step in found.steps:
            params = schema.parameters[step.action].indices(step.action, step.params)
            writer.step(schema.actions.index(step.action), params, 0, _cells(schema, step.state))
    except WrongKind:
        return None
    return writer.end()


def _records(writer: StreamWriter, schema: Schema, run: Run) -> None:
    """Writes a run's records once more."""
    for event in run.events:
        node = run.nodes.index(event.node) + 1 if event.node else 0
        if event.kind == INITIAL:
            writer.initial(_cells(schema, event.state))
        elif event.kind == STUTTER:
            writer.stutter(node)
        else:
            params = schema.parameters[event.action].indices(event.action, event.params)
            action = schema.actions.index(event.action)
            if event.kind == BLOCKED:
                writer.blocked(action, params, node)
            else:
                writer.step(action, params, node, _cells(schema, event.state))


def _cells(schema: Schema, state: Mapping[str, Value]) -> list[int]:
    """The cells of the variables that traces carry; those of a value beyond its limits as a trace has them."""
    cells: list[int] = []
    for variable in schema.layout.variables:
        if variable.carried:
            value = state[variable.name]
            try:
                cells += encode(variable.type, value)
            except Misfit:
                reader(variable.type)(constant_json(value), cells)
    return cells


def write(path: Path, schema: Schema, trace: str, nodes: Sequence[str], told: bytes, steps: int) -> None:
    """Writes one trace to a file of its own."""
    header = replace(schema.header, nodes=tuple(nodes))
    with open_writer(path, header, schema) as writer:
        writer.add(trace, steps, told)
