"""The compiler's backends as `agree.Backend`: the same questions, asked in each one's own way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tidemark_conformance import extras
from tidemark_conformance.errors import Unsupported, Unusable
from tidemark_conformance.tla import types
from tidemark_conformance.tla.ir import NOT_A_STEP
from tidemark_conformance.tla.kernels import compile_kernels
from tidemark_conformance.tla.kernels.driver import reason
from tidemark_conformance.tla.python import EvaluationError, compile_python
from tidemark_conformance.tla.values import Value
from tidemark_conformance.tlc.agree import Attempt, Backend, State
from tidemark_conformance.tlc.values import to_tla
from tidemark_conformance.tlc.walks import Record, Walk

if TYPE_CHECKING:
    from tidemark_conformance.tla.spec import Specification

NAMES = ("python", "kernels", "z3")
"""All backends. Without the solver's package a comparison of all leaves it out."""
Z3_QUESTIONS = 20
"""The most questions of one kind about one thing that the terms are asked: they take milliseconds each."""


class PythonBackend:
    """Generated Python, one question at a time."""

    name = "python"
    partial = False

    def __init__(self, spec: Specification) -> None:
        self.checks = compile_python(spec)
        self._states: dict[tuple[Value, ...], State] = {}
        self._given: dict[int, State] = {}
        self._steps: dict[tuple[int, str, tuple[Value, ...], int], tuple[State, tuple[str, ...]]] = {}
        self._invariants: dict[int, tuple[str, ...]] = {}

    def domains(self, action: str) -> Sequence[Sequence[Value]]:
        """The domains of the action's parameters."""
        return self.checks.parameters(action)

    def init(self, states: Sequence[State]) -> list[bool]:
        """True for each state that satisfies Init."""
        return [_truth(self.checks.init, state) for state in states]

    def initial_ghosts(self, states: Sequence[State]) -> list[State]:
        """The ghosts' first values in initial states."""
        return [self.checks.initial_ghosts(state) for state in states]

    def invariant(self, name: str, states: Sequence[State]) -> list[bool]:
        """True for each state that satisfies the invariant."""
        return [_truth(self.checks.invariant, name, state) for state in states]

    def invariant_after(self, name: str, pairs: Sequence[tuple[State, State]]) -> list[bool]:
        """True for each second state that satisfies the invariant. Each is asked about once, whatever the first one
        is."""
        known: dict[int, bool] = {}
        for _, next_ in pairs:
            if id(next_) not in known:
                known[id(next_)] = _truth(self.checks.invariant, name, next_)
        return [known[id(next_)] for _, next_ in pairs]

    def quiescent(self, name: str, states: Sequence[State]) -> list[bool]:
        """True for each state that satisfies the quiescence predicate."""
        return [_truth(self.checks.quiescent, name, state) for state in states]

    def property(self, name: str, pairs: Sequence[tuple[State, State]]) -> list[bool]:
        """True for each step that keeps the action property."""
        return [_truth(self.checks.property, name, state, next_) for state, next_ in pairs]

    def action(self, name: str, attempts: Sequence[Attempt]) -> list[bool]:
        """True for each attempt that is a step of the action."""
        return [_truth(self.checks.action, name, params, state, next_) for params, state, next_ in attempts]

    def ghosts(self, name: str, attempts: Sequence[Attempt]) -> list[State]:
        """The ghosts after each step."""
        return [self.checks.ghosts(name, params, state, next_) for params, state, next_ in attempts]

    def hidden(self, name: str, attempts: Sequence[Attempt]) -> list[State]:
        """The hidden variables after each step."""
        return [self._next_hidden(name, params, state, self.carried(next_)) for params, state, next_ in attempts]

    def initial_hidden(self, states: Sequence[State]) -> list[State]:
        """The hidden variables' first values in initial states."""
        return [self.checks.initial_hidden(self.carried(state)) for state in states]

    def replay(self, walks: Sequence[Walk]) -> list[dict[str, int]]:
        """Per walk: check -> first failing record."""
        return [self._replay(walk) for walk in walks]

    def _replay(self, walk: Walk) -> dict[str, int]:
        first: dict[str, int] = {}
        carried = self.carried(walk.initial)
        visible = {**carried, **self.checks.initial_hidden(carried)}
        state = self._same({**visible, **self.checks.initial_ghosts(visible)})
        self._note(self._fallen(state), 0, first)
        for at, record in enumerate(walk.records, 1):
            state, fallen = self._stepped(state, record)
            self._note(fallen, at, first)
            self._note(self._fallen(state), at, first)
        if walk.quiescent:
            for named in self.checks.spec.quiescence:
                if not _truth(self.checks.quiescent, named.name, state):
                    first.setdefault(named.name, len(walk.records))
        return first

    def _stepped(self, state: State, record: Record) -> tuple[State, tuple[str, ...]]:
        """The state after a record, ghosts computed, and the checks that fall on the step.

        Walks go over the same steps again and again, so an answer is kept for the next time.
        """
        key = (id(state), record.action, record.params, self._identity(record.next))
        known = self._steps.get(key)
        if known is None:
            checks, carried = self.checks, self.carried(record.next)
            visible = {**carried, **self._next_hidden(record.action, record.params, state, carried)}
            fallen = [] if _truth(checks.action, record.action, record.params, state, visible) else [NOT_A_STEP]
            following = self._same({**state, **visible, **self._next_ghosts(record, state, visible)})
            for named in checks.spec.properties:
                if not _truth(checks.property, named.name, state, following):
                    fallen.append(named.name)
            known = self._steps[key] = (following, tuple(fallen))
        return known

    def _fallen(self, state: State) -> tuple[str, ...]:
        """The invariants that fall in a state that `_same` gave; kept, too."""
        known = self._invariants.get(id(state))
        if known is None:
            named = self.checks.spec.invariants
            known = tuple(one.name for one in named if not _truth(self.checks.invariant, one.name, state))
            self._invariants[id(state)] = known
        return known

    def _same(self, state: State) -> State:
        """The one object that stands for all equal states; it is kept, so its identity stays its own."""
        return self._states.setdefault(tuple(state[name] for name in self.checks.module.variables), state)

    def _identity(self, state: State) -> int:
        """Of an object that is kept, so that no other one ever has it."""
        self._given[id(state)] = state
        return id(state)

    @staticmethod
    def _note(fallen: Sequence[str], at: int, first: dict[str, int]) -> None:
        for name in fallen:
            first.setdefault(name, at)

    def _next_ghosts(self, record: Record, state: State, visible: State) -> State:
        """The ghosts after a record; unchanged where they cannot be evaluated, which only a wrong step can cause."""
        try:
            return self.checks.ghosts(record.action, record.params, state, visible)
        except EvaluationError:
            return {}

    def _next_hidden(self, action: str, params: tuple[Value, ...], state: State, carried: State) -> State:
        """The hidden variables after a step; none where one has no value, so that the step is none."""
        try:
            return self.checks.hidden(action, params, state, carried)
        except EvaluationError:
            return {}

    def carried(self, state: State) -> State:
        """The variables that traces carry."""
        module = self.checks.module
        return {name: value for name, value in state.items() if name not in {*module.ghosts, *module.hidden}}


