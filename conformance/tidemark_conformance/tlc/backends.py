"""The compiler's backends as `agree.Backend`: the same questions, asked in each one's own way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tidemark_conformance.tla.python import EvaluationError, compile_python
from tidemark_conformance.tla.values import Value
from tidemark_conformance.tlc.agree import Attempt, Backend, State

if TYPE_CHECKING:
    from tidemark_conformance.tla.spec import Specification

NAMES = ("python", "numba")


class PythonBackend:
    """Generated Python, one question at a time."""

    name = "python"

    def __init__(self, spec: Specification) -> None:
        self.checks = compile_python(spec)

    def domains(self, action: str) -> Sequence[Sequence[Value]]:
        """The domains of the action's parameters."""
        return self.checks.parameters(action)

    def init(self, states: Sequence[State]) -> list[bool]:
        """Which states satisfy Init."""
        return [_truth(self.checks.init, state) for state in states]

    def initial_ghosts(self, states: Sequence[State]) -> list[State]:
        """The ghosts' first values in initial states."""
        return [self.checks.initial_ghosts(state) for state in states]

    def invariant(self, name: str, states: Sequence[State]) -> list[bool]:
        """Which states satisfy the invariant."""
        return [_truth(self.checks.invariant, name, state) for state in states]

    def quiescent(self, name: str, states: Sequence[State]) -> list[bool]:
        """Which states satisfy the quiescence predicate."""
        return [_truth(self.checks.quiescent, name, state) for state in states]

    def property(self, name: str, pairs: Sequence[tuple[State, State]]) -> list[bool]:
        """Which steps keep the action property."""
        return [_truth(self.checks.property, name, state, next_) for state, next_ in pairs]

    def action(self, name: str, attempts: Sequence[Attempt]) -> list[bool]:
        """Which attempts are steps of the action."""
        return [_truth(self.checks.action, name, params, state, next_) for params, state, next_ in attempts]

    def ghosts(self, name: str, attempts: Sequence[Attempt]) -> list[State]:
        """The ghosts after each step."""
        return [self.checks.ghosts(name, params, state, next_) for params, state, next_ in attempts]


def _truth(check: Callable[..., bool], *arguments: Any) -> bool:
    """The check's answer; an evaluation error is false, as in the audit."""
    try:
        return check(*arguments)
    except EvaluationError:
        return False


def backends(spec: Specification, names: Sequence[str] = NAMES) -> list[Backend]:
    """The backends of a specification, compiled where they need it."""
    made: list[Backend] = []
    for name in names:
        made.append(PythonBackend(spec))
    return made
