"""Translations that the shape of an expression allows: sets by description, the one-point rule, eager definitions."""

from __future__ import annotations

from tidemark_conformance.tla import walk
from tidemark_conformance.tla.ir import (
    Case,
    Choose,
    Except,
    Expr,
    Fold,
    FunctionLit,
    If,
    Let,
    Local,
    Mark,
    Op,
    Quant,
    RecordLit,
    RecordSet,
    SetEnum,
    SetFilter,
    SetMap,
    TupleLit,
)

SYMBOLIC = frozenset({"range", "powerset", "function_set", "product", "seq", "nat", "int", "string"})
"""Operators whose sets are described, not listed, as long as nothing needs their value."""


def is_symbolic(expr: Expr) -> bool:
    """Does the text of `described` give a description rather than a frozenset?"""
    while isinstance(expr, (Mark, Let)):
        expr = expr.body
    if isinstance(expr, RecordSet):
        return True
    if isinstance(expr, SetFilter):
        return _is_endless(expr.binder.domain)
    if not isinstance(expr, Op):
        return False
    if expr.name in SYMBOLIC:
        return True
    if expr.name == "union":
        return any(is_symbolic(arg) for arg in expr.args)
    return expr.name == "bigunion" and union_parts(expr) is not None


def _is_endless(expr: Expr) -> bool:
    """Whether TLC does not enumerate a set to filter it. Of any other set it asks the predicate for every element."""
    inner = walk.strip(expr)
    return is_symbolic(inner) and not (isinstance(inner, Op) and inner.name in ("range", "union", "bigunion"))


def only_applied(uid: int, expr: Expr) -> bool:
    """Whether every use of the local `uid` in `expr` applies it to an argument."""
    if uid not in walk.locals_used(expr):
        return True
    expr = walk.strip(expr)
    if isinstance(expr, Local):
        return expr.uid != uid
    parts = list(walk.children(expr))
    if isinstance(expr, Op) and expr.name == "apply" and isinstance(walk.strip(expr.args[0]), Local):
        parts = list(expr.args[1:])
    return all(only_applied(uid, part) for part in parts)


def union_parts(expr: Op) -> SetMap | None:
    """The argument of UNION {S : x \\in D} with sets S by description."""
    inner = walk.strip(expr.args[0])
    return inner if isinstance(inner, SetMap) and is_symbolic(inner.body) else None


def one_point(expr: Quant) -> Expr | None:
    r"""The e of \E x \in S : x = e /\ P, if the first conjunct fixes x so."""
    if len(expr.binders) != 1:
        return None
    first = walk.strip(expr.body)
    while isinstance(first, Op) and first.name == "and":
        first = walk.strip(first.args[0])
    if not isinstance(first, Op) or first.name != "eq":
        return None
    uid = expr.binders[0].uid
    for left, right in (first.args, first.args[::-1]):
        side = walk.strip(left)
        if isinstance(side, Local) and side.uid == uid and uid not in walk.locals_used(right):
            return right
    return None


STRICT = (Op, SetEnum, TupleLit, RecordLit, RecordSet)


def surely_uses(uid: int, expr: Expr) -> bool:
    """Does every evaluation of `expr` need the local `uid`?"""
    if uid not in walk.locals_used(expr):
        return False
    expr = walk.strip(expr)
    if isinstance(expr, Local):
        return expr.uid == uid
    if isinstance(expr, Op) and expr.name in ("and", "or", "implies", "in", "notin"):
        return surely_uses(uid, expr.args[0])
    if isinstance(expr, STRICT):
        return not is_symbolic(expr) and any(surely_uses(uid, child) for child in walk.children(expr))
    if isinstance(expr, If):
        if surely_uses(uid, expr.condition):
            return True
        return surely_uses(uid, expr.then) and surely_uses(uid, expr.orelse)
    if isinstance(expr, Case):
        return surely_uses(uid, expr.arms[0][0])
    if isinstance(expr, (Quant, SetMap, FunctionLit)):
        return surely_uses(uid, expr.binders[0].domain)
    if isinstance(expr, (Choose, SetFilter)):
        return surely_uses(uid, expr.binder.domain)
    if isinstance(expr, Except):
        return surely_uses(uid, expr.base)
    if isinstance(expr, Let):
        return surely_uses(uid, expr.body) or (surely_uses(expr.uid, expr.body) and surely_uses(uid, expr.value))
    if isinstance(expr, Fold):
        return surely_uses(uid, expr.collection) or surely_uses(uid, expr.start)
    return False
