"""Names in expressions: LET definitions, evaluated where they are needed, and the facts that hold under them."""

from __future__ import annotations

from tidemark_conformance.tla import walk
from tidemark_conformance.tla.ir import Expr, Local
from tidemark_conformance.tla.kernels import sets, values
from tidemark_conformance.tla.kernels.context import Context, Env, Lazy, Mode
from tidemark_conformance.tla.kernels.symbols import (
    Choice,
    Enum,
    Functions,
    Infinite,
    Literal,
    Mask,
    Product,
    Range,
    Records,
    Sequences,
    Subsets,
    Symbol,
    Tup,
    Update,
    is_set,
)


def predicate(c: Context, expr: Expr, env: Env) -> str:
    """The text of a boolean expression."""
    return values.truth(c, c.evaluate(expr, env))


def local(c: Context, expr: Local, env: Env, lazy: bool = False) -> Symbol:
    """The value of a name; a LET definition is evaluated unless its value is at hand."""
    bound = env[expr.uid]
    if not isinstance(bound, Lazy):
        return bound
    for scope, value, partly in bound.known:
        if scope.alive and lazy >= partly:
            return value
    value = values.keep(c, c.evaluate(bound.value, bound.env, lazy))
    if is_set(value) and not isinstance(value, Mask):
        mask = _small_mask(c, value)
        value = value if mask is None else mask
    bound.known.append((c.scopes[-1], value, lazy and isinstance(value, Literal | Tup | Update | Choice)))
    return value


def _small_mask(c: Context, value: Symbol) -> Symbol | None:
    """A set that is used as a definition, computed once as a mask if its universe is known."""
    if isinstance(value, Enum | Range | Infinite | Subsets | Product | Records | Functions | Sequences):
        return None
    with c.captured() as buffer:
        mask = sets.as_mask(c, value)
    if mask is None:
        c.drop(buffer)
        return None
    c.adopt(buffer)
    return values.keep(c, mask)


def force(c: Context, body: Expr, env: Env) -> None:
    """Evaluate the LET definitions that a loop uses before the loop, unless that might raise an error too early."""
    if c.mode is not Mode.WRITE:
        return
    for uid in sorted(walk.free_locals(body)):
        bound = env.get(uid)
        if not isinstance(bound, Lazy) or any(scope.alive for scope, *_ in bound.known):
            continue
        checked = c.checked
        with c.captured() as buffer:
            value = local(c, Local(uid, ""), env)
        if c.checked != checked or c.counts(buffer):
            c.drop(buffer)
            continue
        c.adopt(buffer)
        bound.known.append((c.scopes[-1], value, False))
