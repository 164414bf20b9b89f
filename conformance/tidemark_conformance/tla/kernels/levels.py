"""The state that expressions of the IR depend on."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from tidemark_conformance.tla.ir import (
    Binder,
    Const,
    Except,
    Expr,
    Fold,
    HasRule,
    Let,
    Local,
    RuleGuard,
    Unchanged,
    Var,
)


@dataclass(frozen=True)
class Level:
    """The things that an expression depends on."""

    variables: bool
    locals: frozenset[int]
    constants: bool
    rules: bool
    guards: bool


_levels: dict[int, tuple[Expr, Level]] = {}


def level(expr: Expr) -> Level:
    """The things that an expression depends on: variables, free locals, constants of the cfg, rules in force, counted
    guards."""
    known = _levels.get(id(expr))
    if known is not None and known[0] is expr:
        return known[1]
    result = _level(expr)
    _levels[id(expr)] = (expr, result)
    return result


def _level(expr: Expr) -> Level:
    variables = isinstance(expr, Var | Unchanged)
    free: set[int] = {expr.uid} if isinstance(expr, Local) else set()
    constants = isinstance(expr, Const | HasRule | RuleGuard)
    rules = isinstance(expr, HasRule | RuleGuard)
    guards = isinstance(expr, RuleGuard)
    bound: set[int] = set()
    for part in inside(expr):
        if isinstance(part, Binder):
            bound.add(part.uid)
            part = part.domain
        inner = level(part)
        variables |= inner.variables
        free |= inner.locals
        constants |= inner.constants
        rules |= inner.rules
        guards |= inner.guards
    if isinstance(expr, Let):
        bound.add(expr.uid)
    if isinstance(expr, Except):
        bound.add(expr.at)
    if isinstance(expr, Fold):
        bound |= {expr.element, expr.accumulator}
    return Level(variables, frozenset(free - bound), constants, rules, guards)


def parts(expr: Expr) -> list[Expr]:
    """The expressions directly inside an expression, domains of binders included."""
    return [part.domain if isinstance(part, Binder) else part for part in inside(expr)]


def inside(node: Any) -> list[Any]:
    """The expressions and binders directly inside a node."""
    found: list[Any] = []

    def visit(value: Any) -> None:
        if isinstance(value, Expr | Binder):
            found.append(value)
        elif isinstance(value, tuple):
            for item in value:
                visit(item)

    if is_dataclass(node):
        for slot in fields(node):
            visit(getattr(node, slot.name))
    return found
