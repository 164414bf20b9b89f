r"""What of a predicate must be looked at again after a step, given that it held before.

A conjunct none of whose variables changed still holds. So does an instance of `\A x \in S : P(x)` for which P reads
nothing that changed: variables that it reads as v[x] are asked by their dirty bits, of others any change counts. And of
`\A x, y \in S : P(x, y) => x = y`, where P(x, y) is P(y, x), one of each two instances is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

from tidemark_conformance.tla.ir import Binder, Except, Expr, Fold, Let, Local, Op, Unchanged, Var
from tidemark_conformance.tla.kernels import levels
from tidemark_conformance.tla.layout import MAX_UNITS, Layout
from tidemark_conformance.tla.types import TFun, TSet
from tidemark_conformance.tla.walk import strip

_STRICT = frozenset(["eq", "ne", "add", "mul", "union", "intersect"])
"""Operators that commute and evaluate both operands."""


@dataclass(frozen=True, slots=True)
class Readings:
    """The variables that an expression reads: `indexed` only as v[x], x being one bound identifier, `whole` others."""

    whole: frozenset[str]
    indexed: frozenset[str]


def readings(expr: Expr, definitions: Mapping[int, Expr], uid: int | None = None) -> Readings:
    """What an expression reads, by the LET definitions around it too; `uid`: the identifier that may index."""
    whole: set[str] = set()
    indexed: set[str] = set()
    seen: set[int] = set()

    def visit(node: Expr) -> None:
        match node:
            case Var(name, _):
                whole.add(name)
            case Unchanged(names):
                whole.update(names)
            case Op("apply", (function, Local(key, _))) if key == uid and isinstance(strip(function), Var):
                indexed.add(strip(function).name)  # type: ignore[attr-defined]
            case Local(key, _) if key in definitions and key not in seen:
                seen.add(key)
                visit(definitions[key])
            case _:
                for part in levels.parts(node):
                    visit(part)

    visit(expr)
    return Readings(frozenset(whole), frozenset(indexed - whole))


def mask_of(layout: Layout, names: Iterable[str]) -> int:
    """The bits of variables among those that changed (past the 61st they share one)."""
    mask = 0
    for name in names:
        mask |= 1 << min(layout.index[name], 61)
    return mask


def by_unit(layout: Layout, name: str, kind: TSet) -> bool:
    """Whether a variable's dirty bits stand for the members of a set, in its order."""
    variable = layout.by_name[name]
    own = variable.type
    return isinstance(own, TFun) and own.domain == kind.members and own.key == kind.elem and variable.units <= MAX_UNITS


def one_of_two(binders: tuple[Binder, ...], body: Expr) -> bool:
    r"""Whether `\A x, y \in S : body` says of two elements what it says of them the other way round."""
    if len(binders) != 2 or strip(binders[0].domain) != strip(binders[1].domain):
        return False
    a, b = binders[0].uid, binders[1].uid
    match strip(body):
        case Op("implies", (condition, conclusion)):
            match strip(conclusion):
                case Op("eq", (Local(x, _), Local(y, _))) if {x, y} == {a, b}:
                    return _shape(condition, {a: "x", b: "y"}, a, b) == _shape(condition, {a: "y", b: "x"}, a, b)
    return False


def _shape(expr: Expr, names: Mapping[int, str], a: int, b: int) -> str:
    """An expression's text, identifiers named by where they are bound, operands that may change places in order.

    Those of a conjunction may where each mentions but one of the two: an error of theirs comes up with the pair of that
    element and itself, too.
    """
    expr = strip(expr)
    if isinstance(expr, Local):
        return names.get(expr.uid, str(expr.uid))
    inner = dict(names)
    for uid in _bound(expr):
        inner[uid] = f"bound {len(inner)}"
    texts: list[str] = []
    for part in levels.inside(expr):
        if isinstance(part, Binder):
            texts.append(_shape(part.domain, inner, a, b))
            inner[part.uid] = f"bound {len(inner)}"
        else:
            texts.append(_shape(part, inner, a, b))
    if isinstance(expr, Op):
        apart = expr.name == "and" and not any({a, b} <= levels.level(part).locals for part in expr.args)
        if expr.name in _STRICT or apart:
            texts.sort()
    return f"({type(expr).__name__} {' '.join([*_words(expr), *texts])})"


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
    """What an expression says besides its parts; no identifier that it binds."""
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
