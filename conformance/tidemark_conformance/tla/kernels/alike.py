"""The form of an expression as a text: two expressions whose texts are equal have the same value.

Identifiers that an expression binds are named by where they are bound, operands that may change places stand in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from tidemark_conformance.tla import walk
from tidemark_conformance.tla.ir import Binder, Except, Expr, Fold, Let, Local, Op, Var
from tidemark_conformance.tla.walk import map_children, strip

_STRICT = frozenset(["eq", "ne", "add", "mul", "union", "intersect"])
"""Operators that commute and evaluate both operands."""


def text(expr: Expr, names: Mapping[int, str], pair: frozenset[int] = frozenset()) -> str:
    """An expression's form. `names`: the names of identifiers bound around it.

    `pair`: identifiers each of which is asked alone, too. Conjuncts that mention but one of them may change places:
    their errors come up there as well.
    """
    expr = strip(expr)
    if isinstance(expr, Local):
        return names.get(expr.uid, str(expr.uid))
    inner = dict(names)
    for uid in _bound(expr):
        inner[uid] = f"bound {len(inner)}"
    texts: list[str] = []
    for part in walk.inside(expr):
        if isinstance(part, Binder):
            texts.append(text(part.domain, inner, pair))
            inner[part.uid] = f"bound {len(inner)}"
        else:
            texts.append(text(part, inner, pair))
    if isinstance(expr, Op):
        apart = expr.name == "and" and pair and not any(pair <= walk.free_locals(part) for part in expr.args)
        if expr.name in _STRICT or apart:
            texts.sort()
    return f"({type(expr).__name__} {' '.join([*_words(expr), *texts])})"


def unprimed(expr: Expr, definitions: Mapping[int, Expr]) -> Expr:
    """An expression of a step that changes nothing: without primes and marks, LET definitions where they are used."""
    expr = strip(expr)
    match expr:
        case Var(name, _):
            return Var(name, False)
        case Local(uid, _) if uid in definitions:
            return unprimed(definitions[uid], definitions)
        case Let(uid, _, value, body):
            return unprimed(body, {**definitions, uid: value})
    return map_children(expr, lambda part: unprimed(part, definitions))


def _bound(expr: Expr) -> tuple[int, ...]:
    """The identifiers that an expression binds without a binder."""
    match expr:
        case Let(uid, _, _, _):
            return (uid,)
        case Except(_, _, at, _):
            return (at,)
        case Fold():
            return (expr.element, expr.accumulator)
    return ()


def _words(expr: Expr) -> Iterator[str]:
    """An expression's form without its parts; no identifier that it binds."""
    if isinstance(expr, Let | Except):
        return
    for slot in fields(expr):
        yield from _texts(getattr(expr, slot.name)) if slot.name not in ("element", "accumulator") else ()


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, tuple):
        for item in value:
            yield from _texts(item)
    elif not isinstance(value, Expr | Binder):
        yield repr(value)
