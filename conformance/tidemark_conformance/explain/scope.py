"""One step, in which any subexpression of a specification can be evaluated, by the compiler's own Python backend."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from tidemark_conformance.tla.ir import Expr
from tidemark_conformance.tla.python import EvaluationError
from tidemark_conformance.tla.python.checks import Check, Compiler
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.values import Value
from tidemark_conformance.tla.walk import free_locals

__all__ = ["Env", "EvaluationError", "Evaluator", "Scope"]

State = Mapping[str, Value]
Definition = tuple[Expr, "Env"]


class Evaluator:
    """Compiles subexpressions of one specification when they are first asked for."""

    def __init__(self, specification: Specification) -> None:
        rules = {rule: rule not in specification.without for rule in specification.module.rules}
        self._compiler = Compiler(specification.module.name, specification.constants, rules, None)
        self._known: dict[int, tuple[Expr, tuple[int, ...], Check]] = {}

    def _check(self, expr: Expr) -> tuple[Expr, tuple[int, ...], Check]:
        known = self._known.get(id(expr))
        if known is None:
            uids = tuple(sorted(free_locals(expr)))
            names = {uid: f"x_{uid}".replace("-", "m") for uid in uids}
            known = (expr, uids, self._compiler.compile(f"part_{len(self._known)}", expr, names))
            self._known[id(expr)] = known  # the entry keeps the expression, so its id stays its own
        return known

    def free(self, expr: Expr) -> tuple[int, ...]:
        """The uids of the identifiers that an expression needs, in the order in which `value` takes them."""
        return self._check(expr)[1]

    def value(self, expr: Expr, state: State, following: State, arguments: Sequence[Value]) -> Value:
        """The value of an expression in a step. Raises EvaluationError if it has none."""
        return self._check(expr)[2](state, following, *arguments)


class Env:
    """The bound identifiers in reach, by uid: values, and LET definitions that are evaluated when they are needed."""

    __slots__ = ("_bound",)

    def __init__(self, bound: Mapping[int, Value | _Later] | None = None) -> None:
        self._bound: dict[int, Any] = dict(bound or {})

    def bind(self, uid: int, value: Value) -> Env:
        """This environment with one more value."""
        return Env({**self._bound, uid: value})

    def later(self, uid: int, definition: Expr) -> Env:
        """This environment with a LET definition (evaluated in this environment, at most once per scope)."""
        return Env({**self._bound, uid: _Later(definition, self)})

    def has(self, uid: int) -> bool:
        """Whether the identifier is bound here."""
        return uid in self._bound

    def definition(self, uid: int) -> Definition | None:
        """The expression and the environment of a LET's identifier; None for any other identifier."""
        found = self._bound.get(uid)
        return (found.expr, found.env) if isinstance(found, _Later) else None

    def value(self, uid: int, scope: Scope) -> Value:
        """The value of a bound identifier. Raises EvaluationError if its definition has none."""
        if uid not in self._bound:
            raise EvaluationError("an identifier is evaluated outside its binder")
        found = self._bound[uid]
        return found.value(scope) if isinstance(found, _Later) else found


class _Later:
    __slots__ = ("_known", "env", "expr")

    def __init__(self, expr: Expr, env: Env) -> None:
        self.expr = expr
        self.env = env
        self._known: tuple[Scope, Value] | None = None

    def value(self, scope: Scope) -> Value:
        if self._known is None or self._known[0] is not scope:
            self._known = (scope, scope.value(self.expr, self.env))
        return self._known[1]


class Scope:
    """A state and a next state (both with every variable, history included)."""

    _uids = itertools.count(-1, -1)

    def __init__(self, evaluator: Evaluator, state: State, following: State) -> None:
        self.evaluator = evaluator
        self.state = state
        self.next = following

    def value(self, expr: Expr, env: Env) -> Value:
        """The value of an expression whose free identifiers `env` binds. Raises EvaluationError if it has none."""
        free = self.evaluator.free(expr)
        arguments = [env.value(uid, self) for uid in free]
        return self.evaluator.value(expr, self.state, self.next, arguments)

    def holds(self, expr: Expr, env: Env) -> bool:
        """Whether a formula is true; one that cannot be evaluated is not."""
        try:
            return self.value(expr, env) is True
        except EvaluationError:
            return False

    @classmethod
    def fresh(cls) -> int:
        """A uid that no expression uses."""
        return next(cls._uids)