def _truth(check: Callable[..., bool], *arguments: Any) -> bool:
    """The check's answer; an evaluation error is false, as in the audit."""
    try:
        return check(*arguments)
    except EvaluationError:
        return False


class Z3Backend(PythonBackend):
    """The terms of proofs, each question by putting the states into them; a sample of the questions, evenly spaced."""

    name = "z3"
    partial = True

    def __init__(self, spec: Specification, most: int = Z3_QUESTIONS) -> None:
        from tidemark_conformance.prove.checks import Z3Checks

        super().__init__(spec)
        self.checks = Z3Checks(spec)  # type: ignore[assignment]
        self.most = most

    def init(self, states: Sequence[State]) -> list[bool | None]:  # type: ignore[override]
        """True for each state asked that satisfies Init."""
        return self._sampled(states, super().init)

    def invariant(self, name: str, states: Sequence[State]) -> list[bool | None]:  # type: ignore[override]
        """True for each state asked that satisfies the invariant."""
        return self._sampled(states, partial(super().invariant, name))

    def invariant_after(self, name: str, pairs: Sequence[tuple[State, State]]) -> list[bool | None]:  # type: ignore[override]
        """True for each second state asked that satisfies the invariant."""
        return self._sampled(pairs, partial(super().invariant_after, name))

    def quiescent(self, name: str, states: Sequence[State]) -> list[bool | None]:  # type: ignore[override]
        """True for each state asked that satisfies the quiescence predicate."""
        return self._sampled(states, partial(super().quiescent, name))

    def property(self, name: str, pairs: Sequence[tuple[State, State]]) -> list[bool | None]:  # type: ignore[override]
        """True for each step asked that keeps the action property."""
        return self._sampled(pairs, partial(super().property, name))

    def action(self, name: str, attempts: Sequence[Attempt]) -> list[bool | None]:  # type: ignore[override]
        """True for each attempt asked that is a step of the action."""
        return self._sampled(attempts, partial(super().action, name))

    def ghosts(self, name: str, attempts: Sequence[Attempt]) -> list[State | None]:  # type: ignore[override]
        """The ghosts after each step asked."""
        return self._sampled(attempts, partial(super().ghosts, name))

    def hidden(self, name: str, attempts: Sequence[Attempt]) -> list[State | None]:  # type: ignore[override]
        """The hidden variables after each step asked."""
        return self._sampled(attempts, partial(super().hidden, name))

    def replay(self, walks: Sequence[Walk]) -> list[dict[str, int] | None]:  # type: ignore[override]
        """Per walk asked: check -> first failing record."""
        return self._sampled(walks, super().replay)

    def _sampled(self, questions: Sequence[Any], ask: Callable[[Sequence[Any]], Sequence[Any]]) -> list[Any]:
        """The answers to at most `most` questions, at equal distances; None for the others."""
        step = max(1, -(-len(questions) // self.most))
        chosen = range(0, len(questions), step)
        found: list[Any] = [None] * len(questions)
        for at, answer in zip(chosen, ask([questions[at] for at in chosen]), strict=True):
            found[at] = answer
        return found


class KernelsBackend:
    """The kernels, in batches of cell vectors; walks go through the replay of delta streams that the audit runs."""

    name = "kernels"
    partial = False

    def __init__(self, spec: Specification) -> None:
        self.kernels = compile_kernels(spec)
        self.layout = self.kernels.layout
        self._cells: dict[tuple[str, int], tuple[Value, list[int]]] = {}
        self._places: dict[int, tuple[State, int]] = {}
        self._known = np.zeros((1024, self.layout.cells), np.int64)

    def domains(self, action: str) -> Sequence[Sequence[Value]]:
        """The domains of the action's parameters."""
        return self.kernels.parameters[action].domains

    def init(self, states: Sequence[State]) -> list[bool]:
        """True for each state that satisfies Init."""
        return _list(self.kernels.init_batch(self._rows(states)))

    def initial_ghosts(self, states: Sequence[State]) -> list[State]:
        """The ghosts' first values in initial states."""
        blank = self._rows(states)
        blank[:, self.layout.first_ghost :] = 0
        return self._computed("ghost", *self.kernels.initial_ghosts_batch(blank))

    def invariant(self, name: str, states: Sequence[State]) -> list[bool]:
        """True for each state that satisfies the invariant."""
        return _list(self.kernels.invariants_batch(name, self._rows(states)))

    def invariant_after(self, name: str, pairs: Sequence[tuple[State, State]]) -> list[bool]:
        """True for each second state that satisfies the invariant. It is judged by its differences from the first
        state, in which the invariant holds."""
        states, nexts = self._rows([state for state, _ in pairs]), self._rows([next_ for _, next_ in pairs])
        return _list(self.kernels.invariants_after_batch(name, states, nexts))

    def quiescent(self, name: str, states: Sequence[State]) -> list[bool]:
        """True for each state that satisfies the quiescence predicate."""
        return _list(self.kernels.quiescence_batch(name, self._rows(states)))

    def property(self, name: str, pairs: Sequence[tuple[State, State]]) -> list[bool]:
        """True for each step that keeps the action property."""
        states, nexts = self._rows([state for state, _ in pairs]), self._rows([next_ for _, next_ in pairs])
        return _list(self.kernels.properties_batch(name, states, nexts))

    def action(self, name: str, attempts: Sequence[Attempt]) -> list[bool]:
        """True for each attempt that is a step of the action."""
        return _list(self.kernels.actions_batch(name, *self._attempts(name, attempts)))

    def ghosts(self, name: str, attempts: Sequence[Attempt]) -> list[State]:
        """The ghosts after each step."""
        params, states, nexts = self._attempts(name, attempts)
        nexts[:, self.layout.first_ghost :] = states[:, self.layout.first_ghost :]
        return self._computed("ghost", *self.kernels.ghosts_batch(name, params, states, nexts))

    def hidden(self, name: str, attempts: Sequence[Attempt]) -> list[State]:
        """The hidden variables after each step."""
        params, states, nexts = self._attempts(name, attempts)
        nexts[:, self.layout.base_cells :] = states[:, self.layout.base_cells :]
        return self._computed("hidden", *self.kernels.hidden_batch(name, params, states, nexts))

    def initial_hidden(self, states: Sequence[State]) -> list[State]:
        """The hidden variables' first values in initial states."""
        blank = self._rows(states)
        blank[:, self.layout.base_cells :] = 0
        return self._computed("hidden", *self.kernels.initial_hidden_batch(blank))

    def replay(self, walks: Sequence[Walk]) -> list[dict[str, int]]:
        """Per walk: check -> first failing record."""
        streams = [self._stream(walk) for walk in walks]
        offsets = np.cumsum([0, *map(len, streams)], dtype=np.int64)
        result = self.kernels.check(np.frombuffer(b"".join(streams), np.uint8), offsets)
        found = []
        variables = [variable.name for variable in self.layout.variables]
        for at, row in enumerate(result.first.tolist()):
            first = {check: record for check, record in zip(self.kernels.checks, row, strict=True) if record >= 0}
            why = reason(int(result.reason[at]), variables)
            found.append({**first, f"undecided: {why}": 0} if why else first)
        return found

    def _stream(self, walk: Walk) -> bytes:
        writer = self.kernels.writer()
        base = self.layout.base_cells
        writer.initial(self._row(walk.initial)[:base])
        for record in walk.records:
            params = self.kernels.parameters[record.action].indices(record.action, record.params)
            writer.step(self.kernels.actions.index(record.action), params, 0, self._row(record.next)[:base])
        return writer.end(quiescent=walk.quiescent)

    def _row(self, state: State) -> list[int]:
        """The cells of a state; a value's are kept by its identity, since a graph's states share most values."""
        cells: list[int] = []
        for variable in self.layout.variables:
            value = state[variable.name]
            known = self._cells.get((variable.name, id(value)))
            if known is None:
                try:
                    run = types.encode(variable.type, value)
                except types.Misfit as problem:
                    raise Unusable(
                        f"the model reaches {variable.name} = {to_tla(value)}, beyond the capacities of TypeOK "
                        f"({problem}): give agree wider constants or a smaller model"
                    ) from None
                known = self._cells[variable.name, id(value)] = (value, run)
            cells += known[1]
        return cells

    def _rows(self, states: Sequence[State]) -> NDArray[np.int64]:
        """The cells of states, a row for each. A state's are kept by its identity: questions come back to the same."""
        places = np.array([self._place(state) for state in states], np.int64)
        return self._known[places]

    def _place(self, state: State) -> int:
        known = self._places.get(id(state))
        if known is None:
            at = len(self._places)
            if at == len(self._known):
                self._known = np.concatenate([self._known, np.zeros_like(self._known)])
            self._known[at] = self._row(state)
            known = self._places[id(state)] = (state, at)
        return known[1]

    def _attempts(
        self, name: str, attempts: Sequence[Attempt]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        parameters = self.kernels.parameters[name]
        indices = [parameters.indices(name, params) for params, _, _ in attempts]
        params = np.array(indices, np.int64).reshape(len(attempts), len(parameters.names))
        return params, self._rows([state for _, state, _ in attempts]), self._rows([next_ for _, _, next_ in attempts])

    def _computed(self, family: str, cells: NDArray[np.int64], good: NDArray[np.bool_]) -> list[State]:
        """The ghosts (or the hidden variables) out of cell vectors; none where they could not be evaluated."""
        variables = [variable for variable in self.layout.variables if getattr(variable, family)]
        return [
            {one.name: types.decode(one.type, row, one.offset) for one in variables} if fine else {}
            for row, fine in zip(cells.tolist(), good.tolist(), strict=True)
        ]


class Refusing(PythonBackend):
    """A backend that has no form for the specification's sorts: it answers nothing and says why."""

    partial = True

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why

    def domains(self, action: str) -> Sequence[Sequence[Value]]:
        """Raises Unsupported."""
        raise Unsupported(self.why)


def _list(answers: NDArray[np.bool_]) -> list[bool]:
    return [bool(answer) for answer in answers.tolist()]


def backends(spec: Specification, names: Sequence[str] = NAMES) -> list[Backend]:
    """The backends of a specification, compiled where they need it."""
    makers: dict[str, Callable[[Specification], Backend]] = {
        "python": PythonBackend,
        "kernels": KernelsBackend,
        "z3": Z3Backend,
    }
    absent = {"z3"} if not extras.installed("z3") and len(names) > 1 else set()
    found: list[Backend] = []
    for name in names:
        if name in absent:
            continue
        try:
            found.append(makers[name](spec))
        except Unsupported as problem:
            if name != "z3":
                raise
            found.append(Refusing(name, str(problem)))
    return found
