r"""The reads of one step: the parts of the state that its action's formula looked at, given the step's parameters.

A *cell* is a tuple (variable, argument, ...): functions are descended into, records and other values are not. A
sequence has one cell per index, a set one per element, `Member(element)`. A cell contains those that it is a prefix of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidemark_conformance.explain.scope import Env, EvaluationError, Scope
from tidemark_conformance.explain.text import index, is_record, value_text
from tidemark_conformance.tla.ir import (
    Case,
    Except,
    Expr,
    Fold,
    FunctionLit,
    If,
    Let,
    Local,
    Op,
    Quant,
    SetFilter,
    SetMap,
    Unchanged,
    Var,
)
from tidemark_conformance.tla.values import Fn, Value, in_order
from tidemark_conformance.tla.walk import children, locals_used, strip

Cell = tuple[Value, ...]

BINDINGS = 64
"""A quantifier over more candidates is read as a whole: its domain counts, its body does not."""


@dataclass(frozen=True, slots=True)
class Member:
    """The membership of an element in a set."""

    element: Value


def cell_text(cell: Cell) -> str:
    """A cell as a path: `fetch[b1][b2]`, `messages \\ni [type |-> "prepared"]`."""
    text = str(cell[0])
    for key in cell[1:]:
        text = f"{text} \\ni {value_text(key.element)}" if isinstance(key, Member) else index(text, key, False)
    return text


def written(old: Mapping[str, Value], new: Mapping[str, Value]) -> Iterator[Cell]:
    """The cells that differ between two states, in the order of the new state's variables."""
    for name, value in new.items():
        if old[name] != value:
            yield from _written((name,), old[name], value)


def _written(cell: Cell, old: Value, new: Value) -> Iterator[Cell]:
    if _is_map(old) and _is_map(new) and old.keys() == new.keys():
        for key in in_order(new):
            if old[key] != new[key]:
                yield from _written((*cell, key), old[key], new[key])
    elif isinstance(old, frozenset) and isinstance(new, frozenset):
        for element in in_order(old ^ new):
            yield (*cell, Member(element))
    elif isinstance(old, tuple) and isinstance(new, tuple):
        for place in range(max(len(old), len(new))):
            if place >= len(old) or place >= len(new) or old[place] != new[place]:
                yield (*cell, place + 1)
    else:
        yield cell


def _is_map(value: Value) -> bool:
    return isinstance(value, Fn) and not is_record(value)


def reads(expr: Expr, scope: Scope, env: Env) -> dict[Cell, None]:
    """The cells that the formula `expr` read in `scope` (an ordered set); a formula that cannot be evaluated reads
    nothing."""
    reader = _Reader(scope)
    reader.visit(expr, env, None)
    return reader.found


class _Reader:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.found: dict[Cell, None] = {}

    def visit(self, expr: Expr, env: Env, updated: str | None) -> None:
        """Collect from `expr`; `updated` names the variable whose next value is given: copying it reads nothing."""
        plain = strip(expr)
        match plain:
            case Op("eq", (Var(name, True), right)):
                self.visit(right, env, name)
            case Op("and" | "or" | "implies", args):
                self.junction(plain, args, env, updated)
            case Op("in" | "notin", (element, whole)) if (base := self.cell(whole, env)) is not None:
                self.member(base, element, whole, env, updated)
            case Op("apply") | Var():
                self.path(plain, env, updated)
            case If(condition, then, orelse):
                self.visit(condition, env, updated)
                chosen = self.value(condition, env)
                if chosen is not None:
                    self.visit(then if chosen is True else orelse, env, updated)
            case Case(arms, other):
                self.case(arms, other, env, updated)
            case Let(uid, _, value, body):
                if uid in locals_used(body):
                    self.visit(value, env, updated)
                self.visit(body, env.later(uid, value), updated)
            case Except(base, path, at, value):
                if not isinstance(strip(base), Var):
                    self.visit(base, env, updated)
                for key in path:
                    self.visit(key, env, updated)
                whole = Op("apply", (base, path[0])) if len(path) == 1 else base
                self.visit(value, env.later(at, whole), updated)
            case Quant() | SetMap() | FunctionLit():
                self.binders(list(plain.binders), plain.body, env, updated)
            case SetFilter(binder, body):
                self.binders([binder], body, env, updated)
            case Fold(_, collection, start, _, _, _):
                self.visit(collection, env, updated)
                self.visit(start, env, updated)
            case Unchanged() | Local():
                return
            case _:
                for child in children(plain):
                    self.visit(child, env, updated)

    def junction(self, expr: Op, args: tuple[Expr, ...], env: Env, updated: str | None) -> None:
        """As far as a junction is evaluated: up to the first part that decides it."""
        decisive = expr.name == "or"
        for number, arg in enumerate(args):
            self.visit(arg, env, updated)
            value = self.value(arg, env)
            if value is None or (expr.name == "implies" and number == 0 and value is False) or value is decisive:
                return

    def case(self, arms: tuple[tuple[Expr, Expr], ...], other: Expr | None, env: Env, updated: str | None) -> None:
        for when, value in arms:
            self.visit(when, env, updated)
            chosen = self.value(when, env)
            if chosen is None:
                return
            if chosen is True:
                self.visit(value, env, updated)
                return
        if other is not None:
            self.visit(other, env, updated)

    def binders(self, binders: list[object], body: Expr, env: Env, updated: str | None) -> None:
        if not binders:
            self.visit(body, env, updated)
            return
        first = binders[0]
        self.visit(first.domain, env, updated)  # type: ignore[attr-defined]
        domain = self.value(first.domain, env)  # type: ignore[attr-defined]
        if isinstance(domain, frozenset) and len(domain) <= BINDINGS:
            for value in in_order(domain):
                self.binders(binders[1:], body, env.bind(first.uid, value), updated)  # type: ignore[attr-defined]

    def member(self, base: Cell, element: Expr, whole: Expr, env: Env, updated: str | None) -> None:
        self.visit(element, env, updated)
        value = self.value(element, env)
        if value is not None and isinstance(self.value(whole, env), frozenset):
            self.found[(*base, Member(value))] = None

    def path(self, expr: Expr, env: Env, updated: str | None) -> None:
        """A variable with as many arguments as can be evaluated; the arguments are read as well."""
        inner: Expr = expr
        while isinstance(inner, Op) and inner.name == "apply":
            self.visit(inner.args[1], env, updated)
            inner = strip(inner.args[0])
        if not isinstance(inner, Var | Local):
            self.visit(inner, env, updated)
            return
        cell = self.cell(expr, env)
        if cell is not None and not (len(cell) == 1 and cell[0] == updated):
            self.found[cell] = None

    def cell(self, expr: Expr, env: Env) -> Cell | None:
        """The cell of a path over an unprimed variable, cut where a record begins; None of anything else."""
        plain = strip(expr)
        if isinstance(plain, Var):
            return None if plain.primed else (plain.name,)
        if isinstance(plain, Local):
            definition = env.definition(plain.uid)
            return None if definition is None else self.cell(definition[0], definition[1])
        if not (isinstance(plain, Op) and plain.name == "apply"):
            return None
        base = self.cell(plain.args[0], env)
        if base is None:
            return None
        whole, key = self.value(plain.args[0], env), self.value(plain.args[1], env)
        if key is None or is_record(whole):
            return base
        return (*base, key)

    def value(self, expr: Expr, env: Env) -> Value | None:
        try:
            return self.scope.value(expr, env)
        except EvaluationError:
            return None
